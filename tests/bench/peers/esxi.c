/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * In the manner of ESXi: a home node by load at power-on, wide guests on near nodes, and every 2 s a guest from the most
 * to the least loaded node where they differ by more than 10 %; its memory follows.
 */
#include "bench/peers/peers.h"

#include <errno.h>
#include <math.h>

#define PERIOD_S 2.0
#define THRESHOLD 0.10

static double load(const struct hn_world *world, size_t at)
{
        return world->nodes[at].demand / world->nodes[at].capacity;
}

/* The k nodes with room for a part each, nearest to `first`, the less loaded among equals; false: not so many. */
static bool near(const struct hn_world *world, const struct peer_nodes *all, size_t first, size_t k, uint64_t part_kib,
                 size_t *ret)
{
        bool taken[PEER_NODES_LIMIT] = { false };

        for (size_t n = 0; n < k; n++) {
                size_t best = all->n;

                for (size_t i = 0; i < all->n; i++) {
                        size_t at = all->nodes[i];
                        unsigned mine = peer_distance(world, first, at), its;

                        if (taken[i] || hn_world_room_kib(world, at) < part_kib)
                                continue;
                        its = best < all->n ? peer_distance(world, first, all->nodes[best]) : UINT32_MAX;
                        if (mine < its || (mine == its && load(world, at) < load(world, all->nodes[best])))
                                best = i;
                }
                if (best == all->n)
                        return false;
                taken[best] = true;
                ret[n] = all->nodes[best];
        }
        return ret[0] == first;
}

static int place(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                 struct hn_spot **ret)
{
        struct peer_nodes all;
        size_t best[PEER_NODES_LIMIT], trial[PEER_NODES_LIMIT], k;
        double least = (double) INFINITY;
        int r = peer_find_nodes(world, &all);

        (void) state;
        (void) number;
        if (r < 0)
                return r;
        k = peer_cells(world, &all, guest, true);
        for (size_t i = 0; k && i < all.n; i++) {
                double sum = 0;

                if (!near(world, &all, all.nodes[i], k, hn_world_wanted_kib(world, guest) / k + 1, trial))
                        continue;
                for (size_t j = 0; j < k; j++)
                        sum += (world->nodes[trial[j]].demand + guest->vcpus * world->busy / (double) k)
                               / world->nodes[trial[j]].capacity;
                if (sum >= least)
                        continue;
                least = sum;
                for (size_t j = 0; j < k; j++)
                        best[j] = trial[j];
        }
        if (isinf(least))
                return hn_lay_anywhere(world, guest, ret);
        return k == 1 ? hn_lay_whole(world, guest, best, 1, HN_LAY_IN_TURN, ret)
                      : hn_lay_cells(world, guest, best, k, ret);
}

/* Is the guest whole on that node? */
static bool lives(const struct hn_resident *resident, size_t at)
{
        return hn_spot_width(resident->spot) == 1 && resident->spot->n_cells == 1 && resident->spot->runs[at];
}

/* The guest whose move leaves the two nodes least apart; SIZE_MAX: none brings them nearer. */
static size_t choose(const struct hn_world *world, size_t from, size_t to)
{
        double least = load(world, from) - load(world, to);
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < world->n_residents; i++) {
                const struct hn_resident *r = &world->residents[i];
                double demand = r->guest->vcpus * world->busy, after;

                if (!lives(r, from) || (r->from && world->now_s < r->copied_s)
                    || hn_world_wanted_kib(world, r->guest) > hn_world_room_kib(world, to))
                        continue;
                after = fabs((world->nodes[from].demand - demand) / world->nodes[from].capacity
                             - (world->nodes[to].demand + demand) / world->nodes[to].capacity);
                if (after < least - 1e-9) {
                        least = after;
                        best = i;
                }
        }
        return best;
}

static int balance(void *state, const struct hn_world *world, struct hn_world_move *ret, size_t limit)
{
        struct peer_nodes all;
        size_t most, least, resident;
        int r = peer_find_nodes(world, &all);

        (void) state;
        if (r < 0 || limit == 0)
                return r;
        most = least = all.nodes[0];
        for (size_t i = 1; i < all.n; i++) {
                most = load(world, all.nodes[i]) > load(world, most) ? all.nodes[i] : most;
                least = load(world, all.nodes[i]) < load(world, least) ? all.nodes[i] : least;
        }
        if (load(world, most) - load(world, least) <= THRESHOLD)
                return 0;
        resident = choose(world, most, least);
        if (resident == SIZE_MAX)
                return 0;
        ret->resident = resident;
        r = hn_lay_whole(world, world->residents[resident].guest, &least, 1, HN_LAY_IN_TURN, &ret->spot);
        return r < 0 ? r : 1;
}

const struct hn_contender peer_esxi = {
        .name = "esxi-like",
        .summary = "home node by load, every 2 s a guest is moved where nodes differ by more than 10 %",
        .place = place,
        .balance = balance,
        .period_s = PERIOD_S,
};
