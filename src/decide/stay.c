/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/stay.h"

#include <errno.h>
#include <string.h>

#include "decide/fit.h"
#include "decide/keep.h"
#include "decide/score.h"

/* ---- standing */

static enum hn_standing worse(enum hn_standing a, enum hn_standing b)
{
        return a > b ? a : b;
}

/* How many of these CPUs may guests still use? */
static enum hn_standing standing_of(const struct hn_host *host, hwloc_const_bitmap_t cpus)
{
        bool any = false, all = true;

        if (!cpus || hwloc_bitmap_iszero(cpus))
                return HN_STANDS;
        HN_IDSET_FOREACH(cpu, cpus) {
                bool there = hwloc_bitmap_isset(host->allowed_cpus, (unsigned) cpu) &&
                             !hwloc_bitmap_isset(host->offline, (unsigned) cpu);

                any |= there;
                all &= there;
        }
        if (!any)
                return HN_HOMELESS;
        return all ? HN_STANDS : HN_NARROWED;
}

static bool has_nodes(const struct hn_host *host, hwloc_const_bitmap_t nodes)
{
        HN_IDSET_FOREACH(os, nodes)
                if (hn_host_at(host, (unsigned) os) < 0 || !hwloc_bitmap_isset(host->allowed_nodes, (unsigned) os))
                        return false;
        return true;
}

enum hn_standing hn_home_standing(const struct hn_host *host, const struct hn_request *request,
                                  const struct hn_placement *placement)
{
        enum hn_standing standing = has_nodes(host, placement->home) ? HN_STANDS : HN_HOMELESS;

        for (size_t i = 0; i < placement->n_cells; i++)
                HN_IDSET_FOREACH(vcpu, placement->cells[i].vcpus)
                        if (!hn_keep_is_users(request, HN_GROUP_VCPU, (unsigned) vcpu))
                                standing = worse(standing, standing_of(host, hn_placement_vcpu(placement,
                                                                                              (unsigned) vcpu)));
        if (!hn_keep_is_users(request, HN_GROUP_EMULATOR, 0))
                standing = worse(standing, standing_of(host, placement->emulator_cpus));
        return standing;
}

bool hn_home_remains(const struct hn_host *host, hwloc_const_bitmap_t nodes)
{
        HN_IDSET_FOREACH(os, nodes) {
                int at = hn_host_at(host, (unsigned) os);

                if (at < 0 || host->nodes[at].role != HN_NODE_HOME)
                        return false;
        }
        return true;
}

/* ---- staying or leaving */

/* Seats being laid, figures by `at`. */
struct seating {
        const struct hn_ground *ground;
        const struct hn_shape *shape;
        uint64_t *weights, *milli, *kib;
        struct hn_seat *seats;
        size_t n_seats;
};

/* Shares out by the weights.  False: there is nothing to share it over. */
static bool share(struct seating *s, uint64_t total, uint64_t *ret)
{
        size_t n = s->ground->host->n_nodes;
        uint64_t sum = 0;

        for (size_t at = 0; at < n; at++)
                sum = hn_add(sum, s->weights[at]);
        return hn_split(total, 1, s->weights, NULL, n, ret) && (sum || !total);
}

/* vCPUs by capacity, over the nodes on which the cell runs: it may lean on one and have but memory on others. */
static bool share_vcpus(struct seating *s, const struct hn_placed_cell *runs, uint64_t milli)
{
        const struct hn_host *host = s->ground->host;
        bool leans = false;

        for (size_t at = 0; at < host->n_nodes; at++)
                leans |= hwloc_bitmap_isset(runs->nodes, host->nodes[at].os) && s->ground->nodes[at].capacity_milli
                         && hwloc_bitmap_intersects(runs->cpus, host->nodes[at].cpus);
        for (size_t at = 0; at < host->n_nodes; at++)
                s->weights[at] = hwloc_bitmap_isset(runs->nodes, host->nodes[at].os)
                                 && (!leans || hwloc_bitmap_intersects(runs->cpus, host->nodes[at].cpus))
                                         ? s->ground->nodes[at].capacity_milli : 0;
        return share(s, milli, s->milli);
}

/* Memory by what was promised on each of the cell's nodes; evenly where nothing was. */
static void share_memory(struct seating *s, const struct hn_placement *lies, const struct hn_placed_cell *cell)
{
        const struct hn_host *host = s->ground->host;
        bool promised = false;

        memset(s->weights, 0, host->n_nodes * sizeof *s->weights);
        for (size_t i = 0; i < lies->n_promises; i++) {
                int at = hn_host_at(host, lies->promises[i].node);

                if (at < 0 || !hwloc_bitmap_isset(cell->nodes, lies->promises[i].node))
                        continue;
                s->weights[at] = hn_add(s->weights[at], lies->promises[i].memory_kib);
                promised |= lies->promises[i].memory_kib > 0;
        }
        for (size_t at = 0; !promised && at < host->n_nodes; at++)
                s->weights[at] = hwloc_bitmap_isset(cell->nodes, host->nodes[at].os);
        /* Memory of a node that is gone is nowhere in particular: it costs both ways the same. */
        (void) share(s, cell->memory_kib, s->kib);
}

/* One cell with its CPUs on these nodes and its memory on those.  False: those have no CPUs for it. */
static bool seat_cell(struct seating *s, size_t cell, const struct hn_placed_cell *runs,
                      const struct hn_placement *from)
{
        const struct hn_placed_cell *lies = &from->cells[cell];
        uint64_t page_kib = s->shape->cells[cell < s->shape->n_cells ? cell : 0].page_kib;

        if (!share_vcpus(s, runs, hn_idset_count(lies->vcpus) * UINT64_C(1000)))
                return false;
        share_memory(s, from, lies);
        for (size_t at = 0; at < s->ground->host->n_nodes; at++)
                if (s->milli[at] || s->kib[at])
                        s->seats[s->n_seats++] = (struct hn_seat) {
                                .cell = cell, .at = at, .kind = hn_ground_kind(s->ground, page_kib),
                                .vcpus_milli = s->milli[at], .memory_kib = s->kib[at],
                        };
        return true;
}

/* Cells that run as one placement says and lie as the other does.  -ENOSPC: there is no CPU for one of them. */
static int score(const struct hn_ground *ground, const struct hn_shape *shape, const struct hn_placement *runs,
                 const struct hn_placement *lies, struct hn_score *ret)
{
        size_t n = ground->host->n_nodes;
        HN_FREE uint64_t *figures = calloc(3 * n + 1, sizeof *figures);
        HN_FREE struct hn_tally *tallies = calloc(n + 1, sizeof *tallies);
        HN_FREE struct hn_seat *seats = calloc(n * runs->n_cells + 1, sizeof *seats);
        struct seating s = { .ground = ground, .shape = shape, .weights = figures, .seats = seats };

        if (!figures || !tallies || !seats)
                return -ENOMEM;
        s.milli = figures + n;
        s.kib = figures + 2 * n;
        for (size_t i = 0; i < runs->n_cells; i++)
                if (!seat_cell(&s, i, &runs->cells[i], lies))
                        return -ENOSPC;
        hn_score_seats(ground, seats, s.n_seats, tallies, ret);
        return 0;
}

int hn_home_leaves(const struct hn_situation *situation, const struct hn_request *request, const struct hn_shape *shape,
                   const struct hn_placement *from, const struct hn_placement *to, bool *ret)
{
        HN_GROUND struct hn_ground *ground = NULL;
        struct hn_score stay, leave;
        int r;

        if (from->n_cells != to->n_cells) {
                *ret = false;
                return 0;
        }
        r = hn_ground_new(situation, request, shape, &ground);
        if (r < 0)
                return r;
        r = score(ground, shape, to, from, &leave);
        if (r == -ENOSPC) {
                *ret = false;
                return 0;
        }
        if (r >= 0)
                r = score(ground, shape, from, from, &stay);
        if (r < 0 && r != -ENOSPC)
                return r;
        *ret = r == -ENOSPC || leave.total < stay.total;
        return 0;
}
