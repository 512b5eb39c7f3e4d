/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/world.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "decide/fit.h"
#include "model/array.h"

#define SETTLE_ROUNDS 3 /* vCPUs that may choose find their place in so many rounds, near enough */

int hn_world_new(const struct hn_host *host, const struct hn_policy *policy, double busy, struct hn_world **ret)
{
        HN_WORLD struct hn_world *world = calloc(1, sizeof *world);

        if (!world)
                return -ENOMEM;
        world->host = host;
        world->policy = policy;
        world->busy = busy;
        world->nodes = calloc(host->n_nodes + 1, sizeof *world->nodes);
        if (!world->nodes)
                return -ENOMEM;
        for (size_t at = 0; at < host->n_nodes; at++)
                if (host->nodes[at].role == HN_NODE_HOME)
                        world->nodes[at] = (struct hn_world_node) {
                                .capacity = (double) hn_capacity_milli(policy, &host->nodes[at]) / 1000,
                                .usable_kib = hn_usable_kib(policy, &host->nodes[at], 0),
                        };
        *ret = HN_TAKE(world);
        return 0;
}

static void clear_resident(struct hn_resident *resident)
{
        hn_spot_free(resident->spot);
        hn_spot_free(resident->from);
}

void hn_world_free(struct hn_world *world)
{
        if (!world)
                return;
        for (size_t i = 0; i < world->n_residents; i++)
                clear_resident(&world->residents[i]);
        free(world->residents);
        free(world->nodes);
        free(world);
}

uint64_t hn_world_wanted_kib(const struct hn_world *world, const struct hn_trace_guest *guest)
{
        return hn_add(guest->memory_kib, hn_overhead_kib(world->policy, guest->memory_kib));
}

uint64_t hn_world_room_kib(const struct hn_world *world, size_t at)
{
        return hn_subtract(world->nodes[at].usable_kib, world->nodes[at].used_kib);
}

uint64_t hn_world_total_room_kib(const struct hn_world *world)
{
        uint64_t sum = 0;

        for (size_t at = 0; at < world->host->n_nodes; at++)
                sum = hn_add(sum, hn_world_room_kib(world, at));
        return sum;
}

bool hn_world_fits_node(const struct hn_world *world, const struct hn_trace_guest *guest)
{
        for (size_t at = 0; at < world->host->n_nodes; at++)
                if (guest->vcpus <= world->nodes[at].capacity
                    && hn_world_wanted_kib(world, guest) <= hn_world_room_kib(world, at))
                        return true;
        return false;
}

static bool is_whole(const struct hn_world *world, const struct hn_trace_guest *guest, const struct hn_spot *spot)
{
        uint64_t vcpus = 0, memory = 0;

        if (spot->n_nodes != world->host->n_nodes)
                return false;
        for (size_t cell = 0; cell < spot->n_cells; cell++) {
                bool runs = false;

                vcpus += spot->vcpus[cell];
                for (size_t at = 0; at < spot->n_nodes; at++) {
                        memory += spot->memory_kib[cell * spot->n_nodes + at];
                        runs |= spot->runs[cell * spot->n_nodes + at] && world->nodes[at].capacity > 0;
                }
                if (!runs)
                        return false;
        }
        return vcpus == guest->vcpus && memory == hn_world_wanted_kib(world, guest);
}

/* Lays a spot's memory on the nodes in place of another's (NULL: of none). */
static bool take_memory(struct hn_world *world, const struct hn_spot *spot, const struct hn_spot *before)
{
        for (size_t at = 0; at < world->host->n_nodes; at++) {
                uint64_t freed = before ? hn_spot_memory_kib(before, at) : 0;

                if (hn_spot_memory_kib(spot, at) > hn_world_room_kib(world, at) + freed)
                        return false;
        }
        for (size_t at = 0; at < world->host->n_nodes; at++) {
                world->nodes[at].used_kib -= before ? hn_spot_memory_kib(before, at) : 0;
                world->nodes[at].used_kib += hn_spot_memory_kib(spot, at);
        }
        return true;
}

int hn_world_start(struct hn_world *world, const struct hn_trace_guest *guest, size_t number, struct hn_spot *spot)
{
        struct hn_resident *residents = hn_array_grow(world->residents, world->n_residents, sizeof *residents);

        if (!residents)
                return -ENOMEM;
        world->residents = residents;
        if (!is_whole(world, guest, spot) || !take_memory(world, spot, NULL))
                return -EINVAL;
        world->residents[world->n_residents++] = (struct hn_resident) {
                .guest = guest, .number = number, .since_s = world->now_s, .spot = spot,
                .until_s = world->now_s + guest->lifetime_s,
        };
        return 0;
}

int hn_world_move(struct hn_world *world, size_t resident, struct hn_spot *spot, uint64_t *ret_kib)
{
        struct hn_resident *r = &world->residents[resident];
        uint64_t kib = 0;

        if (!is_whole(world, r->guest, spot) || !take_memory(world, spot, r->spot))
                return -EINVAL;
        for (size_t at = 0; at < spot->n_nodes; at++)
                kib += hn_subtract(hn_spot_memory_kib(spot, at), hn_spot_memory_kib(r->spot, at));
        world->copied_s = (world->copied_s > world->now_s ? world->copied_s : world->now_s)
                          + (double) kib / HN_WORLD_COPY_KIB_PER_S;
        r->copied_s = world->copied_s;
        hn_spot_free(r->from);
        r->from = r->spot;
        r->spot = spot;
        *ret_kib = kib;
        return 0;
}

void hn_world_stop(struct hn_world *world, size_t resident)
{
        struct hn_resident *r = &world->residents[resident];

        for (size_t at = 0; at < world->host->n_nodes; at++)
                world->nodes[at].used_kib -= hn_spot_memory_kib(r->spot, at);
        clear_resident(r);
        *r = world->residents[--world->n_residents];
}

static size_t count_runs(const struct hn_spot *spot, size_t cell)
{
        size_t n = 0;

        for (size_t at = 0; at < spot->n_nodes; at++)
                n += spot->runs[cell * spot->n_nodes + at];
        return n;
}

static void set_share(struct hn_world *world, struct hn_spot *spot, size_t cell, size_t at, double share)
{
        double *now = &spot->share[cell * spot->n_nodes + at];

        world->nodes[at].demand += (share - *now) * world->busy;
        *now = share;
}

/* Pours a cell's vCPUs over its nodes: the level is that at which all of it is in. */
static void pour(struct hn_world *world, struct hn_spot *spot, size_t cell)
{
        const bool *runs = &spot->runs[cell * spot->n_nodes];
        double water = spot->vcpus[cell] * world->busy, level = INFINITY, before;

        for (size_t at = 0; at < spot->n_nodes; at++)
                set_share(world, spot, cell, at, 0);
        do {
                double demand = water, capacity = 0;

                before = level;
                for (size_t at = 0; at < spot->n_nodes; at++) {
                        const struct hn_world_node *node = &world->nodes[at];

                        if (runs[at] && node->capacity > 0 && node->demand / node->capacity < before) {
                                demand += node->demand;
                                capacity += node->capacity;
                        }
                }
                level = demand / capacity;
        } while (level < before);
        for (size_t at = 0; at < spot->n_nodes; at++) {
                double room = level * world->nodes[at].capacity - world->nodes[at].demand;

                if (runs[at] && room > 0)
                        set_share(world, spot, cell, at, room / world->busy);
        }
}

void hn_world_settle(struct hn_world *world)
{
        for (size_t at = 0; at < world->host->n_nodes; at++)
                world->nodes[at].demand = 0;
        for (size_t i = 0; i < world->n_residents; i++) {
                struct hn_spot *spot = world->residents[i].spot;

                for (size_t j = 0; j < spot->n_cells * spot->n_nodes; j++) {
                        size_t cell = j / spot->n_nodes;
                        bool alone = spot->runs[j] && count_runs(spot, cell) == 1;
                        double share = alone ? spot->vcpus[cell] : spot->runs[j] ? spot->share[j] : 0;

                        spot->share[j] = 0;
                        set_share(world, spot, cell, j % spot->n_nodes, share);
                }
        }
        for (int round = 0; round < SETTLE_ROUNDS; round++)
                for (size_t i = 0; i < world->n_residents; i++)
                        for (size_t cell = 0; cell < world->residents[i].spot->n_cells; cell++)
                                if (count_runs(world->residents[i].spot, cell) > 1)
                                        pour(world, world->residents[i].spot, cell);
}
