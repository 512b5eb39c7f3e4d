/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Guests that were placed while CPUs were missing, and what they get when these are there.
 */
#include "unit/support/test.h"

#include "decide/widen.h"
#include "unit/support/scene.h"

/* CPUs 0-7, 8-15; behind caches 0-3, 4-7, …; cores 0-1, 2-3, … */
static const struct host_plan caches = { .nodes = 2, .cores = 4, .threads = 2, .cores_per_cache = 2,
                                         .memory_kib = 100 * GIB };
/* CPUs 0-3, 4-7 without threads. */
static const struct host_plan plain = { .nodes = 2, .cores = 4, .threads = 1, .memory_kib = 100 * GIB };

static void lose_from(hwloc_bitmap_t set, const char *list)
{
        HN_BITMAP hwloc_bitmap_t lost = set_of(list);

        hwloc_bitmap_andnot(set, set, lost);
}

/* As the host is while those are offline. */
static struct hn_host *host_without(const struct host_plan *plan, const char *list)
{
        struct hn_host *host = host_of(plan);
        size_t n = 0;

        for (size_t at = 0; at < host->n_nodes; at++) {
                lose_from(host->nodes[at].cpus, list);
                host->nodes[at].n_cores = 0;
                host->nodes[at].n_threads = hn_idset_count(host->nodes[at].cpus);
        }
        for (size_t i = 0; i < host->n_caches; i++)
                lose_from(host->caches[i].cpus, list);
        for (size_t i = 0; i < host->n_cores; i++) {
                struct hn_core core = host->cores[i];

                lose_from(core.threads, list);
                if (hwloc_bitmap_iszero(core.threads)) {
                        hwloc_bitmap_free(core.threads);
                        continue;
                }
                host->nodes[core.node].n_cores++;
                host->cores[n++] = core;
        }
        host->n_cores = n;
        return host;
}

struct started {
        struct scene *scene;
        struct hn_request *request;
        const struct hn_placement *placement;
        struct hn_host *host; /* all of it */
};

/* Starts it on a host that is short of CPUs.  The request is the caller's to make, and goes with end. */
static struct started start(const struct host_plan *plan, const char *missing, struct hn_request *request)
{
        struct started started = { .scene = scene_of(host_without(plan, missing)), .request = request,
                                   .host = host_of(plan) };
        const struct hn_decision *decision = scene_start(started.scene, request);

        assert_int_equal(decision->verdict, HN_PLACED);
        started.placement = decision->placement;
        return started;
}

static void end(struct started *started)
{
        hn_request_free(started->request);
        scene_free(started->scene);
        hn_host_free(started->host);
}

static struct hn_request *vm_on(const char *nodes, unsigned vcpus)
{
        struct hn_request *request = vm(1, vcpus, GIB);

        request->wishes.nodes = set_of(nodes);
        return request;
}

/* What it has then; asserts that the same host asks for nothing more.  The caller frees. */
static struct hn_placement *widen(const struct started *started)
{
        struct hn_placement *wider = NULL, *again = NULL;

        assert_int_equal(hn_home_widen(started->host, started->request, started->placement, &wider), 0);
        assert_non_null(wider);
        assert_int_equal(hn_home_widen(started->host, started->request, wider, &again), 0);
        assert_null(again);
        assert_true(hwloc_bitmap_isequal(wider->home, started->placement->home));
        return wider;
}

static void assert_lacks_nothing(const struct started *started)
{
        struct hn_placement *wider = NULL;

        assert_int_equal(hn_home_widen(started->host, started->request, started->placement, &wider), 0);
        assert_null(wider);
}

static void a_cell_gets_its_nodes_cpus(void **state)
{
        struct started started = start(&plain, "6-7", vm_on("1", 2));
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        assert_set(started.placement->cells[0].cpus, "4-5");
        wider = widen(&started);
        assert_set(wider->cells[0].cpus, "4-7");
        assert_set(wider->emulator_cpus, "4-7");
        end(&started);
}

static void one_that_lacks_nothing_stays(void **state)
{
        struct started started = start(&plain, "", vm_on("1", 2));
        struct started elsewhere = start(&plain, "0", vm_on("1", 2));
        (void) state;

        assert_lacks_nothing(&started);
        assert_lacks_nothing(&elsewhere);
        end(&started);
        end(&elsewhere);
}

/* What is offline now may come back. */
static void nothing_is_taken_away(void **state)
{
        struct started started = start(&plain, "6", vm_on("1", 2));
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        hn_host_free(started.host);
        started.host = host_without(&plain, "4");
        wider = widen(&started);
        assert_set(wider->cells[0].cpus, "4-7");
        hn_host_free(started.host);
        started.host = host_without(&plain, "4,6");
        assert_lacks_nothing(&started);
        end(&started);
}

static void one_behind_a_cache_stays_behind_it(void **state)
{
        struct started whole = start(&caches, "", vm_on("0", 2));
        struct started part = start(&caches, "3,7", vm_on("0", 2));
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        assert_set(whole.placement->cells[0].cpus, "0-3");
        assert_lacks_nothing(&whole);
        assert_set(part.placement->cells[0].cpus, "0-2");
        wider = widen(&part);
        assert_set(wider->cells[0].cpus, "0-3");
        end(&whole);
        end(&part);
}

/* Five vCPUs fit on four cores of two threads, but are not put behind one cache of those by choice. */
static void one_that_a_cache_can_not_hold_gets_the_node(void **state)
{
        static const struct host_plan larger = { .nodes = 1, .cores = 8, .threads = 2, .cores_per_cache = 4,
                                                 .memory_kib = 100 * GIB };
        struct started started = start(&larger, "8-15", vm_on("0", 5));
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        assert_set(started.placement->cells[0].cpus, "0-7");
        wider = widen(&started);
        assert_set(wider->cells[0].cpus, "0-15");
        end(&started);
}

static void cores_of_its_own_get_their_threads(void **state)
{
        struct hn_request *request = vm_on("0", 2);
        struct started started;
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        request->wishes.pin_cores = true;
        request->topology.threads = 1;
        started = start(&caches, "1,6-7", request);
        assert_int_equal(started.placement->n_vcpu_cpus, 2);
        wider = widen(&started);
        assert_set(wider->cells[0].cpus, "0-7");
        assert_int_equal(wider->n_vcpu_cpus, 2);
        for (size_t i = 0; i < 2; i++) {
                assert_true(hwloc_bitmap_isincluded(started.placement->vcpu_cpus[i].cpus, wider->vcpu_cpus[i].cpus));
                assert_int_equal(hn_idset_count(wider->vcpu_cpus[i].cpus), 2);
                assert_false(hwloc_bitmap_intersects(wider->vcpu_cpus[i].cpus, wider->emulator_cpus));
        }
        assert_int_equal(hn_idset_count(wider->emulator_cpus), 4);
        end(&started);
}

static void what_the_user_pinned_is_the_users(void **state)
{
        struct hn_request *request = vm_on("0", 2);
        struct started started;
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        request->vcpu_pins = calloc(1, sizeof *request->vcpu_pins);
        assert_non_null(request->vcpu_pins);
        request->vcpu_pins[0] = (struct hn_pin) { .id = 0, .cpus = set_of("2") };
        request->n_vcpu_pins = 1;
        request->emulator_pin = set_of("2");
        started = start(&caches, "3-7", request);
        wider = widen(&started);
        assert_int_equal(wider->n_vcpu_cpus, 1);
        assert_set(wider->vcpu_cpus[0].cpus, "2");
        assert_set(wider->emulator_cpus, "2");
        end(&started);
}

static void a_node_that_is_no_home_gives_nothing(void **state)
{
        struct started started = start(&plain, "6-7", vm_on("1", 2));
        (void) state;

        started.host->nodes[1].role = HN_NODE_FORBIDDEN;
        assert_lacks_nothing(&started);
        started.host->nodes[1].os = 9;
        assert_lacks_nothing(&started);
        end(&started);
}

static void every_node_of_a_spread_cell_gives_its_own(void **state)
{
        struct hn_request *request = vm(1, 4, 150 * GIB);
        struct started started;
        HN_PLACEMENT struct hn_placement *wider = NULL;
        (void) state;

        request->wishes.vnuma = 1;
        started = start(&plain, "2-3,7", request);
        assert_int_equal(started.placement->n_cells, 1);
        assert_set(started.placement->cells[0].cpus, "0-1,4-6");
        wider = widen(&started);
        assert_set(wider->cells[0].cpus, "0-7");
        end(&started);
}

/* Memory for the guest is on both nodes, vCPUs run on node 0. */
static void a_cell_that_leans_on_a_node_gets_no_cpus_of_others(void **state)
{
        struct scene *scene = scene_of(host_of(&plain));
        struct hn_request *other = vm_on("1", 1), *request = vm(2, 2, 110 * GIB);
        const struct hn_decision *decision;
        struct hn_placement *wider = NULL;

        (void) state;
        other->memory_kib = 80 * GIB;
        assert_int_equal(scene_start(scene, other)->verdict, HN_PLACED);
        request->wishes.vnuma = 0;
        decision = scene_start(scene, request);
        assert_set(decision->placement->cells[0].nodes, "0-1");
        assert_set(decision->placement->cells[0].cpus, "0-3");
        assert_int_equal(hn_home_widen(scene->host, request, decision->placement, &wider), 0);
        assert_null(wider);
        hn_request_free(other);
        hn_request_free(request);
        scene_free(scene);
}

/* The second cell has some of its memory on node 0, where the first one runs, and is to get no CPUs there. */
static void cells_that_lean_get_no_cpus_of_others(void **state)
{
        struct scene *scene = scene_of(host_of(&plain));
        struct hn_request *other = vm_on("1", 1), *request = vm(2, 8, 150 * GIB);
        const struct hn_decision *decision;
        struct hn_placement *wider = NULL;

        (void) state;
        other->memory_kib = 40 * GIB;
        assert_int_equal(scene_start(scene, other)->verdict, HN_PLACED);
        decision = scene_start(scene, request);
        assert_int_equal(decision->placement->n_cells, 2);
        assert_set(decision->placement->cells[0].nodes, "0");
        assert_set(decision->placement->cells[1].nodes, "0-1");
        assert_set(decision->placement->cells[1].cpus, "4-7");
        assert_int_equal(hn_home_widen(scene->host, request, decision->placement, &wider), 0);
        assert_null(wider);
        hn_request_free(other);
        hn_request_free(request);
        scene_free(scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_cell_gets_its_nodes_cpus),
                cmocka_unit_test(one_that_lacks_nothing_stays),
                cmocka_unit_test(nothing_is_taken_away),
                cmocka_unit_test(one_behind_a_cache_stays_behind_it),
                cmocka_unit_test(one_that_a_cache_can_not_hold_gets_the_node),
                cmocka_unit_test(cores_of_its_own_get_their_threads),
                cmocka_unit_test(what_the_user_pinned_is_the_users),
                cmocka_unit_test(a_node_that_is_no_home_gives_nothing),
                cmocka_unit_test(every_node_of_a_spread_cell_gives_its_own),
                cmocka_unit_test(a_cell_that_leans_on_a_node_gets_no_cpus_of_others),
                cmocka_unit_test(cells_that_lean_get_no_cpus_of_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
