/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Xen's libxl: of the fewest nodes whose sums suffice, those with the fewest vCPUs that may run there, then with the most
 * free memory.  Distances and the fit on each node do not count.
 */
#include "bench/peers/peers.h"

#include <errno.h>
#include <stdlib.h>

#include "decide/subsets.h"

struct xen {
        const struct hn_world *world;
        const struct hn_trace_guest *guest;
        struct peer_nodes all;
        uint64_t load[PEER_NODES_LIMIT]; /* vCPUs that may run on the i-th node */
        size_t best[PEER_NODES_LIMIT], k, n_found;
        uint64_t best_load, best_room;
};

static void count_load(struct xen *xen)
{
        for (size_t i = 0; i < xen->all.n; i++)
                for (size_t j = 0; j < xen->world->n_residents; j++) {
                        const struct hn_spot *spot = xen->world->residents[j].spot;

                        xen->load[i] += spot->runs[xen->all.nodes[i]] ? spot->vcpus[0] : 0;
                }
}

static void visit(void *context, const size_t *chosen)
{
        struct xen *xen = context;
        uint64_t load = 0, room = 0, cpus = 0;

        for (size_t i = 0; i < xen->k; i++) {
                size_t at = xen->all.nodes[chosen[i]];

                load += xen->load[chosen[i]];
                room += hn_world_room_kib(xen->world, at);
                cpus += xen->world->host->nodes[at].n_threads;
        }
        if (room < hn_world_wanted_kib(xen->world, xen->guest) || cpus < xen->guest->vcpus)
                return;
        if (xen->n_found++ && (load > xen->best_load || (load == xen->best_load && room <= xen->best_room)))
                return;
        xen->best_load = load;
        xen->best_room = room;
        for (size_t i = 0; i < xen->k; i++)
                xen->best[i] = xen->all.nodes[chosen[i]];
}

/* By CPUs where all nodes have as many, else 1. */
static size_t fewest(const struct xen *xen)
{
        const struct hn_node *nodes = xen->world->host->nodes;
        unsigned cpus = nodes[xen->all.nodes[0]].n_threads;

        for (size_t i = 1; i < xen->all.n; i++)
                if (nodes[xen->all.nodes[i]].n_threads != cpus)
                        return 1;
        return (xen->guest->vcpus + cpus - 1) / cpus;
}

static int place(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                 struct hn_spot **ret)
{
        struct xen xen = { .world = world, .guest = guest };
        size_t scratch[PEER_NODES_LIMIT];
        int r = peer_find_nodes(world, &xen.all);

        (void) state;
        (void) number;
        if (r < 0)
                return r;
        count_load(&xen);
        for (xen.k = fewest(&xen); xen.k <= xen.all.n && !xen.n_found; xen.k += !xen.n_found) {
                const struct hn_subsets sets = { .n = xen.all.n, .k = xen.k, .visit = visit, .context = &xen };

                hn_subsets_walk(&sets, scratch);
        }
        if (!xen.n_found)
                return hn_lay_anywhere(world, guest, ret);
        return hn_lay_whole(world, guest, xen.best, xen.k, HN_LAY_BY_ROOM, ret);
}

const struct hn_contender peer_xen = {
        .name = "xen",
        .summary = "libxl: the fewest nodes by sums, then fewest vCPUs, then most free memory",
        .place = place,
};
