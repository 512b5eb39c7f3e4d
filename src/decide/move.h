/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moving a guest that runs: whether that can be done, what its placement is meanwhile, and where it stays when only
 * part of its memory came along.  Pure; daemon/mover.h does it.
 *
 * The memory set is widened to where the guest was and where it goes, the pages are moved, then the set is narrowed
 * (DESIGN fact 11).  Cells that are bound come along by the kernel's own doing (fact 10): it rebinds them by order at
 * both changes of the set, and so they end where they should only if the order of nodes is that of the cells.
 */
#pragma once

#include "decide/decide.h"

/* Why this guest is not moved, by its XML and its placement in force: "its memory is locked"; NULL: nothing is in the
 * way.  `request` is of the live XML. */
const char *hn_move_refusal(const struct hn_host *host, const struct hn_request *request,
                            const struct hn_shape *shape, const struct hn_placement *placement);

/* The placement while the guest moves from `from` to `to`: that of `to`, with a memory set that holds `in_force` (the
 * scope's now; NULL: not known) and both placements', and the memory of both promised; of two that are on one node the larger,
 * for what leaves makes room for what comes.  Empty memory sets stay so where the guest can have memory on its new home
 * as it is.  The caller frees.  -ENOMEM. */
int hn_move_under_way(const struct hn_placement *from, const struct hn_placement *to, hwloc_const_bitmap_t in_force,
                      struct hn_placement **ret);

/* Where the cells that homenode bound are bound to now, if the set in force is `in_force`: the n-th cell to its n-th
 * node.  So it is once the set has held exactly their nodes, which is how guests start.  Sets as many as there are
 * cells; the caller frees each.  -ERANGE: the set has fewer nodes; -ENOMEM. */
int hn_move_bound(hwloc_const_bitmap_t in_force, size_t n_cells, hwloc_bitmap_t *ret);

/* Do cells that are bound as `request` says (cells' `ours`: as hn_entry_settle_bound left it) end up on the nodes that
 * `to` has for them, when the memory set goes from `in_force` to `wide` to `final`?  True for guests without. */
bool hn_move_binds(const struct hn_request *request, const struct hn_placement *to, hwloc_const_bitmap_t in_force,
                   hwloc_const_bitmap_t wide, hwloc_const_bitmap_t final);

/* A move that ended early: does the guest stay where it was going to?  It does where more of its memory is by now; its
 * memory set stays wide enough for both (`resident` by OS index, the nodes in both homes count for neither). */
bool hn_move_stays_there(const struct hn_placement *from, const struct hn_placement *to, const uint64_t *resident_kib,
                         size_t n_nodes);
