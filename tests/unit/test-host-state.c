/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The published state laid over a host, and the load in it.
 */
#include "model/host.h"
#include "model/json.h"
#include "model/load.h"
#include "unit/support/test.h"

static struct json_object *parse(const char *text)
{
        struct json_object *json = NULL;

        assert_int_equal(hn_json_parse(text, strlen(text), 8, &json), 0);
        return json;
}

/* Nodes 0 and 1 of 8 GiB, CPUs 0-3 and 4-7, two threads a core. */
static struct hn_host *two_nodes(void)
{
        struct hn_host *host = NULL;

        assert_int_equal(hn_host_from_description("node:2(memory=8GiB) core:2 pu:2", &host), 0);
        return host;
}

static int apply(struct hn_host *host, const char *text)
{
        HN_JSON struct json_object *state = parse(text);

        return hn_host_apply_state(host, state);
}

static void what_is_not_said_stays(void **state)
{
        HN_HOST struct hn_host *host = two_nodes();
        (void) state;

        assert_int_equal(apply(host, "{ \"version\": 1 }"), 0);
        assert_set(host->nodes[1].cpus, "4-7");
        assert_int_equal(host->nodes[1].free_kib, 8u << 20);
        assert_int_equal(host->n_cores, 4);
}

static void memory_and_pools_are_laid_over(void **state)
{
        HN_HOST struct hn_host *host = two_nodes();
        (void) state;

        assert_int_equal(apply(host, "{ \"version\": 1, \"boot_id\": \"x\", \"written_us\": 5, \"nodes\": ["
                                     "{ \"node\": 1, \"free_kib\": 1000, \"busy_cpus\": 1.5, \"pools\": ["
                                     "{ \"page_kib\": 2048, \"total\": 512, \"free\": 100 } ] },"
                                     "{ \"node\": 77, \"free_kib\": 5, \"pools\": ["
                                     "{ \"page_kib\": 4, \"total\": 1, \"free\": 1 } ] } ] }"), 0);
        assert_int_equal(host->n_nodes, 2);
        assert_int_equal(host->nodes[0].free_kib, 8u << 20);
        assert_int_equal(host->nodes[1].free_kib, 1000);
        assert_int_equal(host->nodes[1].memory_kib, 7u << 20);
        assert_int_equal(hn_node_pool(&host->nodes[1], 2048)->free_pages, 100);
        assert_null(hn_node_pool(&host->nodes[0], 2048));
}

static void free_memory_is_at_most_what_there_is(void **state)
{
        HN_HOST struct hn_host *host = two_nodes();
        (void) state;

        assert_int_equal(apply(host, "{ \"version\": 1, \"nodes\": ["
                                     " { \"node\": 0, \"free_kib\": 4503599627370496 } ] }"), 0);
        assert_int_equal(host->nodes[0].free_kib, 8u << 20);
}

static void sets_change_cpus_cores_and_roles(void **state)
{
        HN_HOST struct hn_host *host = two_nodes();
        (void) state;

        assert_int_equal(apply(host, "{ \"version\": 1, \"allowed_cpus\": \"0-3,5-7\","
                                     " \"isolated_cpus\": \"1\", \"offline_cpus\": \"2\" }"), 0);
        assert_set(host->nodes[0].cpus, "0,3");
        assert_set(host->nodes[1].cpus, "5-7");
        assert_int_equal(host->nodes[0].n_cores, 2);
        assert_int_equal(host->nodes[0].n_threads, 2);
        assert_set(host->cores[0].threads, "0");
        assert_set(host->nodes[0].isolated, "1");
        assert_set(host->nodes[1].isolated, "");

        assert_int_equal(apply(host, "{ \"version\": 1, \"allowed_cpus\": \"0-3\" }"), 0);
        assert_int_equal(host->nodes[1].role, HN_NODE_FORBIDDEN);
        assert_int_equal(host->n_cores, 2);

        assert_int_equal(apply(host, "{ \"version\": 1, \"allowed_cpus\": \"0-7\", \"isolated_cpus\": \"\","
                                     " \"offline_cpus\": \"\" }"), 0);
        assert_set(host->nodes[0].cpus, "0-3");
        assert_set(host->nodes[1].cpus, "4-7");
        assert_int_equal(host->n_cores, 4);
}

static const char *const bad_states[] = {
        "{}",
        "[]",
        "{ \"version\": 2 }",
        "{ \"version\": \"1\" }",
        "{ \"version\": 1, \"nodes\": {} }",
        "{ \"version\": 1, \"nodes\": [ 1 ] }",
        "{ \"version\": 1, \"nodes\": [ {} ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": -1 } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1024 } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1 }, { \"node\": 1 } ] }",
};

static const char *const bad_hosts[] = {
        "{ \"version\": 1, \"allowed_cpus\": \"x\" }",
        "{ \"version\": 1, \"allowed_cpus\": [] }",
        "{ \"version\": 1, \"isolated_cpus\": \"8192\" }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"free_kib\": -1 } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"free_kib\": \"1\" } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"pools\": {} } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 0, \"free_kib\": 3 }, { \"node\": 9, \"pools\": 1 } ] }",
};

static const char *const bad_loads[] = {
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"busy_cpus\": -0.5 } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"busy_cpus\": 8193 } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"busy_cpus\": 1e999 } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"busy_cpus\": \"1\" } ] }",
        "{ \"version\": 1, \"nodes\": [ { \"node\": 1, \"busy_cpus\": null } ] }",
};

static void refuse_host(const char *text)
{
        HN_HOST struct hn_host *host = two_nodes();

        print_message("%s\n", text);
        assert_int_equal(apply(host, text), -EBADMSG);
        assert_set(host->nodes[0].cpus, "0-3");
        assert_int_equal(host->nodes[0].free_kib, 8u << 20);
}

static void refuse_load(const char *text)
{
        HN_JSON struct json_object *json = parse(text);
        struct hn_load *load = NULL;

        print_message("%s\n", text);
        assert_int_equal(hn_load_from_state(json, &load), -EBADMSG);
        assert_null(load);
}

static void odd_states_change_nothing(void **state)
{
        (void) state;

        for (size_t i = 0; i < sizeof bad_states / sizeof *bad_states; i++) {
                refuse_host(bad_states[i]);
                refuse_load(bad_states[i]);
        }
        for (size_t i = 0; i < sizeof bad_hosts / sizeof *bad_hosts; i++)
                refuse_host(bad_hosts[i]);
        for (size_t i = 0; i < sizeof bad_loads / sizeof *bad_loads; i++)
                refuse_load(bad_loads[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_not_said_stays),
                cmocka_unit_test(memory_and_pools_are_laid_over),
                cmocka_unit_test(free_memory_is_at_most_what_there_is),
                cmocka_unit_test(sets_change_cpus_cores_and_roles),
                cmocka_unit_test(odd_states_change_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
