/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libvirt's events become marks in the queue of work, and the domains they are about known.
 */
#pragma once

#include <libvirt/libvirt.h>

#include "daemon/asking.h"
#include "daemon/work.h"

#define HN_EAR_LIMIT 16

struct hn_ears {
        int ids[HN_EAR_LIMIT];
        size_t n;
};

struct hn_hearing {
        struct hn_work *work;
        struct hn_asking *asking;
        virConnectPtr libvirt; /* what others tell is late; not owned */
};

/* Asks libvirt, which may take long, to tell what happens to domains.  The loop then hears it by `hearing`, which must
 * stay until it hears no more.  -EIO: nothing will be heard. */
int hn_hear(virConnectPtr libvirt, struct hn_hearing *hearing, struct hn_ears *ret);
void hn_hear_no_more(virConnectPtr libvirt, const struct hn_ears *ears);
