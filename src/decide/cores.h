/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cores: host cores for single guest cores (pinning="core").
 */
#pragma once

#include "decide/task.h"

/* Appends one vCPU's own CPUs (copied).  -ENOMEM. */
int hn_cores_add_vcpu(struct hn_placement *placement, unsigned vcpu, hwloc_const_bitmap_t cpus);

/* Gives every guest core of vCPUs that the user has not pinned a host core of its own in its cell, or none of
 * them where there are not enough; *ret_note then says so.  -ENOMEM. */
int hn_cores_pin(const struct hn_task *task, struct hn_placement *placement, char **ret_note);
