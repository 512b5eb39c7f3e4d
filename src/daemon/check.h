/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The look at what homenode needs of this host: what is missing, and what then does not work.
 */
#pragma once

#include "act/cgroup-io.h"

struct hn_lack {
        const char *consequence; /* what does not work */
        char *what;              /* what is missing */
};

struct hn_lacks {
        struct hn_lack *lacks;
        size_t n;
};

/* Capabilities of this process, cgroup v2 and its cpuset controller on the levels above guests, libvirt's socket,
 * systemd, homenode's folders.  -ENOMEM.  Cleared with hn_lacks_clear. */
int hn_check_host(const struct hn_cgroup_io *io, struct hn_lacks *ret);
void hn_lacks_clear(struct hn_lacks *lacks);
#define HN_LACKS HN_CLEANUP(hn_lacks_clear)
