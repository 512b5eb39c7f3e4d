/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * First fit, and the kernel's way with guests that keep together.
 */
#include "bench/peers/peers.h"

#include <errno.h>

/* The first k nodes with room for a part each; `cpus`: for its vCPUs besides, one CPU each. */
static size_t first_with_room(const struct hn_world *world, const struct peer_nodes *all,
                              const struct hn_trace_guest *guest, size_t k, bool cpus, size_t *ret)
{
        uint64_t part_kib = hn_world_wanted_kib(world, guest) / k + 1;
        size_t n = 0;

        for (size_t i = 0; i < all->n && n < k; i++) {
                size_t at = all->nodes[i];
                double after = peer_vcpus(world, at) + guest->vcpus / (double) k;

                if (hn_world_room_kib(world, at) >= part_kib && (!cpus || after <= world->host->nodes[at].n_threads))
                        ret[n++] = at;
        }
        return n;
}

static int first_fit(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                     struct hn_spot **ret)
{
        struct peer_nodes all;
        size_t chosen[PEER_NODES_LIMIT], k;
        int r = peer_find_nodes(world, &all);

        (void) state;
        (void) number;
        if (r < 0)
                return r;
        k = peer_cells(world, &all, guest, false);
        for (int cpus = 1; k && cpus >= 0; cpus--)
                if (first_with_room(world, &all, guest, k, cpus, chosen) == k)
                        return k == 1 ? hn_lay_whole(world, guest, chosen, 1, HN_LAY_IN_TURN, ret)
                                      : hn_lay_cells(world, guest, chosen, k, ret);
        return hn_lay_whole(world, guest, all.nodes, all.n, HN_LAY_IN_TURN, ret);
}

const struct hn_contender peer_first_fit = {
        .name = "first-fit",
        .summary = "the first node with memory and CPUs, else with memory, else one after the other is filled",
        .place = first_fit,
};

/* A number that looks random and is the same each time (the finaliser of MurmurHash3). */
static uint64_t scramble(uint64_t x)
{
        x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
        x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
        return x ^ x >> 33;
}

static int kernel_node(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                       struct hn_spot **ret)
{
        struct peer_nodes all;
        size_t at;
        int r = peer_find_nodes(world, &all);

        (void) state;
        if (r < 0)
                return r;
        at = all.nodes[scramble(number + 1) % all.n];
        if (guest->vcpus > world->host->nodes[at].n_threads)
                return hn_lay_anywhere(world, guest, ret);
        return hn_lay_whole(world, guest, &at, 1, HN_LAY_IN_TURN, ret);
}

const struct hn_contender peer_kernel_node = {
        .name = "kernel-node",
        .summary = "threads and memory stay on the node where chance had them start",
        .place = kernel_node,
};
