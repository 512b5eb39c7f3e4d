/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/lay.h"

#include <errno.h>

#include "decide/fit.h"
#include "simulate/contender.h"

size_t hn_lay_homes(const struct hn_world *world, size_t *ret)
{
        size_t n = 0;

        for (size_t at = 0; at < world->host->n_nodes; at++)
                if (world->nodes[at].capacity > 0)
                        ret[n++] = at;
        return n;
}

/* Puts memory of the first cell on a node, as much as there is room for; what is left over. */
static uint64_t put(const struct hn_world *world, struct hn_spot *spot, size_t at, uint64_t kib)
{
        uint64_t room = hn_subtract(hn_world_room_kib(world, at), spot->memory_kib[at]);
        uint64_t part = kib < room ? kib : room;

        spot->memory_kib[at] += part;
        return kib - part;
}

static uint64_t put_by_room(const struct hn_world *world, struct hn_spot *spot, const size_t *nodes, size_t k,
                            uint64_t kib)
{
        uint64_t total = 0, left = kib;

        for (size_t i = 0; i < k; i++)
                total += hn_world_room_kib(world, nodes[i]);
        for (size_t i = 0; total && i < k; i++) {
                double part = (double) hn_world_room_kib(world, nodes[i]) / (double) total;
                uint64_t mine = (uint64_t) ((double) kib * part);

                mine = mine < left ? mine : left;
                left -= mine - put(world, spot, nodes[i], mine);
        }
        return left;
}

/* The rest goes to the nodes nearest to one, itself first. */
static void put_near(const struct hn_world *world, struct hn_spot *spot, size_t from, uint64_t kib)
{
        size_t n = world->host->n_nodes;
        const unsigned *distances = &world->host->distances[from * n];
        unsigned reached = 0;

        while (kib) {
                unsigned next = UINT32_MAX;

                for (size_t at = 0; at < n; at++)
                        if (distances[at] > reached && distances[at] < next)
                                next = distances[at];
                if (next == UINT32_MAX)
                        return;
                for (size_t at = 0; at < n; at++)
                        if (distances[at] == next)
                                kib = put(world, spot, at, kib);
                reached = next;
        }
}

int hn_lay_whole(const struct hn_world *world, const struct hn_trace_guest *guest, const size_t *nodes, size_t k,
                 enum hn_lay how, struct hn_spot **ret)
{
        HN_SPOT struct hn_spot *spot = hn_spot_new(1, world->host->n_nodes);
        uint64_t left = hn_world_wanted_kib(world, guest);

        if (!spot)
                return -ENOMEM;
        spot->vcpus[0] = guest->vcpus;
        if (how == HN_LAY_BY_ROOM)
                left = put_by_room(world, spot, nodes, k, left);
        for (size_t i = 0; i < k; i++) {
                spot->runs[nodes[i]] = true;
                left = put(world, spot, nodes[i], left);
        }
        put_near(world, spot, nodes[0], left);
        *ret = HN_TAKE(spot);
        return 0;
}

int hn_lay_cells(const struct hn_world *world, const struct hn_trace_guest *guest, const size_t *nodes, size_t k,
                 struct hn_spot **ret)
{
        HN_SPOT struct hn_spot *spot = hn_spot_new(k, world->host->n_nodes);
        uint64_t wanted = hn_world_wanted_kib(world, guest);

        if (!spot)
                return -ENOMEM;
        spot->cells_seen = true;
        for (size_t i = 0; i < k; i++) {
                uint64_t memory = wanted / k + (i < wanted % k ? 1 : 0);

                if (memory > hn_world_room_kib(world, nodes[i]))
                        return -ENOSPC;
                spot->vcpus[i] = guest->vcpus / (unsigned) k + (i < guest->vcpus % k ? 1 : 0);
                spot->runs[i * spot->n_nodes + nodes[i]] = true;
                spot->memory_kib[i * spot->n_nodes + nodes[i]] = memory;
        }
        *ret = HN_TAKE(spot);
        return 0;
}

int hn_lay_anywhere(const struct hn_world *world, const struct hn_trace_guest *guest, struct hn_spot **ret)
{
        HN_FREE size_t *homes = calloc(world->host->n_nodes + 1, sizeof *homes);

        if (!homes)
                return -ENOMEM;
        return hn_lay_whole(world, guest, homes, hn_lay_homes(world, homes), HN_LAY_BY_ROOM, ret);
}

static int place(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                 struct hn_spot **ret)
{
        (void) state;
        (void) number;
        return hn_lay_anywhere(world, guest, ret);
}

const struct hn_contender hn_contender_libvirt = {
        .name = "libvirt",
        .summary = "guests left to libvirt and the kernel: vCPUs run where there is room for them, memory lies where they ran",
        .place = place,
};
