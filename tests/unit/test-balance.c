/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves of guests that run, with scores worked out by hand (score.h): where guests demand u times the CPUs of a node,
 * each that is busy loses 0.15 u² up to u = 0.8, that and u - 1 from 1.2 to 2, and 1.6 (u - 1) beyond (0.2 at 1); memory at
 * distance d costs (d - 10)/20.
 */
#include "unit/support/test.h"

#include <math.h>

#include "unit/support/yard.h"

static void busy_guests_are_separated(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        /* 8 on 4 CPUs: 1.6 for each of the two, against 0.2 */
        assert_true(fabs(yard_total(yard) - 3.2) < 1e-6);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "1");
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
        yard_assert_quiet(yard);
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

static void idle_guests_stay(void **state)
{
        struct yard *yard = *state;

        for (unsigned i = 0; i < 8; i++)
                yard_add(yard, 4, 4 * GIB, "0", 0.02);
        yard_assert_quiet(yard);
}

static void the_busy_one_of_many_does_not_flee_from_idle_ones(void **state)
{
        struct yard *yard = *state;

        yard_add(yard, 2, 4 * GIB, "0", 2);
        for (unsigned i = 0; i < 4; i++)
                yard_add(yard, 2, 4 * GIB, "0", 0.02);
        yard_assert_quiet(yard);
}

static void what_was_not_measured_counts_as_promised(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, 4 * GIB, "2", -1);
        yard_add(yard, 4, 4 * GIB, "2", NAN);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "0");
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
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "2");
        assert_int_equal(moves.list[0].to->n_vcpu_cpus, 3);
}

static void host_load_counts(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard->load.nodes[yard->load.n_nodes++] = (struct hn_node_load) { .node = 0, .busy_cpus = 8 };
        yard_add(yard, 2, GIB, "0", 2);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "1");
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
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "1");
        assert_true(fabs(moves.list[0].cost - 25.8) < 1e-6);
        assert_true(fabs((double) moves.list[0].pays_back_us / 1e6 - 90.725) < 1e-2);
        assert_int_equal(moves.list[0].copy_us, 64 * SECOND_US);
        yard->policy.balance.payback_seconds = 110; /* 25.8 / 110 = 0.2345: 0.0498 is left, less than the threshold */
        yard_balance(yard, &none);
        assert_int_equal(none.n, 0);
        yard->policy.balance.payback_seconds = 200; /* 51.4 / 200 = 0.257 */
        yard->input.copy_kib_per_second = GIB / 2;
        yard_assert_quiet(yard);
}

static void nothing_moves_where_nothing_may_pay_back(void **state)
{
        struct yard *yard = *state;

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard->policy.balance.payback_seconds = 0;
        yard_assert_quiet(yard);
        yard->policy.balance.payback_seconds = 300;
        yard->policy.balance.moves = 0;
        yard_assert_quiet(yard);
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
        yard_assert_quiet(yard);
        yard->input.now_us += SECOND_US;
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "1");
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
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "2");
}

static void who_must_not_be_moved_is_not(void **state)
{
        struct yard *yard = *state;

        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard->guests[0].held = true;
        yard->requests[1]->vcpu_cpuset = set_of("0-3");
        yard_assert_quiet(yard);
        hwloc_bitmap_free(HN_TAKE(yard->requests[1]->vcpu_cpuset));
        yard->requests[1]->wishes.nodes = set_of("0");
        yard_assert_quiet(yard);
        hwloc_bitmap_free(HN_TAKE(yard->requests[1]->wishes.nodes));
        yard->guests[1].immovable = "its memory is locked";
        yard_assert_quiet(yard);
        yard->guests[1].immovable = NULL;
        yard->requests[1]->memory_encrypted = true;
        yard_assert_quiet(yard);
}

static void high_priority_is_moved_last(void **state)
{
        struct yard *yard = *state;
        HN_MOVES struct hn_moves moves = { 0 };

        yard_add(yard, 4, GIB, "0", 4);
        yard->requests[0]->wishes.priority = yard->placements[0]->priority = HN_PRIORITY_HIGH;
        yard_add(yard, 4, 16 * GIB, "0", 4);
        yard_balance(yard, &moves);
        yard_assert_move(&moves, HN_MOVE_GUEST, 1, "1");
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
        yard_assert_move(&moves, HN_MOVE_GUEST, 0, "1");
}

static void nodes_that_are_no_home_are_none(void **state)
{
        struct yard *yard = *state;

        host_no_cpus(yard->host, 1);
        yard->host->nodes[2].role = HN_NODE_FORBIDDEN;
        yard->host->nodes[3].role = HN_NODE_NO_MEMORY;
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_add(yard, 4, 4 * GIB, "0", 4);
        yard_assert_quiet(yard);
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

        yard_assert_quiet(yard);
        assert_true(fabs(yard_total(yard)) < 1e-12);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                YARD_ON_FOUR(busy_guests_are_separated),
                cmocka_unit_test(separated_within_three_periods_and_then_quiet),
                YARD_ON_FOUR(idle_guests_stay),
                YARD_ON_FOUR(the_busy_one_of_many_does_not_flee_from_idle_ones),
                YARD_ON_FOUR(what_was_not_measured_counts_as_promised),
                YARD_ON_FOUR(who_has_cores_of_its_own_gets_some_again),
                YARD_ON_FOUR(host_load_counts),
                YARD_ON_FOUR(a_move_must_pay_back),
                YARD_ON_FOUR(nothing_moves_where_nothing_may_pay_back),
                YARD_ON_FOUR(a_guest_that_rests_is_left_alone),
                YARD_ON_FOUR(where_it_did_not_come_to_it_is_not_sent_again),
                YARD_ON_FOUR(who_must_not_be_moved_is_not),
                YARD_ON_FOUR(high_priority_is_moved_last),
                YARD_ON_FOUR(high_priority_is_moved_where_nobody_else_may_be),
                YARD_ON_FOUR(nodes_that_are_no_home_are_none),
                YARD_ON_FOUR(kinds_have_names),
                YARD_ON_FOUR(a_host_without_guests_is_quiet),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
