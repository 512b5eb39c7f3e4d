/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cells for which no node has room: over all nodes of a set alike, or each leaning on a node of its own.
 */
#include "decide/layout.h"

#include "decide/fit.h"

/* Splits memory over the set by the room there, and takes it off `rooms`. */
static bool spread_memory(const struct hn_layout *layout, const size_t *nodes, size_t k, size_t kind,
                          uint64_t kib, uint64_t *ordinary, uint64_t *shares)
{
        uint64_t *rooms = layout->scratch, granule = kind ? layout->task->ground->pages[kind] : HN_MIB_KIB;

        for (size_t i = 0; i < k; i++)
                rooms[i] = kind ? hn_layout_room(layout, nodes[i], kind) : ordinary[i];
        if (!hn_split(kib, granule, rooms, rooms, k, shares))
                return false;
        for (size_t i = 0; !kind && i < k; i++)
                ordinary[i] -= shares[i];
        return true;
}

/* All open cells of one page size, as if they were one: spread, each has the same distances to all. */
static bool spread_kind(struct hn_layout *layout, const size_t *nodes, size_t k, size_t kind,
                        uint64_t *ordinary)
{
        const struct hn_task *task = layout->task;
        size_t n = task->ground->host->n_nodes, first = layout->n_seats;
        uint64_t *shares = layout->scratch + n, memory = 0, overhead = 0, milli = 0;
        bool any = false;

        for (size_t i = 0; i < task->n_open; i++) {
                const struct hn_need *need = &task->needs[task->open[i]];

                if (need->kind != kind)
                        continue;
                any = true;
                memory = hn_add(memory, need->memory_kib);
                overhead = hn_add(overhead, need->overhead_kib);
                milli += need->n_vcpus * UINT64_C(1000);
        }
        if (!any)
                return true;
        if (!spread_memory(layout, nodes, k, kind, memory, ordinary, shares))
                return false;
        for (size_t i = 0; i < k; i++)
                layout->seats[layout->n_seats++] = (struct hn_seat) {
                        .cell = task->n_needs + kind, .at = nodes[i], .kind = kind, .memory_kib = shares[i] };
        if (!spread_memory(layout, nodes, k, 0, overhead, ordinary, shares))
                return false;
        for (size_t i = 0; i < k; i++)
                layout->seats[first + i].overhead_kib = shares[i];
        for (size_t i = 0; i < k; i++)
                layout->scratch[i] = task->ground->nodes[nodes[i]].capacity_milli;
        (void) hn_split(milli, 1, layout->scratch, NULL, k, shares);
        for (size_t i = 0; i < k; i++)
                layout->seats[first + i].vcpus_milli = shares[i];
        return true;
}

static bool spread_capacity(const struct hn_layout *layout, const size_t *nodes, size_t k)
{
        const struct hn_task *task = layout->task;
        uint64_t capacity = 0;

        for (size_t i = 0; i < k; i++)
                capacity += hn_subtract(task->ground->nodes[nodes[i]].capacity_milli,
                                        task->ground->nodes[nodes[i]].fixed_milli);
        return hn_task_wanted_milli(task) <= capacity;
}

static bool lay_spread(struct hn_layout *layout, const size_t *nodes, size_t k)
{
        uint64_t *ordinary = layout->scratch + 2 * layout->task->ground->host->n_nodes;

        layout->n_seats = layout->task->n_seats;
        if (!spread_capacity(layout, nodes, k))
                return false;
        for (size_t i = 0; i < k; i++)
                ordinary[i] = hn_layout_room(layout, nodes[i], 0);
        for (size_t kind = 0; kind < layout->task->ground->n_pages; kind++)
                if (!spread_kind(layout, nodes, k, kind, ordinary))
                        return false;
        return true;
}

/* ---- leaning */

/* Could the cell's vCPUs run there? */
static bool carries(const struct hn_layout *layout, size_t at, const struct hn_need *need)
{
        const struct hn_ground_node *g = &layout->task->ground->nodes[at];

        return need->n_vcpus * UINT64_C(1000) + g->fixed_milli <= g->capacity_milli;
}

static bool may_lean(const struct hn_layout *layout, size_t k)
{
        const struct hn_task *task = layout->task;

        for (size_t i = 0; i < task->n_open; i++)
                if (task->needs[task->open[i]].kind || task->needs[task->open[i]].n_cores)
                        return false;
        return task->n_open <= k;
}

/* A node for each cell to lean on, ascending: those with the most room that carry the largest cell, which comes first.
 * `left` by the set's nodes.  False: too few do. */
static bool find_props(struct hn_layout *layout, const size_t *nodes, size_t k, const uint64_t *left)
{
        const struct hn_need *need = &layout->task->needs[layout->task->open[0]];
        size_t n = 0;

        for (size_t i = 0; i < k && n < layout->task->n_open; i++) {
                size_t roomier = 0;

                for (size_t j = 0; j < k; j++)
                        roomier += carries(layout, nodes[j], need) && (left[j] > left[i] || (left[j] == left[i] && j < i));
                if (roomier < layout->task->n_open && carries(layout, nodes[i], need))
                        layout->at[n++] = nodes[i];
        }
        return n == layout->task->n_open;
}

static void put_seat(struct hn_layout *layout, size_t open, size_t at, uint64_t memory_kib)
{
        const struct hn_task *task = layout->task;
        bool runs = layout->at[open] == at;

        layout->seats[layout->n_seats++] = (struct hn_seat) {
                .cell = task->open[open], .at = at, .memory_kib = memory_kib,
                .vcpus_milli = runs ? task->needs[task->open[open]].n_vcpus * UINT64_C(1000) : 0 };
}

/* Cells take what there is on the nodes they lean on: `left` and `ret_rests` come to say what is left of these and of them.
 * False: nothing is left of them, so there was no need. */
static bool fill_props(const struct hn_layout *layout, const size_t *nodes, size_t k, uint64_t *left, uint64_t *ret_rests)
{
        const struct hn_task *task = layout->task;
        uint64_t lacking = 0;

        for (size_t i = 0, open = 0; i < k && open < task->n_open; i++) {
                uint64_t wanted = task->needs[task->open[open]].memory_kib, has;

                if (layout->at[open] != nodes[i])
                        continue;
                has = left[i] >= wanted ? wanted : left[i] / HN_MIB_KIB * HN_MIB_KIB;
                left[i] -= has;
                ret_rests[open] = wanted - has;
                lacking = hn_add(lacking, ret_rests[open++]);
        }
        return lacking > 0;
}

/* All vCPUs of a cell run on one node, whose room is filled first, as the kernel does it too; only the rest lies on the
 * others. */
static bool lay_leaning(struct hn_layout *layout, const size_t *nodes, size_t k)
{
        size_t n = layout->task->ground->host->n_nodes;
        uint64_t *left = layout->scratch, *shares = left + n, *rests = left + 2 * n, *weights = left + 3 * n;

        for (size_t i = 0; i < k; i++)
                left[i] = hn_layout_room(layout, nodes[i], 0);
        layout->n_seats = layout->task->n_seats;
        if (!may_lean(layout, k) || !find_props(layout, nodes, k, left) || !fill_props(layout, nodes, k, left, rests))
                return false;
        for (size_t open = 0; open < layout->task->n_open; open++) {
                uint64_t wanted = layout->task->needs[layout->task->open[open]].memory_kib;

                put_seat(layout, open, layout->at[open], wanted - rests[open]);
                for (size_t i = 0; i < k; i++)
                        weights[i] = nodes[i] == layout->at[open] ? 0 : left[i];
                if (!hn_split(rests[open], HN_MIB_KIB, weights, left, k, shares))
                        return false;
                for (size_t i = 0; i < k; i++) {
                        left[i] -= shares[i];
                        if (shares[i])
                                put_seat(layout, open, nodes[i], shares[i]);
                }
        }
        layout->leaning = true;
        return true;
}

bool hn_layout_spread(struct hn_layout *layout, const size_t *nodes, size_t k)
{
        struct hn_score even, leaning;

        layout->spread = true;
        layout->leaning = false;
        if (!lay_spread(layout, nodes, k))
                return false;
        hn_layout_score(layout, &even);
        if (!lay_leaning(layout, nodes, k))
                return lay_spread(layout, nodes, k);
        hn_layout_score(layout, &leaning);
        layout->leaning = leaning.total < even.total;
        return layout->leaning || lay_spread(layout, nodes, k);
}
