/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kubelet's topology manager, policy best-effort: CPU and memory manager each say which sets of nodes would do, the
 * narrowest common one wins, by lower numbers or (closest) by distance.  CPUs are taken one per vCPU as long as
 * there are any; after that the CPU manager has no say.
 */
#include "bench/peers/peers.h"

#include <errno.h>

#define NODES_LIMIT 8u /* maxAllowableNUMANodes */
#define MASKS (1u << NODES_LIMIT)

/* What one manager says. */
struct hints {
        bool would_do[MASKS], preferred[MASKS];
        bool any;
        unsigned narrowest; /* bits of the narrowest set that would do */
};

struct kubelet {
        const struct hn_world *world;
        struct peer_nodes all;
        bool closest;
        unsigned n_masks;
        struct hints cpus, memory;
};

static unsigned bits(unsigned mask)
{
        return (unsigned) __builtin_popcount(mask);
}

static double sum(const struct kubelet *kubelet, const double *values, unsigned mask)
{
        double all = 0;

        for (unsigned i = 0; i < kubelet->all.n; i++)
                all += mask >> i & 1 ? values[i] : 0;
        return all;
}

/* Preferred are sets as small as the smallest that holds it when all is free. */
static void hint(const struct kubelet *kubelet, const double *total, const double *unused, double wanted,
                 struct hints *ret)
{
        unsigned least = NODES_LIMIT + 1;

        *ret = (struct hints) { .narrowest = NODES_LIMIT + 1 };
        for (unsigned mask = 1; mask < kubelet->n_masks; mask++)
                if (sum(kubelet, total, mask) >= wanted && bits(mask) < least)
                        least = bits(mask);
        for (unsigned mask = 1; mask < kubelet->n_masks; mask++) {
                ret->would_do[mask] = sum(kubelet, unused, mask) >= wanted;
                ret->preferred[mask] = ret->would_do[mask] && bits(mask) == least;
                ret->any |= ret->would_do[mask];
                if (ret->would_do[mask] && bits(mask) < ret->narrowest)
                        ret->narrowest = bits(mask);
        }
}

static double mean_distance(const struct kubelet *kubelet, unsigned mask)
{
        double all = 0;

        for (unsigned i = 0; i < kubelet->all.n; i++)
                for (unsigned j = 0; j < kubelet->all.n; j++)
                        if (mask >> i & 1 && mask >> j & 1)
                                all += peer_distance(kubelet->world, kubelet->all.nodes[i], kubelet->all.nodes[j]);
        return all / (bits(mask) * bits(mask));
}

/* Fewer nodes, then (closest) nearer ones, then lower numbers; masks come in ascending order. */
static bool narrower(const struct kubelet *kubelet, unsigned mask, unsigned than)
{
        if (bits(mask) != bits(than))
                return bits(mask) < bits(than);
        if (kubelet->closest) {
                double a = mean_distance(kubelet, mask), b = mean_distance(kubelet, than);

                if (a < b || a > b)
                        return a < b;
        }
        return mask < than;
}

/* Sets that are not preferred: the nearest in size to what the managers want at least. */
static bool better(const struct kubelet *kubelet, unsigned mask, unsigned than, unsigned want)
{
        if (!than)
                return true;
        if (bits(than) > want)
                return narrower(kubelet, mask, than);
        if (bits(than) == want)
                return bits(mask) == want && narrower(kubelet, mask, than);
        return bits(mask) <= want && (bits(mask) > bits(than)
                                      || (bits(mask) == bits(than) && narrower(kubelet, mask, than)));
}

static unsigned merge(const struct kubelet *kubelet)
{
        const struct hints *a = &kubelet->cpus, *b = &kubelet->memory;
        unsigned best = 0, want = a->any && a->narrowest > b->narrowest ? a->narrowest : b->narrowest;

        for (unsigned mask = 1; mask < kubelet->n_masks; mask++)
                if (b->preferred[mask] && (!a->any || a->preferred[mask])
                    && (!best || narrower(kubelet, mask, best)))
                        best = mask;
        for (unsigned mask = 1; !best && !a->any && mask < kubelet->n_masks; mask++)
                if (b->would_do[mask] && better(kubelet, mask, best, want))
                        best = mask;
        if (best || !a->any)
                return best;
        for (unsigned x = 1; x < kubelet->n_masks; x++)
                for (unsigned y = 1; a->would_do[x] && y < kubelet->n_masks; y++)
                        if (b->would_do[y] && x & y && better(kubelet, x & y, best, want))
                                best = x & y;
        return best;
}

static int place(const struct hn_world *world, const struct hn_trace_guest *guest, bool closest, struct hn_spot **ret)
{
        struct kubelet kubelet = { .world = world, .closest = closest };
        double total[NODES_LIMIT] = { 0 }, unused[NODES_LIMIT] = { 0 };
        size_t chosen[NODES_LIMIT], n = 0;
        unsigned mask;
        int r = peer_find_nodes(world, &kubelet.all);

        if (r >= 0 && kubelet.all.n > NODES_LIMIT)
                r = -E2BIG;
        if (r < 0)
                return r;
        kubelet.n_masks = 1u << kubelet.all.n;
        for (size_t i = 0; i < kubelet.all.n; i++) {
                total[i] = world->host->nodes[kubelet.all.nodes[i]].n_threads;
                unused[i] = total[i] - peer_vcpus(world, kubelet.all.nodes[i]);
                unused[i] = unused[i] > 0 ? unused[i] : 0;
        }
        hint(&kubelet, total, unused, guest->vcpus, &kubelet.cpus);
        for (size_t i = 0; i < kubelet.all.n; i++) {
                total[i] = (double) world->nodes[kubelet.all.nodes[i]].usable_kib;
                unused[i] = (double) hn_world_room_kib(world, kubelet.all.nodes[i]);
        }
        hint(&kubelet, total, unused, (double) hn_world_wanted_kib(world, guest), &kubelet.memory);
        mask = merge(&kubelet);
        for (size_t i = 0; i < kubelet.all.n; i++)
                if (mask >> i & 1)
                        chosen[n++] = kubelet.all.nodes[i];
        return n ? hn_lay_whole(world, guest, chosen, n, HN_LAY_BY_ROOM, ret) : hn_lay_anywhere(world, guest, ret);
}

static int place_best_effort(void *state, const struct hn_world *world, const struct hn_trace_guest *guest,
                             size_t number, struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return place(world, guest, false, ret);
}

static int place_closest(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                         struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return place(world, guest, true, ret);
}

const struct hn_contender peer_kubelet = {
        .name = "kubelet",
        .summary = "the topology manager, best-effort: the narrowest set of nodes, lower numbers first",
        .place = place_best_effort,
};

const struct hn_contender peer_kubelet_closest = {
        .name = "kubelet-closest",
        .summary = "the same, nearer nodes first",
        .place = place_closest,
};
