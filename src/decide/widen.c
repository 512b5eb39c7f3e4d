/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/widen.h"

#include <errno.h>

#include "decide/keep.h"

/* A placement being widened. */
struct widening {
        const struct hn_host *host;
        const struct hn_request *request;
        struct hn_placement *placement;
        hwloc_bitmap_t added; /* to cells */
        bool changed;
};

static void end_widening(struct widening *w)
{
        hn_placement_free(w->placement);
        hwloc_bitmap_free(w->added);
}

static int add(struct widening *w, hwloc_bitmap_t set, hwloc_const_bitmap_t more)
{
        if (hwloc_bitmap_isincluded(more, set))
                return 0;
        w->changed = true;
        return hwloc_bitmap_or(set, set, more) < 0 ? -ENOMEM : 0;
}

/* ---- cells */

static unsigned count_cores(const struct hn_host *host, unsigned node, hwloc_const_bitmap_t cpus)
{
        unsigned n = 0;

        for (size_t i = 0; i < host->n_cores; i++)
                n += host->cores[i].node == node && hwloc_bitmap_intersects(host->cores[i].threads, cpus);
        return n;
}

/* The cache that a cell was put behind on this node: it holds all that the cell has there, and so many vCPUs.  NULL:
 * none, it has the node. */
static hwloc_const_bitmap_t cache_of(const struct widening *w, const struct hn_node *node, hwloc_const_bitmap_t has,
                                     unsigned n_vcpus)
{
        if (hwloc_bitmap_iszero(has) || w->request->wishes.pin_cores)
                return NULL;
        for (size_t i = 0; i < w->host->n_caches; i++) {
                hwloc_const_bitmap_t cpus = w->host->caches[i].cpus;
                unsigned n_cores = count_cores(w->host, node->os, cpus);

                /* nobody is put behind the cache of a single core */
                if (hwloc_bitmap_isincluded(has, cpus) && n_cores > 1 && n_cores >= n_vcpus)
                        return cpus;
        }
        return NULL;
}

static int widen_on(struct widening *w, struct hn_placed_cell *cell, const struct hn_node *node)
{
        HN_BITMAP hwloc_bitmap_t more = hwloc_bitmap_dup(node->cpus), has = hwloc_bitmap_alloc();
        unsigned n_nodes = hn_idset_count(cell->nodes), n_vcpus = hn_idset_count(cell->vcpus);
        hwloc_const_bitmap_t cache;

        if (!more || !has || hwloc_bitmap_and(has, cell->cpus, node->cpus) < 0)
                return -ENOMEM;
        cache = cache_of(w, node, has, (n_vcpus + n_nodes - 1) / n_nodes);
        if ((cache && hwloc_bitmap_and(more, more, cache) < 0) || hwloc_bitmap_andnot(more, more, cell->cpus) < 0 ||
            hwloc_bitmap_or(w->added, w->added, more) < 0)
                return -ENOMEM;
        return add(w, cell->cpus, more);
}

/* A cell that leans on one node has only memory on the others of its home (layout.h), on which others may run. */
static bool leans_elsewhere(const struct widening *w, const struct hn_placed_cell *cell, const struct hn_node *node)
{
        bool others = !hn_placement_milli(w->placement, node->os);

        for (size_t i = 0; i < w->placement->n_cells; i++)
                others |= hwloc_bitmap_intersects(w->placement->cells[i].cpus, node->cpus);
        return others && hn_idset_count(cell->nodes) > 1 && !hwloc_bitmap_intersects(cell->cpus, node->cpus)
               && !hwloc_bitmap_iszero(cell->cpus);
}

static int widen_cell(struct widening *w, struct hn_placed_cell *cell)
{
        int r = 0;

        HN_IDSET_FOREACH(os, cell->nodes) {
                int at = hn_host_at(w->host, (unsigned) os);

                if (r >= 0 && at >= 0 && w->host->nodes[at].role == HN_NODE_HOME
                    && !leans_elsewhere(w, cell, &w->host->nodes[at]))
                        r = widen_on(w, cell, &w->host->nodes[at]);
        }
        return r;
}

/* ---- vCPUs with a core of their own, and the emulator */

static const struct hn_core *core_of(const struct hn_host *host, hwloc_const_bitmap_t cpus)
{
        for (size_t i = 0; i < host->n_cores; i++)
                if (!hwloc_bitmap_iszero(cpus) && hwloc_bitmap_isincluded(cpus, host->cores[i].threads))
                        return &host->cores[i];
        return NULL;
}

static bool is_shared(const struct hn_placement *placement, const struct hn_pin *pin, const struct hn_core *core)
{
        for (size_t i = 0; i < placement->n_vcpu_cpus; i++)
                if (&placement->vcpu_cpus[i] != pin &&
                    hwloc_bitmap_intersects(placement->vcpu_cpus[i].cpus, core->threads))
                        return true;
        return false;
}

/* A guest core of one thread has the whole of its host core. */
static int widen_vcpus(struct widening *w)
{
        int r = 0;

        for (size_t i = 0; r >= 0 && w->request->topology.threads < 2 && i < w->placement->n_vcpu_cpus; i++) {
                struct hn_pin *pin = &w->placement->vcpu_cpus[i];
                const struct hn_core *core = core_of(w->host, pin->cpus);

                if (core && !hn_keep_is_users(w->request, HN_GROUP_VCPU, pin->id) &&
                    !is_shared(w->placement, pin, core))
                        r = add(w, pin->cpus, core->threads);
        }
        return r;
}

/* It has what the cells have, but for cores that are a vCPU's own. */
static int widen_emulator(struct widening *w)
{
        if (hn_keep_is_users(w->request, HN_GROUP_EMULATOR, 0))
                return 0;
        for (size_t i = 0; i < w->placement->n_vcpu_cpus; i++) {
                const struct hn_core *core = core_of(w->host, w->placement->vcpu_cpus[i].cpus);

                if (core && hwloc_bitmap_andnot(w->added, w->added, core->threads) < 0)
                        return -ENOMEM;
        }
        return add(w, w->placement->emulator_cpus, w->added);
}

int hn_home_widen(const struct hn_host *host, const struct hn_request *request, const struct hn_placement *placement,
                  struct hn_placement **ret)
{
        HN_CLEANUP(end_widening) struct widening w = { .host = host, .request = request,
                                                       .placement = hn_placement_copy(placement),
                                                       .added = hwloc_bitmap_alloc() };
        int r = w.placement && w.added ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++)
                r = widen_cell(&w, &w.placement->cells[i]);
        if (r >= 0)
                r = widen_vcpus(&w);
        if (r >= 0)
                r = widen_emulator(&w);
        if (r < 0)
                return r;
        *ret = w.changed ? HN_TAKE(w.placement) : NULL;
        return 0;
}
