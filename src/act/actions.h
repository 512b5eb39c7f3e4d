/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Doing what decide/keep.h came to.
 */
#pragma once

#include "act/cpuset.h"
#include "decide/keep.h"

struct hn_systemd;

/* How a unit's properties are set: hn_unit_set and what it needs.  Handed in, so that the hook, which sets none, is
 * linked without libsystemd. */
struct hn_unit_setter {
        int (*set)(struct hn_systemd *systemd, const char *unit, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes,
                   uint64_t wait_us);
        struct hn_systemd *systemd;
        uint64_t wait_us; /* for each call */
};

struct hn_done {
        unsigned groups; /* thread groups that say what was wanted */
        unsigned failed;
        int error;       /* the first failure's */
};

/* Does the actions in their order and goes on after a failure: each thread that sits right is worth it.  But the
 * drop-in stays where the unit's properties could not be set before.  What has gone meanwhile (the guest ends) is no
 * failure.  `setter` may be NULL where no action needs it. */
void hn_actions_do(const struct hn_cgroup_io *io, const struct hn_unit_setter *setter,
                   const struct hn_guest_cgroup *cgroup, const struct hn_actions *actions, struct hn_done *ret);
