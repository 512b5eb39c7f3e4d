/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the daemon and the command share of talking to libvirt.  The hook must not (DESIGN fact 5).
 */
#pragma once

#include <libvirt/libvirt.h>

#include "act/definition.h"

static inline void hn_cleanup_virdomain(virDomainPtr *domain)
{
        if (*domain)
                (void) virDomainFree(*domain);
}
#define HN_VIRDOMAIN HN_CLEANUP(hn_cleanup_virdomain)

/* $HOMENODE_URI, or libvirt's own system instance. */
const char *hn_libvirt_uri(void);

/* libvirt's door to definitions over a connection that is open, and must outlive it. */
struct hn_definition_door hn_definition_door_to(virConnectPtr libvirt);
