/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/search.h"

#include "decide/fit.h"

static int descending(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x < y) - (x > y);
}

/* How many of the largest of the task's nodes' values it takes to reach `sum`; one more than there are: all
 * do not.  Sorts values[]. */
static size_t fewest(const struct hn_task *task, uint64_t *values, uint64_t sum)
{
        uint64_t reached = 0;
        size_t n = 0;

        qsort(values, task->n_nodes, sizeof *values, descending);
        while (n < task->n_nodes && reached < sum)
                reached = hn_add(reached, values[n++]);
        return reached < sum ? task->n_nodes + 1 : n;
}

static uint64_t capacity_left(const struct hn_task *task, size_t at)
{
        const struct hn_ground_node *g = &task->ground->nodes[at];

        return hn_subtract(g->capacity_milli, g->fixed_milli);
}

/* No fewer nodes than this can hold the open cells' memory and vCPUs, however they are cut. */
size_t hn_search_bound(const struct hn_search *search)
{
        const struct hn_task *task = search->layout->task;
        const struct hn_ground *ground = task->ground;
        uint64_t *values = search->layout->scratch;
        size_t bound = 1, k;

        for (size_t i = 0; i < task->n_nodes; i++)
                values[i] = capacity_left(task, task->nodes[i]);
        k = fewest(task, values, hn_task_wanted_milli(task));
        bound = k > bound ? k : bound;
        for (size_t kind = 0; kind < ground->n_pages; kind++) {
                for (size_t i = 0; i < task->n_nodes; i++)
                        values[i] = ground->rooms[task->nodes[i] * ground->n_pages + kind];
                k = fewest(task, values, hn_task_wanted_kib(task, kind));
                bound = k > bound ? k : bound;
        }
        return bound;
}

/* No fewer nodes than this can hold whole cells, counted as if all were as small as the smallest. */
size_t hn_search_bound_cells(const struct hn_search *search)
{
        const struct hn_task *task = search->layout->task;
        uint64_t *values = search->layout->scratch, milli = UINT64_MAX, memory = UINT64_MAX;

        for (size_t i = 0; i < task->n_open; i++) {
                const struct hn_need *need = &task->needs[task->open[i]];
                uint64_t ordinary = need->kind ? need->overhead_kib : need->memory_kib;

                milli = need->n_vcpus * UINT64_C(1000) < milli ? need->n_vcpus * UINT64_C(1000) : milli;
                memory = ordinary < memory ? ordinary : memory;
        }
        for (size_t i = 0; i < task->n_nodes; i++) {
                size_t at = task->nodes[i];
                uint64_t by_vcpus = milli ? capacity_left(task, at) / milli : task->n_open;
                uint64_t by_memory = memory ? task->ground->rooms[at * task->ground->n_pages] / memory
                                            : task->n_open;

                values[i] = by_vcpus < by_memory ? by_vcpus : by_memory;
        }
        return fewest(task, values, task->n_open);
}
