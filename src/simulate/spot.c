/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/spot.h"

#include <string.h>

struct hn_spot *hn_spot_new(size_t n_cells, size_t n_nodes)
{
        HN_SPOT struct hn_spot *spot = calloc(1, sizeof *spot);
        size_t n = n_cells * n_nodes;

        if (!spot)
                return NULL;
        spot->n_cells = n_cells;
        spot->n_nodes = n_nodes;
        spot->vcpus = calloc(n_cells + 1, sizeof *spot->vcpus);
        spot->runs = calloc(n + 1, sizeof *spot->runs);
        spot->memory_kib = calloc(n + 1, sizeof *spot->memory_kib);
        spot->share = calloc(n + 1, sizeof *spot->share);
        return spot->vcpus && spot->runs && spot->memory_kib && spot->share ? HN_TAKE(spot) : NULL;
}

struct hn_spot *hn_spot_copy(const struct hn_spot *spot)
{
        struct hn_spot *copy = hn_spot_new(spot->n_cells, spot->n_nodes);
        size_t n = spot->n_cells * spot->n_nodes;

        if (!copy)
                return NULL;
        copy->cells_seen = spot->cells_seen;
        memcpy(copy->vcpus, spot->vcpus, spot->n_cells * sizeof *spot->vcpus);
        memcpy(copy->runs, spot->runs, n * sizeof *spot->runs);
        memcpy(copy->memory_kib, spot->memory_kib, n * sizeof *spot->memory_kib);
        memcpy(copy->share, spot->share, n * sizeof *spot->share);
        return copy;
}

void hn_spot_free(struct hn_spot *spot)
{
        if (!spot)
                return;
        free(spot->vcpus);
        free(spot->runs);
        free(spot->memory_kib);
        free(spot->share);
        free(spot);
}

uint64_t hn_spot_memory_kib(const struct hn_spot *spot, size_t at)
{
        uint64_t sum = 0;

        for (size_t cell = 0; cell < spot->n_cells; cell++)
                sum += spot->memory_kib[cell * spot->n_nodes + at];
        return sum;
}

size_t hn_spot_width(const struct hn_spot *spot)
{
        size_t width = 0;

        for (size_t at = 0; at < spot->n_nodes; at++) {
                bool there = false;

                for (size_t cell = 0; cell < spot->n_cells; cell++)
                        there |= spot->runs[cell * spot->n_nodes + at]
                                 || spot->memory_kib[cell * spot->n_nodes + at] > 0;
                width += there;
        }
        return width;
}
