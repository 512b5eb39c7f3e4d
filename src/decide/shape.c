/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/shape.h"

#include <errno.h>
#include <string.h>

#include "decide/cut.h"
#include "decide/fit.h"
#include "model/text.h"

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
static void write_topology(const struct hn_cut *cut, size_t n, struct hn_topology *ret)
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
static bool cuts_socket(const struct hn_cut *cut, size_t n)
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

static int cells_of_cut(const struct hn_cut *cut, size_t n, struct hn_shape **ret)
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
                shape->cells[i].memory_kib = hn_cut_memory_kib(cut, i);
                shape->cells[i].page_kib = cut->page_kib;
        }
        if (topology_absent(cut->request))
                write_topology(cut, n, &shape->topology);
        *ret = HN_TAKE(shape);
        return 0;
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

static int new_cells(struct hn_cut *cut, hwloc_const_bitmap_t candidates, struct hn_shape **ret, char **note)
{
        HN_SHAPE struct hn_shape *shape = NULL;
        size_t n = 1;
        int wish = cut->request->wishes.vnuma, r = hn_cut_choose(cut, &n);

        if (r >= 0 && wish > 0 && (size_t) wish > n)
                r = hn_text_add(note,
                                "%d cells are wanted, but there are guest cores and memory for %zu only",
                                wish, n);
        if (r >= 0)
                r = n < 2 ? whole_shape(cut->host, cut->request, &shape) : cells_of_cut(cut, n, &shape);
        if (r >= 0 && n > 1)
                r = hn_shape_distances(cut->host, cut->policy, candidates, shape, &shape->distances);
        if (r >= 0 && n > 1 && cuts_socket(cut, n))
                r = hn_text_add(note,
                                "a cell ends within a socket of the CPU topology that the XML asks for");
        if (r < 0)
                return r;
        *ret = HN_TAKE(shape);
        return 0;
}

int hn_shape_running(const struct hn_host *host, const struct hn_request *request, struct hn_shape **ret)
{
        return request->n_cells ? given_shape(host, request, ret) : whole_shape(host, request, ret);
}

int hn_shape_new(const struct hn_host *host, const struct hn_policy *policy, const struct hn_request *request,
                 struct hn_shape **ret, char **ret_note)
{
        HN_CLEANUP(hn_cut_end) struct hn_cut cut = { 0 };
        HN_BITMAP hwloc_bitmap_t candidates = NULL;
        HN_FREE size_t *nodes = NULL;
        HN_FREE char *note = NULL;
        int r;

        if (request->n_cells)
                r = given_shape(host, request, ret);
        else {
                r = hn_candidates(host, request, &candidates);
                if (r >= 0)
                        r = hn_cut_start(host, policy, request, &cut);
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
