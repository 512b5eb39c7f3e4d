/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Simulating: what work costs, and replays small enough to be reckoned by hand.
 */
#include "unit/support/test.h"

#include <math.h>

#include "simulate/exact.h"
#include "simulate/lay.h"
#include "simulate/replay.h"
#include "simulate/step.h"
#include "unit/support/scene.h"
#include "unit/support/trace.h"

#define EPSILON 1e-9

/* Two nodes with 4 CPUs and 32 GiB each, at distance 20. */
static const struct host_plan two = { 2, 4, 1, 0, 32 * GIB };

/* A host with guests on it. */
struct stage {
        struct hn_host *host;
        struct hn_policy policy;
        struct hn_world *world;
        struct hn_trace_guest guests[8];
        size_t n;
};

static void stage_open(struct stage *stage, const struct host_plan *plan)
{
        *stage = (struct stage) { .host = host_of(plan) };
        hn_policy_defaults(&stage->policy);
        assert_int_equal(hn_world_new(stage->host, &stage->policy, 1, &stage->world), 0);
}

static void stage_close(struct stage *stage)
{
        hn_world_free(stage->world);
        hn_host_free(stage->host);
}

/* Room for it is there: a guest of `vcpus` with its memory in equal parts on the nodes of `memory`, running on
 * those of `runs` ("1": node 0, "01": node 1, "11": both). */
static void stage_start(struct stage *stage, unsigned vcpus, const char *runs, const char *memory)
{
        struct hn_trace_guest *guest = &stage->guests[stage->n];
        struct hn_spot *spot = hn_spot_new(1, 2);
        uint64_t wanted;

        *guest = (struct hn_trace_guest) { .vcpus = vcpus, .memory_kib = GIB, .lifetime_s = (double) INFINITY };
        wanted = hn_world_wanted_kib(stage->world, guest);
        assert_int_equal(wanted, GIB + 32 * MIB);
        spot->vcpus[0] = vcpus;
        for (size_t at = 0; at < strlen(runs); at++)
                spot->runs[at] = runs[at] == '1';
        for (size_t at = 0; at < strlen(memory); at++)
                spot->memory_kib[at] = memory[at] == '1' ? wanted / (strcmp(memory, "11") == 0 ? 2 : 1) : 0;
        assert_int_equal(hn_world_start(stage->world, guest, stage->n++, spot), 0);
        hn_world_settle(stage->world);
}

static void assert_slow(const struct stage *stage, size_t i, double slowdown, double local)
{
        double is_local = -1;

        assert_float_equal(hn_world_slowdown(stage->world, &stage->world->residents[i], &is_local), slowdown, EPSILON);
        assert_float_equal(is_local, local, EPSILON);
}

static void memory_costs_by_distance(void **state)
{
        struct stage stage;

        (void) state;
        stage_open(&stage, &two);
        stage_start(&stage, 1, "1", "1");
        stage_start(&stage, 1, "1", "01");
        stage_start(&stage, 1, "1", "11");
        assert_slow(&stage, 0, 1, 1);
        assert_slow(&stage, 1, 1.5, 0);
        assert_slow(&stage, 2, 1.25, 0.5);
        host_distance(stage.host, 0, 1, 32);
        assert_slow(&stage, 1, 2.1, 0);
        stage_close(&stage);
}

static void cpus_are_shared_fairly(void **state)
{
        struct stage stage;

        (void) state;
        stage_open(&stage, &two);
        stage_start(&stage, 4, "1", "1");
        assert_slow(&stage, 0, 1, 1);
        stage_start(&stage, 2, "1", "01");
        assert_slow(&stage, 0, 1.5, 1);
        assert_slow(&stage, 1, 1.5 * 1.5, 0);
        stage_close(&stage);
}

/* Node 0 carries 4 already: 3 of 4 go to node 1 until both carry as much. */
static void vcpus_that_may_choose_run_where_it_is_emptier(void **state)
{
        struct stage stage;

        (void) state;
        stage_open(&stage, &two);
        stage_start(&stage, 2, "1", "1");
        stage_start(&stage, 4, "11", "1");
        assert_float_equal(stage.world->nodes[0].demand, 3, EPSILON);
        assert_float_equal(stage.world->nodes[1].demand, 3, EPSILON);
        assert_slow(&stage, 1, 0.25 + 0.75 * 1.5, 0.25);
        hn_world_stop(stage.world, 0);
        hn_world_settle(stage.world);
        assert_float_equal(stage.world->nodes[0].demand, 2, EPSILON);
        stage_close(&stage);
}

static void cells_keep_most_accesses_at_home(void **state)
{
        struct hn_trace_guest guest = { .vcpus = 4, .memory_kib = 8 * GIB };
        static const size_t both[] = { 0, 1 };
        struct hn_spot *spot = NULL;
        struct stage stage;

        (void) state;
        stage_open(&stage, &two);
        assert_int_equal(hn_lay_cells(stage.world, &guest, both, 2, &spot), 0);
        assert_int_equal(hn_spot_width(spot), 2);
        assert_int_equal(hn_world_start(stage.world, &guest, 0, spot), 0);
        hn_world_settle(stage.world);
        assert_slow(&stage, 0, 0.7 + 0.3 * 1.5, 0.7);
        stage_close(&stage);
}

static void memory_without_room_comes_from_the_nearest(void **state)
{
        struct hn_trace_guest guest = { .vcpus = 4, .memory_kib = 40 * GIB };
        static const size_t first[] = { 1 };
        struct hn_spot *spot = NULL;
        struct stage stage;

        (void) state;
        stage_open(&stage, &two);
        assert_false(hn_world_fits_node(stage.world, &guest));
        assert_int_equal(hn_lay_whole(stage.world, &guest, first, 1, HN_LAY_IN_TURN, &spot), 0);
        assert_int_equal(spot->memory_kib[1], 31 * GIB); /* all but the reserve */
        assert_int_equal(spot->memory_kib[0] + spot->memory_kib[1], 40 * GIB + 32 * MIB + 39 * 8 * MIB);
        assert_false(spot->runs[0]);
        hn_spot_free(spot);
        stage_close(&stage);
}

/* 1 GiB and 32 MiB take a good second; until then half of it is there. */
static void a_move_takes_its_time(void **state)
{
        struct stage stage;
        struct hn_spot *spot;
        uint64_t kib = 0;

        (void) state;
        stage_open(&stage, &two);
        stage_start(&stage, 1, "1", "1");
        spot = hn_spot_copy(stage.world->residents[0].spot);
        spot->memory_kib[1] = spot->memory_kib[0];
        spot->memory_kib[0] = 0;
        spot->runs[0] = false;
        spot->runs[1] = true;
        assert_int_equal(hn_world_move(stage.world, 0, spot, &kib), 0);
        assert_int_equal(kib, GIB + 32 * MIB);
        assert_int_equal(stage.world->nodes[0].used_kib, 0);
        hn_world_settle(stage.world);
        assert_slow(&stage, 0, 1.25, 0.5);
        hn_world_pass(stage.world, 1.1);
        assert_slow(&stage, 0, 1, 1);
        stage_close(&stage);
}

static void spots_that_can_not_be_are_refused(void **state)
{
        struct hn_trace_guest guest = { .vcpus = 2, .memory_kib = 31 * GIB };
        struct stage stage;
        struct hn_spot *spot;

        (void) state;
        stage_open(&stage, &two);
        spot = hn_spot_new(1, 2);
        spot->vcpus[0] = 2;
        spot->memory_kib[0] = hn_world_wanted_kib(stage.world, &guest);
        assert_int_equal(hn_world_start(stage.world, &guest, 0, spot), -EINVAL); /* runs nowhere */
        spot->runs[0] = true;
        assert_int_equal(hn_world_start(stage.world, &guest, 0, spot), -EINVAL); /* no room */
        spot->memory_kib[1] = spot->memory_kib[0] / 2;
        spot->memory_kib[0] -= spot->memory_kib[1];
        spot->vcpus[0] = 1;
        assert_int_equal(hn_world_start(stage.world, &guest, 0, spot), -EINVAL); /* a vCPU too few */
        spot->vcpus[0] = 2;
        assert_int_equal(hn_world_start(stage.world, &guest, 0, spot), 0);
        stage_close(&stage);
}

static struct hn_outcome replay(const struct host_plan *plan, const char *lines, const struct hn_contender *contender,
                                size_t n_hosts, bool to_refusal)
{
        HN_HOST struct hn_host *host = host_of(plan);
        HN_TRACE struct hn_trace *trace = trace_of(lines);
        struct hn_policy policy;
        const struct hn_replay r = { .host = host, .policy = &policy, .trace = trace, .busy = 1, .n_hosts = n_hosts,
                                     .to_refusal = to_refusal };
        struct hn_outcome outcome;

        hn_policy_defaults(&policy);
        assert_int_equal(hn_replay_run(&r, contender, &outcome), 0);
        return outcome;
}

/* Of three guests with 20 GiB two fit, then 20 GiB are left in two parts, then nothing. */
static const char *const filling = "0,,,,,,2,20480,,\n1,,,,,,2,20480,,\n2,,,,,,2,20480,,\n3,,,,,,2,20480,,\n4,,,,,,1,64,,\n";

static void hosts_are_filled_in_order(void **state)
{
        struct hn_outcome outcome = replay(&two, filling, &hn_contender_homenode_start, 1, false);

        (void) state;
        assert_int_equal(outcome.n_placed, 4);
        assert_int_equal(outcome.n_refused, 1);
        assert_int_equal(outcome.n_refused_with_room, 0);
        assert_int_equal(outcome.n_split, 0);
        /* the third is spread over both nodes in equal parts and runs on both */
        assert_float_equal(outcome.mean_slowdown, (1 + 1 + 1.25 + 1) / 4, 1e-6);
        assert_float_equal(outcome.p99_slowdown, 1.25, 1e-6);
        assert_float_equal(outcome.local, (1 + 1 + 0.5 + 1) / 4, 1e-6);
        outcome = replay(&two, filling, &hn_contender_homenode_start, 1, true);
        assert_int_equal(outcome.n_placed, 3);
        outcome = replay(&two, filling, &hn_contender_homenode_start, 2, false); /* 0, 2, 4 and 1, 3 */
        assert_int_equal(outcome.n_placed, 5);
        assert_float_equal(outcome.mean_slowdown, 1, EPSILON);
}

/* Cells of 21,684 MiB find 19,336 on node 0 beside the other guest: 2,348 (0.10828) of the first lie on node 1, with the
 * second.  Three tenths of the accesses go to the other cell: 0.7 × 0.10828 + 0.3 are remote to the first, 0.3 × 0.89172 to
 * the second. */
static void cells_that_lean_keep_what_is_at_home(void **state)
{
        struct hn_outcome outcome = replay(&two, "0,,,,,,1,12288,,\n1,,,,,,6,43008,,\n", &hn_contender_homenode_start, 1,
                                           false);

        (void) state;
        assert_int_equal(outcome.n_placed, 2);
        assert_float_equal(outcome.mean_slowdown, (1 + 1 + 0.5 * (0.375796 + 0.267516) / 2) / 2, 1e-5);
        assert_float_equal(outcome.local, (1 + 1 - (0.375796 + 0.267516) / 2) / 2, 1e-5);
}

static void guests_left_to_libvirt_lie_everywhere(void **state)
{
        struct hn_outcome outcome = replay(&two, filling, &hn_contender_libvirt, 1, true);

        (void) state;
        assert_int_equal(outcome.n_placed, 3);
        assert_int_equal(outcome.n_split, 2);
        assert_float_equal(outcome.mean_slowdown, 1.25, 1e-3);
}

/* One CPU: the first guest is alone for 100 s, with the second for 100 s. */
static void slowdown_is_that_of_a_guests_life(void **state)
{
        const struct host_plan one = { 1, 1, 1, 0, 32 * GIB };
        struct hn_outcome outcome = replay(&one, "0,,1000,200,,,1,1024,,\n1,,1100,200,,,1,1024,,\n",
                                           &hn_contender_homenode, 1, false);

        (void) state;
        assert_int_equal(outcome.n_placed, 2);
        assert_float_equal(outcome.mean_slowdown, 1.5, EPSILON);
        assert_float_equal(outcome.overloaded, 1.0 / 3, EPSILON);
        assert_float_equal(outcome.local, 1, EPSILON);
}

/* Node 0 is left with two guests of 4 vCPUs as node 1 empties: one of them follows, 4 GiB and what QEMU takes. */
static void guests_are_moved_while_they_run(void **state)
{
        static const char *const lines = "0,,0,10000,,,4,4096,,\n1,,1,100,,,4,4096,,\n2,,2,10000,,,4,4096,,\n";
        struct hn_outcome stays = replay(&two, lines, &hn_contender_homenode_start, 1, false);
        struct hn_outcome moves = replay(&two, lines, &hn_contender_homenode, 1, false);

        (void) state;
        assert_true(stays.mean_slowdown > 1.6);
        assert_float_equal(stays.moved_gib, 0, EPSILON);
        assert_true(moves.mean_slowdown < 1.05);
        assert_float_equal(moves.moved_gib, 4 + (32 + 3 * 8) / 1024.0, 1e-6);
}

static void wide_guests_get_cells(void **state)
{
        struct hn_outcome outcome = replay(&two, "0,,,,,,8,8192,,\n", &hn_contender_homenode, 1, false);

        (void) state;
        assert_float_equal(outcome.mean_slowdown, 1.15, EPSILON);
        assert_int_equal(outcome.n_split, 0);
        /* too many vCPUs for the host: left to libvirt, still started */
        outcome = replay(&two, "0,,,,,,16,8192,,\n", &hn_contender_homenode, 1, false);
        assert_int_equal(outcome.n_placed, 1);
        assert_float_equal(outcome.mean_slowdown, 2.5, 1e-6);
}

static int best_of(const struct stage *stage, const unsigned *vcpus, size_t n, uint64_t memory_kib, size_t tries,
                   double *ret)
{
        struct hn_trace_guest guests[HN_EXACT_GUESTS + 1];
        const struct hn_trace_guest *list[HN_EXACT_GUESTS + 1];

        for (size_t i = 0; i < n; i++) {
                guests[i] = (struct hn_trace_guest) { .vcpus = vcpus[i % 8], .memory_kib = memory_kib };
                list[i] = &guests[i];
        }
        return hn_exact_best(stage->world, list, n, tries, ret);
}

static void the_best_possible_is_found(void **state)
{
        static const unsigned fours[8] = { 4, 4, 4, 4, 4, 4, 4, 4 }, wide[8] = { 8, 4 };
        struct stage stage;
        double best = -1;

        (void) state;
        stage_open(&stage, &two);
        assert_int_equal(best_of(&stage, fours, 2, GIB, 1000, &best), 0);
        assert_float_equal(best, 2, EPSILON);
        assert_int_equal(best_of(&stage, fours, 3, GIB, 1000, &best), 0);
        assert_float_equal(best, 1 + 2 + 2, EPSILON);
        assert_int_equal(best_of(&stage, wide, 1, GIB, 1000, &best), 0);
        assert_float_equal(best, 1.15, EPSILON);
        /* one node of the wide guest's is shared with 4 vCPUs: (4 + 4) / 4 there */
        assert_int_equal(best_of(&stage, wide, 2, GIB, 1000, &best), 0);
        assert_float_equal(best, 1.15 * (1 + 2) / 2 + 2, EPSILON);
        assert_int_equal(best_of(&stage, fours, 3, 20 * GIB, 1000, &best), -ENOSPC);
        assert_int_equal(best_of(&stage, fours, HN_EXACT_GUESTS + 1, GIB, 1000, &best), -E2BIG);
        assert_int_equal(best_of(&stage, fours, 20, GIB, 10, &best), -E2BIG);
        stage_close(&stage);
}

static void the_best_possible_knows_distances(void **state)
{
        static const unsigned wide[8] = { 8 };
        struct stage stage;
        double best = -1;

        (void) state;
        stage_open(&stage, &(struct host_plan) { 4, 4, 1, 0, 32 * GIB });
        host_distance(stage.host, 1, 3, 12);
        assert_int_equal(best_of(&stage, wide, 1, GIB, 1000, &best), 0);
        assert_float_equal(best, 0.7 + 0.3 * 1.1, EPSILON);
        stage_close(&stage);
}

static void the_best_start_is_found(void **state)
{
        struct hn_trace_guest four_cpus = { .vcpus = 4, .memory_kib = GIB }, large = { .vcpus = 2, .memory_kib = 30 * GIB };
        struct hn_trace_guest wide = { .vcpus = 8, .memory_kib = GIB }, too_large = { .vcpus = 1, .memory_kib = 70 * GIB };
        struct stage stage;
        double best = -1;

        (void) state;
        stage_open(&stage, &two);
        stage_start(&stage, 4, "1", "1");
        assert_float_equal(hn_step_sum(stage.world), 1, EPSILON);
        assert_int_equal(hn_step_best(stage.world, &four_cpus, &best), 0);
        assert_float_equal(best, 2, EPSILON);
        /* node 0 carries twice its CPUs then: its guest takes twice as long, and half of the new one's vCPUs */
        assert_int_equal(hn_step_best(stage.world, &wide, &best), 0);
        assert_float_equal(best, 2 + 1.15 * 1.5, EPSILON);
        /* fits no node now: its vCPUs go to node 1 with the 30 GiB less 32 MiB that are there, the rest lies on node 0 */
        stage_start(&stage, 1, "01", "01");
        assert_int_equal(hn_step_best(stage.world, &large, &best), 0);
        assert_float_equal(best, 3 + 0.5 * (1 - (30.0 * GIB - 32.0 * MIB) / (30.0 * GIB + (32.0 + 29 * 8) * MIB)), 1e-6);
        assert_int_equal(hn_step_best(stage.world, &too_large, &best), -ENOSPC);
        assert_int_equal(stage.world->n_residents, 2);
        assert_float_equal(hn_step_sum(stage.world), 2, EPSILON);
        stage_close(&stage);
}

/* Guest i on node choice / 3^i. */
static double sum_of_choice(const struct host_plan *plan, const unsigned *vcpus, size_t n, unsigned choice)
{
        struct hn_trace_guest guests[8];
        struct stage stage;
        double sum = 0, local;

        stage_open(&stage, plan);
        host_distance(stage.host, 0, 1, 25); /* not all alike */
        for (size_t i = 0; i < n; i++, choice /= 3) {
                size_t at = choice % 3;
                struct hn_spot *spot = NULL;

                guests[i] = (struct hn_trace_guest) { .vcpus = vcpus[i], .memory_kib = GIB };
                assert_int_equal(hn_lay_whole(stage.world, &guests[i], &at, 1, HN_LAY_IN_TURN, &spot), 0);
                assert_int_equal(hn_world_start(stage.world, &guests[i], i, spot), 0);
        }
        hn_world_settle(stage.world);
        for (size_t i = 0; i < n; i++)
                sum += hn_world_slowdown(stage.world, &stage.world->residents[i], &local);
        stage_close(&stage);
        return sum;
}

static void the_best_possible_is_that_of_all_ways(void **state)
{
        static const unsigned vcpus[][8] = { { 4, 3, 3, 2, 2, 1 }, { 4, 4, 4, 4, 1, 1 }, { 3, 3, 3, 3, 3, 3 } };
        const struct host_plan three = { 3, 4, 1, 0, 32 * GIB };

        (void) state;
        for (size_t i = 0; i < 3; i++) {
                double least = (double) INFINITY, best = -1;
                struct stage stage;

                for (unsigned choice = 0; choice < 729; choice++) {
                        double sum = sum_of_choice(&three, vcpus[i], 6, choice);

                        least = sum < least ? sum : least;
                }
                stage_open(&stage, &three);
                host_distance(stage.host, 0, 1, 25);
                assert_int_equal(best_of(&stage, vcpus[i], 6, GIB, 100000, &best), 0);
                assert_float_equal(best, least, 1e-6);
                stage_close(&stage);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(memory_costs_by_distance),
                cmocka_unit_test(cpus_are_shared_fairly),
                cmocka_unit_test(vcpus_that_may_choose_run_where_it_is_emptier),
                cmocka_unit_test(cells_keep_most_accesses_at_home),
                cmocka_unit_test(cells_that_lean_keep_what_is_at_home),
                cmocka_unit_test(memory_without_room_comes_from_the_nearest),
                cmocka_unit_test(a_move_takes_its_time),
                cmocka_unit_test(spots_that_can_not_be_are_refused),
                cmocka_unit_test(hosts_are_filled_in_order),
                cmocka_unit_test(guests_left_to_libvirt_lie_everywhere),
                cmocka_unit_test(slowdown_is_that_of_a_guests_life),
                cmocka_unit_test(guests_are_moved_while_they_run),
                cmocka_unit_test(wide_guests_get_cells),
                cmocka_unit_test(the_best_start_is_found),
                cmocka_unit_test(the_best_possible_is_found),
                cmocka_unit_test(the_best_possible_knows_distances),
                cmocka_unit_test(the_best_possible_is_that_of_all_ways),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
