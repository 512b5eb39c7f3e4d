/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Looking at a host that changes between the looks, or while one is taken.
 */
#include "daemon/host.h"

#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"
#define SLICE "/sys/fs/cgroup/machine.slice"

/* Nodes 0 and 1 with CPUs 0-1,4-5 and 2-3,6-7, looked at once. */
static void look_first(struct tree *tree, struct hn_outlook *outlook)
{
        assert_int_equal(hn_outlook_renew(&tree->root, outlook), 1);
        assert_int_equal(outlook->host->n_nodes, 2);
        assert_int_equal(hn_outlook_renew(&tree->root, outlook), 0);
        assert_int_equal(outlook->generation, 1);
}

/* The record's key holds the text of the file of CPUs that are on line. */
static bool record_has(struct tree *tree, const char *text)
{
        HN_FREE char *record = NULL;
        size_t length = 0;

        assert_int_equal(hn_root_read(&tree->root, 1 << 20, &record, &length, HN_TOPOLOGY_PATH), 0);
        return memmem(record, length, text, strlen(text) + 1);
}

static void what_guests_do_is_no_change(void **state)
{
        struct tree *tree = *state;
        HN_CLEANUP(hn_outlook_clear) struct hn_outlook outlook = { 0 };

        look_first(tree, &outlook);
        host_tree_put_meminfo(tree, 0, 8u << 20, 1u << 20, 777);
        tree_put(tree, NODE "/node1/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 0);
}

static void cpus_go_and_come(void **state)
{
        struct tree *tree = *state;
        HN_CLEANUP(hn_outlook_clear) struct hn_outlook outlook = { 0 };

        look_first(tree, &outlook);
        assert_true(record_has(tree, "0-7"));
        tree_put(tree, CPU "/online", "0-1,4-5\n");
        tree_put(tree, CPU "/offline", "2-3,6-7\n");
        tree_put(tree, NODE "/node1/cpulist", "\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        assert_int_equal(outlook.host->nodes[1].role, HN_NODE_NO_CPUS);
        assert_true(record_has(tree, "0-1,4-5")); /* for the next hook */
        tree_put(tree, CPU "/online", "0-7\n");
        tree_put(tree, CPU "/offline", "\n");
        tree_put(tree, NODE "/node1/cpulist", "2-3,6-7\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        assert_set(outlook.host->nodes[1].cpus, "2-3,6-7");
        assert_int_equal(outlook.generation, 3);
}

static void a_node_comes_and_goes(void **state)
{
        struct tree *tree = *state;
        HN_CLEANUP(hn_outlook_clear) struct hn_outlook outlook = { 0 };

        look_first(tree, &outlook);
        tree_put(tree, NODE "/online", "0-1,8\n");
        /* announced, and not there yet */
        assert_true(hn_outlook_renew(&tree->root, &outlook) < 0);
        assert_int_equal(outlook.host->n_nodes, 2);
        tree_put(tree, NODE "/node8/cpulist", "\n");
        tree_put(tree, NODE "/node0/distance", "10 21 30\n");
        tree_put(tree, NODE "/node1/distance", "21 10 30\n");
        tree_put(tree, NODE "/node8/distance", "30 30 10\n");
        host_tree_put_meminfo(tree, 8, 4u << 20, 4u << 20, 0);
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        assert_int_equal(outlook.host->n_nodes, 3);
        assert_int_equal(outlook.host->nodes[2].role, HN_NODE_NO_CPUS);
        assert_int_equal(hn_host_distance(outlook.host, 1, 8), 30);
        /* one that goes while its files are read */
        assert_int_equal(hn_root_remove(&tree->root, NODE "/node8/meminfo"), 0);
        assert_true(hn_outlook_renew(&tree->root, &outlook) < 0);
        assert_int_equal(outlook.host->n_nodes, 3);
        tree_put(tree, NODE "/online", "0-1\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        assert_int_equal(outlook.host->n_nodes, 2);
}

static void memory_pools_and_limits_are_the_hosts(void **state)
{
        struct tree *tree = *state;
        HN_CLEANUP(hn_outlook_clear) struct hn_outlook outlook = { 0 };

        look_first(tree, &outlook);
        host_tree_put_meminfo(tree, 1, 16u << 20, 5u << 20, 0);
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        tree_put(tree, NODE "/node0/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        tree_put(tree, NODE "/node0/hugepages/hugepages-2048kB/nr_hugepages", "nonsense\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1); /* none */
        tree_put(tree, SLICE "/cpuset.cpus.effective", "0-3\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        tree_put(tree, SLICE "/cpuset.mems.effective", "0\n");
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        assert_int_equal(outlook.host->nodes[1].role, HN_NODE_FORBIDDEN);
        host_tree_put_device(tree, 5, "0x010802", 1);
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 1);
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 0);
}

static void the_record_is_put_back(void **state)
{
        struct tree *tree = *state;
        HN_CLEANUP(hn_outlook_clear) struct hn_outlook outlook = { 0 };

        look_first(tree, &outlook);
        assert_int_equal(hn_root_remove(&tree->root, HN_TOPOLOGY_PATH), 0);
        assert_int_equal(hn_outlook_renew(&tree->root, &outlook), 0);
        assert_true(hn_root_exists(&tree->root, HN_TOPOLOGY_PATH));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(what_guests_do_is_no_change),
                TEST(cpus_go_and_come),
                TEST(a_node_comes_and_goes),
                TEST(memory_pools_and_limits_are_the_hosts),
                TEST(the_record_is_put_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
