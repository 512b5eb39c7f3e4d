/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/shape.h"

#include <errno.h>
#include <string.h>

#include "decide/fit.h"
#include "decide/text.h"

/* A cut under way: n cells, counted in guest cores and in granules of memory. */
struct cut {
        const struct hn_host *host;
        const struct hn_policy *policy;
        const struct hn_request *request;
        const size_t *nodes;          /* those it may use, by `at`, ascending */
        size_t n_nodes;
        unsigned threads;             /* of a guest core */
        uint64_t page_kib, granule_kib, overhead_kib;
        uint64_t n_cores, n_granules; /* of the whole domain */
        uint64_t *cores, *granules;   /* of each cell */
};

static void free_cut(struct cut *cut)
{
        free(cut->cores);
        free(cut->granules);
}

void hn_shape_free(struct hn_shape *shape)
{
        if (!shape)
                return;
        for (size_t i = 0; shape->cells && i < shape->n_cells; i++)
                hwloc_bitmap_free(shape->cells[i].vcpus);
        free(shape->cells);
        free(shape->distances);
        free(shape);
}

static unsigned or_one(unsigned value)
{
        return value ? value : 1;
}

/* libvirt wants the product to be the number of vCPUs; what does not hold to that says nothing. */
static bool topology_given(const struct hn_request *request)
{
        const struct hn_topology *t = &request->topology;

        return t->threads && (uint64_t) or_one(t->sockets) * or_one(t->dies) * or_one(t->clusters)
                             * or_one(t->cores) * t->threads == request->vcpus_max;
}

static bool topology_absent(const struct hn_request *request)
{
        const struct hn_topology *t = &request->topology;

        return !t->sockets && !t->dies && !t->clusters && !t->cores && !t->threads;
}

unsigned hn_guest_threads(const struct hn_host *host, const struct hn_request *request)
{
        unsigned threads = 1;

        if (topology_given(request))
                threads = request->topology.threads;
        else if (topology_absent(request) && request->wishes.pin_cores)
                threads = hn_host_threads(host);
        return request->vcpus_max % threads ? 1 : threads;
}

static struct hn_shape *new_shape(size_t n_cells)
{
        HN_SHAPE struct hn_shape *shape = calloc(1, sizeof *shape);

        if (!shape)
                return NULL;
        shape->cells = calloc(n_cells, sizeof *shape->cells);
        if (!shape->cells)
                return NULL;
        shape->n_cells = n_cells;
        for (size_t i = 0; i < n_cells; i++) {
                shape->cells[i].vcpus = hwloc_bitmap_alloc();
                if (!shape->cells[i].vcpus)
                        return NULL;
        }
        return HN_TAKE(shape);
}

static int set_range(hwloc_bitmap_t set, uint64_t first, uint64_t n)
{
        if (!n)
                return 0;
        return hwloc_bitmap_set_range(set, (unsigned) first, (int) (first + n - 1)) < 0 ? -ENOMEM : 0;
}

static int copy_distances(const struct hn_request *request, struct hn_shape *shape)
{
        size_t n = request->n_cells;

        for (size_t i = 0; i < n; i++)
                if (n < 2 || !request->cells[i].distances)
                        return 0;
        shape->distances = calloc(n * n, sizeof *shape->distances);
        if (!shape->distances)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                memcpy(&shape->distances[i * n], request->cells[i].distances, n * sizeof *shape->distances);
        return 0;
}

/* vCPUs that no cell names go to cell 0, as libvirt does it; those beyond the maximum are no vCPUs. */
static int given_shape(const struct hn_host *host, const struct hn_request *request, struct hn_shape **ret)
{
        HN_SHAPE struct hn_shape *shape = new_shape(request->n_cells);
        HN_BITMAP hwloc_bitmap_t rest = hwloc_bitmap_alloc();
        int r;

        if (!shape || !rest || set_range(rest, 0, request->vcpus_max) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < request->n_cells; i++) {
                const struct hn_request_cell *cell = &request->cells[i];

                if (cell->vcpus && (hwloc_bitmap_and(shape->cells[i].vcpus, cell->vcpus, rest) < 0
                                    || hwloc_bitmap_andnot(rest, rest, cell->vcpus) < 0))
                        return -ENOMEM;
                shape->cells[i].memory_kib = cell->memory_kib;
                shape->cells[i].page_kib = hn_page_kib(host, request, cell->page_kib);
        }
        if (hwloc_bitmap_or(shape->cells[0].vcpus, shape->cells[0].vcpus, rest) < 0)
                return -ENOMEM;
        shape->given = true;
        r = copy_distances(request, shape);
        if (r < 0)
                return r;
        *ret = HN_TAKE(shape);
        return 0;
}

static int whole_shape(const struct hn_host *host, const struct hn_request *request, struct hn_shape **ret)
{
        HN_SHAPE struct hn_shape *shape = new_shape(1);

        if (!shape || set_range(shape->cells[0].vcpus, 0, request->vcpus_max) < 0)
                return -ENOMEM;
        shape->cells[0].memory_kib = request->memory_kib;
        shape->cells[0].page_kib = hn_page_kib(host, request, 0);
        *ret = HN_TAKE(shape);
        return 0;
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

static uint64_t cell_memory_kib(const struct cut *cut, size_t i)
{
        uint64_t rest = cut->request->memory_kib - cut->n_granules * cut->granule_kib;

        return cut->granules[i] * cut->granule_kib + (i == 0 ? rest : 0);
}

static uint64_t cell_overhead_kib(const struct cut *cut, size_t n, size_t i)
{
        return cut->overhead_kib / n + (i == 0 ? cut->overhead_kib % n : 0);
}

static bool cell_fits(const struct cut *cut, size_t n, size_t i, size_t at)
{
        return hn_fits_idle(cut->policy, &cut->host->nodes[at], (unsigned) (cut->cores[i] * cut->threads),
                            cell_memory_kib(cut, i), cut->page_kib, cell_overhead_kib(cut, n, i));
}

/* Is there a node for each of n cells, in ascending order?  To take the first that fits is never worse. */
static bool cells_fit(const struct cut *cut, size_t n)
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
static int largest_nodes(const struct cut *cut, size_t n, bool by_memory, size_t *ret)
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
static int cut_to_nodes(struct cut *cut, size_t n, bool by_memory, bool *ret_fits)
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

static int cut_into(struct cut *cut, size_t n, bool *ret_fits)
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
static int choose_cut(struct cut *cut, size_t *ret_n)
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

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
        while (b) {
                uint64_t rest = a % b;

                a = b;
                b = rest;
        }
        return a;
}

/* Every cell is a whole number of sockets: guests take a socket's caches to be on one node.  Clusters are
 * not written: libvirt 9.0 does not know them. */
static void write_topology(const struct cut *cut, size_t n, struct hn_topology *ret)
{
        uint64_t socket = 0;

        for (size_t i = 0; i < n; i++)
                socket = common_divisor(cut->cores[i], socket);
        *ret = (struct hn_topology) {
                .sockets = (unsigned) (cut->n_cores / socket),
                .dies = 1,
                .cores = (unsigned) socket,
                .threads = cut->threads,
        };
}

/* Does a cell boundary run within one of the user's sockets? */
static bool cuts_socket(const struct cut *cut, size_t n)
{
        unsigned sockets = or_one(cut->request->topology.sockets);
        uint64_t socket = cut->n_cores / sockets, sum = 0;

        for (size_t i = 0; topology_given(cut->request) && i < n; i++) {
                sum += cut->cores[i];
                if (socket && sum % socket)
                        return true;
        }
        return false;
}

static int cells_of_cut(const struct cut *cut, size_t n, struct hn_shape **ret)
{
        HN_SHAPE struct hn_shape *shape = new_shape(n);
        uint64_t first = 0;

        if (!shape)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                uint64_t vcpus = cut->cores[i] * cut->threads;

                if (set_range(shape->cells[i].vcpus, first, vcpus) < 0)
                        return -ENOMEM;
                first += vcpus;
                shape->cells[i].memory_kib = cell_memory_kib(cut, i);
                shape->cells[i].page_kib = cut->page_kib;
        }
        if (topology_absent(cut->request))
                write_topology(cut, n, &shape->topology);
        *ret = HN_TAKE(shape);
        return 0;
}

static int start_cut(const struct hn_host *host, const struct hn_policy *policy,
                     const struct hn_request *request, struct cut *ret)
{
        *ret = (struct cut) { .host = host, .policy = policy, .request = request };
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

/* The nodes that a domain may use, as indexes; the caller frees. */
static int usable_nodes(const struct hn_host *host, hwloc_const_bitmap_t set, size_t **ret, size_t *ret_n)
{
        size_t n = 0, *nodes = calloc(host->n_nodes + 1, sizeof *nodes);

        if (!nodes)
                return -ENOMEM;
        for (size_t at = 0; at < host->n_nodes; at++)
                if (hwloc_bitmap_isset(set, host->nodes[at].os))
                        nodes[n++] = at;
        *ret = nodes;
        *ret_n = n;
        return 0;
}

static int new_cells(struct cut *cut, hwloc_const_bitmap_t candidates, struct hn_shape **ret, char **note)
{
        HN_SHAPE struct hn_shape *shape = NULL;
        size_t n = 1;
        int wish = cut->request->wishes.vnuma, r = choose_cut(cut, &n);

        if (r >= 0 && wish > 0 && (size_t) wish > n)
                r = hn_text_add(note, "%d cells are wanted, but there are guest cores and memory for %zu only",
                                wish, n);
        if (r >= 0)
                r = n < 2 ? whole_shape(cut->host, cut->request, &shape) : cells_of_cut(cut, n, &shape);
        if (r >= 0 && n > 1)
                r = hn_shape_distances(cut->host, cut->policy, candidates, shape, &shape->distances);
        if (r >= 0 && n > 1 && cuts_socket(cut, n))
                r = hn_text_add(note, "a cell ends within a socket of the CPU topology that the XML asks for");
        if (r < 0)
                return r;
        *ret = HN_TAKE(shape);
        return 0;
}

int hn_shape_new(const struct hn_host *host, const struct hn_policy *policy, const struct hn_request *request,
                 struct hn_shape **ret, char **ret_note)
{
        HN_CLEANUP(free_cut) struct cut cut = { 0 };
        HN_BITMAP hwloc_bitmap_t candidates = NULL;
        HN_FREE size_t *nodes = NULL;
        HN_FREE char *note = NULL;
        int r;

        if (request->n_cells)
                r = given_shape(host, request, ret);
        else {
                r = hn_candidates(host, request, &candidates);
                if (r >= 0)
                        r = start_cut(host, policy, request, &cut);
                if (r >= 0)
                        r = usable_nodes(host, candidates, &nodes, &cut.n_nodes);
                cut.nodes = nodes;
                if (r >= 0)
                        r = new_cells(&cut, candidates, ret, &note);
        }
        if (r >= 0 && note)
                r = hn_text_add(ret_note, "%s", note);
        return r;
}
