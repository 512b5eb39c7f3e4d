/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CPUs of their own: where domains go whose vCPUs the user pinned, and which cores pinning="core" takes.
 */
#include "unit/support/test.h"

#include "unit/support/place.h"

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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pins_make_the_home),
                cmocka_unit_test(a_cpuset_pins_all_and_the_emulator),
                cmocka_unit_test(pinned_with_no_room_at_home_gets_the_nearest_memory),
                cmocka_unit_test(isolated_cpus_are_for_pins_only),
                cmocka_unit_test(pins_outside_of_the_host_are_left),
                cmocka_unit_test(guest_cores_get_cores_of_their_own),
                cmocka_unit_test(core_pinning_goes_where_cores_are_free),
                cmocka_unit_test(the_faster_kind_is_pinned_first),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
