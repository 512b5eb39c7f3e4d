/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/move.h"

#include <errno.h>

#include "decide/field.h"
#include "decide/fit.h"
#include "decide/rebind.h"

const char *hn_move_refusal(const struct hn_host *host, const struct hn_request *request,
                            const struct hn_shape *shape, const struct hn_placement *placement)
{
        const struct hn_balance_guest guest = { .request = request, .shape = shape, .placement = placement };
        const char *fixed = hn_stand_fixed(host, &guest);

        if (fixed)
                return fixed;
        return request->n_plugged ? "its XML says where memory is that is plugged into it" : hn_stand_immovable(&guest);
}

/* ---- meanwhile */

/* vCPUs leave at once. */
static int promise_memory(struct hn_placement *placement, const struct hn_placement *from)
{
        int r = 0;

        for (size_t i = 0; r >= 0 && i < from->n_promises; i++) {
                struct hn_promise promise = from->promises[i];

                promise.vcpus_milli = 0;
                promise.memory_kib = hn_subtract(promise.memory_kib,
                                                 hn_placement_memory_kib(placement, promise.node, promise.page_kib));
                if (promise.memory_kib)
                        r = hn_placement_promise(placement, &promise);
        }
        return r;
}

static bool needs_no_set(const struct hn_placement *to, hwloc_const_bitmap_t in_force)
{
        return hwloc_bitmap_iszero(to->memory_nodes) && (!in_force || hwloc_bitmap_isincluded(to->home, in_force));
}

int hn_move_under_way(const struct hn_placement *from, const struct hn_placement *to, hwloc_const_bitmap_t in_force,
                      struct hn_placement **ret)
{
        HN_PLACEMENT struct hn_placement *placement = hn_placement_copy(to);
        int r = placement ? promise_memory(placement, from) : -ENOMEM;

        if (r < 0)
                return r;
        if (!needs_no_set(to, in_force)) {
                hwloc_bitmap_t nodes = placement->memory_nodes;

                if (hwloc_bitmap_or(nodes, nodes, to->home) < 0 ||
                    hwloc_bitmap_or(nodes, nodes, from->memory_nodes) < 0 ||
                    (in_force && hwloc_bitmap_or(nodes, nodes, in_force) < 0))
                        return -ENOMEM;
        }
        *ret = HN_TAKE(placement);
        return 0;
}

/* ---- cells that are bound */

int hn_move_bound(hwloc_const_bitmap_t in_force, size_t n_cells, hwloc_bitmap_t *ret)
{
        size_t n = 0;
        int node = -1;

        if (hn_idset_count(in_force) < n_cells)
                return -ERANGE;
        while (n < n_cells) {
                node = hwloc_bitmap_next(in_force, node);
                ret[n] = hwloc_bitmap_alloc();
                if (!ret[n] || hwloc_bitmap_only(ret[n], (unsigned) node) < 0) {
                        for (size_t i = 0; i <= n; i++)
                                hwloc_bitmap_free(ret[i]);
                        return -ENOMEM;
                }
                n++;
        }
        return 0;
}

static const struct hn_placed_cell *cell_of(const struct hn_placement *placement, size_t at)
{
        return placement->n_cells > at ? &placement->cells[at] : NULL;
}

bool hn_move_binds(const struct hn_request *request, const struct hn_placement *to, hwloc_const_bitmap_t in_force,
                   hwloc_const_bitmap_t wide, hwloc_const_bitmap_t final)
{
        for (size_t i = 0; i < request->n_cells; i++) {
                const struct hn_placed_cell *cell = cell_of(to, i);

                if (!request->cells[i].ours)
                        continue;
                HN_BITMAP hwloc_bitmap_t between = NULL, at_last = NULL;
                if (!cell || hn_rebind(in_force, wide, request->cells[i].ours, &between) < 0 ||
                    hn_rebind(wide, final, between, &at_last) < 0 || !hwloc_bitmap_isequal(at_last, cell->nodes))
                        return false;
        }
        return true;
}

/* ---- ended early */

bool hn_move_stays_there(const struct hn_placement *from, const struct hn_placement *to, const uint64_t *resident_kib,
                         size_t n_nodes)
{
        uint64_t left_kib = 0, there_kib = 0;

        for (unsigned node = 0; node < n_nodes; node++) {
                bool old = hwloc_bitmap_isset(from->home, node), new = hwloc_bitmap_isset(to->home, node);

                if (new && !old)
                        there_kib = hn_add(there_kib, resident_kib[node]);
                else if (!new)
                        left_kib = hn_add(left_kib, resident_kib[node]);
        }
        return there_kib > left_kib;
}
