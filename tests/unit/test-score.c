/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The terms of the score, with values worked out by hand from their definitions in score.h.
 */
#include "unit/support/test.h"

#include "decide/place.h"
#include "decide/score.h"
#include "decide/shape.h"
#include "unit/support/scene.h"

#define EPSILON 1e-6

/* 8 cores and 100 GiB per node: headroom 20 GiB, reserve 1 GiB. */
static const struct host_plan four = { .nodes = 4, .cores = 8, .threads = 1, .memory_kib = 100 * GIB };

/* Overhead of an n GiB guest. */
#define OVERHEAD(gib) (32 * MIB + ((gib) - 1) * 8 * MIB)

static struct hn_score score_on(const struct scene *scene, const struct hn_request *request, const char *list)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of(list);
        HN_PLACEMENT struct hn_placement *placement = NULL;
        HN_SHAPE struct hn_shape *shape = NULL;
        HN_FREE char *note = NULL;
        struct hn_score score;
        double sum = 0;

        assert_int_equal(hn_shape_new(scene->host, &scene->policy, request, &shape, &note), 0);
        assert_int_equal(hn_place_on(&scene->situation, request, shape, nodes, &placement, &score), 0);
        assert_set(placement->home, list);
        for (int i = 0; i < HN_TERMS; i++)
                sum += score.terms[i];
        assert_float_equal(sum, score.total, EPSILON);
        return score;
}

/* The score of a domain that is made and freed here. */
static struct hn_score score_vm(const struct scene *scene, unsigned vcpus, uint64_t memory_kib,
                                enum hn_priority priority, const char *list)
{
        struct hn_request *request = vm(999, vcpus, memory_kib);
        struct hn_score score;

        request->wishes.priority = priority;
        score = score_on(scene, request, list);
        hn_request_free(request);
        return score;
}

static void start_with(struct scene *scene, unsigned number, unsigned vcpus, uint64_t memory_kib,
                       enum hn_priority priority, const char *nodes)
{
        struct hn_request *request = vm(number, vcpus, memory_kib);

        request->wishes.priority = priority;
        request->wishes.nodes = set_of(nodes);
        assert_int_equal(scene_start(scene, request)->verdict, HN_PLACED);
        hn_request_free(request);
}

static void contention_is_smooth(void **state)
{
        (void) state;
        assert_float_equal(hn_contention(0), 0, EPSILON);
        assert_float_equal(hn_contention(0.5), 0.0375, EPSILON); /* 0.15 u² up to 0.8 */
        assert_float_equal(hn_contention(0.8), 0.096, EPSILON);
        assert_float_equal(hn_contention(1), 0.2, EPSILON);      /* and (u - 0.8)²/0.8 from there on */
        assert_float_equal(hn_contention(1.2), 0.416, EPSILON);
        assert_float_equal(hn_contention(1.2001), 0.416136, EPSILON); /* and u - 1 */
        assert_float_equal(hn_contention(2), 1.6, EPSILON);
        assert_float_equal(hn_contention(2.0001), 1.60016, EPSILON); /* 1.6 (u - 1) */
        assert_float_equal(hn_contention(5), 6.4, EPSILON);
}

static void an_idle_node_costs_nothing_but_its_own_demand(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_score score = score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "2");

        (void) state;
        assert_float_equal(score.terms[HN_TERM_CPU], 0.0375, EPSILON); /* 0.15 × (4/8)² */
        assert_float_equal(score.total, 0.0375, EPSILON);
        scene_free(scene);
}

static void cpu_counts_the_others_by_their_priority(void **state)
{
        struct scene *scene = scene_of(host_of(&four));

        (void) state;
        start_with(scene, 1, 4, GIB, HN_PRIORITY_NORMAL, "0");
        start_with(scene, 2, 4, GIB, HN_PRIORITY_HIGH, "1");
        /* own 0.2; the other is slowed from 0.0375 to 0.2 */
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_CPU], 0.3625,
                           EPSILON);
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_HIGH, "0").terms[HN_TERM_CPU], 0.9625,
                           EPSILON);
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "1").terms[HN_TERM_CPU], 0.85, EPSILON);
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_LOW, "1").terms[HN_TERM_CPU], 0.7, EPSILON);
        scene_free(scene);
}

static void cpu_counts_measured_load(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_node_load busy = { .node = 3, .busy_cpus = 4 };
        struct hn_load load = { .nodes = &busy, .n_nodes = 1 };

        (void) state;
        scene->situation.load = &load;
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "3").terms[HN_TERM_CPU], 0.2,
                           EPSILON);
        scene_free(scene);
}

/* Of the 4 vCPUs on node 1 two are busy or wait; those on node 2 sleep, and a quarter of them counts all the same; of those
 * on node 3 nothing is told, or nonsense. */
static void cpu_counts_what_guests_were_seen_to_use(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_load load = { 0 };
        const char *const nodes[] = { "1", "2", "3" };

        (void) state;
        for (unsigned i = 0; i < 3; i++)
                start_with(scene, i + 1, 4, GIB, HN_PRIORITY_NORMAL, nodes[i]);
        for (unsigned i = 3; i-- > 0;) {
                struct hn_guest_load guest = { .run_cpus = i == 0 ? 1.5 : i == 1 ? 0 : 100, .wait_cpus = i == 0 ? 0.5 : -1 };

                strcpy(guest.uuid, scene->placements[i]->uuid);
                assert_int_equal(hn_load_add_guest(&load, &guest), 0);
        }
        scene->situation.load = &load;
        /* 6 of 8: 0.084375, and the other rises to that from 2 of 8: 0.009375 */
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "1").terms[HN_TERM_CPU],
                           0.15 * 0.5625 + (0.15 * 0.5625 - 0.15 * 0.0625), EPSILON);
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "2").terms[HN_TERM_CPU],
                           0.15 * 0.390625 + (0.15 * 0.390625 - 0.15 * 0.015625), EPSILON);
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "3").terms[HN_TERM_CPU], 0.3625, EPSILON);
        free(load.guests);
        scene_free(scene);
}

static void further_threads_are_worth_a_quarter(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 4, 2, 0, 32 * GIB }));

        (void) state;
        assert_float_equal(score_vm(scene, 5, GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_CPU], 0.2,
                           EPSILON);
        scene_free(scene);
}

/* Three tenths of the accesses go to the other cell, each at half as much again. */
static void cells_on_two_nodes_reach_over(void **state)
{
        struct scene *scene = scene_of(host_of(&four));

        (void) state;
        host_distance(scene->host, 0, 1, 12);
        assert_float_equal(score_vm(scene, 16, 8 * GIB, HN_PRIORITY_NORMAL, "0,2").terms[HN_TERM_REMOTE],
                           0.15, EPSILON);
        assert_float_equal(score_vm(scene, 16, 8 * GIB, HN_PRIORITY_NORMAL, "0-1").terms[HN_TERM_REMOTE],
                           0.03, EPSILON);
        /* three cells: from 0 the others are at 12 and 20, from 2 both at 20 */
        assert_float_equal(score_vm(scene, 24, 8 * GIB, HN_PRIORITY_NORMAL, "0-2").terms[HN_TERM_REMOTE],
                           0.3 * (0.3 + 0.3 + 0.5) / 3, EPSILON);
        scene_free(scene);
}

/* One cell over two nodes with equal room: half of the accesses miss. */
static void a_spread_cell_reaches_over_all_the_time(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 16, 8 * GIB);
        struct hn_score score;

        (void) state;
        request->wishes.vnuma = 0;
        score = score_on(scene, request, "2-3");
        assert_float_equal(score.terms[HN_TERM_REMOTE], 0.25, EPSILON);
        hn_request_free(request);
        scene_free(scene);
}

static void memory_short_of_headroom_slows_all_there(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        double left, part;

        (void) state;
        /* 80 GiB and overhead left: above the headroom by nothing */
        left = 20.0 * GIB - (double) OVERHEAD(80);
        part = 1 - left / (20.0 * GIB);
        assert_float_equal(score_vm(scene, 1, 80 * GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_MEMORY],
                           0.02 * part * part * 1, EPSILON);
        assert_float_equal(score_vm(scene, 1, 79 * GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_MEMORY], 0,
                           EPSILON);
        start_with(scene, 1, 1, 60 * GIB, HN_PRIORITY_NORMAL, "0");
        left = 40.0 * GIB - (double) OVERHEAD(60) - 30.0 * GIB - (double) OVERHEAD(30);
        part = 1 - left / (20.0 * GIB);
        /* the domain itself and the one that is there, which was not short before */
        assert_float_equal(score_vm(scene, 1, 30 * GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_MEMORY],
                           2 * 0.02 * part * part, EPSILON);
        scene_free(scene);
}

static void live_free_memory_counts_where_it_is_less(void **state)
{
        struct scene *scene = scene_of(host_of(&four));

        (void) state;
        scene->host->nodes[1].free_kib = 12 * GIB;
        /* 2 GiB and overhead of 20 wanted are left */
        assert_true(score_vm(scene, 1, 10 * GIB, HN_PRIORITY_NORMAL, "1").terms[HN_TERM_MEMORY]
                    > 0.02 * 0.9 * 0.9);
        scene_free(scene);
}

static void a_crowded_cache_is_left_for_the_whole_node(void **state)
{
        /* two caches of 4 cores per node */
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 8, 1, 4, 100 * GIB }));

        (void) state;
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_CACHE], 0, EPSILON);
        start_with(scene, 1, 3, GIB, HN_PRIORITY_NORMAL, "0");
        assert_set(scene->placements[0]->cells[0].cpus, "0-3");
        start_with(scene, 2, 3, GIB, HN_PRIORITY_NORMAL, "0");
        assert_set(scene->placements[1]->cells[0].cpus, "4-7");
        /* 3 + 4 vCPUs on 4 cores are fuller than 6 + 4 on 8: over both caches, half of the locality lost */
        assert_float_equal(score_vm(scene, 4, GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_CACHE], 0.025,
                           EPSILON);
        assert_float_equal(score_vm(scene, 5, GIB, HN_PRIORITY_NORMAL, "0").terms[HN_TERM_CACHE], 0, EPSILON);
        scene_free(scene);
}

static void devices_pull(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, GIB);

        (void) state;
        scene->host->devices[0] = (struct hn_device) { 0, 0x41, 0, 0, 0x0200, 2 };
        scene->host->devices[1] = (struct hn_device) { 0, 0x41, 0, 1, 0x0200, -1 };
        scene->host->n_devices = 2;
        request->hostdevs = calloc(3, sizeof *request->hostdevs);
        request->n_hostdevs = 3;
        request->hostdevs[0] = (struct hn_pci_address) { 0, 0x41, 0, 0 };
        request->hostdevs[1] = (struct hn_pci_address) { 0, 0x41, 0, 1 }; /* on no known node */
        request->hostdevs[2] = (struct hn_pci_address) { 0, 0x99, 0, 0 }; /* not there */
        assert_float_equal(score_on(scene, request, "2").terms[HN_TERM_DEVICE], 0, EPSILON);
        assert_float_equal(score_on(scene, request, "0").terms[HN_TERM_DEVICE], 0.15, EPSILON);
        hn_request_free(request);
        scene_free(scene);
}

/* Less than a fifth of the host promised: no hole is worth keeping.  With 231.87 GiB of 396, overhead included, 0.4819 of
 * the way up from there: squared, times 2 × 0.1631 (16.15 GiB of 99) × what is left of the hole (0.8369, 0.0223). */
static void holes_count_on_a_full_host_only(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_score score;

        (void) state;
        start_with(scene, 1, 1, 60 * GIB, HN_PRIORITY_NORMAL, "0");
        score = score_vm(scene, 1, 8 * GIB, HN_PRIORITY_NORMAL, "1");
        assert_float_equal(score.terms[HN_TERM_HOLE], 0, EPSILON);
        start_with(scene, 2, 1, 90 * GIB, HN_PRIORITY_NORMAL, "1");
        start_with(scene, 3, 1, 80 * GIB, HN_PRIORITY_NORMAL, "2");
        score = score_vm(scene, 1, 16 * GIB, HN_PRIORITY_NORMAL, "3");
        assert_float_equal(score.terms[HN_TERM_HOLE], 0.0634, 1e-4);
        score = score_vm(scene, 1, 16 * GIB, HN_PRIORITY_NORMAL, "2");
        assert_float_equal(score.terms[HN_TERM_HOLE], 0.0017, 1e-4);
        scene_free(scene);
}

static void terms_have_names(void **state)
{
        (void) state;
        assert_string_equal(hn_term_name(HN_TERM_REMOTE), "remote");
        assert_string_equal(hn_term_name(HN_TERM_MOVE), "move");
        assert_string_equal(hn_term_name(HN_TERMS), "unknown");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(contention_is_smooth),
                cmocka_unit_test(an_idle_node_costs_nothing_but_its_own_demand),
                cmocka_unit_test(cpu_counts_the_others_by_their_priority),
                cmocka_unit_test(cpu_counts_measured_load),
                cmocka_unit_test(cpu_counts_what_guests_were_seen_to_use),
                cmocka_unit_test(further_threads_are_worth_a_quarter),
                cmocka_unit_test(cells_on_two_nodes_reach_over),
                cmocka_unit_test(a_spread_cell_reaches_over_all_the_time),
                cmocka_unit_test(memory_short_of_headroom_slows_all_there),
                cmocka_unit_test(live_free_memory_counts_where_it_is_less),
                cmocka_unit_test(a_crowded_cache_is_left_for_the_whole_node),
                cmocka_unit_test(devices_pull),
                cmocka_unit_test(holes_count_on_a_full_host_only),
                cmocka_unit_test(terms_have_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
