/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/step.h"

#include <errno.h>
#include <math.h>

#include "decide/shape.h"
#include "decide/subsets.h"
#include "simulate/lay.h"
#include "simulate/request.h"

#define NODES_LIMIT 16u

struct step {
        struct hn_world *world;
        const struct hn_trace_guest *guest;
        size_t homes[NODES_LIMIT], k;
        bool spread;  /* not whole, or each cell whole */
        double best;
        int error;
};

double hn_step_sum(const struct hn_world *world)
{
        double sum = 0, local;

        for (size_t i = 0; i < world->n_residents; i++)
                sum += hn_world_slowdown(world, &world->residents[i], &local);
        return sum;
}

/* Starts it, looks, and takes it out again.  Takes the spot over. */
static void look(struct step *step, struct hn_spot *spot)
{
        double sum;
        int r = hn_world_start(step->world, step->guest, SIZE_MAX, spot);

        if (r < 0) {
                hn_spot_free(spot);
                step->error = r;
                return;
        }
        hn_world_settle(step->world);
        sum = hn_step_sum(step->world);
        step->best = sum < step->best ? sum : step->best;
        hn_world_stop(step->world, step->world->n_residents - 1);
}

/* Over these nodes, running on all of them, or on one that is filled first. */
static void look_spread(struct step *step, size_t *nodes)
{
        for (size_t prop = 0; prop <= step->k && !step->error; prop++) {
                struct hn_spot *spot = NULL;
                size_t order[NODES_LIMIT];

                for (size_t i = 0; i < step->k; i++)
                        order[i] = nodes[prop < step->k ? (prop + i) % step->k : i];
                step->error = hn_lay_whole(step->world, step->guest, order, step->k,
                                           prop < step->k ? HN_LAY_IN_TURN : HN_LAY_BY_ROOM, &spot);
                for (size_t i = 1; !step->error && prop < step->k && i < step->k; i++)
                        spot->runs[order[i]] = false;
                if (!step->error)
                        look(step, spot);
        }
}

static void visit(void *context, const size_t *chosen)
{
        struct step *step = context;
        struct hn_spot *spot = NULL;
        size_t nodes[NODES_LIMIT];
        uint64_t room = 0;
        int r;

        for (size_t i = 0; i < step->k; i++) {
                nodes[i] = step->homes[chosen[i]];
                room += hn_world_room_kib(step->world, nodes[i]);
        }
        if (step->error || room < hn_world_wanted_kib(step->world, step->guest))
                return;
        if (step->spread) {
                look_spread(step, nodes);
                return;
        }
        r = step->k > 1 ? hn_lay_cells(step->world, step->guest, nodes, step->k, &spot)
                        : hn_lay_whole(step->world, step->guest, nodes, 1, HN_LAY_IN_TURN, &spot);
        if (r >= 0)
                look(step, spot);
        else if (r != -ENOSPC)
                step->error = r;
}

static int count_cells(const struct hn_world *world, const struct hn_trace_guest *guest, size_t *ret)
{
        HN_REQUEST struct hn_request *request = hn_trace_request_new();
        HN_SHAPE struct hn_shape *shape = NULL;
        HN_FREE char *note = NULL;
        int r;

        if (!request)
                return -ENOMEM;
        hn_trace_request_fill(request, guest);
        r = hn_shape_new(world->host, world->policy, request, &shape, &note);
        if (r >= 0)
                *ret = shape->n_cells;
        return r;
}

int hn_step_best(struct hn_world *world, const struct hn_trace_guest *guest, double *ret)
{
        struct step step = { .world = world, .guest = guest, .best = (double) INFINITY };
        size_t scratch[NODES_LIMIT], n, cells = 1;
        int r;

        if (world->host->n_nodes > NODES_LIMIT)
                return -E2BIG;
        r = count_cells(world, guest, &cells);
        if (r < 0)
                return r;
        n = hn_lay_homes(world, step.homes);
        for (step.k = cells; step.k <= n && isinf(step.best) && !step.error; step.k++) {
                const struct hn_subsets sets = { .n = n, .k = step.k, .visit = visit, .context = &step };

                step.spread = step.k > cells;
                hn_subsets_walk(&sets, scratch);
        }
        hn_world_settle(world);
        if (step.error)
                return step.error;
        if (isinf(step.best))
                return -ENOSPC;
        *ret = step.best;
        return 0;
}
