/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Laying a guest on nodes that a policy has chosen.
 */
#pragma once

#include "simulate/world.h"

enum hn_lay {
        HN_LAY_BY_ROOM, /* memory in proportion to the room on the nodes */
        HN_LAY_IN_TURN, /* one node after the other is filled */
};

/* One cell whose vCPUs may run on the k nodes, by `at`.  Memory that has no room there comes from the nodes nearest
 * to the first; the host has room for it in total.  -ENOMEM. */
int hn_lay_whole(const struct hn_world *world, const struct hn_trace_guest *guest, const size_t *nodes, size_t k,
                 enum hn_lay how, struct hn_spot **ret);

/* As many cells as nodes, cut evenly, each on one node; the guest sees them.  -ENOSPC: one has no room; -ENOMEM. */
int hn_lay_cells(const struct hn_world *world, const struct hn_trace_guest *guest, const size_t *nodes, size_t k,
                 struct hn_spot **ret);

/* Over all home nodes.  -ENOMEM. */
int hn_lay_anywhere(const struct hn_world *world, const struct hn_trace_guest *guest, struct hn_spot **ret);

/* The home nodes, by `at`, ascending: how many.  `ret` holds n_nodes. */
size_t hn_lay_homes(const struct hn_world *world, size_t *ret);
