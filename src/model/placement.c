/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/placement.h"

#include <errno.h>
#include <string.h>

struct hn_placement *hn_placement_new(void)
{
        HN_PLACEMENT struct hn_placement *placement = calloc(1, sizeof *placement);

        if (!placement)
                return NULL;
        placement->priority = HN_PRIORITY_NORMAL;
        placement->emulator_cpus = hwloc_bitmap_alloc();
        placement->home = hwloc_bitmap_alloc();
        placement->memory_nodes = hwloc_bitmap_alloc();
        if (!placement->emulator_cpus || !placement->home || !placement->memory_nodes)
                return NULL;
        return HN_TAKE(placement);
}

void hn_placement_free(struct hn_placement *placement)
{
        if (!placement)
                return;
        for (size_t i = 0; placement->cells && i < placement->n_cells; i++) {
                hwloc_bitmap_free(placement->cells[i].vcpus);
                hwloc_bitmap_free(placement->cells[i].nodes);
                hwloc_bitmap_free(placement->cells[i].cpus);
        }
        for (size_t i = 0; placement->vcpu_cpus && i < placement->n_vcpu_cpus; i++)
                hwloc_bitmap_free(placement->vcpu_cpus[i].cpus);
        free(placement->name);
        free(placement->cells);
        free(placement->vcpu_cpus);
        hwloc_bitmap_free(placement->emulator_cpus);
        hwloc_bitmap_free(placement->home);
        hwloc_bitmap_free(placement->memory_nodes);
        free(placement->promises);
        free(placement);
}

static int copy_set(hwloc_bitmap_t *ret, hwloc_const_bitmap_t set)
{
        hwloc_bitmap_free(*ret);
        *ret = hwloc_bitmap_dup(set);
        return *ret ? 0 : -ENOMEM;
}

static int copy_cells(struct hn_placement *to, const struct hn_placement *from)
{
        int r = 0;

        to->cells = calloc(from->n_cells ? from->n_cells : 1, sizeof *to->cells);
        if (!to->cells)
                return -ENOMEM;
        to->n_cells = from->n_cells;
        for (size_t i = 0; r >= 0 && i < from->n_cells; i++) {
                to->cells[i].id = from->cells[i].id;
                to->cells[i].memory_kib = from->cells[i].memory_kib;
                to->cells[i].devices_kib = from->cells[i].devices_kib;
                r = copy_set(&to->cells[i].vcpus, from->cells[i].vcpus);
                if (r >= 0)
                        r = copy_set(&to->cells[i].nodes, from->cells[i].nodes);
                if (r >= 0)
                        r = copy_set(&to->cells[i].cpus, from->cells[i].cpus);
        }
        return r;
}

static int copy_vcpus(struct hn_placement *to, const struct hn_placement *from)
{
        int r = 0;

        to->vcpu_cpus = calloc(from->n_vcpu_cpus ? from->n_vcpu_cpus : 1, sizeof *to->vcpu_cpus);
        if (!to->vcpu_cpus)
                return -ENOMEM;
        to->n_vcpu_cpus = from->n_vcpu_cpus;
        for (size_t i = 0; r >= 0 && i < from->n_vcpu_cpus; i++) {
                to->vcpu_cpus[i].id = from->vcpu_cpus[i].id;
                r = copy_set(&to->vcpu_cpus[i].cpus, from->vcpu_cpus[i].cpus);
        }
        return r;
}

struct hn_placement *hn_placement_copy(const struct hn_placement *placement)
{
        HN_PLACEMENT struct hn_placement *copy = hn_placement_new();

        if (!copy)
                return NULL;
        memcpy(copy->uuid, placement->uuid, sizeof copy->uuid);
        copy->priority = placement->priority;
        if (placement->name && !(copy->name = strdup(placement->name)))
                return NULL;
        if (copy_cells(copy, placement) < 0 || copy_vcpus(copy, placement) < 0 ||
            copy_set(&copy->emulator_cpus, placement->emulator_cpus) < 0 ||
            copy_set(&copy->home, placement->home) < 0 ||
            copy_set(&copy->memory_nodes, placement->memory_nodes) < 0)
                return NULL;
        for (size_t i = 0; i < placement->n_promises; i++)
                if (hn_placement_promise(copy, &placement->promises[i]) < 0)
                        return NULL;
        return HN_TAKE(copy);
}

int hn_placement_replace(struct hn_placement **placement, const struct hn_placement *by)
{
        struct hn_placement *copy = hn_placement_copy(by);

        if (!copy)
                return -ENOMEM;
        hn_placement_free(*placement);
        *placement = copy;
        return 0;
}

static struct hn_promise *find_promise(const struct hn_placement *placement, unsigned node, uint64_t page_kib)
{
        for (size_t i = 0; i < placement->n_promises; i++)
                if (placement->promises[i].node == node && placement->promises[i].page_kib == page_kib)
                        return &placement->promises[i];
        return NULL;
}

static uint64_t sum_up_to(uint64_t limit, uint64_t a, uint64_t b)
{
        return a > limit || b > limit - a ? limit : a + b;
}

int hn_placement_promise(struct hn_placement *placement, const struct hn_promise *promise)
{
        struct hn_promise *p = find_promise(placement, promise->node, promise->page_kib);

        if (!p) {
                p = reallocarray(placement->promises, placement->n_promises + 1, sizeof *p);
                if (!p)
                        return -ENOMEM;
                placement->promises = p;
                p += placement->n_promises++;
                *p = (struct hn_promise) { .node = promise->node, .page_kib = promise->page_kib };
        }
        p->memory_kib = sum_up_to(HN_PLACEMENT_KIB_LIMIT, p->memory_kib, promise->memory_kib);
        p->vcpus_milli = (unsigned) sum_up_to(HN_PLACEMENT_MILLI_LIMIT, p->vcpus_milli, promise->vcpus_milli);
        return 0;
}

int hn_placement_promise_once(struct hn_placement *placement, const struct hn_promise *promise)
{
        if (find_promise(placement, promise->node, promise->page_kib))
                return -EBADMSG;
        return hn_placement_promise(placement, promise);
}

void hn_placement_withdraw(struct hn_placement *placement, const struct hn_promise *promise)
{
        struct hn_promise *p = find_promise(placement, promise->node, promise->page_kib);

        if (!p)
                return;
        p->memory_kib -= promise->memory_kib < p->memory_kib ? promise->memory_kib : p->memory_kib;
        p->vcpus_milli -= promise->vcpus_milli < p->vcpus_milli ? promise->vcpus_milli : p->vcpus_milli;
}

uint64_t hn_placement_memory_kib(const struct hn_placement *placement, unsigned node, uint64_t page_kib)
{
        const struct hn_promise *promise = find_promise(placement, node, page_kib);

        return promise ? promise->memory_kib : 0;
}

uint64_t hn_placement_milli(const struct hn_placement *placement, unsigned node)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < placement->n_promises; i++)
                sum += placement->promises[i].node == node ? placement->promises[i].vcpus_milli : 0;
        return sum;
}

int hn_placement_fold(struct hn_placement *placement)
{
        for (size_t i = 1; i < placement->n_cells; i++) {
                struct hn_placed_cell *first = &placement->cells[0], *cell = &placement->cells[i];

                if (hwloc_bitmap_or(first->vcpus, first->vcpus, cell->vcpus) < 0 ||
                    hwloc_bitmap_or(first->nodes, first->nodes, cell->nodes) < 0 ||
                    hwloc_bitmap_or(first->cpus, first->cpus, cell->cpus) < 0)
                        return -ENOMEM;
                first->memory_kib += cell->memory_kib;
                first->devices_kib += cell->devices_kib;
                hwloc_bitmap_free(cell->vcpus);
                hwloc_bitmap_free(cell->nodes);
                hwloc_bitmap_free(cell->cpus);
                *cell = (struct hn_placed_cell) { 0 };
        }
        if (placement->n_cells > 1)
                placement->n_cells = 1;
        return 0;
}

hwloc_const_bitmap_t hn_placement_vcpu(const struct hn_placement *placement, unsigned vcpu)
{
        for (size_t i = 0; i < placement->n_vcpu_cpus; i++)
                if (placement->vcpu_cpus[i].id == vcpu)
                        return placement->vcpu_cpus[i].cpus;
        for (size_t i = 0; i < placement->n_cells; i++)
                if (hwloc_bitmap_isset(placement->cells[i].vcpus, vcpu))
                        return placement->cells[i].cpus;
        return NULL;
}

hwloc_bitmap_t hn_placement_cpus(const struct hn_placement *placement)
{
        HN_BITMAP hwloc_bitmap_t all = hwloc_bitmap_dup(placement->emulator_cpus);

        if (!all)
                return NULL;
        for (size_t i = 0; i < placement->n_cells; i++)
                if (hwloc_bitmap_or(all, all, placement->cells[i].cpus) < 0)
                        return NULL;
        for (size_t i = 0; i < placement->n_vcpu_cpus; i++)
                if (hwloc_bitmap_or(all, all, placement->vcpu_cpus[i].cpus) < 0)
                        return NULL;
        return HN_TAKE(all);
}
