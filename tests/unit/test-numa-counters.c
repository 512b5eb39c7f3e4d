/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernel's NUMA counters, and what resctrl measures, on fabricated trees.
 */
#include "model/numa-counters.h"
#include "model/resctrl.h"
#include "unit/support/scene.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define NUMASTAT "/sys/devices/system/node/node3/numastat"

static void a_nodes_counters_are_read(void **state)
{
        struct hn_node_counters counters;
        struct tree *tree = *state;

        tree_put(tree, NUMASTAT, "numa_hit 10\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 99\nlocal_node 8\n"
                                 "other_node 4\n");
        assert_int_equal(hn_node_counters_read(&tree->root, 3, &counters), 0);
        assert_int_equal(counters.hit, 10);
        assert_int_equal(counters.miss, 2);
        assert_int_equal(counters.foreign, 3);
        assert_int_equal(counters.local, 8);
        assert_int_equal(counters.other, 4);
        assert_int_equal(hn_node_counters_read(&tree->root, 2, &counters), -ENOENT);
}

static void odd_counters_are_refused(void **state)
{
        static const char *const texts[] = { "", "numa_hit\n", "numa_hit 1\nnuma_miss x\n",
                                             "numa_hit 1\nnuma_miss 1\nnuma_foreign 1\nlocal_node 1\nother_node" };
        struct hn_node_counters counters;
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(tree, NUMASTAT, texts[i]);
                assert_int_equal(hn_node_counters_read(&tree->root, 3, &counters), -EBADMSG);
        }
}

static void what_the_kernel_does_not_count_is_0(void **state)
{
        struct hn_numa_counters counters;
        struct tree *tree = *state;

        assert_int_equal(hn_numa_counters_read(&tree->root, &counters), -ENOENT);
        tree_put(tree, "/proc/vmstat", "nr_free_pages 5\nnuma_hint_faults 7\nnuma_hint_faults_local 6\n"
                                       "pgmigrate_success 5\n");
        assert_int_equal(hn_numa_counters_read(&tree->root, &counters), 0);
        assert_int_equal(counters.hint_faults, 7);
        assert_int_equal(counters.hint_faults_local, 6);
        assert_int_equal(counters.migrate_success, 5);
        assert_int_equal(counters.migrate_fail, 0);
        assert_int_equal(counters.pages_migrated, 0);
}

static void put_domain(struct tree *tree, const char *group, const char *domain, const char *occupancy)
{
        char path[256];

        (void) snprintf(path, sizeof path, HN_RESCTRL "/%s/mon_data/%s/llc_occupancy", group, domain);
        tree_put(tree, path, occupancy);
        (void) snprintf(path, sizeof path, HN_RESCTRL "/%s/mon_data/%s/mbm_total_bytes", group, domain);
        tree_put(tree, path, "4096\n");
        (void) snprintf(path, sizeof path, HN_RESCTRL "/%s/mon_data/%s/mbm_local_bytes", group, domain);
        tree_put(tree, path, "Unavailable\n");
}

static void bandwidth_and_occupancy_are_read_by_cache(void **state)
{
        static const struct host_plan plan = { .nodes = 2, .cores = 2, .threads = 1, .memory_kib = GIB };
        HN_HOST struct hn_host *host = host_of(&plan);
        HN_RESCTRL_READ struct hn_resctrl resctrl = { 0 };
        struct tree *tree = *state;

        put_domain(tree, "mon_groups/web", "mon_L3_01", "1048576\n");
        put_domain(tree, "mon_groups/web", "mon_L3_00", "Error\n");
        put_domain(tree, "mon_groups/web", "mon_L3_x", "1\n");
        put_domain(tree, "mon_groups/web", "mon_L2_07", "1\n");
        tree_put(tree, "/sys/devices/system/cpu/cpu3/cache/index3/id", "1\n");
        assert_int_equal(hn_resctrl_read(&tree->root, host, "mon_groups/web", &resctrl), 0);
        assert_int_equal(resctrl.n, 2);
        assert_int_equal(resctrl.domains[0].id, 0);
        assert_int_equal(resctrl.domains[0].node, -1);
        assert_true(resctrl.domains[0].occupancy_bytes == UINT64_MAX);
        assert_int_equal(resctrl.domains[1].node, 1);
        assert_int_equal(resctrl.domains[1].occupancy_bytes, 1048576);
        assert_int_equal(resctrl.domains[1].total_bytes, 4096);
        assert_true(resctrl.domains[1].local_bytes == UINT64_MAX);
}

static void without_resctrl_nothing_is_measured(void **state)
{
        static const struct host_plan plan = { .nodes = 2, .cores = 2, .threads = 1, .memory_kib = GIB };
        HN_HOST struct hn_host *host = host_of(&plan);
        struct hn_resctrl resctrl;
        struct tree *tree = *state;

        assert_int_equal(hn_resctrl_read(&tree->root, host, "", &resctrl), -ENOENT);
        tree_put(tree, HN_RESCTRL "/mon_data/other", "");
        assert_int_equal(hn_resctrl_read(&tree->root, host, "", &resctrl), -ENOENT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_nodes_counters_are_read, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(odd_counters_are_refused, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(what_the_kernel_does_not_count_is_0, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(bandwidth_and_occupancy_are_read_by_cache, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(without_resctrl_nothing_is_measured, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
