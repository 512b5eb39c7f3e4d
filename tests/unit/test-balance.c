/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves of guests that run, with scores worked out by hand (score.h): where guests demand u times the CPUs of a node,
 * each that is busy loses 0.15 u² up to u = 0.8, that and u - 1 from 1.2 to 2, and 1.6 (u - 1) beyond (0.2 at 1); memory at
 * distance d costs (d - 10)/20.
 */
#include "unit/support/test.h"

#include <math.h>

#include "unit/support/yard.h"

/* CPUs 0-3, 4-7, 8-11, 12-15. */
static const struct host_plan four_nodes = { .nodes = 4, .cores = 4, .threads = 1, .memory_kib = 100 * GIB };
static const struct host_plan two_nodes = { .nodes = 2, .cores = 4, .threads = 1, .memory_kib = 100 * GIB };

static int setup(void **state)
{
        struct yard *yard = yard_of(host_of(&four_nodes));

        yard->policy.balance.threshold_percent = 5;
        *state = yard;
        return 0;
}

static int setup_two(void **state)
{
        *state = yard_of(host_of(&two_nodes));
        return 0;
}

static int teardown(void **state)
{
        yard_free(*state);
        return 0;
}

/* Asserts the only move. */
static void assert_move(const struct hn_moves *moves, enum hn_move_kind kind, size_t guest, const char *home)
{
        assert_int_equal(moves->n, 1);
        assert_int_equal(moves->list[0].kind, kind);
        assert_int_equal(moves->list[0].guest, guest);
        assert_set(moves->list[0].to->home, home);
}

static void assert_quiet(struct yard *yard)
{
        HN_MOVES struct hn_moves moves = { 0 };

        yard_balance(yard, &moves);
        if (moves.n)
                fail_msg("not quiet: %s", moves.list[0].reason);
}

static void busy_guests_are_separated(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        /* 8 on 4 CPUs: 1.6 for each of the two, against 0.2 */
        assert_true(fabs(yard_total(yard) - 3.2) < 1e-6);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "1");
        assert_true(fabs(moves.list[0].gain - 2.8) < 1e-6);
        assert_set(moves.list[0].cells[0].from, "0");
        assert_set(moves.list[0].cells[0].to, "1");
        /* QEMU's own 32 MiB and 8 more per further GiB are counted where nothing is measured */
        assert_int_equal(moves.list[0].memory_kib, 4 * GIB + 56 * MIB);
        assert_set(moves.list[0].to->cells[0].cpus, "4-7");
        assert_set(moves.list[0].runner_up, "2");
        assert_true(fabs(moves.list[0].runner_up_gain - 2.8) < 1e-6);
        yard_apply(yard, &moves);
        assert_true(fabs(yard_total(yard) - 0.4) < 1e-6);
        assert_quiet(yard);
}

/* What the test machine does: 4 nodes of 2 CPUs, two busy guests on one of them, idle ones on the others. */
static void separated_within_three_periods_and_then_quiet(void **state)
{
        static const struct host_plan small = { .nodes = 4, .cores = 2, .threads = 1, .memory_kib = 1536 * MIB };
        struct yard *yard = yard_of(host_of(&small));
        size_t a = yard_add(yard, 2, 512 * MIB, "0", 2), b = yard_add(yard, 2, 512 * MIB, "0", 2);

        (void) state;
        for (unsigned node = 1; node < 4; node++)
                yard_add(yard, 2, 512 * MIB, (const char *const[]) { "1", "2", "3" }[node - 1], 0.05);
        for (unsigned period = 0; period < 53; period++) {
                HN_MOVES struct hn_moves moves = { 0 };

                yard->guests[a].busy_cpus = 2 - 0.02 * (period % 5);
                yard->guests[b].busy_cpus = 2 - 0.03 * (period % 4);
                yard->guests[2].busy_cpus = 0.05 + 0.01 * (period % 7);
                yard_balance(yard, &moves);
                if (period >= 3 && moves.n)
                        fail_msg("period %u: %s", period, moves.list[0].reason);
                yard_apply(yard, &moves);
                yard->input.now_us += 10 * SECOND_US;
                if (period == 2)
                        assert_false(hwloc_bitmap_intersects(yard->placements[a]->home, yard->placements[b]->home));
        }
        yard_free(yard);
}

/* Room was promised there, but somebody else has the memory now. */
static void no_guest_is_sent_where_memory_is_short(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { 50 * GIB, 5 * GIB, 2 * GIB - 1, 5 * GIB };
        HN_MOVES struct hn_moves moves = { 0 };

        yard->input.free_kib = free_kib;
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        assert_quiet(yard);
        /* 4 GiB and QEMU's 56 MiB come, and 1 GiB is to be left */
        free_kib[1] = 5 * GIB + 56 * MIB;
        free_kib[3] = 5 * GIB + 56 * MIB - 1;
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "1");
}

static void idle_guests_stay(void **state)
{
        struct yard *yard = *state;

        for (unsigned i = 0; i < 8; i++)
                yard_add(yard, 4, 4 * GIB, "0", 0.02);
        assert_quiet(yard);
}

static void the_busy_one_of_many_does_not_flee_from_idle_ones(void **state)
{
        struct yard *yard = *state;

        yard_add(yard, 2, 4 * GIB, "0", 2);
        for (unsigned i = 0; i < 4; i++)
                yard_add(yard, 2, 4 * GIB, "0", 0.02);
        assert_quiet(yard);
}

static void what_was_not_measured_counts_as_promised(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "2", -1);
        yard_add(yard, 4, 4 * GIB, "2", NAN);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "0");
}

/* Cores of its own are not to be had on node 1: somebody else has them for himself. */
static void who_has_cores_of_its_own_gets_some_again(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };
        struct hn_request *pinned[2] = { vm(0, 3, GIB), vm(1, 3, GIB) };

        for (unsigned i = 0; i < 2; i++) {
                pinned[i]->wishes.pin_cores = true;
                assert_true(yard_put(yard, pinned[i], i ? "1" : "0", i ? 0.1 : 3));
                assert_int_equal(yard->placements[i]->n_vcpu_cpus, 3);
        }
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 0, .busy_cpus = 4 };
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "2");
        assert_int_equal(moves.list[0].to->n_vcpu_cpus, 3);
}

static void host_load_counts(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 0, .busy_cpus = 8 };
        yard_add(yard, 2, GIB, "0", 2);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "1");
        /* 1.6 (10/4 - 1) against 0.15 (2/4)² */
        assert_true(fabs(moves.list[0].gain - (2.4 - 0.0375)) < 1e-6);
}

/* Copying 64 GiB at 1 GiB/s between nodes at distance 20 costs a guest 64 s × (1/10 + 1/4) and 0.2 s, and the others
 * 64 s × 1/20. */
static void a_move_must_pay_back(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 }, none = { 0 };

        yard_add(yard, 4, 64 * GIB, "0", 4);
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 0, .busy_cpus = 1 };
        yard_resident(yard, 0, 0);
        /* 0.15 (5/4)² + 1/4 against 0.2: 0.284375 less; 25.8 s / 0.284375 = 90.7 s */
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "1");
        assert_true(fabs(moves.list[0].cost - 25.8) < 1e-6);
        assert_true(fabs((double) moves.list[0].pays_back_us / 1e6 - 90.725) < 1e-2);
        assert_int_equal(moves.list[0].copy_us, 64 * SECOND_US);
        yard->policy.balance.payback_seconds = 110; /* 25.8 / 110 = 0.2345: 0.0498 is left, less than the threshold */
        yard_balance(yard, &none);
        assert_int_equal(none.n, 0);
        yard->policy.balance.payback_seconds = 200; /* 51.4 / 200 = 0.257 */
        yard->input.copy_kib_per_second = GIB / 2;
        assert_quiet(yard);
}

static void nothing_moves_where_nothing_may_pay_back(void **state)
{
        struct yard *yard = *state;

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard->policy.balance.payback_seconds = 0;
        assert_quiet(yard);
        yard->policy.balance.payback_seconds = 300;
        yard->policy.balance.moves = 0;
        assert_quiet(yard);
}

static void a_guest_that_rests_is_left_alone(void **state)
{
        struct yard *yard = *state;
        HN_BITMAP hwloc_bitmap_t home = set_of("0");
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        hn_balance_note(&yard->past, yard->requests[0]->uuid, home, true, yard->input.now_us - 59 * SECOND_US);
        hn_balance_note(&yard->past, yard->requests[1]->uuid, home, true, yard->input.now_us - 59 * SECOND_US);
        assert_quiet(yard);
        yard->input.now_us += SECOND_US;
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "1");
}

static void where_it_did_not_come_to_it_is_not_sent_again(void **state)
{
        struct yard *yard = *state;
        HN_BITMAP hwloc_bitmap_t home = set_of("1");
        HN_MOVES struct hn_moves moves = { 0 };

        yard->policy.balance.cooldown_seconds = 10;
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        hn_balance_note(&yard->past, yard->requests[0]->uuid, home, false, yard->input.now_us - 60 * SECOND_US);
        hn_balance_note(&yard->past, yard->requests[1]->uuid, home, false, yard->input.now_us - 60 * SECOND_US);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "2");
}

static void who_must_not_be_moved_is_not(void **state)
{
        struct yard *yard = *state;

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard->guests[0].held = true;
        yard->requests[1]->vcpu_cpuset = set_of("0-3");
        assert_quiet(yard);
        hwloc_bitmap_free(HN_TAKE(yard->requests[1]->vcpu_cpuset));
        yard->requests[1]->wishes.nodes = set_of("0");
        assert_quiet(yard);
        hwloc_bitmap_free(HN_TAKE(yard->requests[1]->wishes.nodes));
        yard->guests[1].immovable = "its memory is locked";
        assert_quiet(yard);
        yard->guests[1].immovable = NULL;
        yard->requests[1]->memory_encrypted = true;
        assert_quiet(yard);
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
        assert_move(&moves, HN_MOVE_GUEST, 0, "3");
        assert_int_equal(moves.list[0].memory_kib, 0);
        assert_true(fabs(moves.list[0].gain - 0.5) < 1e-6);
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
        assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "0");
        /* its owner wants no memory set */
        hn_moves_clear(&moves);
        yard->requests[0]->wishes.memory = HN_MEMORY_SOFT;
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GATHER, 0, "0");
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
        assert_quiet(yard);
        yard_add(yard, 4, 4 * GIB, "3", 4);
        yard_resident(yard, 0, 3);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "0-1");
}

static void memory_follows_home(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "3", 4); /* or it would rather go to its memory */
        yard_resident(yard, 0, 3);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GATHER, 0, "0");
        assert_int_equal(moves.list[0].memory_kib, 4 * GIB);
        assert_true(fabs(moves.list[0].gain - 0.5) < 1e-6);
        yard_apply(yard, &moves);
        assert_quiet(yard);
}

static void high_priority_is_moved_last(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, GIB, "0", 4);
        yard->requests[0]->wishes.priority = yard->placements[0]->priority = HN_PRIORITY_HIGH;
        yard_add(yard, 4, 16 * GIB, "0", 4);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 1, "1");
}

static void high_priority_is_moved_where_nobody_else_may_be(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, GIB, "0", 4);
        yard->requests[0]->wishes.priority = yard->placements[0]->priority = HN_PRIORITY_HIGH;
        yard_add(yard, 4, 16 * GIB, "0", 4);
        yard->guests[1].held = true;
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_GUEST, 0, "1");
}

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
        assert_quiet(yard);
        yard->input.free_kib = free_kib;
        assert_quiet(yard);
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
        assert_quiet(yard);
}

/* Two cells {0,1}; node 0 gets crowded: cell 0 would go to 2, but the order of cells is that of nodes. */
static void cells_keep_their_order(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard_add(yard, 4, 90 * GIB, "3", 4);
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 0, .busy_cpus = 8 };
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_ROTATE, 0, "1-2");
        assert_set(moves.list[0].cells[0].to, "1");
        assert_set(moves.list[0].cells[1].to, "2");
        yard_apply(yard, &moves);
        assert_quiet(yard);
}

static void one_cell_moves(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 1, .busy_cpus = 8 };
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_CELL, 0, "0,2");
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
        assert_move(&moves, HN_MOVE_ROTATE, 0, "2-3");
}

static void cells_that_may_grow_stay(void **state)
{
        struct yard *yard = *state;

        assert_true(yard_put(yard, yard_cells(0, 2, 8, 8 * GIB), "0-1", 8));
        yard->requests[0]->memory_max_kib = 16 * GIB;
        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 1, .busy_cpus = 8 };
        assert_quiet(yard);
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
        assert_move(&moves, HN_MOVE_GUEST, 1, "1");
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
        assert_quiet(yard);
        yard->input.free_kib = free_kib;
        free_kib[0] = 30 * GIB;
        assert_quiet(yard);
        free_kib[1] = 40 * GIB;
        yard_balance(yard, &moves);
        assert_int_equal(moves.n, 2);
        assert_int_equal(moves.list[0].kind, HN_MOVE_ROOM);
        assert_int_equal(moves.list[0].guest, 0);
        assert_set(moves.list[0].to->home, "1");
        assert_int_equal(moves.list[1].guest, 2);
        assert_set(moves.list[1].to->home, "0");
        yard_apply(yard, &moves);
        assert_quiet(yard);
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
        assert_quiet(yard);
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
        assert_move(&moves, HN_MOVE_ROOM, 0, "1");
        yard_apply(yard, &moves);
        /* nobody takes the room before it starts */
        assert_quiet(yard);
        yard->input.now_us += 3600 * SECOND_US;
        assert_quiet(yard);
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
        assert_move(&moves, HN_MOVE_ROOM, 0, "1");
        hwloc_bitmap_free(cell.vcpus);
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
        assert_move(&moves, HN_MOVE_SPILL, low, "0");
        assert_set(moves.list[0].to->memory_nodes, "0,2");
        assert_int_equal(moves.list[0].memory_kib, 0);
        yard_apply(yard, &moves);
        /* it is short still: the next one */
        hn_moves_clear(&moves);
        yard_balance(yard, &moves);
        assert_move(&moves, HN_MOVE_SPILL, 0, "0");
        yard_apply(yard, &moves);
        assert_quiet(yard);
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
        assert_move(&moves, HN_MOVE_SPILL, 0, "0");
        assert_set(moves.list[0].to->memory_nodes, "0,3");
        /* one that has hardly more is no help */
        hn_moves_clear(&moves);
        free_kib[2] = free_kib[3] = 127 * MIB;
        assert_quiet(yard);
}

static void strict_memory_never_spills(void **state)
{
        struct yard *yard = *state;
        uint64_t free_kib[4] = { MIB, 10 * GIB, 10 * GIB, 10 * GIB };

        yard_add(yard, 1, 40 * GIB, "0", 0.1);
        yard->requests[0]->wishes.memory = HN_MEMORY_STRICT;
        yard->input.free_kib = free_kib;
        assert_quiet(yard);
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
        assert_move(&moves, HN_MOVE_SPILL, 0, "0,2");
}

static void nodes_that_are_no_home_are_none(void **state)
{
        struct yard *yard = *state;

        host_no_cpus(yard->host, 1);
        yard->host->nodes[2].role = HN_NODE_FORBIDDEN;
        yard->host->nodes[3].role = HN_NODE_NO_MEMORY;
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        assert_quiet(yard);
}

static void kinds_have_names(void **state)
{
        (void) state;
        assert_string_equal(hn_move_kind_name(HN_MOVE_ROTATE), "rotate");
        assert_string_equal(hn_move_kind_name(HN_MOVE_SPILL), "spill");
        assert_string_equal(hn_move_kind_name((enum hn_move_kind) 99), "unknown");
}

static void a_host_without_guests_is_quiet(void **state)
{
        struct yard *yard = *state;

        assert_quiet(yard);
        assert_true(fabs(yard_total(yard)) < 1e-12);
}

#define ON_FOUR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define ON_TWO(test) cmocka_unit_test_setup_teardown(test, setup_two, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                ON_FOUR(busy_guests_are_separated),
                cmocka_unit_test(separated_within_three_periods_and_then_quiet),
                ON_FOUR(no_guest_is_sent_where_memory_is_short),
                ON_FOUR(idle_guests_stay),
                ON_FOUR(the_busy_one_of_many_does_not_flee_from_idle_ones),
                ON_FOUR(what_was_not_measured_counts_as_promised),
                ON_FOUR(who_has_cores_of_its_own_gets_some_again),
                ON_FOUR(host_load_counts),
                ON_FOUR(a_move_must_pay_back),
                ON_FOUR(nothing_moves_where_nothing_may_pay_back),
                ON_FOUR(a_guest_that_rests_is_left_alone),
                ON_FOUR(where_it_did_not_come_to_it_is_not_sent_again),
                ON_FOUR(who_must_not_be_moved_is_not),
                ON_FOUR(cpus_follow_memory_that_can_not_move),
                ON_FOUR(memory_follows_home),
                ON_FOUR(memory_that_came_home_stays_there),
                ON_FOUR(a_set_that_is_wide_for_more_stays_wide),
                ON_FOUR(high_priority_is_moved_last),
                ON_FOUR(high_priority_is_moved_where_nobody_else_may_be),
                ON_TWO(two_change_places_where_there_is_no_room_for_one),
                ON_FOUR(cells_keep_their_order),
                ON_FOUR(one_cell_moves),
                ON_FOUR(both_cells_move_at_once),
                ON_FOUR(cells_that_may_grow_stay),
                ON_TWO(a_guest_across_nodes_gets_whole),
                ON_TWO(guests_make_room_for_one_across_nodes),
                ON_TWO(nobody_makes_room_for_a_lesser_one),
                ON_TWO(guests_make_room_for_one_that_is_about_to_start),
                ON_TWO(guests_make_room_for_one_that_may_not_span),
                ON_FOUR(the_lowest_weight_spills_first),
                ON_FOUR(a_full_node_spills_to_whatever_is_left),
                ON_FOUR(strict_memory_never_spills),
                ON_FOUR(a_bound_cell_leaves_a_node_that_is_short),
                ON_FOUR(nodes_that_are_no_home_are_none),
                ON_FOUR(kinds_have_names),
                ON_FOUR(a_host_without_guests_is_quiet),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
