/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hosts from XML files, small ones that each show one oddity.
 */
#include <fcntl.h>

#include "model/host.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

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

#define MACHINE(cpus, nodes) \
        "<object type=\"Machine\" os_index=\"0\" cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" " \
        "allowed_cpuset=\"" cpus "\" nodeset=\"" nodes "\" complete_nodeset=\"" nodes "\" " \
        "allowed_nodeset=\"" nodes "\" gp_index=\"1\">\n"
#define SETS(cpus, node) \
        "cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" nodeset=\"" node "\" complete_nodeset=\"" node "\" "
#define NODE(os, cpus, set, gp, memory) \
        "<object type=\"NUMANode\" os_index=\"" os "\" " SETS(cpus, set) "gp_index=\"" gp "\" " \
        "local_memory=\"" memory "\">\n"
#define PU(os, cpus, set, gp) \
        "<object type=\"PU\" os_index=\"" os "\" " SETS(cpus, set) "gp_index=\"" gp "\"/>\n"
#define SOCKET(os, cpus, set, gp) \
        "<object type=\"Package\" os_index=\"" os "\" " SETS(cpus, set) "gp_index=\"" gp "\">\n"
#define END "</object>\n"

/* Socket, node and CPU of one number, whose bit is `set`. */
#define SOCKET_OF(os, set, gp, memory) \
        SOCKET(os, set, set, gp "0") NODE(os, set, set, gp "1", memory) END PU(os, set, set, gp "2") END

static const char no_memory_on_1_and_2[] =
        MACHINE("0xf", "0xf")
        SOCKET_OF("0", "0x1", "1", "1073741824") SOCKET_OF("1", "0x2", "2", "0")
        SOCKET_OF("2", "0x4", "3", "0") SOCKET_OF("3", "0x8", "4", "2147483648")
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

/* CPUs 0-2 on nodes 0-2, each with 1 GiB. */
#define THREE_NODES(allowed_cpus, allowed_nodes) \
        "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x7\" complete_cpuset=\"0x7\" " \
        "allowed_cpuset=\"" allowed_cpus "\" nodeset=\"0x7\" complete_nodeset=\"0x7\" " \
        "allowed_nodeset=\"" allowed_nodes "\" gp_index=\"1\">\n" \
        SOCKET_OF("0", "0x1", "1", "1073741824") SOCKET_OF("1", "0x2", "2", "1073741824") \
        SOCKET_OF("2", "0x4", "3", "1073741824") \
        END
#define LATENCY_OF_SYSTEM "5"
#define LATENCY_OF_USER "6"
#define BANDWIDTH_OF_SYSTEM "9"

/* Three nodes and up to three matrices between nodes. */
struct matrix { const char *name, *kind, *indexes, *values; };

static int load_matrices(const struct matrix *matrices, size_t n, struct hn_host **ret)
{
        HN_FREE char *text = strdup(THREE_NODES("0x7", "0x7"));

        for (size_t i = 0; i < n; i++) {
                const struct matrix *m = &matrices[i];
                HN_FREE char *before = text;

                assert_true(asprintf(&text, "%s<distances2 type=\"NUMANode\" nbobjs=\"%zu\" kind=\"%s\" "
                                     "name=\"%s\" indexing=\"os\">\n<indexes length=\"%zu\">%s</indexes>\n"
                                     "<u64values length=\"%zu\">%s</u64values>\n</distances2>\n",
                                     before, strlen(m->indexes) / 2, m->kind, m->name, strlen(m->indexes),
                                     m->indexes, strlen(m->values), m->values) > 0);
        }
        return load_xml(text, ret);
}

static void nodes_that_are_not_allowed_are_no_homes(void **state)
{
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_xml(THREE_NODES("0x5", "0x3"), &host), 0);
        assert_int_equal(host->n_nodes, 3);
        assert_int_equal(host->nodes[0].role, HN_NODE_HOME);
        assert_int_equal(host->nodes[1].role, HN_NODE_FORBIDDEN); /* none of its CPUs */
        assert_int_equal(host->nodes[2].role, HN_NODE_FORBIDDEN); /* not its memory */
        assert_set(host->allowed_cpus, "0,2");
        assert_set(host->allowed_nodes, "0-1");
        assert_int_equal(host->n_cores, 1);
}

static void nodes_that_a_matrix_leaves_out_are_far(void **state)
{
        static const struct matrix two[] = { { "NUMALatency", LATENCY_OF_SYSTEM, "0 2 ", "10 15 15 10 " } };
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_matrices(two, 1, &host), 0);
        assert_int_equal(host->distance_source, HN_DISTANCE_FROM_HOST);
        assert_int_equal(hn_host_distance(host, 0, 2), 15);
        assert_int_equal(hn_host_distance(host, 0, 1), 15);
        assert_int_equal(hn_host_distance(host, 1, 1), 10);
}

static void bandwidths_are_no_distances(void **state)
{
        static const struct matrix bandwidth[] = {
                { "NUMABandwidth", BANDWIDTH_OF_SYSTEM, "0 1 2 ", "10 50 50 50 10 50 50 50 10 " } };
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_matrices(bandwidth, 1, &host), 0);
        assert_int_equal(host->distance_source, HN_DISTANCE_MISSING);
        assert_int_equal(hn_host_distance(host, 0, 1), 20);
}

static void of_several_matrices_the_kernels_counts(void **state)
{
        static const struct matrix several[] = {
                { "mine", LATENCY_OF_USER, "0 1 2 ", "10 90 90 90 10 90 90 90 10 " },
                { "NUMALatency", LATENCY_OF_SYSTEM, "0 1 2 ", "10 17 28 17 10 28 28 28 10 " },
                { "other", LATENCY_OF_SYSTEM, "0 1 2 ", "10 80 80 80 10 80 80 80 10 " } };
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_matrices(several, 3, &host), 0);
        assert_int_equal(hn_host_distance(host, 0, 1), 17);
        assert_int_equal(hn_host_distance(host, 1, 2), 28);
}

/* 2^32 + 20 must not count as 20. */
static void values_beyond_32_bits_are_no_distances(void **state)
{
        static const struct matrix large[] = {
                { "NUMALatency", LATENCY_OF_SYSTEM, "0 1 2 ", "10 4294967316 30 4294967316 10 30 30 30 10 " }
        };
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(load_matrices(large, 1, &host), 0);
        assert_int_equal(host->distance_source, HN_DISTANCE_BROKEN);
}

#define ONE_NODE(cpus) NODE("0", cpus, "0x1", "2", "1024") END
#define ONE_CPU PU("0", "0x1", "0x1", "3")

/* Such a file is either refused, or read with what the machine really has. */
static void infinite_sets_do_not_get_in(void **state)
{
        static const char *const machines[] = {
                MACHINE("0x1", "0xf...f") ONE_NODE("0x1") ONE_CPU END,
                MACHINE("0xf...f", "0x1") ONE_NODE("0x1") ONE_CPU END,
                MACHINE("0x1", "0x1") ONE_NODE("0xf...f") ONE_CPU END,
                MACHINE("0x1", "0x1") ONE_NODE("0x1")
                        "<object type=\"Core\" os_index=\"0\" " SETS("0xf...f", "0x1") "gp_index=\"4\">"
                        ONE_CPU END END,
        };
        (void) state;

        for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
                HN_HOST struct hn_host *host = NULL;
                int r = load_xml(machines[i], &host);

                print_message("%zu: %d\n", i, r);
                if (r < 0) {
                        assert_int_equal(r, -EBADMSG);
                        continue;
                }
                assert_set(host->nodes[0].cpus, "0");
                assert_set(host->allowed_cpus, "0");
                assert_set(host->allowed_nodes, "0");
                assert_int_equal(host->n_cores, 1);
                assert_set(host->cores[0].threads, "0");
        }
}

static void files_that_are_no_topology_are_refused(void **state)
{
        static const char *const texts[] = {
                "",
                "hello",
                "<x>",
                "<topology version=\"2.0\"></topology>",
                "<topology version=\"2.0\">" MACHINE("0x1", "0x1") ONE_CPU END "</topology>",
        };
        struct tree tree;
        HN_FREE char *path = NULL;
        struct hn_host *host = NULL;
        (void) state;

        tree_make(&tree);
        assert_true(asprintf(&path, "%s/host.xml", tree.path) > 0);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(&tree, "/host.xml", texts[i]);
                if (hn_host_from_description(path, &host) != -EBADMSG || host)
                        fail_msg("taken for a topology: %s", texts[i]);
        }
        tree_remove(&tree);
}

/* hwloc 2.9 refuses what hwloc 3 exports; 2.12 reads what it knows of it. */
static void a_newer_format_is_refused_or_read_right(void **state)
{
        struct tree tree;
        HN_FREE char *path = NULL;
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        tree_make(&tree);
        assert_true(asprintf(&path, "%s/host.xml", tree.path) > 0);
        tree_put(&tree, "/host.xml",
                 "<topology version=\"3.0\">" MACHINE("0x1", "0x1") ONE_NODE("0x1") ONE_CPU END "</topology>");
        int r = hn_host_from_description(path, &host);
        if (r < 0) {
                assert_int_equal(r, -EBADMSG);
                assert_null(host);
        } else {
                assert_int_equal(host->n_nodes, 1);
                assert_set(host->nodes[0].cpus, "0");
        }
        tree_remove(&tree);
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
                cmocka_unit_test(cpus_without_memory_count_to_the_nearest_home),
                cmocka_unit_test(cpus_belong_to_ordinary_memory_before_special),
                cmocka_unit_test(huge_pages_are_pools_and_not_ordinary_memory),
                cmocka_unit_test(nodes_that_are_not_allowed_are_no_homes),
                cmocka_unit_test(nodes_that_a_matrix_leaves_out_are_far),
                cmocka_unit_test(bandwidths_are_no_distances),
                cmocka_unit_test(of_several_matrices_the_kernels_counts),
                cmocka_unit_test(values_beyond_32_bits_are_no_distances),
                cmocka_unit_test(infinite_sets_do_not_get_in),
                cmocka_unit_test(files_that_are_no_topology_are_refused),
                cmocka_unit_test(a_newer_format_is_refused_or_read_right),
                cmocka_unit_test(nothing_is_printed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
