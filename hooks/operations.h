/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook's operations: reserve and write the drop-in before a guest starts, put its CPU sets into force after,
 * clear up in the end.  They touch files only.  Whatever fails leaves the guest to libvirt and is told in the text.
 */
#pragma once

#include "act/rewrite.h"
#include "model/root.h"
#include "report.h"

/* What libvirt tells about a guest. */
struct hn_guest {
        const struct hn_root *root;
        const char *name;
        xmlDoc *doc;
        struct hn_request *request;
};

typedef int hn_operation(const struct hn_guest *guest, struct hn_report *ret);

/* prepare: clears a stale drop-in, decides under the lock (or keeps what migrate or restore just decided), writes
 * ledger and drop-in, hands out the rewritten XML. */
hn_operation hn_operation_prepare;

/* migrate, restore: decides for this host; XML only where it differs from what came. */
hn_operation hn_operation_filter;

/* started: CPU sets into the thread cgroups, the scope's CPUs opened; from now on the entry is in force. */
hn_operation hn_operation_started;

/* release: clears drop-in and ledger. */
hn_operation hn_operation_release;
