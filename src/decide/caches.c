/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/ground.h"

#include <errno.h>

#include "decide/fit.h"

/* Which cache each CPU is behind: `n` CPUs, SIZE_MAX for none.  Where caches overlap the first counts. */
struct cache_map {
        size_t n;
        size_t *of;
};

static void free_map(struct cache_map *map)
{
        free(map->of);
}

static int map_caches(const struct hn_host *host, struct cache_map *ret)
{
        int last = -1;

        for (size_t i = 0; i < host->n_caches; i++) {
                int l = hwloc_bitmap_last(host->caches[i].cpus);

                last = l > last ? l : last;
        }
        ret->n = (size_t) (last + 1);
        ret->of = calloc(ret->n + 1, sizeof *ret->of);
        if (!ret->of)
                return -ENOMEM;
        for (size_t cpu = 0; cpu < ret->n; cpu++)
                ret->of[cpu] = SIZE_MAX;
        for (size_t i = host->n_caches; i-- > 0;)
                HN_IDSET_FOREACH(cpu, host->caches[i].cpus)
                        ret->of[cpu] = i;
        return 0;
}

static struct hn_cache_part *find_part(struct hn_ground_node *g, size_t cache)
{
        for (size_t i = 0; i < g->n_parts; i++)
                if (g->parts[i].cache == cache)
                        return &g->parts[i];
        return NULL;
}

/* Counts a core to its node's part of its cache. */
static int add_core(struct hn_ground *ground, const struct cache_map *map, const struct hn_core *core)
{
        int at = hn_host_at(ground->host, core->node), cpu = hwloc_bitmap_first(core->threads);
        unsigned threads = hn_idset_count(core->threads);
        struct hn_ground_node *g;
        struct hn_cache_part *part;
        size_t cache;

        if (at < 0 || cpu < 0 || (size_t) cpu >= map->n || map->of[cpu] == SIZE_MAX)
                return 0;
        g = &ground->nodes[at];
        cache = map->of[cpu];
        part = find_part(g, cache);
        if (!part) {
                part = reallocarray(g->parts, g->n_parts + 1, sizeof *part);
                if (!part)
                        return -ENOMEM;
                g->parts = part;
                part = &g->parts[g->n_parts++];
                *part = (struct hn_cache_part) { .cache = cache, .first_cpu = (unsigned) cpu };
        }
        if ((unsigned) cpu < part->first_cpu)
                part->first_cpu = (unsigned) cpu;
        part->n_cores++;
        part->capacity_milli += 1000 + (threads - 1) * UINT64_C(10) * ground->policy->smt_percent;
        return 0;
}

/* Floating vCPUs are taken to be spread evenly over their CPUs. */
static void add_crowd(struct hn_ground *ground, const struct cache_map *map,
                      const struct hn_placed_cell *cell)
{
        uint64_t milli = hn_idset_count(cell->vcpus) * UINT64_C(1000);
        unsigned n_cpus = hn_idset_count(cell->cpus);

        HN_IDSET_FOREACH(cpu, cell->cpus) {
                size_t cache = (size_t) cpu < map->n ? map->of[cpu] : SIZE_MAX;

                for (size_t at = 0; cache != SIZE_MAX && at < ground->host->n_nodes; at++) {
                        struct hn_ground_node *g = &ground->nodes[at];
                        struct hn_cache_part *part =
                                g->n_parts && hwloc_bitmap_isset(g->node->cpus, (unsigned) cpu)
                                        ? find_part(g, cache) : NULL;

                        if (part) {
                                part->crowd_milli = hn_add(part->crowd_milli, milli / n_cpus);
                                break;
                        }
                }
        }
}

int hn_ground_caches(struct hn_ground *ground, const struct hn_request *request)
{
        const struct hn_situation *situation = ground->situation;
        HN_CLEANUP(free_map) struct cache_map map = { 0 };
        bool several = false;
        int r = map_caches(ground->host, &map);

        for (size_t i = 0; r >= 0 && i < ground->host->n_cores; i++)
                r = add_core(ground, &map, &ground->host->cores[i]);
        if (r < 0)
                return r;
        for (size_t at = 0; at < ground->host->n_nodes; at++)
                several |= ground->nodes[at].n_parts > 1;
        for (size_t i = 0; several && i < situation->n_placements; i++) {
                const struct hn_placement *placement = situation->placements[i];

                for (size_t c = 0; hn_ground_counts(placement, request) && c < placement->n_cells; c++)
                        add_crowd(ground, &map, &placement->cells[c]);
        }
        return 0;
}
