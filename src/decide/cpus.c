/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/cpus.h"

#include <errno.h>

#include "decide/cores.h"
#include "model/text.h"

/* (a + own) / a_capacity < (b + own) / b_capacity, and the like */
static double fullness(uint64_t milli, uint64_t own, uint64_t capacity)
{
        return capacity ? (double) (milli + own) / (double) capacity : 1e9;
}

static struct hn_cache_part *emptiest_part(const struct hn_ground_node *node, uint64_t own)
{
        struct hn_cache_part *best = NULL;

        for (size_t i = 0; i < node->n_parts; i++) {
                struct hn_cache_part *part = &node->parts[i];
                double full = fullness(part->crowd_milli, own, part->capacity_milli), best_full;

                /* a cache of a single core is no place to float in */
                if (part->n_cores < 2 || part->n_cores * 1000 < own)
                        continue;
                best_full = best ? fullness(best->crowd_milli, own, best->capacity_milli) : 0;
                if (!best || full < best_full || (!(full > best_full) && part->first_cpu < best->first_cpu))
                        best = part;
        }
        return best;
}

struct hn_cache_part *hn_cpus_cache(const struct hn_ground_node *node, const struct hn_need *need,
                                    double *ret_loss)
{
        uint64_t own = need->n_vcpus * UINT64_C(1000);
        struct hn_cache_part *part = NULL;

        *ret_loss = 0;
        if (node->n_parts > 1 && own && !need->n_cores)
                part = emptiest_part(node, own);
        if (!part)
                return NULL;
        if (part->crowd_milli + own <= part->n_cores * 1000
            || fullness(part->crowd_milli, own, part->capacity_milli)
                       <= fullness(node->demand_milli, own, node->capacity_milli))
                return part;
        *ret_loss = 1 - 1 / (double) node->n_parts;
        return NULL;
}

void hn_cpus_count_free(struct hn_ground *ground, unsigned threads)
{
        for (size_t i = 0; i < ground->host->n_cores; i++) {
                const struct hn_core *core = &ground->host->cores[i];
                int at = hn_host_at(ground->host, core->node);

                if (at >= 0 && hn_idset_count(core->threads) >= threads
                    && !hwloc_bitmap_intersects(core->threads, ground->taken))
                        ground->nodes[at].free_cores++;
        }
}

/* All CPUs of the cell's nodes, or those of one cache.  The cell's vCPUs then crowd that cache for the cells
 * that come after.  One that leans on a node has its CPUs already (place.c). */
static int choose_cell(const struct hn_task *task, size_t i, struct hn_placement *placement)
{
        struct hn_placed_cell *cell = &placement->cells[i];
        const struct hn_host *host = task->ground->host;
        struct hn_cache_part *part = NULL;
        double loss;

        if (!hwloc_bitmap_iszero(cell->cpus))
                return 0;
        HN_IDSET_FOREACH(os, cell->nodes) {
                int at = hn_host_at(host, (unsigned) os);

                if (at < 0 || hwloc_bitmap_or(cell->cpus, cell->cpus, host->nodes[at].cpus) < 0)
                        return -ENOMEM;
                if (!task->needs[i].fixed && hn_idset_count(cell->nodes) == 1)
                        part = hn_cpus_cache(&task->ground->nodes[at], &task->needs[i], &loss);
        }
        if (!part)
                return 0;
        part->crowd_milli += task->needs[i].n_vcpus * UINT64_C(1000);
        return hwloc_bitmap_and(cell->cpus, cell->cpus, host->caches[part->cache].cpus) < 0 ? -ENOMEM : 0;
}

/* Those of the CPUs that guests may use. */
static int usable_part(const struct hn_task *task, hwloc_const_bitmap_t cpus, hwloc_bitmap_t ret)
{
        hwloc_bitmap_zero(ret);
        HN_IDSET_FOREACH(cpu, cpus)
                if (hn_task_home(task, cpu) >= 0 && hwloc_bitmap_set(ret, (unsigned) cpu) < 0)
                        return -ENOMEM;
        return 0;
}

static int add_user_pins(const struct hn_task *task, struct hn_placement *placement)
{
        HN_BITMAP hwloc_bitmap_t usable = hwloc_bitmap_alloc();
        hwloc_const_bitmap_t last = NULL;
        int r = usable ? 0 : -ENOMEM;

        for (unsigned vcpu = 0; r >= 0 && vcpu < task->request->vcpus_max; vcpu++) {
                hwloc_const_bitmap_t cpus = task->user_cpus[vcpu];

                if (!cpus)
                        continue;
                if (cpus != last)
                        r = usable_part(task, cpus, usable);
                if (r >= 0)
                        r = hn_cores_add_vcpu(placement, vcpu, usable);
                last = cpus;
        }
        return r;
}

/* Cores that a vCPU of this domain has for itself. */
static int own_cores(const struct hn_ground *ground, const struct hn_placement *placement, hwloc_bitmap_t ret)
{
        for (size_t v = 0; v < placement->n_vcpu_cpus; v++) {
                const struct hn_core *core = hn_ground_core(ground, placement->vcpu_cpus[v].cpus);

                if (core && hwloc_bitmap_or(ret, ret, core->threads) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Where the user pinned the emulator, else the cells' CPUs but for vCPUs' own cores.  Without a pin of its
 * own libvirt gives the emulator what <vcpu cpuset> says. */
static int choose_emulator(const struct hn_task *task, struct hn_placement *placement)
{
        const struct hn_request *request = task->request;
        HN_BITMAP hwloc_bitmap_t own = hwloc_bitmap_alloc();
        hwloc_bitmap_t cpus = placement->emulator_cpus;
        int r;

        if (!own)
                return -ENOMEM;
        if (request->emulator_pin || request->vcpu_cpuset)
                return usable_part(task, request->emulator_pin ? request->emulator_pin : request->vcpu_cpuset,
                                   cpus);
        for (size_t i = 0; i < placement->n_cells; i++)
                if (hwloc_bitmap_or(cpus, cpus, placement->cells[i].cpus) < 0)
                        return -ENOMEM;
        r = own_cores(task->ground, placement, own);
        if (r < 0)
                return r;
        if (hwloc_bitmap_isincluded(cpus, own))
                return 0;
        return hwloc_bitmap_andnot(cpus, cpus, own) < 0 ? -ENOMEM : 0;
}

int hn_cpus_choose(const struct hn_task *task, struct hn_placement *placement, char **ret_note)
{
        int r = 0;

        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++)
                r = choose_cell(task, i, placement);
        if (r >= 0)
                r = add_user_pins(task, placement);
        if (r >= 0 && task->request->wishes.pin_cores)
                r = hn_cores_pin(task, placement, ret_note);
        if (r >= 0)
                r = choose_emulator(task, placement);
        return r;
}
