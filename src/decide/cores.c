/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/cores.h"

#include <errno.h>

#include "model/text.h"

int hn_cores_add_vcpu(struct hn_placement *placement, unsigned vcpu, hwloc_const_bitmap_t cpus)
{
        struct hn_pin *more = reallocarray(placement->vcpu_cpus, placement->n_vcpu_cpus + 1, sizeof *more);

        if (!more)
                return -ENOMEM;
        placement->vcpu_cpus = more;
        more[placement->n_vcpu_cpus] = (struct hn_pin) { .id = vcpu, .cpus = hwloc_bitmap_dup(cpus) };
        if (!more[placement->n_vcpu_cpus].cpus)
                return -ENOMEM;
        placement->n_vcpu_cpus++;
        return 0;
}

/* A search for one cell's cores. */
struct picking {
        const struct hn_task *task;
        hwloc_const_bitmap_t cpus;   /* the cell's */
        hwloc_const_bitmap_t within; /* a cache; NULL: anywhere in the cell */
        hwloc_bitmap_t used;         /* taken by others and by this domain */
};

static bool may_pick(const struct picking *p, const struct hn_core *core)
{
        return hn_idset_count(core->threads) >= p->task->guest_threads
               && hwloc_bitmap_isincluded(core->threads, p->cpus)
               && (!p->within || hwloc_bitmap_isincluded(core->threads, p->within))
               && !hwloc_bitmap_intersects(core->threads, p->used);
}

static size_t count_picks(const struct picking *p, int kind)
{
        size_t n = 0;

        for (size_t i = 0; i < p->task->ground->host->n_cores; i++)
                n += p->task->ground->host->cores[i].kind >= kind
                     && may_pick(p, &p->task->ground->host->cores[i]);
        return n;
}

/* The fastest kind, the lowest CPU among equals; NULL: none left. */
static const struct hn_core *pick(const struct picking *p)
{
        const struct hn_host *host = p->task->ground->host;
        const struct hn_core *best = NULL;

        for (size_t i = 0; i < host->n_cores; i++) {
                const struct hn_core *core = &host->cores[i];

                if (!may_pick(p, core) || (best && core->kind < best->kind))
                        continue;
                if (!best || core->kind > best->kind
                    || hwloc_bitmap_first(core->threads) < hwloc_bitmap_first(best->threads))
                        best = core;
        }
        return best;
}

/* Stays within one cache where that holds all `n` cores of the fastest kind left: that with the fewest to
 * spare, so that the larger ones stay whole. */
static void choose_cache(struct picking *p, size_t n)
{
        const struct hn_host *host = p->task->ground->host;
        const struct hn_core *fastest = pick(p);
        size_t best_spare = SIZE_MAX;
        hwloc_const_bitmap_t best = NULL;

        for (size_t i = 0; fastest && i < host->n_caches; i++) {
                size_t free_cores;

                p->within = host->caches[i].cpus;
                free_cores = count_picks(p, fastest->kind);
                if (free_cores >= n && free_cores - n < best_spare) {
                        best_spare = free_cores - n;
                        best = p->within;
                }
        }
        p->within = best;
}

/* One guest core: sibling vCPUs on sibling threads; a single one has the whole core. */
static int pin_core(const struct picking *p, const struct hn_core *core, hwloc_const_bitmap_t vcpus,
                    struct hn_placement *placement)
{
        HN_BITMAP hwloc_bitmap_t thread = hwloc_bitmap_alloc();
        int cpu = -1, r = 0;

        if (!thread)
                return -ENOMEM;
        HN_IDSET_FOREACH(vcpu, vcpus) {
                cpu = hwloc_bitmap_next(core->threads, cpu);
                if (p->task->guest_threads == 1)
                        r = hn_cores_add_vcpu(placement, (unsigned) vcpu, core->threads);
                else {
                        if (cpu < 0 || hwloc_bitmap_only(thread, (unsigned) cpu) < 0)
                                return -ENOMEM;
                        r = hn_cores_add_vcpu(placement, (unsigned) vcpu, thread);
                }
                if (r < 0)
                        return r;
        }
        return hwloc_bitmap_or(p->used, p->used, core->threads) < 0 ? -ENOMEM : 0;
}

/* The vCPUs of one guest core within a cell that the user has not pinned. */
static int core_vcpus(const struct hn_task *task, hwloc_const_bitmap_t cell, int first, hwloc_bitmap_t ret)
{
        int threads = (int) task->guest_threads, end = (first / threads + 1) * threads;

        hwloc_bitmap_zero(ret);
        for (int vcpu = first; vcpu >= 0 && vcpu < end; vcpu = hwloc_bitmap_next(cell, vcpu))
                if (!task->user_cpus[vcpu] && hwloc_bitmap_set(ret, (unsigned) vcpu) < 0)
                        return -ENOMEM;
        return 0;
}

static int pin_cell(struct picking *p, const struct hn_placed_cell *cell, size_t n_cores,
                    struct hn_placement *placement, bool *ret_enough)
{
        HN_BITMAP hwloc_bitmap_t vcpus = hwloc_bitmap_alloc();
        int last = -1;

        if (!vcpus)
                return -ENOMEM;
        p->cpus = cell->cpus;
        p->within = NULL;
        choose_cache(p, n_cores);
        HN_IDSET_FOREACH(vcpu, cell->vcpus) {
                const struct hn_core *core;
                int r;

                if (p->task->user_cpus[vcpu] || vcpu / (int) p->task->guest_threads == last)
                        continue;
                last = vcpu / (int) p->task->guest_threads;
                core = pick(p);
                if (!core) {
                        *ret_enough = false;
                        return 0;
                }
                r = core_vcpus(p->task, cell->vcpus, vcpu, vcpus);
                if (r >= 0)
                        r = pin_core(p, core, vcpus, placement);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Cores of this domain's user pins are not free either. */
static int start_used(const struct hn_task *task, const struct hn_placement *placement, hwloc_bitmap_t *ret)
{
        *ret = hwloc_bitmap_dup(task->ground->taken);
        if (!*ret)
                return -ENOMEM;
        for (size_t v = 0; v < placement->n_vcpu_cpus; v++)
                if (hwloc_bitmap_or(*ret, *ret, placement->vcpu_cpus[v].cpus) < 0)
                        return -ENOMEM;
        return 0;
}

static void drop_from(struct hn_placement *placement, size_t n)
{
        while (placement->n_vcpu_cpus > n)
                hwloc_bitmap_free(placement->vcpu_cpus[--placement->n_vcpu_cpus].cpus);
}

int hn_cores_pin(const struct hn_task *task, struct hn_placement *placement, char **ret_note)
{
        HN_BITMAP hwloc_bitmap_t used = NULL;
        size_t before = placement->n_vcpu_cpus;
        struct picking p = { .task = task };
        bool enough = true;
        int r = start_used(task, placement, &used);

        p.used = used;
        for (size_t i = 0; r >= 0 && enough && i < placement->n_cells; i++)
                if (task->needs[i].n_cores)
                        r = pin_cell(&p, &placement->cells[i], task->needs[i].n_cores, placement, &enough);
        if (r < 0 || enough)
                return r;
        drop_from(placement, before);
        return hn_text_add(ret_note, "not enough free cores for a core of its own for each guest core: "
                                     "its vCPUs float");
}
