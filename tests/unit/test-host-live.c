/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The running host, from trees that look like its sysfs.
 */
#include "model/host.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"
#define CGROUP "/sys/fs/cgroup"

static struct hn_host *look(struct tree *tree)
{
        struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_root(&tree->root, &host), 0);
        return host;
}

static void nodes_cores_and_caches_are_those_of_sysfs(void **state)
{
        HN_HOST struct hn_host *host = look(*state);

        assert_string_equal(host->source, "this host");
        assert_int_equal(host->n_nodes, 2);
        assert_set(host->nodes[0].cpus, "0-1,4-5");
        assert_set(host->nodes[1].cpus, "2-3,6-7");
        assert_int_equal(host->nodes[1].n_cores, 2);
        assert_int_equal(host->n_cores, 4);
        assert_set(host->cores[0].threads, "0,4");
        assert_set(host->cores[3].threads, "3,7");
        assert_int_equal(host->n_caches, 2);
        assert_set(host->caches[1].cpus, "2-3,6-7");
        assert_int_equal(host->caches[1].size_kib, 16384);
        assert_int_equal(host->distance_source, HN_DISTANCE_FROM_HOST);
        assert_int_equal(hn_host_distance(host, 0, 1), 21);
        assert_set(host->allowed_cpus, "0-7");
        assert_set(host->allowed_nodes, "0-1");
}

static void cache_that_can_go_counts_as_free(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        /* The file has active cache too, which does not count; node 1 says more than there is. */
        host_tree_put_meminfo(tree, 0, 8u << 20, 1000000, 400000);
        host_tree_put_meminfo(tree, 1, 8u << 20, 8u << 20, 400000);
        host = look(tree);
        assert_int_equal(host->nodes[0].free_kib, 1400000);
        assert_int_equal(host->nodes[0].memory_kib, 7u << 20); /* one page of 1 GiB is a pool's */
        assert_int_equal(host->nodes[1].free_kib, 7u << 20);
}

static void pools_are_counted_per_node(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;
        const struct hn_pool *pool;

        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/nr_hugepages", "1024\n");
        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/free_hugepages", "1000\n");
        tree_put(tree, NODE "/node1/hugepages/hugepages-x/nr_hugepages", "9\n");
        tree_put(tree, NODE "/node1/hugepages/hugepages-0kB/nr_hugepages", "9\n");
        tree_put(tree, NODE "/node0/hugepages/hugepages-2048kB/nr_hugepages", "18446744073709551615\n");
        host = look(tree);
        pool = hn_node_pool(&host->nodes[1], 2048);
        assert_int_equal(pool->total_pages, 1024);
        assert_int_equal(pool->free_pages, 1000);
        assert_int_equal(host->nodes[1].n_pools, 2);
        assert_int_equal(host->nodes[1].memory_kib, 5u << 20); /* 8 GiB, 2 and 1 in pools */
        assert_int_equal(host->nodes[0].memory_kib, 0);
        assert_int_equal(hn_node_pool(&host->nodes[0], 1048576)->free_pages, 1);
}

/* The figure of the node is one that nobody would have, to show that it was not asked for. */
static void nodes_are_not_asked_for_pages_the_host_has_none_of(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        tree_put(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
        tree_put(tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "2\n");
        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/nr_hugepages", "1024\n");
        host = look(tree);
        assert_int_equal(hn_node_pool(&host->nodes[1], 2048)->total_pages, 0);
        assert_int_equal(hn_node_pool(&host->nodes[1], 1048576)->free_pages, 1);
        assert_int_equal(host->nodes[1].memory_kib, 7u << 20);
}

static void isolated_and_offline_cpus_are_not_for_guests(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        tree_put(tree, CPU "/isolated", "1\n");
        tree_put(tree, CGROUP "/cpuset.cpus.isolated", "6\n");
        tree_put(tree, CPU "/offline", "7-31\n");
        tree_put(tree, CPU "/online", "0-6\n");
        tree_put(tree, NODE "/node1/cpulist", "2-3,6\n");
        host = look(tree);
        assert_set(host->isolated, "1,6");
        assert_set(host->offline, "7-31");
        assert_set(host->nodes[0].cpus, "0,4-5");
        assert_set(host->nodes[1].cpus, "2-3");
        assert_int_equal(host->n_cores, 4); /* CPU 5 is what is left of a core */
        assert_set(host->cores[1].threads, "5");
}

static void machine_slice_says_what_is_allowed(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *root_only = NULL, *slice = NULL;

        tree_put(tree, CGROUP "/cpuset.cpus.effective", "0-6\n");
        tree_put(tree, CGROUP "/cpuset.mems.effective", "0-1\n");
        root_only = look(tree);
        assert_set(root_only->nodes[1].cpus, "2-3,6");
        tree_put(tree, CGROUP "/machine.slice/cpuset.cpus.effective", "0-5\n");
        tree_put(tree, CGROUP "/machine.slice/cpuset.mems.effective", "1\n");
        slice = look(tree);
        assert_set(slice->allowed_cpus, "0-5");
        assert_int_equal(slice->nodes[0].role, HN_NODE_FORBIDDEN);
        assert_int_equal(slice->nodes[1].role, HN_NODE_HOME);
        assert_set(slice->nodes[1].cpus, "2-3");
}

static void empty_and_odd_sets_say_nothing(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        tree_put(tree, CGROUP "/machine.slice/cpuset.cpus.effective", "\n");
        tree_put(tree, CGROUP "/cpuset.cpus.effective", "all of them\n");
        tree_put(tree, CPU "/isolated", "(null)\n");
        host = look(tree);
        assert_set(host->allowed_cpus, "0-7");
        assert_set(host->isolated, "");
}

static void a_node_with_isolated_cpus_only_is_no_home(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        tree_put(tree, CPU "/isolated", "2-3,6-7\n");
        host = look(tree);
        assert_int_equal(host->nodes[1].role, HN_NODE_FORBIDDEN);
        assert_int_equal(host->nodes[1].n_threads, 0);
}

/* hwloc gives CPU-less memory the CPUs of a neighbour; sysfs knows better. */
static void cpulist_tells_whose_the_cpus_are(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        tree_put(tree, NODE "/online", "0-2\n");
        tree_put(tree, NODE "/node2/cpulist", "\n");
        tree_put(tree, NODE "/node2/cpumap", "0\n");
        tree_put(tree, NODE "/node2/distance", "17 28 10\n");
        tree_put(tree, NODE "/node0/distance", "10 21 17\n");
        tree_put(tree, NODE "/node1/distance", "21 10 28\n");
        host_tree_put_meminfo(tree, 2, 64u << 20, 64u << 20, 0);
        host = look(tree);
        assert_int_equal(host->n_nodes, 3);
        assert_int_equal(host->nodes[2].role, HN_NODE_NO_CPUS);
        assert_int_equal(host->nodes[2].memory_kib, 64u << 20);
        assert_int_equal(hn_host_distance(host, 1, 2), 28);
}

static void cpus_without_memory_count_to_the_nearest_home(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        host_tree_put_meminfo(tree, 1, 0, 0, 0);
        host = look(tree);
        assert_int_equal(host->nodes[1].role, HN_NODE_NO_MEMORY);
        assert_set(host->nodes[0].cpus, "0-7");
        assert_int_equal(host->nodes[0].n_cores, 4);
}

static void devices_are_found_where_sysfs_puts_them(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        host_tree_put_device(tree, 0x81, "0x020000", 1);
        host_tree_put_device(tree, 0x02, "0x010802", -1);
        host_tree_put_device(tree, 0x00, "0x060000", -1); /* the host bridge is no device for guests */
        host = look(tree);
        assert_int_equal(host->n_devices, 2);
        for (size_t i = 0; i < 2; i++) {
                bool card = host->devices[i].bus == 0x81;

                assert_int_equal(host->devices[i].class_id, card ? 0x0200 : 0x0108);
                assert_int_equal(host->devices[i].node, card ? 1 : -1);
        }
}

static void a_broken_distance_row_spoils_no_more_than_distances(void **state)
{
        static const char *const rows[] = { "10\n", "10 x\n", "10 99999999999999999999\n", "10 255\n",
                                            "-1 -1\n" };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                HN_HOST struct hn_host *host = NULL;

                tree_put(tree, NODE "/node0/distance", rows[i]);
                tree_put(tree, NODE "/node1/distance", rows[i]);
                host = look(tree);
                assert_int_equal(host->distance_source, HN_DISTANCE_BROKEN);
                assert_int_equal(hn_host_distance(host, 0, 1), 20);
        }
}

/* hwloc would make up one node out of nothing. */
static void a_root_without_sysfs_is_no_host(void **state)
{
        static const char *const paths[] = { CPU "/online", NODE "/online", NODE "/node1/cpulist",
                                             NODE "/node1/meminfo" };
        struct hn_host *host = NULL;
        struct tree empty;
        (void) state;

        tree_make(&empty);
        assert_int_equal(hn_host_from_root(&empty.root, &host), -ENOENT);
        host_tree_put(&empty, 2, 1, 1);
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                HN_FREE char *kept = NULL;

                assert_int_equal(hn_root_read(&empty.root, 1 << 16, &kept, NULL, "%s", paths[i]), 0);
                assert_int_equal(hn_root_remove(&empty.root, "%s", paths[i]), 0);
                assert_int_equal(hn_host_from_root(&empty.root, &host), -ENOENT);
                assert_null(host);
                tree_put(&empty, paths[i], kept);
        }
        tree_remove(&empty);
}

/* Containers and simulators often show no more than lists. */
static void lists_alone_make_cores_of_single_threads(void **state)
{
        HN_HOST struct hn_host *host = NULL;
        struct tree bare;
        (void) state;

        tree_make(&bare);
        tree_put(&bare, CPU "/online", "0-2\n");
        tree_put(&bare, NODE "/online", "0,8\n");
        tree_put(&bare, NODE "/node0/cpulist", "0\n");
        tree_put(&bare, NODE "/node8/cpulist", "1\n");
        host_tree_put_meminfo(&bare, 0, 1000, 500, 0);
        host_tree_put_meminfo(&bare, 8, 2000, 500, 0);
        host = look(&bare);
        assert_int_equal(host->n_nodes, 2);
        assert_int_equal(host->nodes[1].os, 8);
        assert_set(host->nodes[0].cpus, "0,2"); /* 2 is in no list */
        assert_set(host->nodes[1].cpus, "1");
        assert_int_equal(host->n_cores, 3);
        assert_int_equal(host->distance_source, HN_DISTANCE_MISSING);
        tree_remove(&bare);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(nodes_cores_and_caches_are_those_of_sysfs),
                TEST(cache_that_can_go_counts_as_free),
                TEST(pools_are_counted_per_node),
                TEST(nodes_are_not_asked_for_pages_the_host_has_none_of),
                TEST(isolated_and_offline_cpus_are_not_for_guests),
                TEST(machine_slice_says_what_is_allowed),
                TEST(empty_and_odd_sets_say_nothing),
                TEST(a_node_with_isolated_cpus_only_is_no_home),
                TEST(cpulist_tells_whose_the_cpus_are),
                TEST(cpus_without_memory_count_to_the_nearest_home),
                TEST(devices_are_found_where_sysfs_puts_them),
                TEST(a_broken_distance_row_spoils_no_more_than_distances),
                cmocka_unit_test(a_root_without_sysfs_is_no_host),
                cmocka_unit_test(lists_alone_make_cores_of_single_threads),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
