/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/task.h"

#include <errno.h>
#include <string.h>

#include "decide/fit.h"
#include "model/text.h"

/* One cell being laid, figures by `at`. */
struct laying {
        struct hn_task *task;
        const struct hn_host *host;
        struct hn_ground *ground;
        size_t cell;
        uint64_t *milli, *kib, *overhead_kib;
        uint64_t *weights, *caps;
        size_t n_short;  /* bound cells that there is no room for */
        size_t n_tight;  /* and memory devices */
};

/* Nodes that the host has not are asked for: libvirt will not start that, wherever we would place it. */
static int check_nodes(struct hn_task *task, hwloc_const_bitmap_t nodes, const char *what)
{
        if (!nodes || task->obstacle)
                return 0;
        HN_IDSET_FOREACH(os, nodes)
                if (hn_host_at(task->ground->host, (unsigned) os) < 0)
                        return hn_text_add(&task->obstacle,
                                           "its %s asks for node %d, which this host has not",
                                           what, os);
        return hwloc_bitmap_iszero(nodes) ? hn_text_add(&task->obstacle, "its %s names no node", what) : 0;
}

static int check_pin(struct hn_task *task, hwloc_const_bitmap_t cpus, const char *what)
{
        HN_FREE char *list = NULL;
        int r;

        if (!cpus || task->obstacle)
                return 0;
        HN_IDSET_FOREACH(cpu, cpus)
                if (hn_task_home(task, cpu) >= 0)
                        return 0;
        r = hn_idset_format(cpus, &list);
        if (r < 0)
                return r;
        return hn_text_add(&task->obstacle,
                           "%s is pinned to CPUs %s, none of which guests may use on this host",
                           what, list);
}

static int check_all(struct hn_task *task)
{
        const struct hn_request *request = task->request;
        int r = check_nodes(task, request->numatune_nodes, "numatune");

        for (size_t i = 0; r >= 0 && i < request->n_cells; i++)
                r = check_nodes(task, request->cells[i].bound, "memnode");
        for (size_t i = 0; r >= 0 && i < request->n_plugged; i++)
                r = check_nodes(task, request->plugged[i].nodes, "memory device");
        if (r >= 0)
                r = check_pin(task, request->vcpu_cpuset, "it");
        for (size_t i = 0; r >= 0 && i < request->n_vcpu_pins; i++)
                if (request->vcpu_pins[i].id < request->vcpus_max)
                        r = check_pin(task, request->vcpu_pins[i].cpus, "a vCPU");
        if (r >= 0)
                r = check_pin(task, request->emulator_pin, "its emulator");
        return r;
}

/* Home nodes of the CPUs that the user gave the cell's vCPUs; stays empty without pins. */
static int pinned_nodes(const struct hn_task *task, size_t cell, hwloc_bitmap_t ret)
{
        hwloc_const_bitmap_t last = NULL;

        HN_IDSET_FOREACH(vcpu, task->shape->cells[cell].vcpus) {
                hwloc_const_bitmap_t cpus = task->user_cpus[vcpu];

                if (!cpus || cpus == last)
                        continue;
                last = cpus;
                HN_IDSET_FOREACH(cpu, cpus) {
                        int at = hn_task_home(task, cpu);

                        if (at >= 0 && hwloc_bitmap_set(ret, task->ground->host->nodes[at].os) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

static bool interleaved(const struct hn_request *request)
{
        return request->numatune_nodes && request->numatune_mode == HN_NUMA_INTERLEAVE;
}

/* The nodes where the user wants a cell; stays empty where it is open. */
static int wanted_nodes(const struct hn_task *task, size_t cell, hwloc_bitmap_t ret)
{
        const struct hn_request *request = task->request;
        int r;

        if (request->n_cells && request->cells[cell].bound)
                return hwloc_bitmap_copy(ret, request->cells[cell].bound) < 0 ? -ENOMEM : 0;
        r = pinned_nodes(task, cell, ret);
        if (r < 0 || !hwloc_bitmap_iszero(ret))
                return r;
        if (request->numatune_nodes && (interleaved(request) || task->numatune_binds || !task->n_nodes))
                return hwloc_bitmap_copy(ret, request->numatune_nodes) < 0 ? -ENOMEM : 0;
        return 0;
}

static int nearest_home(const struct hn_host *host, size_t from)
{
        int best = -1;

        for (size_t at = 0; at < host->n_nodes; at++)
                if (host->nodes[at].role == HN_NODE_HOME
                    && (best < 0 || host->distances[from * host->n_nodes + at]
                                            < host->distances[from * host->n_nodes + (size_t) best]))
                        best = (int) at;
        return best;
}

/* Where the CPUs of a cell are whose memory is bound: those of the nodes, or of the nearest home where they
 * have none. */
static int homes_of(const struct hn_host *host, hwloc_const_bitmap_t nodes, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t homes = hn_host_homes(host);
        int from = hn_host_at(host, (unsigned) hwloc_bitmap_first(nodes)), home;

        if (!homes || hwloc_bitmap_and(homes, homes, nodes) < 0)
                return -ENOMEM;
        if (hwloc_bitmap_iszero(homes) && from >= 0) {
                home = nearest_home(host, (size_t) from);
                if (home >= 0 && hwloc_bitmap_set(homes, host->nodes[home].os) < 0)
                        return -ENOMEM;
        }
        *ret = HN_TAKE(homes);
        return 0;
}

/* A pinned vCPU runs on its CPUs evenly. */
static void weigh_pin(const struct laying *l, hwloc_const_bitmap_t cpus)
{
        memset(l->weights, 0, l->host->n_nodes * sizeof *l->weights);
        HN_IDSET_FOREACH(cpu, cpus) {
                int at = hn_task_home(l->task, cpu);

                if (at >= 0)
                        l->weights[at]++;
        }
        (void) hn_split(1000, 1, l->weights, NULL, l->host->n_nodes, l->caps);
}

static void lay_vcpus(const struct laying *l)
{
        const struct hn_need *need = &l->task->needs[l->cell];
        size_t n = l->host->n_nodes;
        hwloc_const_bitmap_t last = NULL;
        uint64_t floating = 0;

        HN_IDSET_FOREACH(vcpu, l->task->shape->cells[l->cell].vcpus) {
                hwloc_const_bitmap_t cpus = l->task->user_cpus[vcpu];

                floating += cpus ? 0 : 1000;
                if (!cpus)
                        continue;
                if (cpus != last)
                        weigh_pin(l, cpus);
                last = cpus;
                for (size_t at = 0; at < n; at++)
                        l->milli[at] += l->caps[at];
        }
        /* the others float over the cell's nodes */
        for (size_t at = 0; at < n; at++)
                l->weights[at] = hwloc_bitmap_isset(need->fixed, l->host->nodes[at].os)
                                         ? l->ground->nodes[at].capacity_milli : 0;
        (void) hn_split(floating, 1, l->weights, NULL, n, l->caps);
        for (size_t at = 0; at < n; at++)
                l->milli[at] += l->caps[at];
}

static bool has_room(const struct laying *l, hwloc_const_bitmap_t nodes, size_t kind, uint64_t kib)
{
        uint64_t sum = 0;

        HN_IDSET_FOREACH(os, nodes) {
                int at = hn_host_at(l->host, (unsigned) os);

                if (at >= 0)
                        sum = hn_add(sum, l->ground->rooms[(size_t) at * l->ground->n_pages + kind]);
        }
        return sum >= kib;
}

/* Splits memory over nodes by the room there; by size where they have not room enough; evenly where the user
 * interleaves. */
static void lay_memory(const struct laying *l, hwloc_const_bitmap_t nodes, size_t kind, uint64_t kib,
                       uint64_t *ret)
{
        const struct hn_ground *ground = l->ground;
        bool room = has_room(l, nodes, kind, kib), even = interleaved(l->task->request);
        uint64_t granule = kind ? ground->pages[kind] : HN_MIB_KIB, size = 0;
        size_t n = l->host->n_nodes;

        for (size_t at = 0; at < n; at++) {
                bool in = hwloc_bitmap_isset(nodes, l->host->nodes[at].os);
                size_t i = at * ground->n_pages + kind;

                l->caps[at] = in ? ground->rooms[i] : 0;
                l->weights[at] = !in ? 0 : even ? 1 : room ? ground->rooms[i] : ground->totals[i];
                size |= l->weights[at];
        }
        for (size_t at = 0; !size && at < n; at++)
                l->weights[at] = hwloc_bitmap_isset(nodes, l->host->nodes[at].os) ? 1 : 0;
        (void) hn_split(kib, granule, l->weights, room && !even && size ? l->caps : NULL, n, ret);
        for (size_t at = 0; at < n; at++) {
                size_t i = at * ground->n_pages + kind;

                l->ground->rooms[i] = hn_subtract(ground->rooms[i], ret[at]);
        }
}

static bool cell_has_room(const struct laying *l, hwloc_const_bitmap_t nodes)
{
        const struct hn_need *need = &l->task->needs[l->cell];

        return has_room(l, nodes, need->kind, need->memory_kib) && has_room(l, nodes, 0, need->overhead_kib);
}

/* Adds home nodes, the nearest first, until the cell has room; false: not even with all of them. */
static int widen(const struct laying *l, hwloc_bitmap_t nodes, bool *ret_fits)
{
        int from = hn_host_at(l->host, (unsigned) hwloc_bitmap_first(nodes));

        while (from >= 0 && !cell_has_room(l, nodes)) {
                int best = -1;

                for (size_t at = 0; at < l->host->n_nodes; at++) {
                        const unsigned *row = &l->host->distances[(size_t) from * l->host->n_nodes];

                        if (l->host->nodes[at].role == HN_NODE_HOME
                            && !hwloc_bitmap_isset(nodes, l->host->nodes[at].os)
                            && (best < 0 || row[at] < row[best]))
                                best = (int) at;
                }
                if (best < 0)
                        break;
                if (hwloc_bitmap_set(nodes, l->host->nodes[best].os) < 0)
                        return -ENOMEM;
        }
        *ret_fits = cell_has_room(l, nodes);
        return 0;
}

/* The nodes that a fixed cell's memory will come from. */
static int memory_nodes(struct laying *l, hwloc_const_bitmap_t wanted, hwloc_bitmap_t *ret)
{
        const struct hn_request *request = l->task->request;
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_dup(wanted);
        bool bound = request->n_cells && request->cells[l->cell].bound, fits = true;
        int r = 0;

        if (!nodes)
                return -ENOMEM;
        if (!bound && request->numatune_nodes) {
                if (hwloc_bitmap_and(nodes, nodes, request->numatune_nodes) < 0)
                        return -ENOMEM;
                if ((hwloc_bitmap_iszero(nodes) || !cell_has_room(l, nodes))
                    && hwloc_bitmap_copy(nodes, request->numatune_nodes) < 0)
                        return -ENOMEM;
        }
        if (bound || request->numatune_nodes)
                fits = cell_has_room(l, nodes);
        else
                r = widen(l, nodes, &fits);
        if (r >= 0 && !fits && (bound || request->numatune_nodes))
                l->n_short++;
        else if (r >= 0 && !fits)
                r = hn_text_add(&l->task->obstacle, "there is no room for its memory on any nodes");
        if (r < 0)
                return r;
        *ret = HN_TAKE(nodes);
        return 0;
}

static int add_seats(struct laying *l)
{
        const struct hn_need *need = &l->task->needs[l->cell];
        struct hn_seat *more =
                reallocarray(l->task->seats, l->task->n_seats + l->host->n_nodes, sizeof *more);

        if (!more)
                return -ENOMEM;
        l->task->seats = more;
        for (size_t at = 0; at < l->host->n_nodes; at++) {
                if (!l->milli[at] && !l->kib[at] && !l->overhead_kib[at])
                        continue;
                more[l->task->n_seats++] = (struct hn_seat) {
                        .cell = l->cell, .at = at, .kind = need->kind, .vcpus_milli = l->milli[at],
                        .memory_kib = l->kib[at], .overhead_kib = l->overhead_kib[at],
                };
                l->ground->nodes[at].fixed_milli += l->milli[at];
        }
        return 0;
}

static int lay(struct laying *l, hwloc_const_bitmap_t wanted)
{
        struct hn_need *need = &l->task->needs[l->cell];
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        size_t bytes = l->host->n_nodes * sizeof *l->milli;
        int r = homes_of(l->host, wanted, &need->fixed);

        if (r >= 0)
                r = memory_nodes(l, wanted, &nodes);
        if (r < 0)
                return r;
        memset(l->milli, 0, bytes);
        memset(l->overhead_kib, 0, bytes);
        lay_vcpus(l);
        lay_memory(l, nodes, need->kind, need->memory_kib, l->kib);
        if (need->overhead_kib)
                lay_memory(l, nodes, 0, need->overhead_kib, l->overhead_kib);
        if (hwloc_bitmap_or(l->task->memory_nodes, l->task->memory_nodes, nodes) < 0)
                return -ENOMEM;
        return add_seats(l);
}

/* ---- memory devices with nodes of their own */

static int lay_plugged(struct laying *l, const struct hn_plugged *plugged)
{
        struct hn_task *task = l->task;
        uint64_t page_kib = hn_plugged_page_kib(l->host, task->request, plugged), kib = plugged->memory_kib;
        size_t kind = hn_ground_kind(l->ground, page_kib);

        if (page_kib && kib % page_kib)
                kib = hn_add(kib, page_kib - kib % page_kib);
        l->n_tight += !has_room(l, plugged->nodes, kind, kib);
        lay_memory(l, plugged->nodes, kind, kib, l->kib);
        for (size_t at = 0; at < l->host->n_nodes; at++)
                if (l->kib[at])
                        task->plugged[task->n_plugged++] = (struct hn_promise) {
                                .node = l->host->nodes[at].os, .memory_kib = l->kib[at], .page_kib = page_kib };
        return hwloc_bitmap_or(task->memory_nodes, task->memory_nodes, plugged->nodes) < 0 ? -ENOMEM : 0;
}

static int lay_all_plugged(struct laying *l)
{
        const struct hn_request *request = l->task->request;
        int r = 0;

        l->task->plugged = calloc(request->n_plugged * l->host->n_nodes + 1, sizeof *l->task->plugged);
        if (!l->task->plugged)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < request->n_plugged; i++)
                r = lay_plugged(l, &request->plugged[i]);
        if (r >= 0 && l->n_tight)
                r = hn_text_add(&l->task->note, "no room where the XML puts %zu of its memory devices", l->n_tight);
        return r;
}

/* Where the user has libvirt bind all of the guest's memory, homenode has nothing to say about it. */
static bool all_bound(const struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++)
                if (!request->cells[i].bound || request->cells[i].ours)
                        return false;
        return request->n_cells > 0;
}

int hn_task_fix(struct hn_task *task)
{
        size_t n = task->ground->host->n_nodes;
        HN_FREE uint64_t *figures = calloc(5 * n + 1, sizeof *figures);
        HN_BITMAP hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
        struct laying l = { .task = task, .host = task->ground->host, .ground = task->ground };
        int r;

        if (!figures || !wanted)
                return -ENOMEM;
        l.milli = figures;
        l.kib = figures + n;
        l.overhead_kib = figures + 2 * n;
        l.weights = figures + 3 * n;
        l.caps = figures + 4 * n;
        task->memory_open = task->memory_open && !all_bound(task->request);
        r = check_all(task);
        if (r >= 0 && !task->obstacle)
                r = lay_all_plugged(&l);
        for (l.cell = 0; r >= 0 && !task->obstacle && l.cell < task->n_needs; l.cell++) {
                hwloc_bitmap_zero(wanted);
                r = wanted_nodes(task, l.cell, wanted);
                if (r >= 0 && !hwloc_bitmap_iszero(wanted))
                        r = lay(&l, wanted);
        }
        if (r >= 0 && l.n_short)
                r = hn_text_add(&task->note, "no room where the XML puts %zu of its cells", l.n_short);
        return r;
}
