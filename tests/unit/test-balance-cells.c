/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves of single cells, and of several that keep their order.
 */
#include "unit/support/test.h"

#include "unit/support/yard.h"

/* Two cells {0,1}; node 0 gets crowded: cell 0 would go to 2, but the order of cells is that of nodes. */
static void cells_keep_their_order(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard_add(yard, 4, 90 * GIB, "3", 4);
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 0, .busy_cpus = 8 };
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_ROTATE, 0, "1-2");
        assert_set(moves.list[0].cells[0].to, "1");
        assert_set(moves.list[0].cells[1].to, "2");
        yard_apply(yard, &moves);
        yard_assert_quiet(yard);
}

static void one_cell_moves(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 1, .busy_cpus = 8 };
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_CELL, 0, "0,2");
        assert_int_equal(moves.list[0].cells[0].memory_kib, 0);
        assert_int_equal(moves.list[0].cells[1].memory_kib, moves.list[0].memory_kib);
        assert_int_equal(moves.list[0].memory_kib, 4 * GIB + 44 * MIB);
}

/* Nodes 0 and 1 near to each other, 2 and 3 as well, the pairs far apart: one cell alone would be worse off. */
static void both_cells_move_at_once(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        for (unsigned a = 0; a < 2; a++)
                for (unsigned b = 2; b < 4; b++)
                        host_distance(yard->host, a, b, 80);
        host_distance(yard->host, 0, 1, 12);
        host_distance(yard->host, 2, 3, 12);
        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        for (unsigned node = 0; node < 2; node++)
                yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = node, .busy_cpus = 4 };
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_ROTATE, 0, "2-3");
}

static void cells_that_may_grow_stay(void **state)
{
        struct yard *yard = *state;

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard->requests[0]->memory_max_kib = 16 * GIB;
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 1, .busy_cpus = 8 };
        yard_assert_quiet(yard);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                YARD_ON_FOUR(cells_keep_their_order),
                YARD_ON_FOUR(one_cell_moves),
                YARD_ON_FOUR(both_cells_move_at_once),
                YARD_ON_FOUR(cells_that_may_grow_stay),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
