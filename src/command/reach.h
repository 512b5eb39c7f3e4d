/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reaching libvirt, or not: where a daemon that hangs holds the other end of the socket, virConnectOpen waits without
 * a limit, and much can be done without it.
 */
#pragma once

#include <libvirt/libvirt.h>

static inline void hn_cleanup_virconnect(virConnectPtr *libvirt)
{
        if (*libvirt)
                (void) virConnectClose(*libvirt);
}
#define HN_VIRCONNECT HN_CLEANUP(hn_cleanup_virconnect)

/* Sets either the connection (HN_VIRCONNECT) or why there is none (the caller frees), within 20 s.  libvirt prints
 * nothing from then on.  -ENOMEM. */
int hn_reach_libvirt(virConnectPtr *ret, char **ret_fault);
