/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Putting a decided placement into force: at a start through the drop-in of the scope that is about to exist, then
 * through the cgroups of the threads that run.  Nothing here decides, logs or looks at the ledger.
 */
#pragma once

#include "act/confine.h"
#include "model/host.h"

/* What is to come into force; nothing is owned. */
struct hn_enforced {
        const struct hn_root *root;
        const struct hn_request *request;
        const struct hn_placement *placement; /* NULL: none is known */
        const char *unit;                     /* the scope; NULL: none is foreseen, so no drop-in */
};

/* Before the start: writes the drop-in, asking for systemd's version within `wait_us`.  Why there is none is added
 * to *text (hn_text_add): the guest starts all the same.  -ENXIO: systemd does not answer; -ENOTSUP: it is too old;
 * others as hn_dropin_write. */
int hn_enforce_start(const struct hn_enforced *enforced, const struct hn_host *host, uint64_t wait_us, char **text);

/* Once QEMU runs: CPU sets into the thread cgroups, the CPUs out of scope and drop-in.  Without a placement only the
 * scope is opened: what a drop-in confined stays so for vcpupin and setvcpus otherwise (DESIGN fact 4).  What was
 * done and what could not be is added to *text.  The first error; *ret (may be NULL) counts threads, all 0 where
 * none could be looked at. */
int hn_enforce_running(const struct hn_enforced *enforced, int pid, struct hn_confined *ret, char **text);
