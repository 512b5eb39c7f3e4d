/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hosts from descriptions: synthetic ones, whose values are known by construction, and small XML files.
 */
#include <fcntl.h>

#include "model/host.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

static struct hn_host *describe(const char *text)
{
        struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_description(text, &host), 0);
        return host;
}

/* Writes an XML topology with this content of the machine object, loads it. */
static int load_xml(const char *machine, struct hn_host **ret)
{
        HN_FREE char *text = NULL, *path = NULL;
        struct tree tree;
        int r;

        tree_make(&tree);
        assert_true(asprintf(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                             "<topology version=\"2.0\">\n%s</topology>\n", machine) > 0);
        tree_put(&tree, "/host.xml", text);
        assert_true(asprintf(&path, "%s/host.xml", tree.path) > 0);
        r = hn_host_from_description(path, ret);
        tree_remove(&tree);
        return r;
}

static void synthetic_hosts_are_what_they_say(void **state)
{
        HN_HOST struct hn_host *host = describe("node:4(memory=8GiB) core:2 pu:2");
        HN_BITMAP hwloc_bitmap_t homes = hn_host_homes(host);
        (void) state;

        assert_string_equal(host->source, "node:4(memory=8GiB) core:2 pu:2");
        assert_int_equal(host->n_nodes, 4);
        assert_set(homes, "0-3");
        assert_set(host->nodes[2].cpus, "8-11");
        assert_int_equal(host->nodes[2].n_cores, 2);
        assert_int_equal(host->nodes[2].n_threads, 4);
        assert_int_equal(host->nodes[2].memory_kib, 8u << 20);
        assert_int_equal(host->nodes[2].free_kib, 8u << 20);
        assert_int_equal(host->n_cores, 8);
        assert_set(host->cores[1].threads, "2-3");
        assert_int_equal(host->cores[7].node, 3);
        assert_int_equal(host->cores[7].kind, -1);
        assert_int_equal(host->n_caches, 0);
        assert_int_equal(host->distance_source, HN_DISTANCE_MISSING);
        assert_int_equal(hn_host_distance(host, 0, 3), 20);
        assert_int_equal(hn_host_distance(host, 3, 3), 10);
        assert_int_equal(hn_host_distance(host, 0, 99), 20);
        assert_set(host->allowed_cpus, "0-15");
        assert_set(host->allowed_nodes, "0-3");
        assert_set(host->isolated, "");
        assert_set(host->offline, "");
        assert_int_equal(hn_host_at(host, 3), 3);
        assert_int_equal(hn_host_at(host, 4), -1);
        assert_null(hn_node_pool(&host->nodes[0], 2048));
}

static void a_thread_without_core_is_a_core(void **state)
{
        HN_HOST struct hn_host *host = describe("node:2 pu:3");
        (void) state;

        assert_int_equal(host->n_cores, 6);
        assert_set(host->cores[4].threads, "4");
        assert_int_equal(host->cores[4].node, 1);
        assert_int_equal(host->nodes[1].n_cores, 3);
}

static void last_level_is_l3_or_else_l2(void **state)
{
        HN_HOST struct hn_host *l3 = describe("node:2 l3:2(size=16MiB) l2:2 core:1 pu:1");
        HN_HOST struct hn_host *l2 = describe("node:2 l2:2(size=1MiB) core:2 pu:1");
        (void) state;

        assert_int_equal(l3->n_caches, 4);
        assert_set(l3->caches[1].cpus, "2-3");
        assert_int_equal(l3->caches[1].size_kib, 16384);
        assert_int_equal(l2->n_caches, 4);
        assert_set(l2->caches[3].cpus, "6-7");
        assert_int_equal(l2->caches[3].size_kib, 1024);
}

static void numbers_of_the_description_are_kept(void **state)
{
        HN_HOST struct hn_host *host = describe("node:2(indexes=8,0) core:1 pu:2(indexes=0,2,1,3)");
        HN_BITMAP hwloc_bitmap_t homes = hn_host_homes(host);
        (void) state;

        assert_set(homes, "0,8");
        assert_int_equal(host->nodes[0].os, 0);
        assert_set(host->nodes[0].cpus, "1,3");
        assert_set(host->nodes[1].cpus, "0,2");
}

#define MACHINE(cpus, nodes) \
        "<object type=\"Machine\" os_index=\"0\" cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" " \
        "allowed_cpuset=\"" cpus "\" nodeset=\"" nodes "\" complete_nodeset=\"" nodes "\" " \
        "allowed_nodeset=\"" nodes "\" gp_index=\"1\">\n"
#define SETS(cpus, node) \
        "cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" nodeset=\"" node "\" complete_nodeset=\"" node "\" "
#define NODE(os, cpus, set, gp, memory) \
        "<object type=\"NUMANode\" os_index=\"" os "\" " SETS(cpus, set) "gp_index=\"" gp "\" local_memory=\"" memory "\">\n"
#define PU(os, cpus, set, gp) \
        "<object type=\"PU\" os_index=\"" os "\" " SETS(cpus, set) "gp_index=\"" gp "\"/>\n"
#define SOCKET(os, cpus, set, gp) \
        "<object type=\"Package\" os_index=\"" os "\" " SETS(cpus, set) "gp_index=\"" gp "\">\n"
#define END "</object>\n"

static const char no_memory_on_1_and_2[] =
        MACHINE("0xf", "0xf")
        SOCKET("0", "0x1", "0x1", "10") NODE("0", "0x1", "0x1", "11", "1073741824") END PU("0", "0x1", "0x1", "12") END
        SOCKET("1", "0x2", "0x2", "20") NODE("1", "0x2", "0x2", "21", "0") END PU("1", "0x2", "0x2", "22") END
        SOCKET("2", "0x4", "0x4", "30") NODE("2", "0x4", "0x4", "31", "0") END PU("2", "0x4", "0x4", "32") END
        SOCKET("3", "0x8", "0x8", "40") NODE("3", "0x8", "0x8", "41", "2147483648") END PU("3", "0x8", "0x8", "42") END
        END
        "<distances2 type=\"NUMANode\" nbobjs=\"4\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n"
        "<indexes length=\"8\">0 1 2 3 </indexes>\n"
        "<u64values length=\"48\">10 20 30 20 20 10 20 16 30 20 10 30 20 16 30 10 </u64values>\n"
        "</distances2>\n";

/* Node 1 is nearer to 3 than to 0; node 2 is as far from either. */
static void cpus_without_memory_count_to_the_nearest_home(void **state)
{
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_xml(no_memory_on_1_and_2, &host), 0);
        assert_int_equal(host->nodes[0].role, HN_NODE_HOME);
        assert_int_equal(host->nodes[1].role, HN_NODE_NO_MEMORY);
        assert_int_equal(host->nodes[2].role, HN_NODE_NO_MEMORY);
        assert_int_equal(host->nodes[3].role, HN_NODE_HOME);
        assert_set(host->nodes[0].cpus, "0,2");
        assert_set(host->nodes[1].cpus, "");
        assert_set(host->nodes[3].cpus, "1,3");
        assert_int_equal(host->nodes[3].n_cores, 2);
        assert_int_equal(host->cores[1].node, 3);
}

static const char special_memory_first[] =
        MACHINE("0x3", "0x7")
        SOCKET("0", "0x3", "0x7", "10")
        "<object type=\"NUMANode\" os_index=\"0\" subtype=\"HBM\" " SETS("0x3", "0x1")
        "gp_index=\"11\" local_memory=\"1073741824\"/>\n"
        NODE("1", "0x3", "0x2", "12", "4294967296")
        "<page_type size=\"4096\" count=\"524288\"/>\n"
        "<page_type size=\"2097152\" count=\"512\"/>\n"
        "<page_type size=\"1073741824\" count=\"1\"/>\n" END
        NODE("2", "0x3", "0x4", "13", "4294967296") "<info name=\"DAXDevice\" value=\"dax0.0\"/>\n" END
        PU("0", "0x1", "0x7", "14") PU("1", "0x2", "0x7", "15")
        END END;

static void cpus_belong_to_ordinary_memory_before_special(void **state)
{
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_xml(special_memory_first, &host), 0);
        assert_int_equal(host->nodes[0].role, HN_NODE_NO_CPUS);
        assert_int_equal(host->nodes[1].role, HN_NODE_HOME);
        assert_int_equal(host->nodes[2].role, HN_NODE_NO_CPUS);
        assert_set(host->nodes[1].cpus, "0-1");
}

static void huge_pages_are_pools_and_not_ordinary_memory(void **state)
{
        HN_HOST struct hn_host *host = NULL;
        const struct hn_node *node;
        (void) state;

        assert_int_equal(load_xml(special_memory_first, &host), 0);
        node = &host->nodes[1];
        assert_int_equal(node->n_pools, 2);
        assert_int_equal(hn_node_pool(node, 2048)->total_pages, 512);
        assert_int_equal(hn_node_pool(node, 2048)->free_pages, 512);
        assert_int_equal(hn_node_pool(node, 1048576)->total_pages, 1);
        assert_null(hn_node_pool(node, 4));
        assert_int_equal(node->memory_kib, 2u << 20); /* 4 GiB, 1 GiB in each pool */
        assert_int_equal(node->free_kib, 2u << 20);
}

static void what_is_no_description_is_refused(void **state)
{
        static const struct { const char *text; int error; } cases[] = {
                { "", -EBADMSG },
                { "nonsense", -EBADMSG },
                { "node:0 pu:1", -EBADMSG },
                { "node:1025 pu:1", -EBADMSG },
                { "node:1 core:65536 pu:4", -EBADMSG },
                { "8 1024 2", -EBADMSG },
                { "node:18446744073709551615 pu:18446744073709551615", -EBADMSG },
                { "no-such-file.xml", -ENOENT },
                { "/no/such/file", -ENOENT },
                { "/dev/null", -EBADMSG },
                { "/tmp", -EBADMSG },
        };
        struct hn_host *host = NULL;
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                print_message("'%s'\n", cases[i].text);
                assert_int_equal(hn_host_from_description(cases[i].text, &host), cases[i].error);
                assert_null(host);
        }
}

static void files_that_are_no_topology_are_refused(void **state)
{
        static const char *const texts[] = {
                "",
                "hello",
                "<x>",
                "<topology version=\"2.0\"></topology>",
                "<topology version=\"3.0\">" MACHINE("0x1", "0x1") NODE("0", "0x1", "0x1", "2", "1024") END
                        PU("0", "0x1", "0x1", "3") END "</topology>",
                "<topology version=\"2.0\">" MACHINE("0x1", "0x1") PU("0", "0x1", "0x1", "3") END "</topology>",
        };
        struct tree tree;
        HN_FREE char *path = NULL;
        struct hn_host *host = NULL;
        (void) state;

        tree_make(&tree);
        assert_true(asprintf(&path, "%s/host.xml", tree.path) > 0);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(&tree, "/host.xml", texts[i]);
                assert_int_equal(hn_host_from_description(path, &host), -EBADMSG);
                assert_null(host);
        }
        tree_remove(&tree);
}

/* hwloc's own variables win over what a program asks for; a hook inherits them from whoever started libvirt. */
static void the_environment_does_not_get_in_between(void **state)
{
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(setenv("HWLOC_SYNTHETIC", "node:7 pu:1", 1), 0);
        assert_int_equal(setenv("HWLOC_XMLFILE", "/no/such/file", 1), 0);
        assert_int_equal(setenv("HWLOC_COMPONENTS", "stop", 1), 0);
        host = describe("node:2 core:1 pu:1");
        assert_int_equal(host->n_nodes, 2);
        assert_string_equal(getenv("HWLOC_SYNTHETIC"), "node:7 pu:1");
        assert_string_equal(getenv("HWLOC_XMLFILE"), "/no/such/file");
        assert_string_equal(getenv("HWLOC_COMPONENTS"), "stop");
        assert_null(getenv("HWLOC_HIDE_ERRORS"));
        assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
        assert_int_equal(unsetenv("HWLOC_XMLFILE"), 0);
        assert_int_equal(unsetenv("HWLOC_COMPONENTS"), 0);
}

static size_t printed_while(void (*test)(void **state))
{
        char path[] = "/tmp/homenode-stderr-XXXXXX";
        HN_CLOSE int fd = mkstemp(path);
        int kept = dup(STDERR_FILENO);
        off_t length;

        assert_true(fd >= 0 && kept >= 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
        test(NULL);
        assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
        assert_int_equal(close(kept), 0);
        length = lseek(fd, 0, SEEK_END);
        assert_true(length >= 0);
        return (size_t) length;
}

static void nothing_is_printed(void **state)
{
        (void) state;

        assert_int_equal(printed_while(files_that_are_no_topology_are_refused), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(synthetic_hosts_are_what_they_say),
                cmocka_unit_test(a_thread_without_core_is_a_core),
                cmocka_unit_test(last_level_is_l3_or_else_l2),
                cmocka_unit_test(numbers_of_the_description_are_kept),
                cmocka_unit_test(cpus_without_memory_count_to_the_nearest_home),
                cmocka_unit_test(cpus_belong_to_ordinary_memory_before_special),
                cmocka_unit_test(huge_pages_are_pools_and_not_ordinary_memory),
                cmocka_unit_test(what_is_no_description_is_refused),
                cmocka_unit_test(files_that_are_no_topology_are_refused),
                cmocka_unit_test(the_environment_does_not_get_in_between),
                cmocka_unit_test(nothing_is_printed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
