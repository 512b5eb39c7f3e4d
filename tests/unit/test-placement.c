/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/placement.h"

#include "model/json.h"
#include "unit/support/test.h"

static const char sample[] =
        "{\"uuid\":\"6695eb01-f6a4-8304-79aa-97f2502e193f\",\"name\":\"g\\u00e4st 1\",\"priority\":\"high\","
        "\"cells\":[{\"id\":0,\"vcpus\":\"0-1\",\"memory_kib\":1048576,\"nodes\":\"0\",\"cpus\":\"0-3\"},"
        "{\"id\":1,\"vcpus\":\"2-3\",\"memory_kib\":1048576,\"devices_kib\":524288,\"nodes\":\"8\",\"cpus\":\"8-11\"}],"
        "\"vcpu_cpus\":[{\"vcpu\":3,\"cpus\":\"9\"}],"
        "\"emulator_cpus\":\"0-3,8-12\",\"home\":\"0,8\",\"memory_nodes\":\"0,8\","
        "\"promises\":[{\"node\":0,\"memory_kib\":1069056,\"page_kib\":0,\"vcpus_milli\":2000},"
        "{\"node\":8,\"memory_kib\":1048576,\"page_kib\":2048,\"vcpus_milli\":2000}]}";

static struct hn_placement *read_placement(const char *text)
{
        HN_JSON struct json_object *json = NULL;
        struct hn_placement *placement = NULL;

        if (hn_json_parse(text, strlen(text), 8, &json) < 0)
                return NULL;
        return hn_placement_from_json(json, &placement) < 0 ? NULL : placement;
}

static void reads_and_writes_the_same(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = read_placement(sample), *copy = NULL;
        HN_JSON struct json_object *json = NULL;
        (void) state;

        assert_non_null(placement);
        assert_string_equal(placement->name, "g\xc3\xa4st 1");
        assert_int_equal(placement->priority, HN_PRIORITY_HIGH);
        assert_int_equal(placement->n_cells, 2);
        assert_set(placement->cells[1].nodes, "8");
        assert_int_equal(placement->promises[1].page_kib, 2048);

        copy = hn_placement_copy(placement);
        assert_non_null(copy);
        assert_int_equal(hn_placement_to_json(copy, &json), 0);
        HN_PLACEMENT struct hn_placement *again = read_placement(json_object_to_json_string(json));
        assert_non_null(again);
        assert_int_equal(again->promises[0].memory_kib, 1069056);
        assert_int_equal(again->cells[0].devices_kib, 0);
        assert_int_equal(again->cells[1].devices_kib, 524288);
        assert_set(again->vcpu_cpus[0].cpus, "9");
        assert_set(again->memory_nodes, "0,8");
}

static void knows_what_was_promised_where(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = read_placement(sample);
        (void) state;

        assert_int_equal(hn_placement_memory_kib(placement, 0, 0), 1069056);
        assert_int_equal(hn_placement_memory_kib(placement, 0, 2048), 0);
        assert_int_equal(hn_placement_memory_kib(placement, 8, 0), 0);
        assert_int_equal(hn_placement_memory_kib(placement, 8, 2048), 1048576);
        assert_int_equal(hn_placement_memory_kib(placement, 3, 0), 0);
}

static void is_replaced_by_a_copy(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new(), *by = read_placement(sample);
        (void) state;

        assert_int_equal(hn_placement_replace(&placement, by), 0);
        assert_ptr_not_equal(placement, by);
        assert_string_equal(placement->name, by->name);
        assert_set(placement->home, "0,8");
        assert_int_equal(hn_placement_memory_kib(placement, 8, 2048), 1048576);
}

static void knows_the_cpus_of_each_vcpu(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = read_placement(sample);
        (void) state;

        assert_set(hn_placement_vcpu(placement, 1), "0-3");
        assert_set(hn_placement_vcpu(placement, 2), "8-11");
        assert_set(hn_placement_vcpu(placement, 3), "9");
        assert_null(hn_placement_vcpu(placement, 4));

        HN_BITMAP hwloc_bitmap_t all = hn_placement_cpus(placement);
        assert_set(all, "0-3,8-12");
}

static void adds_promises_up_by_node_and_page_size(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();
        static const struct hn_promise promises[] = { { 1, 100, 0, 500 }, { 1, 30, 2048, 0 }, { 1, 20, 0, 500 } };
        (void) state;

        for (size_t i = 0; i < 3; i++)
                assert_int_equal(hn_placement_promise(placement, &promises[i]), 0);
        assert_int_equal(placement->n_promises, 2);
        assert_int_equal(placement->promises[0].memory_kib, 120);
        assert_int_equal(placement->promises[0].vcpus_milli, 1000);
        assert_int_equal(placement->promises[1].memory_kib, 30);
}

/* Whatever is added up can be written and read back. */
static void promises_end_at_the_limits(void **state)
{
        const struct hn_promise most = { 1, HN_PLACEMENT_KIB_LIMIT, 0, HN_PLACEMENT_MILLI_LIMIT };
        const struct hn_promise more = { 1, UINT64_MAX, 0, UINT32_MAX };
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();
        (void) state;

        assert_int_equal(hn_placement_promise(placement, &most), 0);
        assert_int_equal(hn_placement_promise(placement, &most), 0);
        assert_int_equal(hn_placement_promise(placement, &more), 0);
        assert_int_equal(placement->n_promises, 1);
        assert_true(placement->promises[0].memory_kib == UINT64_C(1) << 50);
        assert_int_equal(placement->promises[0].vcpus_milli, 8192000);
}

static void readers_take_no_promise_twice(void **state)
{
        const struct hn_promise promise = { 1, 100, 0, 500 }, huge = { 1, 100, 2048, 0 };
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();
        (void) state;

        assert_int_equal(hn_placement_promise_once(placement, &promise), 0);
        assert_int_equal(hn_placement_promise_once(placement, &huge), 0);
        assert_int_equal(hn_placement_promise_once(placement, &promise), -EBADMSG);
        assert_int_equal(placement->n_promises, 2);
        assert_int_equal(placement->promises[0].memory_kib, 100);
}

/* Cells on nodes 0 and 8 with CPUs 0-3 and 8-11. */
static void folds_its_cells_into_one(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = read_placement(sample);
        (void) state;

        assert_int_equal(hn_placement_fold(placement), 0);
        assert_int_equal(placement->n_cells, 1);
        assert_set(placement->cells[0].vcpus, "0-3");
        assert_set(placement->cells[0].nodes, "0,8");
        assert_set(placement->cells[0].cpus, "0-3,8-11");
        assert_int_equal(placement->cells[0].memory_kib, 2097152);
        assert_int_equal(hn_placement_fold(placement), 0);
        assert_int_equal(placement->n_cells, 1);
}

/* Every member gone, of another type, or out of range, one at a time. */
static void refuses_what_is_no_placement(void **state)
{
        static const struct { const char *from, *to; } changes[] = {
                { "\"uuid\"", "\"u\"" },
                { "193f\"", "193\"" },
                { "\"name\":\"", "\"name\":7,\"n\":\"" },
                { "\"g\\u00e4", "\"g\\u0000" },
                { "\"high\"", "\"highest\"" },
                { "\"id\":0", "\"id\":-1" },
                { "\"id\":0", "\"id\":1024" },
                { "\"vcpus\":\"0-1\"", "\"vcpus\":\"1-0\"" },
                { "\"vcpus\":\"0-1\"", "\"vcpus\":[0,1]" },
                { "1048576,\"nodes\":\"0\"", "-5,\"nodes\":\"0\"" },
                { "1048576,\"nodes\":\"0\"", "1e3,\"nodes\":\"0\"" },
                { "1069056", "18446744073709551615" },
                { "1069056", "99999999999999999999999" },
                { "\"nodes\":\"8\"", "\"nodes\":\"16384\"" },
                { "\"vcpu\":3", "\"vcpu\":8192" },
                { "\"home\":\"0,8\",", "" },
                { "\"promises\":[", "\"promises\":[[]," },
                /* node 0 twice; with other pages it would be another promise */
                { "\"node\":8,\"memory_kib\":1048576,\"page_kib\":2048", "\"node\":0,\"memory_kib\":1,\"page_kib\":0" },
                { "\"cells\":[", "\"cells\":[null," },
        };
        char text[sizeof sample + 64];
        (void) state;

        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
                const char *at = strstr(sample, changes[i].from);

                assert_non_null(at);
                (void) snprintf(text, sizeof text, "%.*s%s%s", (int) (at - sample), sample, changes[i].to,
                                at + strlen(changes[i].from));
                assert_null(read_placement(text));
        }
        for (size_t cut = 0; cut < sizeof sample - 1; cut++) {
                (void) snprintf(text, sizeof text, "%.*s", (int) cut, sample);
                assert_null(read_placement(text));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_and_writes_the_same),
                cmocka_unit_test(knows_what_was_promised_where),
                cmocka_unit_test(is_replaced_by_a_copy),
                cmocka_unit_test(knows_the_cpus_of_each_vcpu),
                cmocka_unit_test(adds_promises_up_by_node_and_page_size),
                cmocka_unit_test(promises_end_at_the_limits),
                cmocka_unit_test(readers_take_no_promise_twice),
                cmocka_unit_test(folds_its_cells_into_one),
                cmocka_unit_test(refuses_what_is_no_placement),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
