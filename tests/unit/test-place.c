/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where domains go: sequences on hosts made by hand, with homes that follow from the rules.
 */
#include "unit/support/test.h"

#include "decide/place.h"
#include "decide/shape.h"
#include "unit/support/scene.h"

static const struct host_plan four = { .nodes = 4, .cores = 8, .threads = 1, .memory_kib = 32 * GIB };

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
        const struct host_plan plans[] = { four, { 4, 64, 2, 0, 512 * GIB } };

        (void) state;
        for (size_t p = 0; p < 2; p++) {
                struct scene *scene = scene_of(host_of(&plans[p]));
                HN_BITMAP hwloc_bitmap_t homes = hwloc_bitmap_alloc();

                for (unsigned i = 1; i <= 4; i++)
                        hwloc_bitmap_or(homes, homes, scene_start_vm(scene, i, 2, 4 * GIB)->placement->home);
                assert_set(homes, "0-3");
                scene_free(scene);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plain_domain_gets_one_node),
                cmocka_unit_test(equal_domains_go_to_different_nodes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
