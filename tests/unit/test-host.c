/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hosts from synthetic descriptions, whose values are known by construction; XML files: test-host-xml.c.
 */
#include "model/host.h"
#include "unit/support/test.h"

static struct hn_host *describe(const char *text)
{
        struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_description(text, &host), 0);
        return host;
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

/* hwloc's own variables win over what a program asks for; a hook inherits them from whoever started libvirt.
 */
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(synthetic_hosts_are_what_they_say),
                cmocka_unit_test(a_thread_without_core_is_a_core),
                cmocka_unit_test(last_level_is_l3_or_else_l2),
                cmocka_unit_test(numbers_of_the_description_are_kept),
                cmocka_unit_test(what_is_no_description_is_refused),
                cmocka_unit_test(the_environment_does_not_get_in_between),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
