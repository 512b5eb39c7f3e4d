/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/contender.h"

#include <errno.h>

#include "decide/decide.h"
#include "simulate/lay.h"
#include "simulate/request.h"

/* What it has promised to the guests that run. */
struct own {
        struct hn_placement **placements;
        size_t *numbers; /* whose */
        size_t n, room;
        struct hn_request *request; /* filled in anew for each guest */
};

static void own_close(void *state)
{
        struct own *own = state;

        if (!own)
                return;
        for (size_t i = 0; i < own->n; i++)
                hn_placement_free(own->placements[i]);
        free(own->placements);
        free(own->numbers);
        hn_request_free(own->request);
        free(own);
}
HN_DEFINE_CLEANUP(struct own *, own_close, cleanup_own)

static int own_open(const struct hn_world *world, void **ret)
{
        HN_CLEANUP(cleanup_own) struct own *own = calloc(1, sizeof *own);

        (void) world;
        if (!own)
                return -ENOMEM;
        own->request = hn_trace_request_new();
        if (!own->request)
                return -ENOMEM;
        *ret = HN_TAKE(own);
        return 0;
}

static int make_room(struct own *own)
{
        size_t room = own->room ? 2 * own->room : 64;

        if (own->n < own->room)
                return 0;
        struct hn_placement **placements = reallocarray(own->placements, room, sizeof *placements);
        if (!placements)
                return -ENOMEM;
        own->placements = placements;
        size_t *numbers = reallocarray(own->numbers, room, sizeof *numbers);
        if (!numbers)
                return -ENOMEM;
        own->numbers = numbers;
        own->room = room;
        return 0;
}

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

static int spot_of(const struct hn_world *world, const struct hn_trace_guest *guest, struct hn_decision *decision,
                   struct hn_spot **ret)
{
        if (decision->verdict != HN_PLACED)
                return left_spot(world, guest, decision->placement, ret);
        if (is_spread(decision->placement))
                return spread_spot(world, guest, decision->placement, ret);
        return cells_spot(world, decision->placement, ret);
}

static int own_place(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                     struct hn_spot **ret)
{
        struct own *own = state;
        struct hn_situation situation = { .host = world->host, .policy = world->policy, .n_placements = own->n };
        HN_DECISION struct hn_decision *decision = NULL;
        int r = make_room(own);

        situation.placements = (const struct hn_placement *const *) own->placements;
        hn_trace_request_fill(own->request, guest);
        if (r >= 0)
                r = hn_decide(&situation, own->request, &decision);
        if (r >= 0)
                r = spot_of(world, guest, decision, ret);
        if (r < 0)
                return r;
        own->numbers[own->n] = number;
        own->placements[own->n++] = HN_TAKE(decision->placement);
        return 0;
}

static void own_gone(void *state, const struct hn_resident *resident)
{
        struct own *own = state;

        for (size_t i = 0; i < own->n; i++)
                if (own->numbers[i] == resident->number) {
                        hn_placement_free(own->placements[i]);
                        own->placements[i] = own->placements[--own->n];
                        own->numbers[i] = own->numbers[own->n];
                        return;
                }
}

const struct hn_contender hn_contender_homenode = {
        .name = "homenode",
        .summary = "as homenode decides at start, with what it has promised",
        .open = own_open,
        .close = own_close,
        .place = own_place,
        .gone = own_gone,
};
