/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Giving a guest back: what a guest that was never touched would have.
 */
#include "decide/keep.h"

#include "unit/support/groups.h"
#include "unit/support/test.h"

static void assert_undo(const struct hn_groups *groups, const struct hn_request *request,
                        const struct hn_circumstances *circumstances, const char *lines)
{
        HN_ACTIONS struct hn_actions actions = { 0 };

        assert_int_equal(hn_undo_plan(groups, request, circumstances, &actions), 0);
        assert_actions(&actions, lines);
}

static void opens_all_that_was_confined(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("emulator vcpu0", "4-5", "2");
        HN_BITMAP hwloc_bitmap_t cpus = set_of("0-15"), nodes = set_of("0-7");
        struct hn_circumstances circumstances = { .way = HN_SCOPE_UNIT, .dropin = true, .all_cpus = cpus,
                                                  .all_nodes = nodes };
        struct hn_request request = { 0 };

        (void) state;
        assert_undo(groups, &request, &circumstances,
                    "unit 0-15 0-7\ndropin\ngroup emulator 0-15\naffinity emulator 0-15\n"
                    "group vcpu0 0-15\naffinity vcpu0 0-15\n");
        /* without systemd; the host's own sets where no others are known */
        circumstances = (struct hn_circumstances) { .way = HN_SCOPE_LEFT };
        hwloc_bitmap_zero(group_named(groups, "emulator")->cpus);
        assert_undo(groups, &request, &circumstances,
                    "affinity emulator 0-7\ngroup vcpu0 0-7\naffinity vcpu0 0-7\n");
}

static void leaves_what_the_user_pinned(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("emulator vcpu0 vcpu1", "4-5", "0-3");
        HN_BITMAP hwloc_bitmap_t pin = set_of("4-5");
        struct hn_pin vcpu = { .id = 1, .cpus = pin };
        struct hn_request request = { .vcpu_pins = &vcpu, .n_vcpu_pins = 1, .emulator_pin = pin };
        struct hn_circumstances circumstances = { .way = HN_SCOPE_UNIT };
        HN_ACTIONS struct hn_actions actions = { 0 };

        (void) state;
        assert_int_equal(hn_undo_plan(groups, &request, &circumstances, &actions), 0);
        assert_actions(&actions, "unit 0-7 0-3\ngroup vcpu0 0-7\naffinity vcpu0 0-7\n");
        assert_int_equal(actions.users, 2);
}

/* Opening would bind the cells to nodes 0 and 1, where what they have not touched yet may find no room. */
static void keeps_the_memory_set_that_bound_cells_need(void **state)
{
        HN_GROUPS struct hn_groups *groups = groups_of("vcpu0", "", "2-3");
        HN_BITMAP hwloc_bitmap_t second = set_of("2"), third = set_of("3");
        struct hn_request_cell cells[] = { { .ours = second }, { .ours = third } };
        struct hn_request request = { .cells = cells, .n_cells = 2 };
        struct hn_circumstances circumstances = { .way = HN_SCOPE_UNIT };
        HN_ACTIONS struct hn_actions actions = { 0 };

        (void) state;
        assert_int_equal(hn_undo_plan(groups, &request, &circumstances, &actions), 0);
        assert_actions(&actions, "unit 0-7 2-3\naffinity vcpu0 0-7\n");
        assert_true(actions.memory_stays);

        hn_actions_clear(&actions);
        hwloc_bitmap_only(second, 0);
        hwloc_bitmap_only(third, 1);
        hwloc_bitmap_zero(groups->scope_nodes);
        hwloc_bitmap_set_range(groups->scope_nodes, 0, 1);
        assert_int_equal(hn_undo_plan(groups, &request, &circumstances, &actions), 0);
        assert_actions(&actions, "unit 0-7 0-3\naffinity vcpu0 0-7\n");
        assert_false(actions.memory_stays);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(opens_all_that_was_confined),
                cmocka_unit_test(leaves_what_the_user_pinned),
                cmocka_unit_test(keeps_the_memory_set_that_bound_cells_need),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
