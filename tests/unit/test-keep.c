/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/keep.h"

#include "unit/support/groups.h"
#include "unit/support/test.h"

static const struct hn_circumstances by_unit = { .way = HN_SCOPE_UNIT };

static void assert_plan(const struct hn_groups *groups, const struct hn_placement *placement,
                        const struct hn_request *request, const struct hn_circumstances *circumstances,
                        const char *lines)
{
        HN_ACTIONS struct hn_actions actions = { 0 };

        assert_int_equal(hn_keep_plan(groups, placement, request, circumstances, &actions), 0);
        assert_actions(&actions, lines);
}

static void nothing_is_to_do_where_all_is_right(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("emulator vcpu0 vcpu1 iothread1", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        struct hn_request request = { 0 };
        HN_ACTIONS struct hn_actions actions = { 0 };

        (void) state;
        assert_int_equal(hn_keep_plan(groups, placement, &request, &by_unit, &actions), 0);
        assert_actions(&actions, "");
        assert_int_equal(actions.right, 4);
        assert_false(actions.homeless || actions.memory_waits);
}

/* A vCPU that was just plugged has no CPUs of its own yet. */
static void groups_that_say_otherwise_are_put_right(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("emulator vcpu0 vcpu1", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        struct hn_request request = { 0 };

        (void) state;
        hwloc_bitmap_zero(group_named(groups, "vcpu1")->cpus);
        group_named(groups, "emulator")->strays = true;
        assert_plan(groups, placement, &request, &by_unit, "group emulator 4-5\ngroup vcpu1 4-5\n");
}

static void pins_in_the_live_xml_are_the_users(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("emulator vcpu0 vcpu1 iothread1", "", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        HN_BITMAP hwloc_bitmap_t pin = set_of("7");
        struct hn_pin vcpu = { .id = 1, .cpus = pin }, iothread = { .id = 1, .cpus = pin };
        struct hn_request request = { .vcpu_pins = &vcpu, .n_vcpu_pins = 1 };

        (void) state;
        assert_plan(groups, placement, &request, &by_unit,
                    "group emulator 4-5\ngroup vcpu0 4-5\ngroup iothread1 4-5\n");
        request = (struct hn_request) { .iothread_pins = &iothread, .n_iothread_pins = 1, .emulator_pin = pin };
        assert_plan(groups, placement, &request, &by_unit, "group vcpu0 4-5\ngroup vcpu1 4-5\n");
        request = (struct hn_request) { .vcpu_cpuset = pin };
        assert_plan(groups, placement, &request, &by_unit, "");
}

/* A decision made with the pin in the XML has the emulator where the user wants it. */
static void iothreads_stay_at_home_where_the_user_pins_the_emulator(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("emulator iothread1", "7", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        HN_BITMAP hwloc_bitmap_t pin = set_of("7");
        struct hn_request request = { .emulator_pin = pin };

        (void) state;
        assert_int_equal(hwloc_bitmap_copy(placement->emulator_cpus, pin), 0);
        assert_plan(groups, placement, &request, &by_unit, "group iothread1 4-5\n");
}

static void the_start_s_drop_in_becomes_a_property(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        HN_BITMAP hwloc_bitmap_t all = set_of("0-15");
        struct hn_circumstances circumstances = { .way = HN_SCOPE_UNIT, .dropin = true, .all_cpus = all };
        struct hn_request request = { 0 };

        (void) state;
        assert_plan(groups, placement, &request, &circumstances, "unit 0-15 2\ndropin\n");
        /* memory="soft": no memory set */
        hwloc_bitmap_zero(placement->memory_nodes);
        assert_plan(groups, placement, &request, &circumstances, "unit 0-15 -\ndropin\n");
        /* the hook writes files alone, and nothing of a scope that is not systemd's is touched */
        circumstances.way = HN_SCOPE_FILE;
        assert_plan(groups, placement, &request, &circumstances, "");
        hwloc_bitmap_set_range(groups->scope_cpus, 4, 5);
        assert_plan(groups, placement, &request, &circumstances, "scope\n");
        circumstances.way = HN_SCOPE_LEFT;
        assert_plan(groups, placement, &request, &circumstances, "");
}

/* A DIMM that the user put on node 1: the scope has that too, and keeps it bound there. */
static void what_memory_devices_name_is_in_the_set(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        HN_BITMAP hwloc_bitmap_t own = set_of("1"), nodes = NULL, bound = NULL;
        struct hn_plugged dimm = { .nodes = own };
        struct hn_request request = { .plugged = &dimm, .n_plugged = 1 };

        (void) state;
        assert_int_equal(hn_keep_nodes(&request, placement, &nodes), 0);
        assert_set(nodes, "1-2");
        assert_int_equal(hn_keep_bound(&request, &bound), 0);
        assert_set(bound, "1");
}

static void a_scope_that_confines_cpus_is_opened(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        struct hn_request request = { 0 };

        (void) state;
        hwloc_bitmap_set_range(groups->scope_cpus, 4, 5);
        assert_plan(groups, placement, &request, &by_unit, "unit 0-7 2\n");
        hwloc_bitmap_set_range(groups->scope_cpus, 0, 63);
        assert_plan(groups, placement, &request, &by_unit, "");
}

static void memory_sets(void **state)
{
        static const struct {
                const char *now, *wanted, *bound;
                uint64_t outside_kib;
                const char *lines;
                bool waits;
        } cases[] = {
                { "0-3", "2", "", 0, "unit 0-7 2\n", false },
                { "0-3", "2", "", HN_KEEP_NARROW_KIB, "unit 0-7 2\n", false },
                { "0-3", "2", "", HN_KEEP_NARROW_KIB + 1, "", true }, /* would hold the guest up */
                { "0-3", "2", "", UINT64_MAX, "", true },
                { "2", "1-2", "", UINT64_MAX, "unit 0-7 1-2\n", false }, /* widening moves nothing */
                { "0-1", "1-2", "", 0, "unit 0-7 0-2\n", true }, /* never directly between overlapping sets */
                { "0", "2", "", UINT64_MAX, "unit 0-7 0,2\n", true },
                { "0-3", "2-3", "2-3", 0, "unit 0-7 2-3\n", false },
                { "0-3", "1-2", "1-2", 0, "", true }, /* the kernel would swap the two cells */
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "4-5", cases[i].now);
                HN_PLACEMENT struct hn_placement *placement = placed_on(2);
                HN_BITMAP hwloc_bitmap_t bound = set_of(cases[i].bound);
                struct hn_request_cell cell = { .bound = bound };
                struct hn_request request = { .cells = &cell, .n_cells = *cases[i].bound ? 1 : 0 };
                struct hn_circumstances circumstances = { .way = HN_SCOPE_UNIT, .outside_kib = cases[i].outside_kib };
                HN_ACTIONS struct hn_actions actions = { 0 };

                hwloc_bitmap_free(placement->memory_nodes);
                placement->memory_nodes = set_of(cases[i].wanted);
                assert_int_equal(hn_keep_plan(groups, placement, &request, &circumstances, &actions), 0);
                assert_actions(&actions, cases[i].lines);
                assert_int_equal(actions.memory_waits, cases[i].waits);
        }
}

/* Cells bound to nodes 2 and 3 go to 0 and 3: on the way they are bound to 0 and 2, as the mover knows. */
static void a_move_changes_sets_whatever_that_rebinds(void **state)
{
        static const struct { const char *now, *wanted, *lines; uint64_t outside_kib; bool waits; } cases[] = {
                { "2-3", "0,2-3", "unit 0-7 0,2-3\n", UINT64_MAX, false },
                { "0,2-3", "0,3", "unit 0-7 0,3\n", HN_KEEP_NARROW_KIB, false },
                { "0,2-3", "0,3", "", HN_KEEP_NARROW_KIB + 1, true },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "4-5", cases[i].now);
                HN_PLACEMENT struct hn_placement *placement = placed_on(2);
                HN_BITMAP hwloc_bitmap_t second = set_of("3"), third = set_of("2");
                struct hn_request_cell cells[] = { { .ours = third }, { .ours = second } };
                struct hn_request request = { .cells = cells, .n_cells = 2 };
                struct hn_circumstances circumstances = { .way = HN_SCOPE_UNIT, .moving = true,
                                                          .outside_kib = cases[i].outside_kib };
                HN_ACTIONS struct hn_actions actions = { 0 };

                /* where they are bound once it has moved (hn_entry_settle_bound) */
                if (i > 0)
                        assert_int_equal(hwloc_bitmap_only(third, 0), 0);
                hwloc_bitmap_free(placement->memory_nodes);
                placement->memory_nodes = set_of(cases[i].wanted);
                assert_int_equal(hn_keep_plan(groups, placement, &request, &circumstances, &actions), 0);
                assert_actions(&actions, cases[i].lines);
                assert_int_equal(actions.memory_waits, cases[i].waits);
        }
}

/* Its thread-level sets say nothing below a scope that leaves those nodes out. */
static void a_numatune_of_run_time_gets_its_nodes(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        HN_BITMAP hwloc_bitmap_t nodes = set_of("0");
        struct hn_request request = { .numatune_nodes = nodes, .numatune_mode = HN_NUMA_RESTRICTIVE };

        (void) state;
        assert_plan(groups, placement, &request, &by_unit, "unit 0-7 0,2\n");
        hwloc_bitmap_set(groups->scope_nodes, 0);
        assert_plan(groups, placement, &request, &by_unit, "");
}

static void a_home_without_cpus_or_memory_is_told_not_written(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "0-1", "0");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        struct hn_request request = { 0 };
        HN_ACTIONS struct hn_actions actions = { 0 };

        (void) state;
        hwloc_bitmap_clr_range(groups->above_cpus, 4, 5);
        hwloc_bitmap_clr(groups->above_nodes, 2);
        assert_int_equal(hn_keep_plan(groups, placement, &request, &by_unit, &actions), 0);
        assert_actions(&actions, "");
        assert_true(actions.homeless);
}

/* One of two CPUs offline, and a node that is missing above: what is left is right. */
static void what_is_not_to_be_had_is_no_drift(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        struct hn_request request = { 0 };

        (void) state;
        hwloc_bitmap_clr(groups->above_cpus, 5);
        hwloc_bitmap_set(placement->memory_nodes, 9);
        assert_plan(groups, placement, &request, &by_unit, "");
}

static void what_cannot_be_read_is_told(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0 vcpu1", "4-5", "2");
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        struct hn_request request = { 0 };
        HN_ACTIONS struct hn_actions actions = { 0 };

        (void) state;
        group_named(groups, "vcpu0")->error = -EACCES;
        hwloc_bitmap_free(groups->above_cpus);
        hwloc_bitmap_free(groups->above_nodes);
        hwloc_bitmap_free(groups->scope_nodes);
        hwloc_bitmap_free(groups->scope_cpus);
        hwloc_bitmap_free(groups->threads_cpus);
        groups->above_cpus = groups->above_nodes = groups->scope_nodes = groups->scope_cpus = groups->threads_cpus = NULL;
        assert_int_equal(hn_keep_plan(groups, placement, &request, &by_unit, &actions), 0);
        assert_actions(&actions, "");
        assert_int_equal(actions.unreadable, 1);
        assert_int_equal(actions.error, -EACCES);
        assert_int_equal(actions.right, 1);
}

static void knows_the_groups_names(void **state)
{
        static const struct {
                const char *name;
                bool known;
                enum hn_group_kind kind;
                unsigned number;
        } cases[] = {
                { "emulator", true, HN_GROUP_EMULATOR, 0 }, { "vcpu0", true, HN_GROUP_VCPU, 0 },
                { "vcpu8191", true, HN_GROUP_VCPU, 8191 }, { "vcpu8192", false }, { "iothread16", true, HN_GROUP_IOTHREAD, 16 },
                { "vcpu", false }, { "vcpu-1", false }, { "vcpu1x", false }, { "cpuset.cpus", false }, { "", false },
                { "vcpu99999999999999999999", false }, { "emulator1", false }, { ".", false },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                enum hn_group_kind kind = HN_GROUP_EMULATOR;
                unsigned number = 0;

                assert_int_equal(hn_group_named(cases[i].name, &kind, &number), cases[i].known);
                if (cases[i].known) {
                        assert_int_equal(kind, cases[i].kind);
                        assert_int_equal(number, cases[i].number);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_to_do_where_all_is_right),
                cmocka_unit_test(groups_that_say_otherwise_are_put_right),
                cmocka_unit_test(pins_in_the_live_xml_are_the_users),
                cmocka_unit_test(iothreads_stay_at_home_where_the_user_pins_the_emulator),
                cmocka_unit_test(the_start_s_drop_in_becomes_a_property),
                cmocka_unit_test(what_memory_devices_name_is_in_the_set),
                cmocka_unit_test(a_scope_that_confines_cpus_is_opened),
                cmocka_unit_test(memory_sets),
                cmocka_unit_test(a_move_changes_sets_whatever_that_rebinds),
                cmocka_unit_test(a_numatune_of_run_time_gets_its_nodes),
                cmocka_unit_test(a_home_without_cpus_or_memory_is_told_not_written),
                cmocka_unit_test(what_is_not_to_be_had_is_no_drift),
                cmocka_unit_test(what_cannot_be_read_is_told),
                cmocka_unit_test(knows_the_groups_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
