/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/plug.h"

#include <errno.h>

#include "decide/fit.h"

/* Promises so much more (or less) on all of these nodes together, the same on each but for a page. */
static int change(struct hn_placement *placement, hwloc_const_bitmap_t nodes, uint64_t page_kib, uint64_t before_kib,
                  uint64_t after_kib)
{
        uint64_t granule_kib = page_kib ? page_kib : 1, i = 0, n = hn_idset_count(nodes);
        uint64_t granules = (after_kib > before_kib ? after_kib - before_kib : before_kib - after_kib) / granule_kib;

        HN_IDSET_FOREACH(node, nodes) {
                const struct hn_promise promise = {
                        .node = (unsigned) node, .page_kib = page_kib,
                        .memory_kib = (granules / n + (i < granules % n)) * granule_kib,
                };

                i++;
                if (after_kib < before_kib)
                        hn_placement_withdraw(placement, &promise);
                else if (hn_placement_promise(placement, &promise) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static uint64_t all_kib(const struct hn_placement *placement)
{
        uint64_t kib = 0;

        for (size_t i = 0; i < placement->n_cells; i++)
                kib = hn_add(kib, hn_add(placement->cells[i].memory_kib, placement->cells[i].devices_kib));
        return kib;
}

/* Where libvirt binds what is plugged into a cell, whatever CPUs that has been given since; or where its CPUs are. */
static hwloc_const_bitmap_t nodes_of(const struct hn_request_cell *cell, const struct hn_placed_cell *placed)
{
        return cell->bound ? cell->bound : cell->ours ? cell->ours : placed->nodes;
}

static int follow_cell(const struct hn_policy *policy, struct hn_placement *placement, struct hn_placed_cell *cell,
                       hwloc_const_bitmap_t nodes, uint64_t devices_kib, uint64_t page_kib)
{
        uint64_t overhead_kib = hn_overhead_kib(policy, all_kib(placement));
        uint64_t before_kib = hn_whole_pages_kib(hn_add(cell->memory_kib, cell->devices_kib), page_kib);
        uint64_t after_kib = hn_whole_pages_kib(hn_add(cell->memory_kib, devices_kib), page_kib);
        int r;

        cell->devices_kib = devices_kib;
        r = change(placement, nodes, page_kib, before_kib, after_kib);
        if (r >= 0)
                r = change(placement, nodes, 0, overhead_kib, hn_overhead_kib(policy, all_kib(placement)));
        return r;
}

int hn_plug_follow(const struct hn_host *host, const struct hn_policy *policy, const struct hn_request *request,
                   struct hn_placement *placement)
{
        int r = 0, changed = 0;

        if (placement->n_cells != request->n_cells)
                return 0;
        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++) {
                const struct hn_request_cell *cell = &request->cells[i];
                uint64_t devices_kib = cell->devices_kib < HN_PLACEMENT_KIB_LIMIT ? cell->devices_kib
                                                                                  : HN_PLACEMENT_KIB_LIMIT;

                if (placement->cells[i].devices_kib == devices_kib)
                        continue;
                changed = 1;
                r = follow_cell(policy, placement, &placement->cells[i], nodes_of(cell, &placement->cells[i]),
                                devices_kib, hn_page_kib(host, request, cell->page_kib));
        }
        return r < 0 ? r : changed;
}
