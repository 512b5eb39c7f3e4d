/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The load in a published state; what is refused stands in test-host-state.c.
 */
#include "model/json.h"
#include "model/load.h"
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(busy_cpus_are_read_per_node),
                cmocka_unit_test(what_is_not_said_is_idle),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
