/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "decide/fit.h"
#include "decide/shape.h"
#include "decide/subsets.h"

/* What libvirt takes for another cell (virDomainNumaDefParseXML): above local, a byte without 255. */
#define DISTANCE_OTHER_MIN (HN_DISTANCE_LOCAL + 1)
#define DISTANCE_MAX 254u

/* The search for the nearest nodes. */
struct nearest {
        const struct hn_host *host;
        const struct hn_policy *policy;
        const struct hn_shape *shape;
        uint64_t overhead_kib;
        size_t *nodes;      /* by `at`, ascending */
        size_t n_nodes, k;
        size_t *best;       /* k indexes into nodes[] */
        uint64_t best_sum;  /* UINT64_MAX: none found */
};

static unsigned between(const struct nearest *s, size_t i, size_t j)
{
        return s->host->distances[s->nodes[i] * s->host->n_nodes + s->nodes[j]];
}

static bool may_stand(void *context, size_t position, size_t i)
{
        const struct nearest *s = context;
        const struct hn_shape_cell *cell = &s->shape->cells[position];

        return hn_fits_idle(s->policy, &s->host->nodes[s->nodes[i]], hn_idset_count(cell->vcpus),
                            cell->memory_kib, cell->page_kib, s->overhead_kib);
}

static void visit(void *context, const size_t *chosen)
{
        struct nearest *s = context;
        uint64_t sum = 0;

        for (size_t i = 0; i < s->k; i++)
                for (size_t j = 0; j < i; j++)
                        sum += between(s, chosen[i], chosen[j]);
        if (sum >= s->best_sum)
                return;
        s->best_sum = sum;
        for (size_t i = 0; i < s->k; i++)
                s->best[i] = chosen[i];
}

/* The k nodes nearest to an anchor, ascending; the lowest numbers of those that are equally far. */
static void around(const struct nearest *s, size_t anchor, size_t *chosen)
{
        size_t n = 0, below = 0, at_limit;
        unsigned limit = 0;

        for (;; limit++) {
                at_limit = 0;
                for (size_t i = 0; i < s->n_nodes; i++)
                        at_limit += between(s, anchor, i) == limit;
                if (below + at_limit >= s->k)
                        break;
                below += at_limit;
        }
        for (size_t i = 0; i < s->n_nodes; i++) {
                unsigned d = between(s, anchor, i);

                if (d < limit || (d == limit && below < s->k && below++ < s->k))
                        chosen[n++] = i;
        }
}

static void search(struct nearest *s, bool fitting, size_t *chosen)
{
        struct hn_subsets all = { .n = s->n_nodes, .k = s->k, .may = fitting ? may_stand : NULL,
                                  .visit = visit, .context = s };

        if (hn_subsets_count(s->n_nodes, s->k) <= HN_SUBSETS_LIMIT) {
                hn_subsets_walk(&all, chosen);
                return;
        }
        for (size_t anchor = 0; anchor < s->n_nodes; anchor++) {
                bool fits = true;

                around(s, anchor, chosen);
                for (size_t i = 0; fitting && i < s->k; i++)
                        fits = fits && may_stand(s, i, chosen[i]);
                if (fits)
                        visit(s, chosen);
        }
}

static void write_matrix(const struct nearest *s, size_t n, unsigned *ret)
{
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                        /* more cells than nodes: neighbours share one */
                        unsigned d = s->k ? between(s, s->best[i * s->k / n], s->best[j * s->k / n])
                                          : HN_DISTANCE_REMOTE;

                        d = d < DISTANCE_OTHER_MIN ? DISTANCE_OTHER_MIN : d;
                        ret[i * n + j] = i == j ? HN_DISTANCE_LOCAL : d > DISTANCE_MAX ? DISTANCE_MAX : d;
                }
}

int hn_shape_distances(const struct hn_host *host, const struct hn_policy *policy, hwloc_const_bitmap_t nodes,
                       const struct hn_shape *shape, unsigned **ret)
{
        size_t n = shape->n_cells;
        HN_FREE size_t *usable = calloc(host->n_nodes + 1, sizeof *usable);
        HN_FREE size_t *best = calloc(n, sizeof *best), *chosen = calloc(n, sizeof *chosen);
        HN_FREE unsigned *matrix = calloc(n * n, sizeof *matrix);
        struct nearest s = { .host = host, .policy = policy, .shape = shape, .best_sum = UINT64_MAX };
        uint64_t memory_kib = 0;

        if (!usable || !best || !chosen || !matrix)
                return -ENOMEM;
        if (n < 2) {
                *ret = NULL;
                return 0;
        }
        s.nodes = usable;
        s.best = best;
        for (size_t at = 0; at < host->n_nodes; at++)
                if (hwloc_bitmap_isset(nodes, host->nodes[at].os))
                        usable[s.n_nodes++] = at;
        for (size_t i = 0; i < n; i++)
                memory_kib = hn_add(memory_kib, shape->cells[i].memory_kib);
        s.overhead_kib = hn_overhead_kib(policy, memory_kib) / n;
        s.k = n < s.n_nodes ? n : s.n_nodes;
        search(&s, s.k == n, chosen);
        if (s.best_sum == UINT64_MAX)
                search(&s, false, chosen);
        write_matrix(&s, n, matrix);
        *ret = HN_TAKE(matrix);
        return 0;
}
