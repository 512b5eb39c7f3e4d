/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/task.h"

#include <errno.h>

#include "decide/cpus.h"
#include "decide/fit.h"
#include "decide/shape.h"

void hn_task_free(struct hn_task *task)
{
        if (!task)
                return;
        for (size_t i = 0; task->needs && i < task->n_needs; i++)
                hwloc_bitmap_free(task->needs[i].fixed);
        hn_ground_free(task->ground);
        free(task->needs);
        free(task->user_cpus);
        free(task->open);
        free(task->seats);
        free(task->plugged);
        free(task->nodes);
        hwloc_bitmap_free(task->candidates);
        hwloc_bitmap_free(task->memory_nodes);
        free(task->obstacle);
        free(task->note);
        free(task);
}

static int fill_user_cpus(struct hn_task *task)
{
        const struct hn_request *request = task->request;

        task->user_cpus = calloc(request->vcpus_max + (size_t) 1, sizeof *task->user_cpus);
        if (!task->user_cpus)
                return -ENOMEM;
        for (unsigned vcpu = 0; vcpu < request->vcpus_max; vcpu++)
                task->user_cpus[vcpu] = request->vcpu_cpuset;
        for (size_t i = 0; i < request->n_vcpu_pins; i++)
                if (request->vcpu_pins[i].id < request->vcpus_max)
                        task->user_cpus[request->vcpu_pins[i].id] = request->vcpu_pins[i].cpus;
        return 0;
}

int hn_task_home(const struct hn_task *task, int cpu)
{
        int at = hn_ground_at(task->ground, cpu);

        return at >= 0 && task->ground->host->nodes[at].role == HN_NODE_HOME ? at : -1;
}

/* Guest cores of a cell, of the vCPUs that the user has not pinned. */
static size_t count_cores(const struct hn_task *task, const struct hn_shape_cell *cell)
{
        size_t n = 0;
        int last = -1;

        HN_IDSET_FOREACH(vcpu, cell->vcpus) {
                int core = vcpu / (int) task->guest_threads;

                if (task->user_cpus[vcpu] || core == last)
                        continue;
                last = core;
                n++;
        }
        return n;
}

uint64_t hn_task_plugged_kib(const struct hn_task *task, size_t cell)
{
        return cell < task->request->n_cells ? task->request->cells[cell].devices_kib : 0;
}

/* Memory of a cell once the guest runs: with what is plugged into it at the start.  libvirt backs and binds that
 * like the cell itself. */
static uint64_t backed_kib(const struct hn_task *task, size_t cell)
{
        return hn_add(task->shape->cells[cell].memory_kib, hn_task_plugged_kib(task, cell));
}

static void fill_needs(struct hn_task *task)
{
        const struct hn_shape *shape = task->shape;
        uint64_t memory_kib = 0, overhead_kib;

        for (size_t i = 0; i < shape->n_cells; i++)
                memory_kib = hn_add(memory_kib, backed_kib(task, i));
        for (size_t i = 0; i < task->request->n_plugged; i++)
                memory_kib = hn_add(memory_kib, task->request->plugged[i].memory_kib);
        overhead_kib = hn_overhead_kib(task->ground->policy, memory_kib);
        for (size_t i = 0; i < shape->n_cells; i++) {
                const struct hn_shape_cell *cell = &shape->cells[i];
                struct hn_need *need = &task->needs[i];

                need->n_vcpus = hn_idset_count(cell->vcpus);
                need->kind = hn_ground_kind(task->ground, cell->page_kib);
                need->memory_kib = hn_whole_pages_kib(backed_kib(task, i), cell->page_kib);
                need->overhead_kib = overhead_kib / shape->n_cells
                                     + (i == 0 ? overhead_kib % shape->n_cells : 0);
                if (!need->kind) {
                        need->memory_kib = hn_add(need->memory_kib, need->overhead_kib);
                        need->overhead_kib = 0;
                }
                if (task->request->wishes.pin_cores)
                        need->n_cores = count_cores(task, cell);
        }
}

uint64_t hn_task_wanted_milli(const struct hn_task *task)
{
        uint64_t milli = 0;

        for (size_t i = 0; i < task->n_open; i++)
                milli += task->needs[task->open[i]].n_vcpus * UINT64_C(1000);
        return milli;
}

uint64_t hn_task_wanted_kib(const struct hn_task *task, size_t kind)
{
        uint64_t kib = 0;

        for (size_t i = 0; i < task->n_open; i++) {
                const struct hn_need *need = &task->needs[task->open[i]];

                kib = hn_add(kib, need->kind == kind ? need->memory_kib : 0);
                kib = hn_add(kib, kind == 0 ? need->overhead_kib : 0);
        }
        return kib;
}

static int find_nodes(struct hn_task *task)
{
        const struct hn_host *host = task->ground->host;
        int r = hn_candidates(host, task->request, &task->candidates);

        if (r < 0)
                return r;
        task->nodes = calloc(host->n_nodes + 1, sizeof *task->nodes);
        if (!task->nodes)
                return -ENOMEM;
        for (size_t at = 0; at < host->n_nodes; at++)
                if (hwloc_bitmap_isset(task->candidates, host->nodes[at].os))
                        task->nodes[task->n_nodes++] = at;
        return 0;
}

int hn_task_new(const struct hn_situation *situation, const struct hn_request *request,
                const struct hn_shape *shape, bool numatune_binds, struct hn_task **ret)
{
        HN_TASK struct hn_task *task = calloc(1, sizeof *task);
        int r;

        if (!task)
                return -ENOMEM;
        task->request = request;
        task->shape = shape;
        task->numatune_binds = numatune_binds;
        task->memory_open = request->wishes.memory != HN_MEMORY_SOFT && !request->numatune_nodes;
        /* without a topology every vCPU is a core to the guest, unless the shape brings one along */
        task->guest_threads = shape->topology.threads ? shape->topology.threads : 1;
        if (request->topology.threads)
                task->guest_threads = hn_guest_threads(situation->host, request);
        r = fill_user_cpus(task);
        if (r >= 0)
                r = hn_ground_new(situation, request, shape, &task->ground);
        if (r < 0)
                return r;
        task->needs = calloc(shape->n_cells, sizeof *task->needs);
        task->open = calloc(shape->n_cells, sizeof *task->open);
        task->memory_nodes = hwloc_bitmap_alloc();
        if (!task->needs || !task->open || !task->memory_nodes)
                return -ENOMEM;
        task->n_needs = shape->n_cells;
        fill_needs(task);
        hn_cpus_count_free(task->ground, task->guest_threads);
        r = find_nodes(task);
        if (r >= 0)
                r = hn_task_fix(task);
        if (r < 0)
                return r;
        for (size_t i = 0; i < task->n_needs; i++)
                if (!task->needs[i].fixed)
                        task->open[task->n_open++] = i;
        *ret = HN_TAKE(task);
        return 0;
}
