/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/decision.h"

#include "unit/support/test.h"

struct hn_decision *decision_of(const struct cell_spec *cells, size_t n, bool given)
{
        struct hn_decision *decision = calloc(1, sizeof *decision);
        struct hn_placement *placement = hn_placement_new();
        struct hn_shape *shape = calloc(1, sizeof *shape);

        assert_true(decision && placement && shape);
        *shape = (struct hn_shape){ .given = given, .n_cells = n, .cells = calloc(n, sizeof *shape->cells) };
        placement->n_cells = n;
        placement->cells = calloc(n, sizeof *placement->cells);
        shape->distances = n > 1 ? calloc(n * n, sizeof *shape->distances) : NULL;
        for (size_t i = 0; i < n; i++) {
                shape->cells[i].vcpus = set_of(cells[i].vcpus);
                shape->cells[i].memory_kib = cells[i].memory_kib;
                placement->cells[i] = (struct hn_placed_cell){ .id = (unsigned) i,
                                                               .vcpus = set_of(cells[i].vcpus),
                                                               .memory_kib = cells[i].memory_kib,
                                                               .nodes = set_of(cells[i].nodes),
                                                               .cpus = set_of(cells[i].cpus) };
                hwloc_bitmap_or(placement->home, placement->home, placement->cells[i].nodes);
                hwloc_bitmap_or(placement->emulator_cpus, placement->emulator_cpus, placement->cells[i].cpus);
                for (size_t j = 0; n > 1 && j < n; j++)
                        shape->distances[i * n + j] = i == j ? 10 : 20;
        }
        hwloc_bitmap_copy(placement->memory_nodes, placement->home);
        *decision = (struct hn_decision){ .verdict = HN_PLACED, .shape = shape, .placement = placement };
        return decision;
}
