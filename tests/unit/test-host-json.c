/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/host.h"
#include "model/json.h"
#include "unit/support/test.h"

static struct json_object *parse(const char *text)
{
        struct json_object *json = json_tokener_parse(text);

        assert_non_null(json);
        return json;
}

static const char small[] =
        "{ \"version\": 2, \"source\": \"by hand\", \"isolated\": \"\", \"offline\": \"4\","
        " \"allowed_cpus\": \"0-4\", \"allowed_nodes\": \"0,2\", \"distance_source\": \"host\","
        " \"distances\": [ \"10 21\", \"21 10\" ],"
        " \"nodes\": [ { \"node\": 0, \"cpus\": \"0-1\", \"memory_kib\": 4000000, \"free_kib\": 3000000,"
        "                \"pools\": [ \"2048 100 40\" ] },"
        "              { \"node\": 2, \"cpus\": \"2-4\", \"memory_kib\": 4000000, \"free_kib\": 4000000,"
        "                \"pools\": [] } ],"
        " \"cores\": [ \"0-1\", \"2-3\", \"4\" ], \"kinds\": [ \"0-1\", \"2-4\" ],"
        " \"caches\": [ \"8192 0-3\" ],"
        " \"devices\": [ \"0000:81:00.0 0108 2\", \"10000:00:1f.7 0200 -1\" ] }";

static void a_host_written_by_hand_is_read(void **state)
{
        HN_JSON struct json_object *json = parse(small);
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        assert_int_equal(hn_host_from_json(json, &host), 0);
        assert_string_equal(host->source, "by hand");
        assert_int_equal(host->n_nodes, 2);
        assert_int_equal(host->nodes[0].memory_kib, 4000000 - 204800);
        assert_int_equal(host->nodes[0].free_kib, 3000000);
        assert_int_equal(hn_node_pool(&host->nodes[0], 2048)->free_pages, 40);
        assert_set(host->nodes[1].cpus, "2-3"); /* 4 is off line */
        assert_int_equal(host->n_cores, 2);
        assert_int_equal(host->cores[0].kind, 0);
        assert_int_equal(host->cores[1].kind, 1);
        assert_int_equal(host->cores[1].node, 2);
        assert_set(host->caches[0].cpus, "0-3");
        assert_int_equal(host->devices[0].bus, 0x81);
        assert_int_equal(host->devices[0].class_id, 0x0108);
        assert_int_equal(host->devices[0].node, 2);
        assert_int_equal(host->devices[1].domain, 0x10000);
        assert_int_equal(host->devices[1].function, 7);
        assert_int_equal(host->devices[1].node, -1);
        assert_int_equal(host->distance_source, HN_DISTANCE_FROM_HOST);
}

static void written_and_read_again_it_is_the_same(void **state)
{
        static const char *const synthetic[] = {
                "node:1 pu:1", "node:4 core:2 pu:2", "node:2(indexes=8,0) l3:2 core:2 pu:2",
                "pack:2 [numa(memory=1GiB)] l3:2 core:3 pu:1",
        };
        HN_JSON struct json_object *by_hand = parse(small);
        HN_HOST struct hn_host *host = NULL;
        (void) state;

        for (size_t i = 0; i < sizeof synthetic / sizeof *synthetic; i++) {
                HN_HOST struct hn_host *made = NULL, *again = NULL;
                HN_JSON struct json_object *first = NULL, *second = NULL;

                assert_int_equal(hn_host_from_description(synthetic[i], &made), 0);
                assert_int_equal(hn_host_to_json(made, &first), 0);
                assert_int_equal(hn_host_from_json(first, &again), 0);
                assert_int_equal(hn_host_to_json(again, &second), 0);
                assert_true(json_object_equal(first, second));
                assert_int_equal(made->n_cores, again->n_cores);
                for (size_t at = 0; at < made->n_nodes; at++)
                        assert_true(hwloc_bitmap_isequal(made->nodes[at].cpus, again->nodes[at].cpus));
        }
        assert_int_equal(hn_host_from_json(by_hand, &host), 0);
        HN_JSON struct json_object *written = NULL;
        assert_int_equal(hn_host_to_json(host, &written), 0);
        assert_true(json_object_equal(by_hand, written));
}

static void every_member_is_needed(void **state)
{
        HN_JSON struct json_object *good = parse(small);
        (void) state;

        json_object_object_foreach(good, name, ignored) {
                HN_JSON struct json_object *json = parse(small);
                struct hn_host *host = NULL;

                (void) ignored;
                json_object_object_del(json, name);
                assert_int_equal(hn_host_from_json(json, &host), -EBADMSG);
                assert_null(host);
        }
}

#define ONE_NODE(os, cpus) \
        "{ \"node\": " os ", \"cpus\": \"" cpus "\", \"memory_kib\": 1, \"free_kib\": 1, \"pools\": [] }"
#define TWO_NODES(os_a, cpus_a, os_b, cpus_b) "[ " ONE_NODE(os_a, cpus_a) ", " ONE_NODE(os_b, cpus_b) " ]"

struct change {
        const char *name, *value;
};

/* Each is put over the member of that name. */
static void assert_refused(const struct change *changes, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                HN_JSON struct json_object *json = parse(small);
                struct hn_host *host = NULL;

                assert_int_equal(json_object_object_add(json, changes[i].name, parse(changes[i].value)), 0);
                print_message("%s: %s\n", changes[i].name, changes[i].value);
                assert_int_equal(hn_host_from_json(json, &host), -EBADMSG);
                assert_null(host);
        }
}

static void sets_and_distances_out_of_type_or_range_are_refused(void **state)
{
        static const struct change changes[] = {
                { "version", "1" },
                { "version", "0" },
                { "version", "3" },
                { "version", "\"1\"" },
                { "source", "1" },
                { "isolated", "\"x\"" },
                { "isolated", "\"0-8192\"" },
                { "allowed_cpus", "[]" },
                { "allowed_nodes", "\"1024\"" },
                { "distance_source", "\"guess\"" },
                { "distances", "[]" },
                { "distances", "[ \"10 21\" ]" },
                { "distances", "[ \"10 21\", \"21 10\", \"21 10\" ]" },
                { "distances", "[ \"10 21\", \"22 10\" ]" },
                { "distances", "[ \"10 10\", \"10 10\" ]" },
                { "distances", "[ \"10 255\", \"255 10\" ]" },
                { "distances", "[ \"0 0\", \"0 0\" ]" },
                { "distances", "[ \"10 21 30\", \"21 10 30\" ]" },
                { "distances", "[ \"10  21\", \"21 10\" ]" },
                { "distances", "[ \"10 4294967317\", \"21 10\" ]" },
                { "distances", "[ \"10 -21\", \"21 10\" ]" },
                { "distances", "[ [ 10, 21 ], [ 21, 10 ] ]" },
        };
        (void) state;

        assert_refused(changes, sizeof changes / sizeof *changes);
}

static void nodes_cores_and_devices_out_of_type_or_range_are_refused(void **state)
{
        static const struct change changes[] = {
                { "nodes", "[]" },
                { "nodes", "{}" },
                { "nodes", "[ 1, 2 ]" },
                { "nodes", TWO_NODES("2", "0", "0", "1") },   /* not ascending */
                { "nodes", TWO_NODES("2", "0", "2", "1") },   /* one twice */
                { "nodes", TWO_NODES("0", "0-1", "2", "1-2") }, /* CPU 1 on both */
                { "cores", "[ \"0-1\", \"1-2\" ]" },
                { "cores", "[ \"\" ]" },
                { "cores", "[ 0 ]" },
                { "cores", "[ \"9000\" ]" },
                { "kinds", "[ 1 ]" },
                { "caches", "[ { \"cpus\": \"0\" } ]" },
                { "caches", "[ \"8192\" ]" },
                { "caches", "[ \"-1 0\" ]" },
                { "caches", "[ \"4503599627370497 0\" ]" },
                { "caches", "[ \"8192  0\" ]" },
                { "caches", "[ \"8192 8192\" ]" },
                { "devices", "[ \"0000:81:00.0 0108 1\" ]" }, /* there is no node 1 */
                { "devices", "[ \"0000:81:00.0 0108 -2\" ]" },
                { "devices", "[ \"0000:81:20.0 0108 -1\" ]" },
                { "devices", "[ \"0000:81:00.8 0108 -1\" ]" },
                { "devices", "[ \"0000:81:00.0 0108 2 \" ]" },
                { "devices", "[ \" 0000:81:00.0 0108 2\" ]" },
                { "devices", "[ \"-1:81:00.0 0108 2\" ]" },
                { "devices", "[ \"\" ]" },
        };
        (void) state;

        assert_refused(changes, sizeof changes / sizeof *changes);
}

static void nodes_out_of_range_are_refused(void **state)
{
        static const struct { const char *name, *value; } cases[] = {
                { "node", "1024" },
                { "node", "-1" },
                { "cpus", "\"8192\"" },
                { "memory_kib", "4503599627370497" },
                { "memory_kib", "18446744073709551615" },
                { "memory_kib", "1.5" },
                { "free_kib", "-5" },
                { "pools", "[ 2048 ]" },
                { "pools", "[ \"2048\" ]" },
                { "pools", "[ \"2048 1 1 1\" ]" },
                { "pools", "[ \"2048 1 -1\" ]" },
                { "pools", "[ \"0 1 1\" ]" },
                { "pools", "[ \"2048 1 2\" ]" },
                { "pools", "[ \"2048 9223372036854775807 2\" ]" },
                { "pools", "[ \"2048 99999999999999999999999999 2\" ]" },
                { "pools", "[ \"2048 1 1\", \"2048 1 1\" ]" },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_JSON struct json_object *json = parse(small);
                struct json_object *nodes = NULL, *node;
                struct hn_host *host = NULL;

                assert_true(json_object_object_get_ex(json, "nodes", &nodes));
                node = json_object_array_get_idx(nodes, 1);
                assert_int_equal(json_object_object_add(node, cases[i].name, parse(cases[i].value)), 0);
                print_message("%s: %s\n", cases[i].name, cases[i].value);
                assert_int_equal(hn_host_from_json(json, &host), -EBADMSG);
                assert_null(host);
        }
}

static void something_else_than_an_object_is_refused(void **state)
{
        struct hn_host *host = NULL;
        HN_JSON struct json_object *array = parse("[]");
        (void) state;

        assert_int_equal(hn_host_from_json(NULL, &host), -EBADMSG);
        assert_int_equal(hn_host_from_json(array, &host), -EBADMSG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_host_written_by_hand_is_read),
                cmocka_unit_test(written_and_read_again_it_is_the_same),
                cmocka_unit_test(every_member_is_needed),
                cmocka_unit_test(sets_and_distances_out_of_type_or_range_are_refused),
                cmocka_unit_test(nodes_cores_and_devices_out_of_type_or_range_are_refused),
                cmocka_unit_test(nodes_out_of_range_are_refused),
                cmocka_unit_test(something_else_than_an_object_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
