/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenStack Nova on one host: cells of equal size (as few as its operator needs), host cells sorted by use, the first that
 * fit; else the guest is refused.  CPUs are shared by as many as come.
 */
#include "bench/peers/peers.h"

#include <errno.h>

/* Strongest key CPU use, then free memory; both the other way round for packing. */
static bool before(const struct hn_world *world, size_t a, size_t b, bool pack)
{
        double x = peer_vcpus(world, a), y = peer_vcpus(world, b);
        uint64_t m = hn_world_room_kib(world, a), n = hn_world_room_kib(world, b);

        if (x < y || x > y)
                return pack ? x > y : x < y;
        return pack ? m < n : m > n;
}

static void sort_nodes(const struct hn_world *world, struct peer_nodes *all, bool pack)
{
        for (size_t i = 1; i < all->n; i++)
                for (size_t j = i; j > 0 && before(world, all->nodes[j], all->nodes[j - 1], pack); j--) {
                        size_t at = all->nodes[j];

                        all->nodes[j] = all->nodes[j - 1];
                        all->nodes[j - 1] = at;
                }
}

static int place(const struct hn_world *world, const struct hn_trace_guest *guest, bool pack, struct hn_spot **ret)
{
        struct peer_nodes all;
        size_t chosen[PEER_NODES_LIMIT], n = 0, k;
        int r = peer_find_nodes(world, &all);

        if (r < 0)
                return r;
        sort_nodes(world, &all, pack);
        k = peer_cells(world, &all, guest, false);
        for (size_t i = 0; k && i < all.n && n < k; i++)
                if (hn_world_room_kib(world, all.nodes[i]) > hn_world_wanted_kib(world, guest) / k
                    && guest->vcpus / k <= world->host->nodes[all.nodes[i]].n_threads)
                        chosen[n++] = all.nodes[i];
        return k && n == k ? hn_lay_cells(world, guest, chosen, k, ret) : -ENOSPC;
}

static int place_pack(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                      struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return place(world, guest, true, ret);
}

static int place_spread(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                        struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return place(world, guest, false, ret);
}

const struct hn_contender peer_nova_pack = {
        .name = "nova-pack",
        .summary = "Nova, packing: the first fit among host cells, the most used first",
        .place = place_pack,
};

const struct hn_contender peer_nova_spread = {
        .name = "nova-spread",
        .summary = "Nova, spreading: the first fit among host cells, the least used first",
        .place = place_spread,
};
