/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/place.h"

#include <errno.h>
#include <string.h>

#include "decide/cpus.h"
#include "decide/fit.h"

struct hn_placement *hn_place_empty(const struct hn_request *request)
{
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();

        if (!placement)
                return NULL;
        memcpy(placement->uuid, request->uuid, sizeof placement->uuid);
        placement->priority = request->wishes.priority;
        placement->name = strdup(request->name ? request->name : "");
        return placement->name ? HN_TAKE(placement) : NULL;
}

/* What a spread cell has: nodes of all seats of the open part, or of its own where it leans on one, whose CPUs it gets. */
static int spread_nodes(const struct hn_layout *layout, size_t open, struct hn_placed_cell *cell)
{
        const struct hn_host *host = layout->task->ground->host;

        for (size_t i = layout->task->n_seats; i < layout->n_seats; i++)
                if ((!layout->leaning || layout->seats[i].cell == layout->task->open[open])
                    && hwloc_bitmap_set(cell->nodes, host->nodes[layout->seats[i].at].os) < 0)
                        return -ENOMEM;
        if (layout->leaning && hwloc_bitmap_copy(cell->cpus, host->nodes[layout->at[open]].cpus) < 0)
                return -ENOMEM;
        return 0;
}

static int fill_cell(const struct hn_layout *layout, size_t i, struct hn_placed_cell *cell)
{
        const struct hn_shape_cell *from = &layout->task->shape->cells[i];

        cell->id = (unsigned) i;
        cell->memory_kib = from->memory_kib;
        cell->devices_kib = hn_task_plugged_kib(layout->task, i);
        cell->vcpus = hwloc_bitmap_dup(from->vcpus);
        cell->nodes = layout->task->needs[i].fixed ? hwloc_bitmap_dup(layout->task->needs[i].fixed)
                                                   : hwloc_bitmap_alloc();
        cell->cpus = hwloc_bitmap_alloc();
        return cell->vcpus && cell->nodes && cell->cpus ? 0 : -ENOMEM;
}

static int fill_cells(const struct hn_layout *layout, struct hn_placement *placement)
{
        const struct hn_task *task = layout->task;
        int r = 0;

        placement->cells = calloc(task->n_needs, sizeof *placement->cells);
        if (!placement->cells)
                return -ENOMEM;
        placement->n_cells = task->n_needs;
        for (size_t i = 0; r >= 0 && i < task->n_needs; i++)
                r = fill_cell(layout, i, &placement->cells[i]);
        for (size_t i = 0; r >= 0 && i < task->n_open; i++) {
                hwloc_bitmap_t nodes = placement->cells[task->open[i]].nodes;

                if (layout->spread)
                        r = spread_nodes(layout, i, &placement->cells[task->open[i]]);
                else if (hwloc_bitmap_only(nodes, task->ground->host->nodes[layout->at[i]].os) < 0)
                        r = -ENOMEM;
        }
        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++)
                if (hwloc_bitmap_or(placement->home, placement->home, placement->cells[i].nodes) < 0)
                        r = -ENOMEM;
        return r;
}

/* Ordinary memory and huge pages are promised apart. */
static int promise_seat(const struct hn_ground *ground, const struct hn_seat *seat,
                        struct hn_placement *placement)
{
        struct hn_promise promise = {
                .node = ground->host->nodes[seat->at].os,
                .memory_kib = seat->memory_kib,
                .page_kib = ground->pages[seat->kind],
                .vcpus_milli = (unsigned) seat->vcpus_milli,
        };
        int r = hn_placement_promise(placement, &promise);

        if (r < 0 || !seat->overhead_kib)
                return r;
        promise.memory_kib = seat->overhead_kib;
        promise.page_kib = 0;
        promise.vcpus_milli = 0;
        return hn_placement_promise(placement, &promise);
}

/* Memory devices that the user put somewhere are promised there, wherever their cells are. */
static int promise_plugged(const struct hn_task *task, struct hn_placement *placement)
{
        int r = 0;

        for (size_t i = 0; r >= 0 && i < task->n_plugged; i++)
                r = hn_placement_promise(placement, &task->plugged[i]);
        return r;
}

/* Room on these nodes besides what the layout takes of it. */
static uint64_t room_beside(const struct hn_layout *layout, hwloc_const_bitmap_t nodes, size_t kind)
{
        const struct hn_ground *ground = layout->task->ground;
        uint64_t room_kib = 0, taken_kib = 0;

        for (size_t at = 0; at < ground->host->n_nodes; at++)
                if (hwloc_bitmap_isset(nodes, ground->host->nodes[at].os))
                        room_kib = hn_add(room_kib, ground->rooms[at * ground->n_pages + kind]);
        for (size_t i = 0; i < layout->n_seats; i++)
                if (layout->seats[i].kind == kind)
                        taken_kib = hn_add(taken_kib, layout->seats[i].memory_kib);
        return hn_subtract(room_kib, taken_kib);
}

/* The candidate outside the set with room that is nearest to the home; n_nodes: there is none. */
static size_t nearest_with_room(const struct hn_task *task, const struct hn_placement *placement, size_t kind)
{
        const struct hn_ground *ground = task->ground;
        size_t n = ground->host->n_nodes, best = n;
        double best_slow = 0;

        for (size_t i = 0; i < task->n_nodes; i++) {
                size_t at = task->nodes[i];
                double slow = 0;

                if (hwloc_bitmap_isset(placement->memory_nodes, ground->host->nodes[at].os) ||
                    !ground->rooms[at * ground->n_pages + kind])
                        continue;
                for (size_t from = 0; from < n; from++)
                        if (hwloc_bitmap_isset(placement->home, ground->host->nodes[from].os))
                                slow += ground->slow[from * n + at];
                if (best == n || slow < best_slow) {
                        best = at;
                        best_slow = slow;
                }
        }
        return best;
}

/* Will libvirt bind one of the cells to its nodes, as the user or homenode wrote (or will write) it? */
static bool is_bound(const struct hn_task *task)
{
        for (size_t i = 0; i < task->request->n_cells; i++)
                if (task->request->cells[i].bound || task->request->cells[i].ours)
                        return true;
        return task->request->n_cells == 0 && task->n_needs > 1;
}

/* QEMU touches what is plugged in before anybody hears of it, and is killed where its memory set has no room, which
 * without homenode it would not be.  Bound cells are out of that: their nodes are all that they can have. */
static int leave_room_to_grow(const struct hn_layout *layout, struct hn_placement *placement)
{
        const struct hn_task *task = layout->task;
        uint64_t growth_kib = hn_growth_kib(task->request);
        size_t kind = task->needs[0].kind, at;

        if (!growth_kib || task->request->wishes.memory == HN_MEMORY_STRICT || is_bound(task))
                return 0;
        while (room_beside(layout, placement->memory_nodes, kind) < growth_kib &&
               (at = nearest_with_room(task, placement, kind)) < task->ground->host->n_nodes)
                if (hwloc_bitmap_set(placement->memory_nodes, task->ground->host->nodes[at].os) < 0)
                        return -ENOMEM;
        return 0;
}

static int fill_memory_nodes(const struct hn_layout *layout, struct hn_placement *placement)
{
        const struct hn_task *task = layout->task;

        if (!task->memory_open)
                return 0;
        if (hwloc_bitmap_or(placement->memory_nodes, placement->home, task->memory_nodes) < 0)
                return -ENOMEM;
        return leave_room_to_grow(layout, placement);
}

int hn_place_layout(const struct hn_layout *layout, struct hn_placement **ret, char **ret_note)
{
        HN_PLACEMENT struct hn_placement *placement = hn_place_empty(layout->task->request);
        int r;

        if (!placement)
                return -ENOMEM;
        r = fill_cells(layout, placement);
        for (size_t i = 0; r >= 0 && i < layout->n_seats; i++)
                r = promise_seat(layout->task->ground, &layout->seats[i], placement);
        if (r >= 0)
                r = promise_plugged(layout->task, placement);
        if (r >= 0)
                r = fill_memory_nodes(layout, placement);
        if (r >= 0)
                r = hn_cpus_choose(layout->task, placement, ret_note);
        if (r < 0)
                return r;
        *ret = HN_TAKE(placement);
        return 0;
}

/* Splits what cells of one page size need over nodes that the domain may come to lie on. */
static int count_kind(const struct hn_task *task, size_t kind, hwloc_const_bitmap_t nodes, uint64_t *weights,
                      struct hn_placement *placement)
{
        const struct hn_ground *ground = task->ground;
        size_t n = ground->host->n_nodes;
        uint64_t kib = 0, *shares = weights + n, granule = kind ? ground->pages[kind] : HN_MIB_KIB;
        int r = 0;

        for (size_t i = 0; i < task->n_needs; i++) {
                kib = hn_add(kib, task->needs[i].kind == kind ? task->needs[i].memory_kib : 0);
                kib = hn_add(kib, kind == 0 ? task->needs[i].overhead_kib : 0);
        }
        for (size_t at = 0; at < n; at++)
                weights[at] = hwloc_bitmap_isset(nodes, ground->host->nodes[at].os)
                                      ? ground->totals[at * ground->n_pages + kind] : 0;
        (void) hn_split(kib, granule, weights, NULL, n, shares);
        for (size_t at = 0; r >= 0 && at < n; at++) {
                struct hn_promise promise = { .node = ground->host->nodes[at].os, .memory_kib = shares[at],
                                              .page_kib = ground->pages[kind] };

                if (shares[at])
                        r = hn_placement_promise(placement, &promise);
        }
        return r;
}

static int count_vcpus(const struct hn_task *task, hwloc_const_bitmap_t nodes, uint64_t *weights,
                       struct hn_placement *placement)
{
        const struct hn_ground *ground = task->ground;
        size_t n = ground->host->n_nodes;
        uint64_t *shares = weights + n, capacity = 0;
        int r = 0;

        for (size_t at = 0; at < n; at++) {
                weights[at] = hwloc_bitmap_isset(nodes, ground->host->nodes[at].os)
                                      ? ground->nodes[at].capacity_milli : 0;
                capacity += weights[at];
        }
        for (size_t at = 0; !capacity && at < n; at++)
                weights[at] = ground->nodes[at].capacity_milli;
        (void) hn_split(task->request->vcpus_max * UINT64_C(1000), 1, weights, NULL, n, shares);
        for (size_t at = 0; r >= 0 && at < n; at++) {
                struct hn_promise promise = { .node = ground->host->nodes[at].os,
                                              .vcpus_milli = (unsigned) shares[at] };

                if (shares[at])
                        r = hn_placement_promise(placement, &promise);
        }
        return r;
}

int hn_place_counted(const struct hn_task *task, hwloc_const_bitmap_t nodes, struct hn_placement **ret)
{
        HN_PLACEMENT struct hn_placement *placement = hn_place_empty(task->request);
        HN_FREE uint64_t *scratch = calloc(2 * task->ground->host->n_nodes + 1, sizeof *scratch);
        int r = 0;

        if (!placement || !scratch)
                return -ENOMEM;
        for (size_t kind = 0; r >= 0 && kind < task->ground->n_pages; kind++)
                r = count_kind(task, kind, nodes, scratch, placement);
        if (r >= 0)
                r = count_vcpus(task, nodes, scratch, placement);
        if (r >= 0)
                r = promise_plugged(task, placement);
        if (r < 0)
                return r;
        *ret = HN_TAKE(placement);
        return 0;
}

/* The given nodes by `at`; false where the host has one of them not. */
static bool find_nodes(const struct hn_host *host, hwloc_const_bitmap_t nodes, size_t *ret, size_t *ret_k)
{
        size_t k = 0;

        HN_IDSET_FOREACH(os, nodes) {
                int at = hn_host_at(host, (unsigned) os);

                if (at < 0 || host->nodes[at].role != HN_NODE_HOME)
                        return false;
                ret[k++] = (size_t) at;
        }
        *ret_k = k;
        return true;
}

static bool lay(struct hn_layout *layout, const size_t *nodes, size_t k)
{
        if (!layout->task->n_open) {
                layout->n_seats = layout->task->n_seats;
                return true;
        }
        if (!k)
                return false;
        return hn_layout_cells(layout, nodes, k, true) || hn_layout_cells(layout, nodes, k, false)
               || (!layout->task->request->wishes.spanning_forbidden && hn_layout_spread(layout, nodes, k));
}

int hn_place_on(const struct hn_situation *situation, const struct hn_request *request,
                const struct hn_shape *shape, hwloc_const_bitmap_t nodes, struct hn_placement **ret,
                struct hn_score *ret_score)
{
        HN_TASK struct hn_task *task = NULL;
        HN_LAYOUT struct hn_layout *layout = NULL;
        HN_FREE size_t *at = calloc(situation->host->n_nodes + 1, sizeof *at);
        HN_FREE char *note = NULL;
        struct hn_score score;
        size_t k = 0;
        int r;

        if (!at)
                return -ENOMEM;
        r = hn_task_new(situation, request, shape, false, &task);
        if (r >= 0)
                r = hn_layout_new(task, &layout);
        if (r < 0)
                return r;
        if (task->obstacle || !find_nodes(situation->host, nodes, at, &k) || !lay(layout, at, k))
                return -ENOSPC;
        hn_layout_score(layout, &score);
        r = hn_place_layout(layout, ret, &note);
        if (r >= 0)
                *ret_score = score;
        return r;
}
