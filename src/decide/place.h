/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Placing on given nodes: what the search does with every set it looks at, for whoever has nodes in mind
 * already (the balancer, `move`, the simulator, tests).
 */
#pragma once

#include "decide/layout.h"

/* The placement of a shape on exactly these nodes: the open cells in ascending order, at least one on each
 * node, or spread over all of them where that does not fit and the domain may span.  Cells that the user
 * bound or pinned stay where they are.  -ENOSPC: does not fit, or one of the nodes is no home; -ENOMEM. */
int hn_place_on(const struct hn_situation *situation, const struct hn_request *request,
                const struct hn_shape *shape, hwloc_const_bitmap_t nodes, struct hn_placement **ret,
                struct hn_score *ret_score);

/* The placement that a layout stands for; *ret_note is appended to.  -ENOMEM. */
int hn_place_layout(const struct hn_layout *layout, struct hn_placement **ret, char **ret_note);

/* A placement that counts only: memory split over the nodes by their size, vCPUs by their capacity.
 * -ENOMEM. */
int hn_place_counted(const struct hn_task *task, hwloc_const_bitmap_t nodes, struct hn_placement **ret);

/* A placement with the request's name, uuid and priority and nothing else; NULL without memory. */
struct hn_placement *hn_place_empty(const struct hn_request *request);
