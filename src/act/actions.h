/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Doing what decide/keep.h came to.
 */
#pragma once

#include "act/cpuset.h"
#include "decide/keep.h"

struct hn_systemd;

struct hn_done {
        unsigned groups; /* thread groups that say what was wanted */
        unsigned failed;
        int error;       /* the first failure's */
};

/* Does the actions in their order and goes on after a failure: each thread that sits right is worth it.  But the
 * drop-in stays where the unit's properties could not be set before.  What has gone meanwhile (the guest ends) is no
 * failure.  `systemd` may be NULL where no action needs it; `wait_us` is for each call to it. */
void hn_actions_do(const struct hn_cgroup_io *io, struct hn_systemd *systemd, const struct hn_guest_cgroup *cgroup,
                   const struct hn_actions *actions, uint64_t wait_us, struct hn_done *ret);
