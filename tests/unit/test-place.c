/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where domains go: sequences on hosts made by hand, with homes that follow from the rules.
 */
#include "unit/support/test.h"

#include "decide/place.h"
#include "decide/shape.h"
#include "unit/support/place.h"

static void a_plain_domain_gets_one_node(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d = scene_start_vm(scene, 1, 2, 4 * GIB);

        (void) state;
        assert_int_equal(d->placement->n_cells, 1);
        assert_set(d->placement->home, "0");
        assert_set(d->placement->cells[0].cpus, "0-7");
        assert_set(d->placement->emulator_cpus, "0-7");
        assert_set(d->placement->memory_nodes, "0");
        assert_int_equal(d->placement->n_promises, 1);
        assert_int_equal(d->placement->promises[0].memory_kib, 4 * GIB + 56 * MIB);
        assert_int_equal(d->placement->promises[0].vcpus_milli, 2000);
        assert_set(d->runner_up, "1");
        assert_int_equal(d->candidates, 4);
        scene_free(scene);
}

static void equal_domains_go_to_different_nodes(void **state)
{
        const struct host_plan plans[] = { four, { 4, 64, 2, 0, 512 * GIB }, { 4, 2, 1, 0, 4 * GIB } };

        (void) state;
        for (size_t p = 0; p < 3; p++) {
                struct scene *scene = scene_of(host_of(&plans[p]));
                HN_BITMAP hwloc_bitmap_t homes = hwloc_bitmap_alloc();

                for (unsigned i = 1; i <= 4; i++)
                        hwloc_bitmap_or(homes, homes, scene_start_vm(scene, i, 2, GIB)->placement->home);
                assert_set(homes, "0-3");
                scene_free(scene);
        }
}

/* Four 8 GiB guests on eight nodes of 10: each whole on one node, none on another's. */
static void eight_small_nodes_take_one_each(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 8, 4, 2, 0, 10 * GIB }));
        HN_BITMAP hwloc_bitmap_t homes = hwloc_bitmap_alloc();

        (void) state;
        for (unsigned i = 1; i <= 4; i++) {
                const struct hn_decision *d = scene_start_vm(scene, i, 4, 8 * GIB);

                assert_int_equal(hn_idset_count(d->placement->home), 1);
                assert_false(hwloc_bitmap_intersects(homes, d->placement->home));
                hwloc_bitmap_or(homes, homes, d->placement->home);
        }
        scene_free(scene);
}

static void high_gets_the_emptier_node_and_is_left_alone(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 8, 1, 0, 32 * GIB }));
        struct hn_request *high = vm(2, 4, GIB);
        const struct hn_decision *d;

        (void) state;
        assert_set(scene_start_vm(scene, 1, 4, GIB)->placement->home, "0");
        high->wishes.priority = HN_PRIORITY_HIGH;
        assert_set(scene_start(scene, high)->placement->home, "1");
        /* both nodes have 4 vCPUs now: the next one goes to the normal domain's */
        d = scene_start_vm(scene, 3, 4, GIB);
        assert_set(d->placement->home, "0");
        hn_request_free(high);
        scene_free(scene);
}

static void a_wide_domain_takes_the_nearest_nodes_in_order(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        host_distance(scene->host, 1, 3, 12);
        d = scene_start_vm(scene, 1, 16, 8 * GIB);
        assert_set(d->placement->home, "1,3");
        assert_int_equal(d->placement->n_cells, 2);
        assert_set(d->placement->cells[0].nodes, "1");
        assert_set(d->placement->cells[0].cpus, "8-15");
        assert_set(d->placement->cells[1].nodes, "3");
        assert_set(d->placement->cells[1].vcpus, "8-15");
        scene_free(scene);
}

static void a_full_node_is_no_choice(void **state)
{
        struct scene *scene = scene_of(host_of(&four));

        (void) state;
        occupy(scene, 1, 28 * GIB, "0");
        occupy(scene, 2, 28 * GIB, "1");
        occupy(scene, 3, 28 * GIB, "3");
        assert_set(scene_start_vm(scene, 4, 8, 16 * GIB)->placement->home, "2");
        scene_free(scene);
}

static void live_figures_are_believed_and_reserved(void **state)
{
        struct scene *scene = scene_of(host_of(&four));

        (void) state;
        for (unsigned node = 1; node < 4; node++)
                scene->host->nodes[node].free_kib = GIB;
        scene->host->nodes[0].free_kib = 10 * GIB;
        assert_set(scene_start_vm(scene, 1, 1, 6 * GIB)->placement->home, "0");
        /* 4 GiB are left there of the 10, whatever the built size says */
        scene->host->nodes[2].free_kib = 9 * GIB;
        assert_set(scene_start_vm(scene, 2, 1, 6 * GIB)->placement->home, "2");
        scene_free(scene);
}

static void scattered_memory_is_spread_over(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(9, 2, 20 * GIB);
        HN_DECISION struct hn_decision *refused = NULL;
        const struct hn_decision *d;
        const struct hn_promise *a, *b;

        (void) state;
        host_distance(scene->host, 2, 3, 11);
        occupy(scene, 1, 16 * GIB, "0");
        occupy(scene, 2, 16 * GIB, "1");
        occupy(scene, 3, 16 * GIB, "2");
        occupy(scene, 4, 20 * GIB, "3");
        d = scene_start(scene, request);
        assert_int_equal(d->verdict, HN_PLACED);
        assert_int_equal(d->placement->n_cells, 1);
        assert_set(d->placement->home, "2-3"); /* the nearest pair */
        assert_set(d->placement->memory_nodes, "2-3");
        assert_set(d->placement->cells[0].cpus, "16-31");
        a = promise_on(d->placement, 2, 0);
        b = promise_on(d->placement, 3, 0);
        assert_int_equal(a->memory_kib + b->memory_kib, 20 * GIB + 32 * MIB + 19 * 8 * MIB);
        assert_true(a->memory_kib > b->memory_kib);
        assert_int_equal(a->memory_kib % MIB, 0);
        assert_int_equal(a->vcpus_milli, 1000);

        request->wishes.spanning_forbidden = true;
        strcpy(request->uuid, "22222222-2222-2222-2222-222222222222");
        refused = scene_ask(scene, request);
        assert_int_equal(refused->verdict, HN_REFUSED);
        assert_non_null(strstr(refused->reason, "spanning"));
        assert_int_equal(refused->placement->n_promises, 0);
        hn_request_free(request);
        scene_free(scene);
}

/* 20 GiB find 17.5 on node 2, where the vCPUs then run, and the rest on one of the others. */
static void a_guest_that_fits_no_node_leans_on_the_roomiest(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        for (unsigned node = 0; node < 4; node++) {
                const char *const names[] = { "0", "1", "2", "3" };

                occupy(scene, node + 1, node == 2 ? 13 * GIB : 26 * GIB, names[node]);
        }
        d = scene_start_vm(scene, 9, 2, 20 * GIB);
        assert_set(d->placement->home, "0,2");
        assert_int_equal(d->placement->n_cells, 1);
        assert_set(d->placement->cells[0].nodes, "0,2");
        assert_set(d->placement->cells[0].cpus, "16-23");
        assert_set(d->placement->emulator_cpus, "16-23");
        assert_set(d->placement->memory_nodes, "0,2");
        assert_int_equal(promise_on(d->placement, 2, 0)->vcpus_milli, 2000);
        assert_int_equal(promise_on(d->placement, 0, 0)->vcpus_milli, 0);
        /* all that node 2 has: 31 GiB but for 13 and overhead, in whole MiB */
        assert_int_equal(promise_on(d->placement, 2, 0)->memory_kib, 31 * GIB - 13 * GIB - 32 * MIB - 12 * 8 * MIB);
        assert_int_equal(promise_on(d->placement, 0, 0)->memory_kib + promise_on(d->placement, 2, 0)->memory_kib,
                         20 * GIB + 32 * MIB + 19 * 8 * MIB);
        scene_free(scene);
}

/* Two cells of 20 GiB and 172 MiB find 18,304 MiB on node 0 and 17,272 on node 1, where they run; what each lacks lies on
 * node 2, which has 11,080. */
static void cells_lean_each_on_a_node_of_its_own(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_placement *placement;

        (void) state;
        occupy(scene, 1, 13 * GIB, "0");
        occupy(scene, 2, 14 * GIB, "1");
        occupy(scene, 3, 20 * GIB, "2");
        occupy(scene, 4, 26 * GIB, "3");
        placement = scene_start_vm(scene, 9, 4, 40 * GIB)->placement;
        assert_int_equal(placement->n_cells, 2);
        assert_set(placement->home, "0-2");
        assert_set(placement->memory_nodes, "0-2");
        assert_set(placement->cells[0].nodes, "0,2");
        assert_set(placement->cells[0].cpus, "0-7");
        assert_set(placement->cells[1].nodes, "1-2");
        assert_set(placement->cells[1].cpus, "8-15");
        assert_int_equal(promise_on(placement, 0, 0)->memory_kib, 18304 * MIB);
        assert_int_equal(promise_on(placement, 0, 0)->vcpus_milli, 2000);
        assert_int_equal(promise_on(placement, 1, 0)->memory_kib, 17272 * MIB);
        assert_int_equal(promise_on(placement, 1, 0)->vcpus_milli, 2000);
        assert_int_equal(promise_on(placement, 2, 0)->memory_kib, (2348 + 3380) * MIB);
        assert_int_equal(promise_on(placement, 2, 0)->vcpus_milli, 0);
        scene_free(scene);
}

static void room_for_none_is_left_and_counted(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, 200 * GIB);
        const struct hn_decision *d = scene_start(scene, request);

        (void) state;
        assert_int_equal(d->verdict, HN_LEFT);
        assert_non_null(strstr(d->reason, "no room"));
        assert_int_equal(d->placement->n_promises, 4);
        assert_int_equal(promise_on(d->placement, 3, 0)->vcpus_milli, 500);
        assert_true(promise_on(d->placement, 3, 0)->memory_kib > 50 * GIB);
        hn_request_free(request);
        request = vm(2, 33, GIB);
        assert_int_equal(scene_start(scene, request)->verdict, HN_LEFT);
        hn_request_free(request);
        scene_free(scene);
}

static void what_is_not_ours_is_left(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *other = vm(1, 4, GIB), *off = vm(2, 4, GIB), *numad = vm(3, 4, GIB);
        const struct hn_request *all[3];

        (void) state;
        all[0] = other;
        all[1] = off;
        all[2] = numad;
        other->managed_type = false;
        off->wishes.off = true;
        numad->placement_auto = true;
        for (int i = 0; i < 3; i++) {
                const struct hn_decision *d = scene_start(scene, all[i]);

                assert_int_equal(d->verdict, HN_LEFT);
                assert_int_equal(d->placement->n_promises, 4);
                assert_int_equal(promise_on(d->placement, 1, 0)->memory_kib, GIB / 4 + 8 * MIB);
        }
        hn_request_free(other);
        hn_request_free(off);
        hn_request_free(numad);
        scene_free(scene);
}

static void wishes_for_nodes_are_kept_or_refused(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, GIB);
        const char *const wrong[] = { "4", "0,7", "1" };

        (void) state;
        request->wishes.nodes = set_of("2-3");
        assert_set(scene_start(scene, request)->placement->home, "2");
        host_no_cpus(scene->host, 1);
        for (int i = 0; i < 3; i++) {
                HN_DECISION struct hn_decision *d = NULL;

                hwloc_bitmap_free(request->wishes.nodes);
                request->wishes.nodes = set_of(wrong[i]);
                d = scene_ask(scene, request);
                assert_int_equal(d->verdict, HN_REFUSED);
                assert_non_null(strstr(d->reason, "metadata asks for node"));
        }
        hn_request_free(request);
        scene_free(scene);
}

static void memory_only_nodes_and_sparse_numbers(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 3, 4, 1, 0, 32 * GIB }));
        HN_BITMAP hwloc_bitmap_t homes = hwloc_bitmap_alloc();

        (void) state;
        scene->host->nodes[2].os = 8;
        for (size_t i = 0; i < scene->host->n_cores; i++)
                if (scene->host->cores[i].node == 2)
                        scene->host->cores[i].node = 8;
        host_no_cpus(scene->host, 1);
        host_memory(scene->host, 1, 1024 * GIB);
        for (unsigned i = 1; i <= 4; i++)
                hwloc_bitmap_or(homes, homes, scene_start_vm(scene, i, 2, GIB)->placement->home);
        assert_set(homes, "0,8");
        scene_free(scene);
}

static void huge_pages_are_counted_per_node(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *a = vm(1, 1, GIB), *b = vm(2, 1, GIB), *c = vm(3, 1, GIB);
        const struct hn_decision *d;

        (void) state;
        host_pool(scene->host, 2, 2048, 800);
        host_pool(scene->host, 3, 2048, 600);
        a->page_kib = b->page_kib = c->page_kib = 2048;
        d = scene_start(scene, a);
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "2");
        assert_int_equal(promise_on(d->placement, 2, 2048)->memory_kib, GIB);
        assert_int_equal(promise_on(d->placement, 2, 0)->memory_kib, 32 * MIB);
        assert_set(scene_start(scene, b)->placement->home, "3");
        /* 288 + 88 pages are left, 512 wanted: the total before would have held it */
        d = scene_start(scene, c);
        assert_int_equal(d->verdict, HN_LEFT);
        assert_non_null(strstr(d->reason, "huge pages"));
        hn_request_free(a);
        hn_request_free(b);
        hn_request_free(c);
        scene_free(scene);
}

static void its_own_placement_does_not_stand_in_the_way(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 8, 28 * GIB);
        HN_DECISION struct hn_decision *again = NULL;

        (void) state;
        assert_set(scene_start(scene, request)->placement->home, "0");
        again = scene_ask(scene, request);
        assert_set(again->placement->home, "0");
        assert_float_equal(again->score.total, scene->decisions[0]->score.total, 1e-9);
        hn_request_free(request);
        scene_free(scene);
}

static void soft_memory_has_no_set(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 2, GIB);
        const struct hn_decision *d;

        (void) state;
        request->wishes.memory = HN_MEMORY_SOFT;
        d = scene_start(scene, request);
        assert_set(d->placement->home, "0");
        assert_set(d->placement->memory_nodes, "");
        hn_request_free(request);
        scene_free(scene);
}

/* Of 32 GiB of a node 1 is reserved; 8 GiB and 88 MiB of QEMU's own leave 22.9. */
static void what_may_grow_has_a_memory_set_to_grow_in(void **state)
{
        static const struct { uint64_t most_kib; enum hn_memory_rule rule; const char *set; } cases[] = {
                { 0, HN_MEMORY_AUTO, "0" },
                { 30 * GIB, HN_MEMORY_AUTO, "0" },
                { 31 * GIB, HN_MEMORY_AUTO, "0,3" },
                { 31 * GIB, HN_MEMORY_STRICT, "0" },
                { 31 * GIB, HN_MEMORY_SOFT, "" },
                { 80 * GIB, HN_MEMORY_AUTO, "0-1,3" },
                { UINT64_MAX, HN_MEMORY_AUTO, "0-3" },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct scene *scene = scene_of(host_of(&four));
                HN_REQUEST struct hn_request *request = vm(1, 2, 8 * GIB);

                host_distance(scene->host, 0, 3, 12);
                request->memory_max_kib = cases[i].most_kib;
                request->wishes.memory = cases[i].rule;
                request->wishes.nodes = set_of("0-3");
                assert_set(scene_start(scene, request)->placement->memory_nodes, cases[i].set);
                scene_free(scene);
        }
}

static struct scene *start_growing(const char *body, const struct hn_decision **ret)
{
        struct scene *scene = scene_of(host_of(&four));

        *ret = start_body(scene, body);
        assert_int_equal((*ret)->verdict, HN_PLACED);
        return scene;
}

/* The policies of bound cells say where what is plugged in has to be, whatever the set says. */
static void bound_cells_stay_in_their_nodes(void **state)
{
        static const char open[] = UUID "<maxMemory slots='4' unit='GiB'>100</maxMemory><memory unit='GiB'>8</memory>"
                                   "<vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0-1' memory='4' unit='GiB'/>"
                                   "<cell id='1' cpus='2-3' memory='4' unit='GiB'/></numa></cpu>";
        static const char bound[] = UUID "<maxMemory slots='4' unit='GiB'>100</maxMemory><memory unit='GiB'>8</memory>"
                                    "<vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0-3' memory='8' unit='GiB'/></numa></cpu>"
                                    "<numatune><memnode cellid='0' mode='strict' nodeset='1'/></numatune>";
        const struct hn_decision *d;
        struct scene *scene = start_growing(open, &d);
        (void) state;

        assert_set(d->placement->memory_nodes, "0-3");
        scene_free(scene);
        scene = start_growing(bound, &d);
        assert_set(d->placement->memory_nodes, ""); /* the user's policy decides */
        scene_free(scene);
        scene = start_growing(UUID "<maxMemory slots='4' unit='GiB'>100</maxMemory><memory unit='GiB'>8</memory>"
                              "<vcpu>12</vcpu>", &d);
        assert_int_equal(d->placement->n_cells, 2); /* homenode binds them */
        assert_true(hwloc_bitmap_isequal(d->placement->memory_nodes, d->placement->home));
        scene_free(scene);
}

static void an_impossible_host_places_nothing(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 2, 1, 0, 8 * GIB }));
        struct hn_request *request = vm(1, 1, GIB);
        HN_DECISION struct hn_decision *d = NULL;

        (void) state;
        host_no_cpus(scene->host, 0);
        d = scene_ask(scene, request);
        assert_int_equal(d->verdict, HN_LEFT);
        hn_request_free(request);
        scene_free(scene);
}

static void place_on_takes_only_what_fits(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 16, 8 * GIB);
        HN_SHAPE struct hn_shape *shape = NULL;
        HN_FREE char *note = NULL;
        const char *const wrong[] = { "", "1", "1,9", "7" };
        struct hn_score score;

        (void) state;
        assert_int_equal(hn_shape_new(scene->host, &scene->policy, request, &shape, &note), 0);
        for (int i = 0; i < 4; i++) {
                HN_BITMAP hwloc_bitmap_t nodes = set_of(wrong[i]);
                struct hn_placement *placement = NULL;

                assert_int_equal(hn_place_on(&scene->situation, request, shape, nodes, &placement, &score),
                                 -ENOSPC);
                assert_null(placement);
        }
        hn_request_free(request);
        scene_free(scene);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plain_domain_gets_one_node),
                cmocka_unit_test(equal_domains_go_to_different_nodes),
                cmocka_unit_test(eight_small_nodes_take_one_each),
                cmocka_unit_test(high_gets_the_emptier_node_and_is_left_alone),
                cmocka_unit_test(a_wide_domain_takes_the_nearest_nodes_in_order),
                cmocka_unit_test(a_full_node_is_no_choice),
                cmocka_unit_test(live_figures_are_believed_and_reserved),
                cmocka_unit_test(scattered_memory_is_spread_over),
                cmocka_unit_test(a_guest_that_fits_no_node_leans_on_the_roomiest),
                cmocka_unit_test(cells_lean_each_on_a_node_of_its_own),
                cmocka_unit_test(room_for_none_is_left_and_counted),
                cmocka_unit_test(what_is_not_ours_is_left),
                cmocka_unit_test(wishes_for_nodes_are_kept_or_refused),
                cmocka_unit_test(memory_only_nodes_and_sparse_numbers),
                cmocka_unit_test(huge_pages_are_counted_per_node),
                cmocka_unit_test(its_own_placement_does_not_stand_in_the_way),
                cmocka_unit_test(soft_memory_has_no_set),
                cmocka_unit_test(what_may_grow_has_a_memory_set_to_grow_in),
                cmocka_unit_test(bound_cells_stay_in_their_nodes),
                cmocka_unit_test(an_impossible_host_places_nothing),
                cmocka_unit_test(place_on_takes_only_what_fits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
