/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Guests that change places, and that make room for one that lies across nodes or is about to start.
 */
#include "unit/support/test.h"

#include "unit/support/yard.h"

/* All of both nodes is promised: busy guests on the one, idle ones on the other.  One of two that change places goes first,
 * and needs memory while the other is still there: guests have not touched all they were promised. */
static void two_change_places_where_there_is_no_room_for_one(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[2] = { 47 * GIB, 47 * GIB };
        HN_MOVES struct hn_moves moves = { 0 };

        for (unsigned i = 0; i < 2; i++)
                yard_add(yard, 4, 48 * GIB, "0", 4);
        for (unsigned i = 0; i < 2; i++)
                yard_add(yard, 4, 48 * GIB, "1", 0.1);
        yard_assert_quiet(yard);
        yard->input.free_kib = free_kib;
        yard_assert_quiet(yard);
        free_kib[1] = 50 * GIB;
        yard_balance(yard, &moves);
        assert_int_equal(moves.n, 2);
        assert_int_equal(moves.list[0].kind, HN_MOVE_SWAP);
        assert_int_equal(moves.list[1].kind, HN_MOVE_SWAP);
        assert_int_equal(moves.list[0].group, moves.list[1].group);
        assert_int_equal(moves.list[0].guest, 0);
        assert_int_equal(moves.list[1].guest, 2);
        assert_set(moves.list[0].to->home, "1");
        assert_set(moves.list[1].to->home, "0");
        yard_apply(yard, &moves);
        yard_assert_quiet(yard);
}

static void a_guest_across_nodes_gets_whole(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };
        size_t filler;

        host_distance(yard->host, 0, 1, 40);
        filler = yard_add(yard, 1, 60 * GIB, "0", 0.1);
        assert_true(yard_put(yard, vm(1, 4, 60 * GIB), "0-1", 4));
        yard->guests[filler].held = true;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 1, "1");
}

/* 90 GiB across both nodes: half of its accesses take 2.5 times as long; no node has room for it until a smaller guest
 * goes, which does so first, and finds memory that was promised to the large one but is free now. */
static void guests_make_room_for_one_across_nodes(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[2] = { 40 * GIB, 30 * GIB };
        HN_MOVES struct hn_moves moves = { 0 };

        host_distance(yard->host, 0, 1, 40);
        yard_add(yard, 1, 30 * GIB, "0", 0.1);
        yard_add(yard, 1, 30 * GIB, "1", 0.1);
        assert_true(yard_put(yard, vm(2, 4, 90 * GIB), "0-1", 4));
        yard_assert_quiet(yard);
        yard->input.free_kib = free_kib;
        free_kib[0] = 30 * GIB;
        yard_assert_quiet(yard);
        free_kib[1] = 40 * GIB;
        yard_balance(yard, &moves);
        assert_int_equal(moves.n, 2);
        assert_int_equal(moves.list[0].kind, HN_MOVE_ROOM);
        assert_int_equal(moves.list[0].guest, 0);
        assert_set(moves.list[0].to->home, "1");
        assert_int_equal(moves.list[1].guest, 2);
        assert_set(moves.list[1].to->home, "0");
        yard_apply(yard, &moves);
        yard_assert_quiet(yard);
}

static void nobody_makes_room_for_a_lesser_one(void **state)
{
        struct yard *yard = *state;

        host_distance(yard->host, 0, 1, 40);
        for (unsigned i = 0; i < 2; i++) {
                size_t guest = yard_add(yard, 1, 30 * GIB, i ? "1" : "0", 0.1);

                yard->requests[guest]->wishes.priority = yard->placements[guest]->priority = HN_PRIORITY_HIGH;
        }
        assert_true(yard_put(yard, vm(2, 4, 90 * GIB), "0-1", 4));
        yard_assert_quiet(yard);
}

static void guests_make_room_for_one_that_is_about_to_start(void **state)
{
        struct yard *yard = *state;
        HN_REQUEST struct hn_request *request = vm(9, 4, 90 * GIB);
        struct hn_shape_cell cell = { .vcpus = set_of("0-3"), .memory_kib = 90 * GIB };
        struct hn_shape shape = { .cells = &cell, .n_cells = 1 };
        struct hn_balance_wanted wanted = { .request = request, .shape = &shape };
        HN_MOVES struct hn_moves moves = { 0 };

        host_distance(yard->host, 0, 1, 40);
        yard_add(yard, 1, 30 * GIB, "0", 0.1);
        yard_add(yard, 1, 30 * GIB, "1", 0.1);
        yard->input.wanted = &wanted;
        yard->input.n_wanted = 1;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_ROOM, 0, "1");
        yard_apply(yard, &moves);
        /* nobody takes the room before it starts */
        yard_assert_quiet(yard);
        yard->input.now_us += 3600 * SECOND_US;
        yard_assert_quiet(yard);
        hwloc_bitmap_free(cell.vcpus);
}

/* It would be refused: it may not span and no node holds it. */
static void guests_make_room_for_one_that_may_not_span(void **state)
{
        struct yard *yard = *state;
        HN_REQUEST struct hn_request *request = vm(9, 4, 90 * GIB);
        struct hn_shape_cell cell = { .vcpus = set_of("0-3"), .memory_kib = 90 * GIB };
        struct hn_shape shape = { .cells = &cell, .n_cells = 1 };
        struct hn_balance_wanted wanted = { .request = request, .shape = &shape };
        HN_MOVES struct hn_moves moves = { 0 };

        request->wishes.spanning_forbidden = true;
        host_distance(yard->host, 0, 1, 40);
        yard_add(yard, 1, 30 * GIB, "0", 0.1);
        yard_add(yard, 1, 30 * GIB, "1", 0.1);
        yard->input.wanted = &wanted;
        yard->input.n_wanted = 1;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_ROOM, 0, "1");
        hwloc_bitmap_free(cell.vcpus);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                YARD_ON_TWO(two_change_places_where_there_is_no_room_for_one),
                YARD_ON_TWO(a_guest_across_nodes_gets_whole),
                YARD_ON_TWO(guests_make_room_for_one_across_nodes),
                YARD_ON_TWO(nobody_makes_room_for_a_lesser_one),
                YARD_ON_TWO(guests_make_room_for_one_that_is_about_to_start),
                YARD_ON_TWO(guests_make_room_for_one_that_may_not_span),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
