/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where domains go: sequences on hosts made by hand, with homes that follow from the rules.
 */
#include "unit/support/test.h"

#include "decide/place.h"
#include "decide/shape.h"
#include "unit/support/scene.h"
#include "unit/support/xml.h"

static const struct host_plan four = { .nodes = 4, .cores = 8, .threads = 1, .memory_kib = 32 * GIB };

#define UUID "<uuid>11111111-1111-1111-1111-111111111111</uuid>"

/* Starts what a domain body asks for; wishes are set by the test afterwards where it needs them. */
static const struct hn_decision *start_body(struct scene *scene, const char *body)
{
        struct hn_request *request = request_of(body);
        const struct hn_decision *decision = scene_start(scene, request);

        hn_request_free(request);
        return decision;
}

static void occupy(struct scene *scene, unsigned number, uint64_t memory_kib, const char *nodes)
{
        struct hn_request *request = vm(number, 1, memory_kib);

        request->wishes.nodes = set_of(nodes);
        assert_int_equal(scene_start(scene, request)->verdict, HN_PLACED);
        hn_request_free(request);
}

/* What was promised there; nothing: all 0. */
static const struct hn_promise *promise_on(const struct hn_placement *placement, unsigned node,
                                           uint64_t page_kib)
{
        static const struct hn_promise none = { 0 };

        for (size_t i = 0; i < placement->n_promises; i++)
                if (placement->promises[i].node == node && placement->promises[i].page_kib == page_kib)
                        return &placement->promises[i];
        return &none;
}

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

static void given_cells_go_together_where_they_fit(void **state)
{
        static const char body[] =
                UUID "<memory>%d</memory><vcpu>4</vcpu><cpu><numa>"
                "<cell id='0' cpus='0-1' memory='%d'/><cell id='1' cpus='2-3' memory='%d'/></numa></cpu>";
        struct scene *scene = scene_of(host_of(&four));
        HN_FREE char *small = NULL, *large = NULL;
        const struct hn_decision *d;

        (void) state;
        assert_true(asprintf(&small, body, 4 << 20, 1 << 20, 3 << 20) > 0);
        assert_true(asprintf(&large, body, 40 << 20, 10 << 20, 30 << 20) > 0);
        d = start_body(scene, small);
        assert_true(d->shape->given);
        assert_set(d->placement->home, "0");
        assert_int_equal(d->placement->n_cells, 2);
        assert_set(d->runner_up, "1");
        scene_free(scene);

        scene = scene_of(host_of(&four));
        d = start_body(scene, large);
        assert_set(d->placement->cells[0].nodes, "0");
        assert_set(d->placement->cells[1].nodes, "1");
        scene_free(scene);
}

static void memory_hotplug_is_said_and_not_reserved(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 16, 4 * GIB);
        const struct hn_decision *d;

        (void) state;
        request->memory_max_kib = 100 * GIB;
        d = scene_start(scene, request);
        assert_non_null(strstr(d->reason, "100 GiB"));
        assert_true(promise_on(d->placement, 0, 0)->memory_kib < 3 * GIB);
        hn_request_free(request);
        scene_free(scene);
}

static void asked_for_cells_are_on_as_many_nodes(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_request *request = vm(1, 4, 4 * GIB);
        const struct hn_decision *d;

        (void) state;
        request->wishes.vnuma = 2;
        d = scene_start(scene, request);
        assert_set(d->placement->home, "0-1");
        hn_request_free(request);
        scene_free(scene);
}

static void bound_cells_stay_even_without_room(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        occupy(scene, 1, 28 * GIB, "3");
        d = start_body(scene, UUID "<memory>16777216</memory><vcpu>4</vcpu>"
                                   "<numatune><memnode cellid='0' mode='strict' nodeset='3'/></numatune>"
                                   "<cpu><numa><cell id='0' cpus='0-1' memory='8388608'/>"
                                   "<cell id='1' cpus='2-3' memory='8388608'/></numa></cpu>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->cells[0].nodes, "3");
        assert_set(d->placement->cells[0].cpus, "24-31");
        assert_int_equal(hn_idset_count(d->placement->cells[1].nodes), 1);
        assert_false(hwloc_bitmap_isset(d->placement->cells[1].nodes, 3));
        assert_true(promise_on(d->placement, 3, 0)->memory_kib >= 8 * GIB);
        assert_non_null(strstr(d->reason, "no room"));
        assert_true(hwloc_bitmap_isset(d->placement->memory_nodes, 3));
        scene_free(scene);
}

static void all_bound_leaves_no_memory_set(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d =
                start_body(scene, UUID "<memory>2097152</memory><vcpu>4</vcpu><numatune>"
                                       "<memnode cellid='0' mode='strict' nodeset='2'/>"
                                       "<memnode cellid='1' mode='strict' nodeset='1'/></numatune>"
                                       "<cpu><numa><cell id='0' cpus='0-1' memory='1048576'/>"
                                       "<cell id='1' cpus='2-3' memory='1048576'/></numa></cpu>");

        (void) state;
        assert_set(d->placement->cells[0].nodes, "2");
        assert_set(d->placement->cells[1].nodes, "1");
        assert_set(d->placement->home, "1-2");
        assert_set(d->placement->memory_nodes, "");
        assert_int_equal(d->candidates, 1);
        assert_null(d->runner_up);
        scene_free(scene);
}

static void numatune_is_accounted_for(void **state)
{
        static const char body[] = UUID "<memory>%d</memory><vcpu>2</vcpu><numatune>"
                                        "<memory mode='%s' nodeset='1,3'/></numatune>";
        struct scene *scene = scene_of(host_of(&four));
        HN_FREE char *strict = NULL, *inter = NULL, *large = NULL;
        HN_DECISION struct hn_decision *left = NULL;
        struct hn_request *missing = vm(7, 1, GIB);
        const struct hn_decision *d;

        (void) state;
        assert_true(asprintf(&strict, body, 1 << 20, "strict") > 0);
        assert_true(asprintf(&inter, body, 1 << 20, "interleave") > 0);
        assert_true(asprintf(&large, body, 100 << 20, "strict") > 0);
        occupy(scene, 1, 4 * GIB, "1");
        d = start_body(scene, strict);
        assert_set(d->placement->home, "3");
        assert_set(d->placement->memory_nodes, "");
        d = start_body(scene, inter);
        assert_set(d->placement->home, "1,3");
        assert_int_equal(promise_on(d->placement, 1, 0)->memory_kib, GIB / 2 + 16 * MIB);
        d = start_body(scene, large);
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "1,3");
        assert_non_null(strstr(d->reason, "no room"));
        missing->numatune_nodes = set_of("9");
        missing->numatune_mode = HN_NUMA_STRICT;
        left = scene_ask(scene, missing);
        assert_int_equal(left->verdict, HN_LEFT);
        assert_non_null(strstr(left->reason, "node 9"));
        hn_request_free(missing);
        scene_free(scene);
}

static void numatune_on_memory_only_nodes_gets_the_nearest_cpus(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        host_no_cpus(scene->host, 3);
        host_distance(scene->host, 3, 2, 14);
        d = start_body(scene, UUID "<memory>1048576</memory><vcpu>2</vcpu><numatune>"
                                   "<memory mode='strict' nodeset='3'/></numatune>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "2");
        assert_int_equal(promise_on(d->placement, 3, 0)->memory_kib, GIB + 32 * MIB);
        assert_int_equal(promise_on(d->placement, 2, 0)->vcpus_milli, 2000);
        assert_float_equal(d->score.terms[HN_TERM_REMOTE], 0.2, 1e-9);
        scene_free(scene);
}

static void pins_make_the_home(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        d = start_body(scene, UUID "<memory>4194304</memory><vcpu>3</vcpu><cputune>"
                                   "<vcpupin vcpu='0' cpuset='17'/>"
                                   "<vcpupin vcpu='1' cpuset='18-19'/></cputune>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "2");
        assert_set(d->placement->memory_nodes, "2");
        assert_int_equal(d->placement->n_vcpu_cpus, 2);
        assert_set(hn_placement_vcpu(d->placement, 0), "17");
        assert_set(hn_placement_vcpu(d->placement, 1), "18-19");
        assert_set(hn_placement_vcpu(d->placement, 2), "16-23");
        assert_set(d->placement->emulator_cpus, "16,18-23"); /* not on vCPU 0's own core */
        assert_int_equal(promise_on(d->placement, 2, 0)->vcpus_milli, 3000);
        scene_free(scene);
}

static void a_cpuset_pins_all_and_the_emulator(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        d = start_body(scene, UUID "<memory>4194304</memory><vcpu cpuset='6-9'>2</vcpu>");
        assert_set(d->placement->home, "0-1");
        assert_set(hn_placement_vcpu(d->placement, 1), "6-9");
        assert_set(d->placement->emulator_cpus, "6-9");
        assert_int_equal(promise_on(d->placement, 0, 0)->vcpus_milli, 1000);
        assert_int_equal(promise_on(d->placement, 0, 0)->memory_kib
                                 + promise_on(d->placement, 1, 0)->memory_kib,
                         4 * GIB + 56 * MIB);
        scene_free(scene);
}

static void pinned_with_no_room_at_home_gets_the_nearest_memory(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        const struct hn_decision *d;

        (void) state;
        host_distance(scene->host, 2, 3, 12);
        occupy(scene, 1, 30 * GIB, "2");
        d = start_body(scene, UUID "<memory>8388608</memory><vcpu cpuset='16-19'>2</vcpu>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "2");
        assert_set(d->placement->memory_nodes, "2-3");
        assert_true(promise_on(d->placement, 3, 0)->memory_kib > 7 * GIB);
        assert_int_equal(promise_on(d->placement, 3, 0)->vcpus_milli, 0);
        assert_true(d->score.terms[HN_TERM_REMOTE] > 0.08);
        scene_free(scene);
}

/* isolcpus is there for guests that are pinned by hand. */
static void isolated_cpus_are_for_pins_only(void **state)
{
        struct scene *scene = scene_of(host_of(&four));
        struct hn_node *node = &scene->host->nodes[2];
        const struct hn_decision *d;

        (void) state;
        node->isolated = set_of("20-23");
        hwloc_bitmap_andnot(node->cpus, node->cpus, node->isolated);
        node->n_cores = node->n_threads = 4;
        hwloc_bitmap_or(scene->host->isolated, scene->host->isolated, node->isolated);
        for (size_t i = scene->host->n_cores; i-- > 0;)
                if (hwloc_bitmap_intersects(scene->host->cores[i].threads, node->isolated)) {
                        hwloc_bitmap_free(scene->host->cores[i].threads);
                        scene->host->cores[i] = scene->host->cores[--scene->host->n_cores];
                }
        d = start_body(scene, UUID "<memory>1048576</memory><vcpu>2</vcpu><cputune>"
                                   "<vcpupin vcpu='0' cpuset='20'/>"
                                   "<vcpupin vcpu='1' cpuset='21'/></cputune>");
        assert_int_equal(d->verdict, HN_PLACED);
        assert_set(d->placement->home, "2");
        assert_set(hn_placement_vcpu(d->placement, 1), "21");
        assert_set(d->placement->cells[0].cpus, "16-19");
        assert_set(d->placement->emulator_cpus, "16-19");
        scene_free(scene);
}

/* A definition of a larger machine arrives. */
static void pins_outside_of_the_host_are_left(void **state)
{
        static const char *const bodies[] = {
                UUID "<memory>1048576</memory><vcpu cpuset='64-95'>2</vcpu>",
                UUID "<memory>1048576</memory><vcpu>2</vcpu>"
                     "<cputune><vcpupin vcpu='1' cpuset='64'/></cputune>",
                UUID "<memory>1048576</memory><vcpu>2</vcpu><cputune><emulatorpin cpuset='640'/></cputune>",
        };
        struct scene *scene = scene_of(host_of(&four));

        (void) state;
        for (size_t i = 0; i < 3; i++) {
                const struct hn_decision *d = start_body(scene, bodies[i]);

                assert_int_equal(d->verdict, HN_LEFT);
                assert_non_null(strstr(d->reason, "pinned"));
        }
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

static void guest_cores_get_cores_of_their_own(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 4, 2, 0, 32 * GIB }));
        struct hn_request *smt = vm(1, 4, GIB), *plain = vm(2, 1, GIB), *more = vm(3, 2, GIB);
        const struct hn_decision *d;

        (void) state;
        smt->wishes.pin_cores = plain->wishes.pin_cores = more->wishes.pin_cores = true;
        smt->topology = (struct hn_topology) { 1, 1, 1, 2, 2 };
        d = scene_start(scene, smt);
        assert_int_equal(d->placement->n_vcpu_cpus, 4);
        for (unsigned vcpu = 0; vcpu < 4; vcpu++)
                assert_int_equal(hwloc_bitmap_first(hn_placement_vcpu(d->placement, vcpu)), vcpu);
        assert_set(d->placement->emulator_cpus, "4-7");
        /* no topology: every vCPU is a core to the guest, and has both threads */
        d = scene_start(scene, plain);
        assert_set(hn_placement_vcpu(d->placement, 0), "4-5");
        /* one core left, two wanted */
        d = scene_start(scene, more);
        assert_int_equal(d->verdict, HN_PLACED);
        assert_int_equal(d->placement->n_vcpu_cpus, 0);
        assert_non_null(strstr(d->reason, "not enough free cores"));
        hn_request_free(smt);
        hn_request_free(plain);
        hn_request_free(more);
        scene_free(scene);
}

static void core_pinning_goes_where_cores_are_free(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 2, 4, 1, 2, 32 * GIB }));
        struct hn_request *a = vm(1, 3, GIB), *b = vm(2, 2, GIB);
        const struct hn_decision *d;

        (void) state;
        a->wishes.pin_cores = b->wishes.pin_cores = true;
        a->wishes.nodes = set_of("1");
        assert_set(scene_start(scene, a)->placement->home, "1");
        scene_start_vm(scene, 3, 4, GIB);
        scene_start_vm(scene, 4, 4, GIB);
        /* node 0 is busier by now, but has the cores; two of one cache */
        d = scene_start(scene, b);
        assert_set(d->placement->home, "0");
        assert_set(hn_placement_vcpu(d->placement, 0), "0");
        assert_set(hn_placement_vcpu(d->placement, 1), "1");
        hn_request_free(a);
        hn_request_free(b);
        scene_free(scene);
}

static void the_faster_kind_is_pinned_first(void **state)
{
        struct scene *scene = scene_of(host_of(&(struct host_plan) { 1, 6, 1, 0, 32 * GIB }));
        struct hn_request *pinned = vm(1, 2, GIB);
        const struct hn_decision *d;

        (void) state;
        for (size_t i = 0; i < 6; i++)
                scene->host->cores[i].kind = i >= 3;
        pinned->wishes.pin_cores = true;
        d = scene_start(scene, pinned);
        assert_set(hn_placement_vcpu(d->placement, 0), "3");
        assert_set(hn_placement_vcpu(d->placement, 1), "4");
        assert_set(scene_start_vm(scene, 2, 2, GIB)->placement->cells[0].cpus, "0-5");
        hn_request_free(pinned);
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
                cmocka_unit_test(room_for_none_is_left_and_counted),
                cmocka_unit_test(what_is_not_ours_is_left),
                cmocka_unit_test(wishes_for_nodes_are_kept_or_refused),
                cmocka_unit_test(memory_only_nodes_and_sparse_numbers),
                cmocka_unit_test(huge_pages_are_counted_per_node),
                cmocka_unit_test(its_own_placement_does_not_stand_in_the_way),
                cmocka_unit_test(given_cells_go_together_where_they_fit),
                cmocka_unit_test(memory_hotplug_is_said_and_not_reserved),
                cmocka_unit_test(asked_for_cells_are_on_as_many_nodes),
                cmocka_unit_test(bound_cells_stay_even_without_room),
                cmocka_unit_test(all_bound_leaves_no_memory_set),
                cmocka_unit_test(numatune_is_accounted_for),
                cmocka_unit_test(numatune_on_memory_only_nodes_gets_the_nearest_cpus),
                cmocka_unit_test(pins_make_the_home),
                cmocka_unit_test(a_cpuset_pins_all_and_the_emulator),
                cmocka_unit_test(pinned_with_no_room_at_home_gets_the_nearest_memory),
                cmocka_unit_test(isolated_cpus_are_for_pins_only),
                cmocka_unit_test(pins_outside_of_the_host_are_left),
                cmocka_unit_test(soft_memory_has_no_set),
                cmocka_unit_test(guest_cores_get_cores_of_their_own),
                cmocka_unit_test(core_pinning_goes_where_cores_are_free),
                cmocka_unit_test(the_faster_kind_is_pinned_first),
                cmocka_unit_test(an_impossible_host_places_nothing),
                cmocka_unit_test(place_on_takes_only_what_fits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
