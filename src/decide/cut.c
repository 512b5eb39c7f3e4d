/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/cut.h"

#include <errno.h>

#include "decide/fit.h"

void hn_cut_end(struct hn_cut *cut)
{
        free(cut->cores);
        free(cut->granules);
}

int hn_cut_start(const struct hn_host *host, const struct hn_policy *policy,
                 const struct hn_request *request, struct hn_cut *ret)
{
        *ret = (struct hn_cut) { .host = host, .policy = policy, .request = request };
        ret->threads = hn_guest_threads(host, request);
        ret->page_kib = hn_page_kib(host, request, 0);
        ret->granule_kib = ret->page_kib > HN_MIB_KIB ? ret->page_kib : HN_MIB_KIB;
        ret->overhead_kib = hn_overhead_kib(policy, request->memory_kib);
        ret->n_cores = request->vcpus_max / ret->threads;
        ret->n_granules = request->memory_kib / ret->granule_kib;
        ret->cores = calloc(ret->n_cores + 1, sizeof *ret->cores);
        ret->granules = calloc(ret->n_cores + 1, sizeof *ret->granules);
        return ret->cores && ret->granules ? 0 : -ENOMEM;
}

/* Cuts `total` evenly into n, the rest to the lowest, none above its cap (NULL: no caps). */
static bool cut_evenly(uint64_t total, const uint64_t *caps, size_t n, uint64_t *ret)
{
        uint64_t left = total;
        size_t open = n;

        for (size_t i = 0; i < n; i++)
                ret[i] = UINT64_MAX;
        for (bool again = true; again;) {
                again = false;
                for (size_t i = 0; caps && i < n; i++) {
                        /* a smaller node is filled, and the others share what it can't take */
                        if (ret[i] != UINT64_MAX || caps[i] >= left / open + (left % open ? 1 : 0))
                                continue;
                        ret[i] = caps[i];
                        left -= caps[i];
                        again = true;
                        if (--open == 0)
                                return left == 0;
                }
        }
        for (size_t i = 0, given = 0; i < n; i++)
                if (ret[i] == UINT64_MAX) {
                        ret[i] = left / open + (given < left % open ? 1 : 0);
                        given++;
                }
        return true;
}

uint64_t hn_cut_memory_kib(const struct hn_cut *cut, size_t i)
{
        uint64_t rest = cut->request->memory_kib - cut->n_granules * cut->granule_kib;

        return cut->granules[i] * cut->granule_kib + (i == 0 ? rest : 0);
}

static uint64_t cell_overhead_kib(const struct hn_cut *cut, size_t n, size_t i)
{
        return cut->overhead_kib / n + (i == 0 ? cut->overhead_kib % n : 0);
}

static bool cell_fits(const struct hn_cut *cut, size_t n, size_t i, size_t at)
{
        return hn_fits_idle(cut->policy, &cut->host->nodes[at], (unsigned) (cut->cores[i] * cut->threads),
                            hn_cut_memory_kib(cut, i), cut->page_kib, cell_overhead_kib(cut, n, i));
}

/* Is there a node for each of n cells, in ascending order?  To take the first that fits is never worse. */
static bool cells_fit(const struct hn_cut *cut, size_t n)
{
        size_t i = 0;

        for (size_t j = 0; j < cut->n_nodes && i < n; j++)
                if (cell_fits(cut, n, i, cut->nodes[j]))
                        i++;
        return i == n;
}

/* A node and its size. */
struct sized {
        uint64_t size;
        size_t at;
};

/* The largest first, the lower one among equals. */
static int compare_sized(const void *a, const void *b)
{
        const struct sized *x = a, *y = b;

        if (x->size != y->size)
                return x->size < y->size ? 1 : -1;
        return (x->at > y->at) - (x->at < y->at);
}

static int compare_at(const void *a, const void *b)
{
        const struct sized *x = a, *y = b;

        return (x->at > y->at) - (x->at < y->at);
}

/* The n largest nodes, ascending by number. */
static int largest_nodes(const struct hn_cut *cut, size_t n, bool by_memory, size_t *ret)
{
        HN_FREE struct sized *all = calloc(cut->n_nodes, sizeof *all);

        if (!all)
                return -ENOMEM;
        for (size_t i = 0; i < cut->n_nodes; i++) {
                const struct hn_node *node = &cut->host->nodes[cut->nodes[i]];

                all[i].at = cut->nodes[i];
                all[i].size = by_memory ? hn_usable_kib(cut->policy, node, cut->page_kib)
                                        : hn_capacity_milli(cut->policy, node);
        }
        qsort(all, cut->n_nodes, sizeof *all, compare_sized);
        qsort(all, n, sizeof *all, compare_at);
        for (size_t i = 0; i < n; i++)
                ret[i] = all[i].at;
        return 0;
}

/* Cuts to the measure of the n largest nodes where an even cut fits no n nodes. */
static int cut_to_nodes(struct hn_cut *cut, size_t n, bool by_memory, bool *ret_fits)
{
        HN_FREE size_t *nodes = calloc(n, sizeof *nodes);
        HN_FREE uint64_t *cores = calloc(n, sizeof *cores), *granules = calloc(n, sizeof *granules);

        if (!nodes || !cores || !granules || largest_nodes(cut, n, by_memory, nodes) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const struct hn_node *node = &cut->host->nodes[nodes[i]];
                uint64_t usable = hn_usable_kib(cut->policy, node, cut->page_kib);

                if (!cut->page_kib)
                        usable = hn_subtract(usable, cell_overhead_kib(cut, n, i));
                cores[i] = hn_capacity_milli(cut->policy, node) / 1000 / cut->threads;
                granules[i] = usable / cut->granule_kib;
        }
        *ret_fits = cut_evenly(cut->n_cores, cores, n, cut->cores)
                    && cut_evenly(cut->n_granules, granules, n, cut->granules);
        for (size_t i = 0; i < n; i++)
                *ret_fits = *ret_fits && cut->cores[i] && cut->granules[i] && cell_fits(cut, n, i, nodes[i]);
        return 0;
}

static int cut_into(struct hn_cut *cut, size_t n, bool *ret_fits)
{
        int r = 0;

        (void) cut_evenly(cut->n_cores, NULL, n, cut->cores);
        (void) cut_evenly(cut->n_granules, NULL, n, cut->granules);
        *ret_fits = cells_fit(cut, n);
        if (!*ret_fits && n <= cut->n_nodes)
                r = cut_to_nodes(cut, n, true, ret_fits);
        if (r >= 0 && !*ret_fits && n <= cut->n_nodes)
                r = cut_to_nodes(cut, n, false, ret_fits);
        return r;
}

/* How many cells, with the cut made; 1: it stays whole. */
int hn_cut_choose(struct hn_cut *cut, size_t *ret_n)
{
        uint64_t most = cut->n_cores < cut->n_granules ? cut->n_cores : cut->n_granules;
        int wish = cut->request->wishes.vnuma;
        bool fits = false;
        int r = 0;

        *ret_n = 1;
        if (wish == 0 || most < 2)
                return 0;
        if (wish > 0) {
                *ret_n = (uint64_t) wish < most ? (size_t) wish : (size_t) most;
                if (*ret_n > HN_DOMAIN_CELL_LIMIT)
                        *ret_n = HN_DOMAIN_CELL_LIMIT;
                r = cut_into(cut, *ret_n, &fits);
                if (r >= 0 && !fits) {
                        (void) cut_evenly(cut->n_cores, NULL, *ret_n, cut->cores);
                        (void) cut_evenly(cut->n_granules, NULL, *ret_n, cut->granules);
                }
                return r;
        }
        for (size_t n = 1; n <= cut->n_nodes && n <= most && r >= 0 && !fits; n++) {
                r = cut_into(cut, n, &fits);
                *ret_n = fits ? n : 1;
        }
        return r;
}
