/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Distances between nodes: hwloc's matrices, and the rule that makes any of them usable.
 */
#include "model/host-facts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <hwloc/distances.h>

#define MATRICES 16u

static enum hn_distance_source fall_back(unsigned *distances, size_t n, enum hn_distance_source source)
{
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                        distances[i * n + j] = i == j ? HN_DISTANCE_LOCAL : HN_DISTANCE_REMOTE;
        return source;
}

static unsigned smallest_diagonal(const unsigned *distances, size_t n)
{
        unsigned smallest = UINT_MAX;

        for (size_t i = 0; i < n; i++)
                if (distances[i * n + i] < smallest)
                        smallest = distances[i * n + i];
        return smallest;
}

/* To the nearest, but never so that a farther node becomes as near as the node itself. */
static uint64_t scale(unsigned value, unsigned local)
{
        uint64_t scaled = ((uint64_t) value * HN_DISTANCE_LOCAL + local / 2) / local;

        return value > local && scaled <= HN_DISTANCE_LOCAL ? HN_DISTANCE_LOCAL + 1 : scaled;
}

static unsigned larger(unsigned a, unsigned b)
{
        return a > b ? a : b;
}

enum hn_distance_source hn_distances_normalise(unsigned *distances, size_t n)
{
        bool some = false;
        unsigned local;

        for (size_t i = 0; i < n * n; i++)
                some |= distances[i] != 0;
        if (!some)
                return fall_back(distances, n, HN_DISTANCE_MISSING);
        local = smallest_diagonal(distances, n);
        if (!local)
                return fall_back(distances, n, HN_DISTANCE_BROKEN);

        for (size_t i = 0; i < n; i++)
                for (size_t j = i + 1; j < n; j++) {
                        unsigned far = larger(distances[i * n + j], distances[j * n + i]);
                        uint64_t scaled = scale(far, local);

                        if (far <= larger(distances[i * n + i], distances[j * n + j]) || scaled > 254)
                                return fall_back(distances, n, HN_DISTANCE_BROKEN);
                        distances[i * n + j] = distances[j * n + i] = (unsigned) scaled;
                }
        for (size_t i = 0; i < n; i++)
                distances[i * n + i] = HN_DISTANCE_LOCAL;
        return HN_DISTANCE_FROM_HOST;
}

/* The kernel's own latencies first, then whatever else the system told, then what a user wrote. */
static int rank(hwloc_topology_t topology, struct hwloc_distances_s *matrix)
{
        const char *name = hwloc_distances_get_name(topology, matrix);

        if (name && strcmp(name, "NUMALatency") == 0)
                return 2;
        return matrix->kind & HWLOC_DISTANCES_KIND_FROM_OS ? 1 : 0;
}

static struct hwloc_distances_s *choose(hwloc_topology_t topology, struct hwloc_distances_s **matrices,
                                        unsigned n)
{
        struct hwloc_distances_s *best = NULL;

        for (unsigned i = 0; i < n; i++)
                if (!best || rank(topology, matrices[i]) > rank(topology, best) ||
                    (rank(topology, matrices[i]) == rank(topology, best) &&
                     matrices[i]->nbobjs > best->nbobjs))
                        best = matrices[i];
        return best;
}

static unsigned clamp(hwloc_uint64_t value)
{
        return value < UINT_MAX ? (unsigned) value : UINT_MAX;
}

static void take_matrix(const struct hwloc_distances_s *matrix, const struct hn_facts *facts,
                        unsigned *distances)
{
        for (unsigned i = 0; i < matrix->nbobjs; i++)
                for (unsigned j = 0; j < matrix->nbobjs; j++) {
                        int a = matrix->objs[i] ? hn_facts_at(facts, matrix->objs[i]->os_index) : -1;
                        int b = matrix->objs[j] ? hn_facts_at(facts, matrix->objs[j]->os_index) : -1;

                        if (a >= 0 && b >= 0)
                                distances[(size_t) a * facts->n_nodes + (size_t) b] =
                                        clamp(matrix->values[i * matrix->nbobjs + j]);
                }
}

/* A matrix may leave nodes out (memory without CPUs): they count as far as the farthest. */
static void fill_left_out(unsigned *distances, size_t n)
{
        unsigned local = UINT_MAX, farthest = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                        farthest = larger(farthest, distances[i * n + j]);
                        if (i == j && distances[i * n + i] && distances[i * n + i] < local)
                                local = distances[i * n + i];
                }
        if (local == UINT_MAX)
                return;
        for (size_t i = 0; i < n; i++) {
                if (distances[i * n + i])
                        continue;
                for (size_t j = 0; j < n; j++)
                        distances[i * n + j] = distances[j * n + i] = i == j ? local : farthest;
        }
}

int hn_facts_distances(hwloc_topology_t topology, struct hn_facts *facts)
{
        struct hwloc_distances_s *matrices[MATRICES], *best;
        HN_FREE unsigned *distances = calloc(facts->n_nodes * facts->n_nodes, sizeof *distances);
        unsigned n = MATRICES;

        if (!distances)
                return -ENOMEM;
        if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &n, matrices,
                                        HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0)
                n = 0;
        if (n > MATRICES) /* hwloc says how many there are, and gives as many as fit */
                n = MATRICES;
        best = choose(topology, matrices, n);
        if (best) {
                take_matrix(best, facts, distances);
                if (best->nbobjs < facts->n_nodes)
                        fill_left_out(distances, facts->n_nodes);
        }
        for (unsigned i = 0; i < n; i++)
                hwloc_distances_release(topology, matrices[i]);

        free(facts->distances);
        facts->distance_source = hn_distances_normalise(distances, facts->n_nodes);
        facts->distances = HN_TAKE(distances);
        return 0;
}
