/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A guest's cgroups and placement in tests of keeping: a host of nodes 0-3 with CPUs 0-1, 2-3, 4-5, 6-7.
 */
#pragma once

#include "decide/keep.h"

/* Groups `names` ("vcpu0 vcpu1 emulator"), all with these CPUs of their own ("" for none) below a scope that confines
 * no CPUs and has `nodes` for its memory, on a host with CPUs 0-7 and nodes 0-3.  The test frees it. */
struct hn_groups *groups_of(const char *names, const char *cpus, const char *nodes);
struct hn_group *group_named(struct hn_groups *groups, const char *name);

/* One cell of vCPUs 0-7 on a node and its two CPUs, the emulator too. */
struct hn_placement *placed_on(unsigned node);

/* All actions, a line each: "group vcpu0 4-5", "affinity vcpu0 0-7", "scope", "unit 0-7 2" ("-" for a set that stays),
 * "dropin". */
void assert_actions(const struct hn_actions *actions, const char *lines);
