/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a guest can stay where it is, and should, with scores worked out by hand (score.h): where u vCPUs come to a CPU
 * they lose 0.2 at u = 1, 0.15 u² + u - 1 from 1.2 to 2 and 1.6 (u - 1) beyond; memory at distance d costs (d - 10)/20.
 */
#include "unit/support/test.h"

#include "decide/place.h"
#include "decide/stay.h"
#include "unit/support/scene.h"

/* CPUs 0-3, 4-7, 8-11, 12-15. */
static const struct host_plan four = { .nodes = 4, .cores = 4, .threads = 1, .memory_kib = 100 * GIB };

struct stay {
        struct scene *scene;
        struct hn_request *request;
        const struct hn_decision *decision; /* 4 vCPUs on node 0 */
};

static int setup(void **state)
{
        static struct stay stay;

        stay.scene = scene_of(host_of(&four));
        stay.request = vm(1, 4, GIB);
        stay.request->wishes.nodes = set_of("0");
        stay.decision = scene_start(stay.scene, stay.request);
        assert_set(stay.decision->placement->cells[0].cpus, "0-3");
        *state = &stay;
        return 0;
}

static int teardown(void **state)
{
        struct stay *stay = *state;

        hn_request_free(stay->request);
        scene_free(stay->scene);
        return 0;
}

static void lose_cpus(struct stay *stay, unsigned first, int last)
{
        struct hn_host *host = stay->scene->host;

        hwloc_bitmap_set_range(host->offline, first, last);
        for (size_t i = 0; i < host->n_nodes; i++) {
                hwloc_bitmap_clr_range(host->nodes[i].cpus, first, last);
                host->nodes[i].n_cores = host->nodes[i].n_threads = hn_idset_count(host->nodes[i].cpus);
        }
}

static enum hn_standing standing(const struct stay *stay)
{
        return hn_home_standing(stay->scene->host, stay->request, stay->decision->placement);
}

static void cpus_tell_how_it_stands(void **state)
{
        struct stay *stay = *state;

        assert_int_equal(standing(stay), HN_STANDS);
        lose_cpus(stay, 4, 7);
        assert_int_equal(standing(stay), HN_STANDS);
        lose_cpus(stay, 1, 3);
        assert_int_equal(standing(stay), HN_NARROWED);
        lose_cpus(stay, 0, 0);
        assert_int_equal(standing(stay), HN_HOMELESS);
}

static void what_the_slice_leaves_counts_alike(void **state)
{
        struct stay *stay = *state;

        hwloc_bitmap_clr_range(stay->scene->host->allowed_cpus, 2, 3);
        assert_int_equal(standing(stay), HN_NARROWED);
        hwloc_bitmap_clr_range(stay->scene->host->allowed_cpus, 0, 1);
        assert_int_equal(standing(stay), HN_HOMELESS);
}

static void a_home_without_its_memory_is_none(void **state)
{
        struct stay *stay = *state;

        hwloc_bitmap_clr(stay->scene->host->allowed_nodes, 0);
        assert_int_equal(standing(stay), HN_HOMELESS);
        hwloc_bitmap_set(stay->scene->host->allowed_nodes, 0);
        stay->scene->host->nodes[0].os = 9; /* as if it were gone */
        assert_int_equal(standing(stay), HN_HOMELESS);
        assert_false(hn_home_remains(stay->scene->host, stay->decision->placement->home));
}

static void what_the_user_pinned_is_the_users(void **state)
{
        struct stay *stay = *state;

        lose_cpus(stay, 0, 3);
        stay->request->vcpu_cpuset = set_of("0-3");
        assert_int_equal(standing(stay), HN_STANDS);
}

static void an_emulator_without_a_cpu_is_homeless(void **state)
{
        struct stay *stay = *state;

        hwloc_bitmap_only(stay->decision->placement->emulator_cpus, 15);
        lose_cpus(stay, 15, 15);
        assert_int_equal(standing(stay), HN_HOMELESS);
}

/* Would it leave for that node? */
static bool leaves(const struct stay *stay, const char *list)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of(list);
        HN_PLACEMENT struct hn_placement *to = NULL;
        hwloc_bitmap_t wished = stay->request->wishes.nodes;
        struct hn_score score;
        bool answer = false;

        stay->request->wishes.nodes = NULL;
        assert_int_equal(hn_place_on(&stay->scene->situation, stay->request, stay->decision->shape, nodes, &to, &score),
                         0);
        assert_int_equal(hn_home_leaves(&stay->scene->situation, stay->request, stay->decision->shape,
                                        stay->decision->placement, to, &answer), 0);
        stay->request->wishes.nodes = wished;
        return answer;
}

/* Elsewhere: 0.2 for 4 vCPUs on 4 CPUs and 0.5 for memory at distance 20. */
static void leaves_where_crowding_costs_more_than_distance(void **state)
{
        struct stay *stay = *state;

        assert_false(leaves(stay, "1")); /* 0.2 */
        lose_cpus(stay, 3, 3);
        assert_false(leaves(stay, "1")); /* 0.15 (4/3)² + 1/3 = 0.6 */
        lose_cpus(stay, 2, 2);
        assert_true(leaves(stay, "1")); /* 1.6 */
        host_distance(stay->scene->host, 0, 1, 40);
        assert_false(leaves(stay, "1")); /* 0.2 + 1.5 */
        lose_cpus(stay, 1, 1);
        assert_true(leaves(stay, "1")); /* 4.8 */
}

/* With another there: 1.6 for 8 vCPUs on 4 CPUs, 1.4 more for the other, 0.5 for the distance. */
static void others_that_are_there_count(void **state)
{
        struct stay *stay = *state;
        struct hn_request *other = vm(2, 4, GIB);

        other->wishes.nodes = set_of("1");
        (void) scene_start(stay->scene, other);
        hn_request_free(other);
        lose_cpus(stay, 2, 3);
        assert_false(leaves(stay, "1")); /* 1.6 */
        assert_true(leaves(stay, "2"));
        lose_cpus(stay, 1, 1);
        assert_true(leaves(stay, "1")); /* 4.8 */
}

/* 150 GiB lean on node 2, which has 99 of them: with 2 CPUs left there that is 1.6 and 0.17 for the distance of the rest,
 * against 0.2 and 0.5 elsewhere.  On node 3, where the rest lies, nothing of it runs: its CPUs are no help. */
static void one_that_leans_runs_on_one_node(void **state)
{
        struct stay *stay = *state;
        struct hn_request *other = vm(2, 1, 40 * GIB), *set_aside = stay->request;

        other->wishes.nodes = set_of("3");
        (void) scene_start(stay->scene, other);
        hn_request_free(other);
        stay->request = vm(3, 4, 150 * GIB);
        stay->request->wishes.nodes = set_of("2-3");
        stay->request->wishes.vnuma = 0;
        stay->decision = scene_start(stay->scene, stay->request);
        assert_set(stay->decision->placement->cells[0].nodes, "2-3");
        assert_set(stay->decision->placement->cells[0].cpus, "8-11");
        assert_false(leaves(stay, "0-1"));
        lose_cpus(stay, 10, 11);
        assert_true(leaves(stay, "0-1"));
        hn_request_free(set_aside);
}

static void nobody_goes_where_there_is_no_cpu(void **state)
{
        struct stay *stay = *state;
        HN_PLACEMENT struct hn_placement *to = hn_placement_copy(stay->decision->placement);
        bool answer = true;

        hwloc_bitmap_only(to->cells[0].nodes, 1);
        host_no_cpus(stay->scene->host, 1);
        lose_cpus(stay, 0, 3);
        assert_int_equal(hn_home_leaves(&stay->scene->situation, stay->request, stay->decision->shape,
                                        stay->decision->placement, to, &answer), 0);
        assert_false(answer);
        hwloc_bitmap_only(to->cells[0].nodes, 2);
        assert_int_equal(hn_home_leaves(&stay->scene->situation, stay->request, stay->decision->shape,
                                        stay->decision->placement, to, &answer), 0);
        assert_true(answer);
}

static void other_cells_are_not_compared(void **state)
{
        struct stay *stay = *state;
        HN_PLACEMENT struct hn_placement *none = hn_placement_new();
        bool answer = true;

        assert_int_equal(hn_home_leaves(&stay->scene->situation, stay->request, stay->decision->shape,
                                        stay->decision->placement, none, &answer), 0);
        assert_false(answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(cpus_tell_how_it_stands),
                TEST(what_the_slice_leaves_counts_alike),
                TEST(a_home_without_its_memory_is_none),
                TEST(what_the_user_pinned_is_the_users),
                TEST(an_emulator_without_a_cpu_is_homeless),
                TEST(leaves_where_crowding_costs_more_than_distance),
                TEST(others_that_are_there_count),
                TEST(one_that_leans_runs_on_one_node),
                TEST(nobody_goes_where_there_is_no_cpu),
                TEST(other_cells_are_not_compared),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
