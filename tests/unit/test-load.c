/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The load in a published state; what is refused stands in test-host-state.c.
 */
#include <math.h>

#include "model/json.h"
#include "model/load.h"
#include "unit/support/scene.h"
#include "unit/support/test.h"

static struct hn_load *load_of(const char *text)
{
        HN_JSON struct json_object *json = NULL;
        struct hn_load *load = NULL;

        assert_int_equal(hn_json_parse(text, strlen(text), 8, &json), 0);
        assert_int_equal(hn_load_from_state(json, &load), 0);
        return load;
}

static void busy_cpus_are_read_per_node(void **state)
{
        HN_LOAD struct hn_load *load =
                load_of("{ \"version\": 1, \"nodes\": [ { \"node\": 8, \"busy_cpus\": 1.5 },"
                        " { \"node\": 0, \"busy_cpus\": 2 }, { \"node\": 3, \"free_kib\": 1 } ] }");
        (void) state;

        assert_int_equal(load->n_nodes, 3);
        assert_true(hn_load_busy(load, 8) == 1.5);
        assert_true(hn_load_busy(load, 0) == 2);
        assert_true(hn_load_busy(load, 3) == 0);
        assert_true(hn_load_busy(load, 99) == 0);
}

static void what_is_not_said_is_idle(void **state)
{
        HN_LOAD struct hn_load *load = load_of("{ \"version\": 1 }");
        (void) state;

        assert_int_equal(load->n_nodes, 0);
        assert_true(hn_load_busy(load, 0) == 0);
        assert_true(hn_load_busy(NULL, 0) == 0);
}

#define UUID_X "0a1b2c3d-4e5f-4a6b-8c7d-0000000000aa"

static void what_is_written_is_read(void **state)
{
        static const struct host_plan plan = { .nodes = 2, .cores = 2, .threads = 1, .memory_kib = GIB };
        HN_HOST struct hn_host *host = host_of(&plan);
        const struct hn_guest_load guest = { .uuid = UUID_X, .run_cpus = 1.25, .wait_cpus = 0.5, .trend_cpus = -0.125,
                                             .cpu_pressure = 0.25, .memory_pressure = -1, .io_pressure = 0 };
        HN_LOAD struct hn_load *load = calloc(1, sizeof *load), *read = NULL;
        HN_JSON struct json_object *json = NULL;
        struct json_object *nodes, *node;
        uint64_t free_kib;

        (void) state;
        assert_int_equal(hn_load_add_node(load, 1, 0.75), 0);
        assert_int_equal(hn_load_add_node(load, 0, (double) NAN), 0);
        assert_int_equal(hn_load_add_guest(load, &guest), 0);
        host->nodes[1].free_kib = 77;
        assert_int_equal(hn_load_to_state(host, load, "11111111-2222-4333-8444-555555555555", 99, &json), 0);
        assert_int_equal(hn_load_from_state(json, &read), 0);
        assert_true(hn_load_busy(read, 1) == 0.75);
        assert_true(hn_load_busy(read, 0) == 0);
        assert_int_equal(read->n_guests, 1);
        assert_true(hn_load_guest(read, UUID_X)->run_cpus == 1.25);
        assert_true(hn_load_guest(read, UUID_X)->wait_cpus == 0.5);
        assert_true(hn_load_guest(read, UUID_X)->trend_cpus == -0.125);
        assert_true(hn_load_guest(read, UUID_X)->cpu_pressure == 0.25);
        assert_true(hn_load_guest(read, UUID_X)->memory_pressure < 0);
        assert_true(hn_load_guest(read, UUID_X)->io_pressure == 0);
        assert_null(hn_load_guest(read, "no such guest"));
        assert_int_equal(hn_json_get_array(json, "nodes", 8, &nodes), 0);
        node = json_object_array_get_idx(nodes, 1);
        assert_int_equal(hn_json_get_u64(node, "free_kib", UINT64_MAX, &free_kib), 0);
        assert_int_equal(free_kib, 77);
}

static void odd_guests_are_refused(void **state)
{
        static const char *const guests[] = {
                "{ }", "{ \"uuid\": \"x\" }", "{ \"uuid\": 1 }", "1",
                "{ \"uuid\": \"" UUID_X "\", \"run_cpus\": -1 }",
                "{ \"uuid\": \"" UUID_X "\", \"run_cpus\": \"1\" }",
                "{ \"uuid\": \"" UUID_X "\", \"wait_cpus\": 1e300 }",
                "{ \"uuid\": \"" UUID_X "\", \"cpu_pressure\": 3 }",
        };

        (void) state;
        for (size_t i = 0; i < sizeof guests / sizeof *guests; i++) {
                HN_JSON struct json_object *json = NULL;
                struct hn_load *load;
                char text[256];

                (void) snprintf(text, sizeof text, "{ \"version\": 1, \"guests\": [ %s ] }", guests[i]);
                assert_int_equal(hn_json_parse(text, strlen(text), 8, &json), 0);
                assert_int_equal(hn_load_from_state(json, &load), -EBADMSG);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(busy_cpus_are_read_per_node),
                cmocka_unit_test(what_is_not_said_is_idle),
                cmocka_unit_test(what_is_written_is_read),
                cmocka_unit_test(odd_guests_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
