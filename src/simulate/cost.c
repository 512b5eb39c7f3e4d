/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/world.h"

/* One guest's accesses being summed up. */
struct sums {
        const struct hn_world *world;
        const struct hn_resident *resident;
        double ns, local; /* of all accesses of a vCPU */
};

/* Memory of a cell on a node, while it is copied half here and half there. */
static double memory_on(const struct sums *s, size_t cell, size_t at)
{
        const struct hn_spot *to = s->resident->spot, *from = s->resident->from;
        size_t i = cell * to->n_nodes + at;

        if (!from || s->world->now_s >= s->resident->copied_s || from->n_cells != to->n_cells)
                return (double) to->memory_kib[i];
        return ((double) to->memory_kib[i] + (double) from->memory_kib[i]) / 2;
}

static double access_ns(const struct hn_host *host, size_t from, size_t to)
{
        unsigned distance = host->distances[from * host->n_nodes + to];

        if (from == to || distance <= HN_DISTANCE_LOCAL)
                return HN_WORLD_LOCAL_NS;
        return HN_WORLD_LOCAL_NS + HN_WORLD_NS_PER_DISTANCE * (distance - HN_DISTANCE_LOCAL);
}

/* Adds the accesses from a node to cells first to last - 1, as a part of all. */
static void add_accesses(struct sums *s, size_t from, size_t first, size_t last, double part)
{
        size_t n = s->resident->spot->n_nodes;
        double memory = 0;

        for (size_t cell = first; cell < last; cell++)
                for (size_t at = 0; at < n; at++)
                        memory += memory_on(s, cell, at);
        for (size_t cell = first; memory > 0 && cell < last; cell++)
                for (size_t at = 0; at < n; at++) {
                        double share = part * memory_on(s, cell, at) / memory;

                        s->ns += share * access_ns(s->world->host, from, at);
                        s->local += from == at ? share : 0;
                }
}

static void count_accesses(struct sums *s, size_t cell, size_t from)
{
        const struct hn_spot *spot = s->resident->spot;

        s->ns = s->local = 0;
        if (!spot->cells_seen || spot->n_cells == 1) {
                add_accesses(s, from, 0, spot->n_cells, 1);
                return;
        }
        add_accesses(s, from, cell, cell + 1, 1 - HN_WORLD_CROSS_SHARE);
        for (size_t other = 0; other < spot->n_cells; other++)
                if (other != cell)
                        add_accesses(s, from, other, other + 1,
                                     HN_WORLD_CROSS_SHARE / (double) (spot->n_cells - 1));
}

/* Demand is a sum of shares: what is above by rounding only is not above. */
static bool overloaded(const struct hn_world_node *node)
{
        return node->demand > node->capacity * (1 + 1e-9);
}

double hn_world_slowdown(const struct hn_world *world, const struct hn_resident *resident, double *ret_local)
{
        const struct hn_spot *spot = resident->spot;
        struct sums s = { .world = world, .resident = resident };
        double slow = 0, local = 0;

        for (size_t i = 0; i < spot->n_cells * spot->n_nodes; i++) {
                const struct hn_world_node *node = &world->nodes[i % spot->n_nodes];
                double part = spot->share[i] / resident->guest->vcpus;
                double wait = overloaded(node) ? node->demand / node->capacity : 1;

                if (part <= 0)
                        continue;
                count_accesses(&s, i / spot->n_nodes, i % spot->n_nodes);
                slow += part * wait * s.ns / HN_WORLD_LOCAL_NS;
                local += part * s.local;
        }
        *ret_local = local;
        return slow;
}

void hn_world_pass(struct hn_world *world, double until_s)
{
        double seconds = until_s - world->now_s;

        for (size_t i = 0; seconds > 0 && i < world->n_residents; i++) {
                struct hn_resident *r = &world->residents[i];
                double local;

                r->work += hn_world_slowdown(world, r, &local) * seconds;
                r->local += local * seconds;
        }
        for (size_t at = 0; seconds > 0 && at < world->host->n_nodes; at++)
                if (overloaded(&world->nodes[at]))
                        world->overloaded_s += seconds;
        world->now_s = until_s;
}
