/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/layout.h"

#include <errno.h>
#include <string.h>

#include "decide/cpus.h"
#include "decide/fit.h"

void hn_layout_free(struct hn_layout *layout)
{
        if (!layout)
                return;
        free(layout->at);
        free(layout->seats);
        free(layout->cache_loss);
        free(layout->tallies);
        free(layout->scratch);
        free(layout);
}

static void fill_cache_loss(struct hn_layout *layout)
{
        const struct hn_task *task = layout->task;
        size_t n = task->ground->host->n_nodes;

        for (size_t i = 0; i < task->n_needs; i++)
                for (size_t at = 0; at < n; at++)
                        (void) hn_cpus_cache(&task->ground->nodes[at], &task->needs[i],
                                             &layout->cache_loss[i * n + at]);
}

int hn_layout_new(const struct hn_task *task, struct hn_layout **ret)
{
        HN_LAYOUT struct hn_layout *layout = calloc(1, sizeof *layout);
        size_t n = task->ground->host->n_nodes, n_pages = task->ground->n_pages;

        if (!layout)
                return -ENOMEM;
        layout->task = task;
        layout->at = calloc(task->n_open + 1, sizeof *layout->at);
        layout->seats = calloc(task->n_seats + task->n_open * (n + 1) + n * n_pages + 1, sizeof *layout->seats);
        layout->cache_loss = calloc(task->n_needs * n + 1, sizeof *layout->cache_loss);
        layout->tallies = calloc(n + 1, sizeof *layout->tallies);
        layout->scratch = calloc(4 * n + 1, sizeof *layout->scratch);
        if (!layout->at || !layout->seats || !layout->cache_loss || !layout->tallies || !layout->scratch)
                return -ENOMEM;
        if (task->n_seats)
                memcpy(layout->seats, task->seats, task->n_seats * sizeof *task->seats);
        fill_cache_loss(layout);
        *ret = HN_TAKE(layout);
        return 0;
}

/* Room on one node while cells are put there. */
struct filling {
        const struct hn_layout *layout;
        size_t at;
        bool cores;
        uint64_t milli, n_cores;
        uint64_t ordinary_kib;
};

/* Memory of that page size that the seats laid so far on the node of the last one take. */
static uint64_t taken_kib(const struct hn_layout *layout, size_t at, size_t kind)
{
        uint64_t sum = 0;

        for (size_t i = layout->n_seats; i-- > layout->task->n_seats && layout->seats[i].at == at;)
                if (layout->seats[i].kind == kind)
                        sum = hn_add(sum, layout->seats[i].memory_kib);
        return sum;
}

static bool need_fits(struct filling *f, const struct hn_need *need)
{
        const struct hn_ground_node *g = &f->layout->task->ground->nodes[f->at];
        uint64_t ordinary = hn_add(f->ordinary_kib, need->kind ? need->overhead_kib : need->memory_kib);

        if (f->milli + need->n_vcpus * UINT64_C(1000) + g->fixed_milli > g->capacity_milli)
                return false;
        if (ordinary > hn_layout_room(f->layout, f->at, 0))
                return false;
        if (need->kind && hn_add(taken_kib(f->layout, f->at, need->kind), need->memory_kib)
                                  > hn_layout_room(f->layout, f->at, need->kind))
                return false;
        return !f->cores || f->n_cores + need->n_cores <= g->free_cores;
}

static void put_need(struct hn_layout *layout, struct filling *f, size_t open)
{
        size_t cell = layout->task->open[open];
        const struct hn_need *need = &layout->task->needs[cell];

        layout->seats[layout->n_seats++] = (struct hn_seat) {
                .cell = cell, .at = f->at, .kind = need->kind, .vcpus_milli = need->n_vcpus * UINT64_C(1000),
                .memory_kib = need->memory_kib, .overhead_kib = need->overhead_kib,
                .cache = layout->cache_loss[cell * layout->task->ground->host->n_nodes + f->at],
        };
        layout->at[open] = f->at;
        f->milli += need->n_vcpus * UINT64_C(1000);
        f->n_cores += need->n_cores;
        f->ordinary_kib = hn_add(f->ordinary_kib, need->kind ? need->overhead_kib : need->memory_kib);
}

bool hn_layout_alone(const struct hn_layout *layout, size_t open, size_t at, bool cores)
{
        const struct hn_need *need = &layout->task->needs[layout->task->open[open]];
        const struct hn_ground_node *g = &layout->task->ground->nodes[at];

        return need->n_vcpus * UINT64_C(1000) + g->fixed_milli <= g->capacity_milli
               && need->memory_kib <= hn_layout_room(layout, at, need->kind)
               && (!need->kind || need->overhead_kib <= hn_layout_room(layout, at, 0))
               && (!cores || need->n_cores <= g->free_cores);
}

/* Puts cells first.. on the i-th node: as many as are its even part, or as many as fit (`greedy`), but one is
 * left for every node after it.  Returns the first cell that is not put. */
static size_t fill_node(struct hn_layout *layout, struct filling *f, size_t first, size_t after, bool greedy)
{
        size_t n = layout->task->n_open, last = n - after;

        if (!greedy)
                last = first + (n - first) / (after + 1) + ((n - first) % (after + 1) ? 1 : 0);
        for (; first < last; first++) {
                if (!need_fits(f, &layout->task->needs[layout->task->open[first]]))
                        break;
                put_need(layout, f, first);
        }
        return first;
}

static bool lay_groups(struct hn_layout *layout, const size_t *nodes, size_t k, bool cores, bool greedy)
{
        size_t first = 0;

        layout->n_seats = layout->task->n_seats;
        for (size_t i = 0; i < k; i++) {
                struct filling f = { .layout = layout, .at = nodes[i], .cores = cores };
                size_t next = fill_node(layout, &f, first, k - 1 - i, greedy);

                if (next == first)
                        return false;
                first = next;
        }
        return first == layout->task->n_open;
}

bool hn_layout_cells(struct hn_layout *layout, const size_t *nodes, size_t k, bool cores)
{
        layout->spread = layout->leaning = false;
        if (k > layout->task->n_open)
                return false;
        if (lay_groups(layout, nodes, k, cores, false))
                return true;
        return k < layout->task->n_open && lay_groups(layout, nodes, k, cores, true);
}

void hn_layout_score(struct hn_layout *layout, struct hn_score *ret)
{
        hn_score_seats(layout->task->ground, layout->seats, layout->n_seats, layout->tallies, ret);
}
