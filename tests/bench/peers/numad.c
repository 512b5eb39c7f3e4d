/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * numad's advice at start, as libvirt asks for it with placement='auto': a score per node of what it has free of memory and
 * CPUs, the best neighbourhood, filled up node by node.  As it is, it sees what guests have touched and used so far;
 * "reserved" is a numad that knew what all were promised.
 */
#include "bench/peers/peers.h"

#include <errno.h>

#define SMT_PERCENT 20     /* its option -t */
#define MARGIN_MIB 100
#define WINDOW_S 2.0       /* a guest's CPU time shows after that */
#define TOUCHED_AT_ONCE 0.1 /* a guest boots with a tenth of its memory … */
#define TOUCHED_S 600.0    /* … and has touched all ten minutes later */

struct numad {
        const struct hn_world *world;
        struct peer_nodes all;
        uint64_t mib[PEER_NODES_LIMIT], mib_total[PEER_NODES_LIMIT]; /* of the i-th node */
        uint64_t cpus[PEER_NODES_LIMIT], cpus_total[PEER_NODES_LIMIT]; /* hundredths */
        uint64_t magnitude[PEER_NODES_LIMIT];
};

static double touched_part(const struct hn_world *world, const struct hn_resident *resident)
{
        double part = TOUCHED_AT_ONCE + (1 - TOUCHED_AT_ONCE) * (world->now_s - resident->since_s) / TOUCHED_S;

        return part < 1 ? part : 1;
}

static void look_memory(struct numad *numad, bool reserved, size_t i)
{
        const struct hn_world *world = numad->world;
        size_t at = numad->all.nodes[i];
        double used = (double) world->nodes[at].used_kib;

        for (size_t j = 0; !reserved && j < world->n_residents; j++)
                used -= (double) hn_spot_memory_kib(world->residents[j].spot, at)
                        * (1 - touched_part(world, &world->residents[j]));
        numad->mib_total[i] = world->nodes[at].usable_kib / 1024;
        numad->mib[i] = (uint64_t) (((double) world->nodes[at].usable_kib - used) / 1024);
}

/* Idle time, less what further threads are not worth; or what is not promised of it. */
static void look_cpus(struct numad *numad, bool reserved, size_t i)
{
        const struct hn_world *world = numad->world;
        size_t at = numad->all.nodes[i], n = world->host->n_nodes;
        const struct hn_node *node = &world->host->nodes[at];
        double busy = world->nodes[at].demand, idle, further = node->n_threads - node->n_cores;

        numad->cpus_total[i] = node->n_cores * 100 + (uint64_t) (further * SMT_PERCENT);
        for (size_t j = 0; !reserved && j < world->n_residents; j++) {
                const struct hn_spot *spot = world->residents[j].spot;

                for (size_t cell = 0; world->residents[j].since_s + WINDOW_S > world->now_s && cell < spot->n_cells; cell++)
                        busy -= spot->share[cell * n + at] * world->busy;
        }
        if (reserved)
                idle = (double) numad->cpus_total[i] - 100 * busy;
        else
                idle = 100 * (node->n_threads - busy) - further * (100 - SMT_PERCENT);
        idle = idle < 1 ? 1 : idle;
        numad->cpus[i] = (uint64_t) idle < numad->cpus_total[i] ? (uint64_t) idle : numad->cpus_total[i];
}

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static void weigh(struct numad *numad, uint64_t cpus, uint64_t mib)
{
        for (size_t i = 0; i < numad->all.n; i++) {
                uint64_t need_m = least(numad->mib[i], mib), more_m = numad->mib[i] - need_m;
                uint64_t need_c = least(numad->cpus[i], cpus), more_c = numad->cpus[i] - need_c;

                numad->magnitude[i] = (10 * need_m + 4 * more_m) * (6 * need_c + more_c);
        }
}

/* The nodes by distance to one, the better ones first among equals. */
static void sort_around(const struct numad *numad, size_t anchor, size_t *ret)
{
        for (size_t i = 0; i < numad->all.n; i++) {
                size_t j = i;

                for (; j > 0; j--) {
                        unsigned mine = peer_distance(numad->world, numad->all.nodes[anchor], numad->all.nodes[i]);
                        unsigned its = peer_distance(numad->world, numad->all.nodes[anchor], numad->all.nodes[ret[j - 1]]);

                        if (its < mine || (its == mine && numad->magnitude[ret[j - 1]] >= numad->magnitude[i]))
                                break;
                        ret[j] = ret[j - 1];
                }
                ret[j] = i;
        }
}

/* The sizes of the first node stand for all. */
static size_t fewest(const struct numad *numad, uint64_t cpus, uint64_t mib)
{
        size_t by_memory = (size_t) ((mib + numad->mib_total[0] - 1) / numad->mib_total[0]);
        size_t by_cpus = (size_t) ((cpus + numad->cpus_total[0] - 1) / numad->cpus_total[0]);
        size_t k = by_memory > by_cpus ? by_memory : by_cpus;

        return k < numad->all.n ? k : numad->all.n;
}

static size_t find_anchor(const struct numad *numad, size_t k)
{
        uint64_t best = 0;
        size_t anchor = 0, order[PEER_NODES_LIMIT];

        for (size_t i = 0; i < numad->all.n; i++) {
                uint64_t total = 0;

                sort_around(numad, i, order);
                for (size_t j = 0; j < k; j++) {
                        uint64_t d = peer_distance(numad->world, numad->all.nodes[i], numad->all.nodes[order[j]]);

                        total += numad->magnitude[order[j]] / (d * d);
                }
                if (total > best) {
                        best = total;
                        anchor = i;
                }
        }
        return anchor;
}

/* Takes nodes until nothing is wanted any more; a node with less than the margin makes the want grow, as there. */
static size_t fill(const struct numad *numad, const size_t *order, size_t k, int64_t cpus, int64_t mib, size_t *ret)
{
        size_t n = 0;

        while (n < numad->all.n && (n < k || mib > 0 || cpus > 0)) {
                size_t i = order[n];
                int64_t has = (int64_t) numad->mib[i] - MARGIN_MIB;

                ret[n++] = numad->all.nodes[i];
                mib = has >= mib ? 0 : mib - has;
                cpus = (int64_t) numad->cpus[i] >= cpus ? 0 : cpus - (int64_t) numad->cpus[i];
        }
        return n;
}

static int place(const struct hn_world *world, const struct hn_trace_guest *guest, bool reserved, struct hn_spot **ret)
{
        struct numad numad = { .world = world };
        uint64_t cpus = guest->vcpus * UINT64_C(100), mib = hn_world_wanted_kib(world, guest) / 1024;
        size_t order[PEER_NODES_LIMIT], chosen[PEER_NODES_LIMIT], k;
        int r = peer_find_nodes(world, &numad.all);

        if (r < 0)
                return r;
        for (size_t i = 0; i < numad.all.n; i++) {
                look_memory(&numad, reserved, i);
                look_cpus(&numad, reserved, i);
        }
        weigh(&numad, cpus, mib);
        k = fewest(&numad, cpus, mib);
        sort_around(&numad, find_anchor(&numad, k), order);
        k = fill(&numad, order, k, (int64_t) cpus, (int64_t) mib, chosen);
        return hn_lay_whole(world, guest, chosen, k, HN_LAY_BY_ROOM, ret);
}

static int place_as_is(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                       struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return place(world, guest, false, ret);
}

static int place_reserved(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                          struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return place(world, guest, true, ret);
}

const struct hn_contender peer_numad = {
        .name = "numad",
        .summary = "numad's advice, from what guests have touched and used so far",
        .place = place_as_is,
};

const struct hn_contender peer_numad_reserved = {
        .name = "numad-reserved",
        .summary = "numad's advice, from what guests were promised",
        .place = place_reserved,
};
