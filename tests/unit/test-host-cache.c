/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The record of the topology in /run: when it is taken, when it is made anew, and what is read in any case.
 */
#include <sys/stat.h>

#include "model/host.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define RECORD "/run/homenode/topology.json"
#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"

static struct hn_host *look(struct tree *tree)
{
        struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_cache(&tree->root, true, &host), 0);
        assert_string_equal(host->source, "this host");
        return host;
}

static char *record(struct tree *tree)
{
        char *text = NULL;

        assert_int_equal(hn_root_read(&tree->root, 1 << 20, &text, NULL, RECORD), 0);
        return text;
}

/* Changes the record so that a host that came from it can be told: its caches get another size. */
static void mark(struct tree *tree)
{
        HN_FREE char *text = record(tree);
        char *p = text;

        while ((p = strstr(p, "16384")))
                memcpy(p, "12345", 5);
        tree_put(tree, RECORD, text);
}

static bool is_marked(const struct hn_host *host)
{
        assert_int_equal(host->n_caches, 2);
        return host->caches[0].size_kib == 12345;
}

static void the_second_look_takes_the_record(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *first = look(tree), *second = NULL;
        struct stat st;

        assert_int_equal(fstatat(tree->root.fd, "run/homenode/topology.json", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(fstatat(tree->root.fd, "run/homenode", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        mark(tree);
        second = look(tree);
        assert_true(is_marked(second));
        assert_int_equal(second->n_nodes, first->n_nodes);
        assert_int_equal(second->n_cores, first->n_cores);
        assert_set(second->nodes[1].cpus, "2-3,6-7");
        assert_int_equal(hn_host_distance(second, 0, 1), 21);
}

static void figures_are_read_each_time(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *first = look(tree), *second = NULL, *third = NULL;

        mark(tree);
        host_tree_put_meminfo(tree, 0, 8u << 20, 777, 0);
        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
        tree_put(tree, NODE "/node1/hugepages/hugepages-2048kB/free_hugepages", "9\n");
        tree_put(tree, CPU "/isolated", "4\n");
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "0-6\n");
        second = look(tree);
        assert_true(is_marked(second));
        assert_int_equal(second->nodes[0].free_kib, 777);
        assert_int_equal(hn_node_pool(&second->nodes[1], 2048)->free_pages, 9);
        assert_int_equal(second->nodes[1].memory_kib, 6u << 20);
        assert_set(second->nodes[0].cpus, "0-1,5");
        assert_set(second->nodes[1].cpus, "2-3,6");
        assert_set(first->nodes[1].cpus, "2-3,6-7");

        /* … and come back when the limit goes */
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "0-7\n");
        tree_put(tree, CPU "/isolated", "\n");
        third = look(tree);
        assert_true(is_marked(third));
        assert_set(third->nodes[0].cpus, "0-1,4-5");
        assert_set(third->nodes[1].cpus, "2-3,6-7");
}

static void without_pools_their_free_pages_are_not_read(void **state)
{
        struct tree *tree = *state;
        HN_HOST struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_cache(&tree->root, false, &host), 0);
        assert_int_equal(hn_node_pool(&host->nodes[0], 1048576)->total_pages, 1);
        assert_int_equal(hn_node_pool(&host->nodes[0], 1048576)->free_pages, 0);
        assert_int_equal(host->nodes[0].memory_kib, 7u << 20);
}

static void what_the_record_depends_on_makes_it_anew(void **state)
{
        static const struct { const char *path, *text; } changes[] = {
                { "/proc/sys/kernel/random/boot_id", "another-boot\n" },
                { CPU "/online", "0-6\n" },
                { NODE "/online", "0-2\n" },
                { "/sys/bus/pci/devices/0000:07:00.0/vendor", "0x8086\n" },
        };
        struct tree *tree = *state;

        tree_put(tree, NODE "/node2/cpulist", "\n");
        host_tree_put_meminfo(tree, 2, 1000, 1000, 0);
        hn_host_free(look(tree));
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
                HN_HOST struct hn_host *host = NULL;

                mark(tree);
                tree_put(tree, changes[i].path, changes[i].text);
                host = look(tree);
                assert_false(is_marked(host));
        }
}

static void an_odd_record_is_made_anew(void **state)
{
        static const char *const records[] = {
                "", "x", "{", "[]", "null", "{}", "{\"key\":{}}", "{\"key\":null,\"host\":null}",
        };
        struct tree *tree = *state;
        HN_FREE char *good = NULL;

        hn_host_free(look(tree));
        good = record(tree);
        for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
                HN_FREE char *now = NULL;

                tree_put(tree, RECORD, records[i]);
                hn_host_free(look(tree));
                now = record(tree);
                assert_string_equal(now, good);
        }
        for (size_t length = 1; length < strlen(good); length += 37) { /* cut short by a full file system */
                HN_FREE char *cut = strndup(good, length), *now = NULL;

                tree_put(tree, RECORD, cut);
                hn_host_free(look(tree));
                now = record(tree);
                assert_string_equal(now, good);
        }
}

static void no_room_for_the_record_is_no_failure(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/run/homenode", "a file where the folder should be");
        hn_host_free(look(tree));
        hn_host_free(look(tree));
}

static void without_a_boot_id_nothing_is_recorded(void **state)
{
        struct tree *tree = *state;

        assert_int_equal(hn_root_remove(&tree->root, "/proc/sys/kernel/random/boot_id"), 0);
        hn_host_free(look(tree));
        assert_false(hn_root_exists(&tree->root, RECORD));
}

static void a_record_does_not_stand_in_for_a_missing_host(void **state)
{
        struct tree *tree = *state;
        struct hn_host *host = NULL;

        hn_host_free(look(tree));
        assert_int_equal(hn_root_remove(&tree->root, NODE "/online"), 0);
        assert_int_equal(hn_host_from_cache(&tree->root, true, &host), -ENOENT);
        assert_null(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(the_second_look_takes_the_record),
                TEST(figures_are_read_each_time),
                TEST(without_pools_their_free_pages_are_not_read),
                TEST(what_the_record_depends_on_makes_it_anew),
                TEST(an_odd_record_is_made_anew),
                TEST(no_room_for_the_record_is_no_failure),
                TEST(without_a_boot_id_nothing_is_recorded),
                TEST(a_record_does_not_stand_in_for_a_missing_host),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
