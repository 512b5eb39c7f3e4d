/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/peers/peers.h"

#include <errno.h>

int peer_find_nodes(const struct hn_world *world, struct peer_nodes *ret)
{
        if (world->host->n_nodes > PEER_NODES_LIMIT)
                return -E2BIG;
        ret->n = hn_lay_homes(world, ret->nodes);
        return 0;
}

double peer_vcpus(const struct hn_world *world, size_t at)
{
        return world->nodes[at].demand / world->busy;
}

unsigned peer_distance(const struct hn_world *world, size_t a, size_t b)
{
        return world->host->distances[a * world->host->n_nodes + b];
}

size_t peer_cells(const struct hn_world *world, const struct peer_nodes *all, const struct hn_trace_guest *guest,
                  bool by_capacity)
{
        uint64_t memory = 0;
        double cpus = 0;

        for (size_t i = 0; i < all->n; i++) {
                const struct hn_world_node *node = &world->nodes[all->nodes[i]];
                double mine = by_capacity ? node->capacity : world->host->nodes[all->nodes[i]].n_threads;

                memory = node->usable_kib > memory ? node->usable_kib : memory;
                cpus = mine > cpus ? mine : cpus;
        }
        for (size_t k = 1; k <= all->n; k++)
                if (guest->vcpus % k == 0 && guest->vcpus / (double) k <= cpus
                    && hn_world_wanted_kib(world, guest) / k < memory)
                        return k;
        return 0;
}
