/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory: where it can not be had, can not be moved, is not at home, or runs out.
 */
#include "unit/support/test.h"

#include <math.h>

#include "unit/support/yard.h"

/* Room was promised there, but somebody else has the memory now. */
static void no_guest_is_sent_where_memory_is_short(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { 50 * GIB, 5 * GIB, 2 * GIB - 1, 5 * GIB };
        HN_MOVES struct hn_moves moves = { 0 };

        yard->input.free_kib = free_kib;
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_assert_quiet(yard);
        /* 4 GiB and QEMU's 56 MiB come, and 1 GiB is to be left */
        free_kib[1] = 5 * GIB + 56 * MIB;
        free_kib[3] = 5 * GIB + 56 * MIB - 1;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "1");
}

/* Its memory can't be moved, so its CPUs go to where that is. */
static void cpus_follow_memory_that_can_not_move(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard->guests[0].immovable = "it is passed through";
        yard_resident(yard, 0, 3);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "3");
        assert_int_equal(moves.list[0].memory_kib, 0);
        assert_true(fabs(moves.list[0].gain - 0.5) < 1e-6);
}

static void memory_follows_home(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "3", 4); /* or it would rather go to its memory */
        yard_resident(yard, 0, 3);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_int_equal(moves.list[0].memory_kib, 4 * GIB);
        assert_true(fabs(moves.list[0].gain - 0.5) < 1e-6);
        yard_apply(yard, &moves);
        yard_assert_quiet(yard);
}

/* homenode came to it when its memory lay elsewhere, and did not confine it. */
static void memory_that_came_home_stays_there(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "3", 4);
        hwloc_bitmap_zero(yard->placements[0]->memory_nodes);
        yard_resident(yard, 0, 3);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "0");
        /* its owner wants no memory set */
        hn_moves_clear(&moves);
        yard->requests[0]->wishes.memory = HN_MEMORY_SOFT;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "");
}

/* Memory that may be plugged in finds room on other nodes besides. */
static void a_set_that_is_wide_for_more_stays_wide(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard->requests[0]->memory_max_kib = 80 * GIB;
        hwloc_bitmap_set_range(yard->placements[0]->memory_nodes, 0, 1);
        yard_assert_quiet(yard);
        yard_add(yard, 4, 4 * GIB, "3", 4);
        yard_resident(yard, 0, 3);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "0-1");
}

/* 1 GiB is never promised on such nodes: with less than that a node is short. */
static void the_lowest_weight_spills_first(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { GIB - 1, 10 * GIB, 30 * GIB, GIB };
        HN_MOVES struct hn_moves moves = { 0 };
        size_t low;

        yard->policy.balance.moves = 1;
        yard_add(yard, 1, 40 * GIB, "0", 0.1);
        low = yard_add(yard, 1, GIB, "0", 1);
        yard->requests[low]->wishes.priority = yard->placements[low]->priority = HN_PRIORITY_LOW;
        yard->input.free_kib = free_kib;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_SPILL, low, "0");
        assert_set(moves.list[0].to->memory_nodes, "0,2");
        assert_int_equal(moves.list[0].memory_kib, 0);
        yard_apply(yard, &moves);
        /* it is short still: the next one */
        hn_moves_clear(&moves);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_SPILL, 0, "0");
        yard_apply(yard, &moves);
        yard_assert_quiet(yard);
        /* and back, when there is room again and no other reason to be anywhere */
        yard->policy.balance.moves = 2;
        yard->input.now_us += 3600 * SECOND_US;
        free_kib[0] = 2 * GIB;
        hn_moves_clear(&moves);
        yard_balance(yard, &moves);
        assert_int_equal(moves.n, 2);
        assert_int_equal(moves.list[0].kind, HN_MOVE_GATHER);
        assert_set(moves.list[0].to->memory_nodes, "0");
        assert_set(moves.list[1].to->memory_nodes, "0");
}

/* No node has room, but nobody is killed on a full one while another has something. */
static void a_full_node_spills_to_whatever_is_left(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { 64 * MIB, 100 * MIB, 200 * MIB, 500 * MIB };
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 1, 40 * GIB, "0", 0.1);
        yard->input.free_kib = free_kib;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_SPILL, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "0,3");
        /* one that has hardly more is no help */
        hn_moves_clear(&moves);
        free_kib[2] = free_kib[3] = 127 * MIB;
        yard_assert_quiet(yard);
}

static void strict_memory_never_spills(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { MIB, 10 * GIB, 10 * GIB, 10 * GIB };

        yard_add(yard, 1, 40 * GIB, "0", 0.1);
        yard->requests[0]->wishes.memory = HN_MEMORY_STRICT;
        yard->input.free_kib = free_kib;
        yard_assert_quiet(yard);
}

/* A wider set does not help a bind policy: the cell goes. */
static void a_bound_cell_leaves_a_node_that_is_short(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { 10 * GIB, MIB, 10 * GIB, GIB };
        HN_MOVES struct hn_moves moves = { 0 };

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard->input.free_kib = free_kib;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_SPILL, 0, "0,2");
}

/* What a node lacks is on its way already: all others would go for nothing, and all to the same free memory. */
static void one_bound_cell_leaves_and_the_others_stay(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { 50 * GIB, GIB - 1, 50 * GIB, GIB }, leaving_kib[4] = { 0, 4 * GIB, 0, 0 };
        HN_MOVES struct hn_moves moves = { 0 };

        yard->policy.balance.moves = 16;
        for (unsigned i = 0; i < 4; i++)
                assert_true(yard_put(yard, yard_cells(i, 2, 2, 8 * GIB), "0-1", 0.1));
        yard->input.free_kib = free_kib;
        yard_balance(yard, &moves);
        assert_int_equal(moves.n, 1);
        assert_int_equal(moves.list[0].kind, HN_MOVE_SPILL);
        assert_set(moves.list[0].to->home, "0,2");
        /* a period later hardly anything has left yet */
        yard_apply(yard, &moves);
        hn_moves_clear(&moves);
        yard->input.leaving_kib = leaving_kib;
        yard_assert_quiet(yard);
        /* where that will not be enough another one leaves */
        leaving_kib[1] = 1;
        free_kib[1] = GIB - 2;
        yard_balance(yard, &moves);
        assert_int_equal(moves.n, 1);
        assert_int_equal(moves.list[0].kind, HN_MOVE_SPILL);
}

/* What is free there was taken by the first. */
static void bound_cells_do_not_leave_to_the_same_free_memory(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { GIB, 0, 7 * GIB, GIB }, coming_kib[4] = { 0, 0, 4 * GIB, 0 };

        yard->policy.balance.moves = 16;
        assert_true(yard_put(yard, yard_cells(0, 2, 2, 8 * GIB), "0-1", 0.1));
        yard->input.free_kib = free_kib;
        yard->input.coming_kib = coming_kib;
        yard_assert_quiet(yard);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                YARD_ON_FOUR(no_guest_is_sent_where_memory_is_short),
                YARD_ON_FOUR(cpus_follow_memory_that_can_not_move),
                YARD_ON_FOUR(memory_follows_home),
                YARD_ON_FOUR(memory_that_came_home_stays_there),
                YARD_ON_FOUR(a_set_that_is_wide_for_more_stays_wide),
                YARD_ON_FOUR(the_lowest_weight_spills_first),
                YARD_ON_FOUR(a_full_node_spills_to_whatever_is_left),
                YARD_ON_FOUR(strict_memory_never_spills),
                YARD_ON_FOUR(a_bound_cell_leaves_a_node_that_is_short),
                YARD_ON_FOUR(one_bound_cell_leaves_and_the_others_stay),
                YARD_ON_FOUR(bound_cells_do_not_leave_to_the_same_free_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
