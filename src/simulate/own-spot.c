/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/own.h"

#include <errno.h>

#include "simulate/lay.h"

static bool is_spread(const struct hn_placement *placement)
{
        for (size_t i = 0; i < placement->n_cells; i++)
                if (hn_idset_count(placement->cells[i].nodes) != 1)
                        return true;
        return false;
}

/* Memory of the whole guest over its home, as promised; cells that are spread are as good as none. */
static int spread_spot(const struct hn_world *world, const struct hn_trace_guest *guest,
                       const struct hn_placement *placement, struct hn_spot **ret)
{
        struct hn_spot *spot = hn_spot_new(1, world->host->n_nodes);

        if (!spot)
                return -ENOMEM;
        spot->vcpus[0] = guest->vcpus;
        for (size_t i = 0; i < placement->n_promises; i++)
                spot->memory_kib[hn_host_at(world->host, placement->promises[i].node)]
                        += placement->promises[i].memory_kib;
        for (size_t at = 0; at < spot->n_nodes; at++)
                spot->runs[at] = hn_placement_milli(placement, world->host->nodes[at].os) > 0;
        *ret = spot;
        return 0;
}

/* The node that a cell runs on where that is one. */
static int runs_at(const struct hn_world *world, const struct hn_placed_cell *cell)
{
        int found = -1;

        for (size_t at = 0; at < world->host->n_nodes; at++)
                if (hwloc_bitmap_intersects(cell->cpus, world->host->nodes[at].cpus)) {
                        if (found >= 0)
                                return -1;
                        found = (int) at;
                }
        return found;
}

/* Do its cells lean each on a node of its own (decide/layout.h)? */
static bool leans(const struct hn_world *world, const struct hn_placement *placement)
{
        for (size_t i = 0; i < placement->n_cells; i++)
                if (runs_at(world, &placement->cells[i]) < 0)
                        return false;
        return placement->n_cells > 1;
}

/* Moves up to `kib` of what is promised on a node to a cell; what is still wanted. */
static uint64_t take(struct hn_spot *spot, size_t cell, size_t at, uint64_t kib, uint64_t *promised)
{
        uint64_t part = kib < promised[at] ? kib : promised[at];

        spot->memory_kib[cell * spot->n_nodes + at] += part;
        promised[at] -= part;
        return kib - part;
}

/* Each cell has what it finds on the node it leans on, and the rest of what was promised elsewhere. */
static int leaning_spot(const struct hn_world *world, const struct hn_trace_guest *guest,
                        const struct hn_placement *placement, struct hn_spot **ret)
{
        HN_SPOT struct hn_spot *spot = hn_spot_new(placement->n_cells, world->host->n_nodes);
        HN_FREE uint64_t *promised = calloc(world->host->n_nodes + placement->n_cells + 1, sizeof *promised);
        uint64_t overhead = hn_world_wanted_kib(world, guest) - guest->memory_kib, *lacks;

        if (!spot || !promised)
                return -ENOMEM;
        lacks = promised + spot->n_nodes;
        spot->cells_seen = true;
        for (size_t i = 0; i < placement->n_promises; i++)
                promised[hn_host_at(world->host, placement->promises[i].node)] += placement->promises[i].memory_kib;
        for (size_t i = 0; i < placement->n_cells; i++) {
                size_t at = (size_t) runs_at(world, &placement->cells[i]), n = placement->n_cells;
                uint64_t wanted = placement->cells[i].memory_kib + overhead / n + (i == 0 ? overhead % n : 0);

                spot->vcpus[i] = hn_idset_count(placement->cells[i].vcpus);
                spot->runs[i * spot->n_nodes + at] = true;
                lacks[i] = take(spot, i, at, wanted, promised);
        }
        for (size_t i = 0; i < placement->n_cells; i++)
                for (size_t at = 0; at < spot->n_nodes; at++)
                        lacks[i] = take(spot, i, at, lacks[i], promised);
        *ret = HN_TAKE(spot);
        return 0;
}

static uint64_t promised_kib(const struct hn_placement *placement, unsigned node)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < placement->n_promises; i++)
                sum += placement->promises[i].node == node ? placement->promises[i].memory_kib : 0;
        return sum;
}

/* Each cell on its node; several on one node share its promise by their size. */
static int cells_spot(const struct hn_world *world, const struct hn_placement *placement, struct hn_spot **ret)
{
        HN_SPOT struct hn_spot *spot = hn_spot_new(placement->n_cells, world->host->n_nodes);

        if (!spot)
                return -ENOMEM;
        spot->cells_seen = true;
        for (size_t i = 0; i < placement->n_cells; i++) {
                const struct hn_placed_cell *cell = &placement->cells[i];
                unsigned node = (unsigned) hwloc_bitmap_first(cell->nodes);
                size_t at = (size_t) hn_host_at(world->host, node);
                uint64_t theirs = 0, rest = promised_kib(placement, node) - hn_spot_memory_kib(spot, at);

                for (size_t j = i; j < placement->n_cells; j++)
                        if (hwloc_bitmap_isequal(placement->cells[j].nodes, cell->nodes))
                                theirs += placement->cells[j].memory_kib;
                spot->vcpus[i] = hn_idset_count(cell->vcpus);
                spot->runs[i * spot->n_nodes + at] = true;
                spot->memory_kib[i * spot->n_nodes + at] =
                        cell->memory_kib == theirs ? rest
                                                   : (uint64_t) ((double) rest * (double) cell->memory_kib / (double) theirs);
        }
        *ret = HN_TAKE(spot);
        return 0;
}

/* Left to libvirt.  What is known of it later is what is measured: where it lies. */
static int left_spot(const struct hn_world *world, const struct hn_trace_guest *guest, struct hn_placement *placement,
                     struct hn_spot **ret)
{
        HN_SPOT struct hn_spot *spot = NULL;
        int r = hn_lay_anywhere(world, guest, &spot);

        for (size_t i = 0; r >= 0 && i < placement->n_promises; i++)
                placement->promises[i].memory_kib = 0;
        for (size_t at = 0; r >= 0 && at < spot->n_nodes; at++) {
                const struct hn_promise promise = { .node = world->host->nodes[at].os,
                                                    .memory_kib = hn_spot_memory_kib(spot, at) };

                if (promise.memory_kib)
                        r = hn_placement_promise(placement, &promise);
        }
        if (r >= 0)
                *ret = HN_TAKE(spot);
        return r;
}

int hn_own_spot(const struct hn_world *world, const struct hn_trace_guest *guest, struct hn_placement *placement,
                struct hn_spot **ret)
{
        if (!placement->n_cells)
                return left_spot(world, guest, placement, ret);
        if (is_spread(placement) && leans(world, placement))
                return leaning_spot(world, guest, placement, ret);
        if (is_spread(placement))
                return spread_spot(world, guest, placement, ret);
        return cells_spot(world, placement, ret);
}
