/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves in the ledger.
 */
#include "store/ledger-entry.h"

#include <time.h>

#include "model/json.h"
#include "store/entry-words.h"
#include "store/ledger-index.h"
#include "unit/support/ledger.h"

#define INDEX "/run/homenode/ledger.index"

/* A guest on its way from node 1 to node 2, that was moved twice before. */
static struct hn_entry *make_moving(const char *uuid)
{
        struct hn_entry *entry = make_entry(uuid, "web");
        struct hn_moving *moving = calloc(1, sizeof *moving);

        assert_non_null(moving);
        moving->from = hn_placement_copy(entry->placement);
        moving->to = hn_placement_copy(entry->placement);
        assert_true(moving->from && moving->to);
        hwloc_bitmap_only(moving->from->home, 1);
        hwloc_bitmap_only(moving->from->cells[0].nodes, 1);
        hwloc_bitmap_only(moving->to->memory_nodes, 2);
        hwloc_bitmap_only(entry->placement->memory_nodes, 2);
        assert_int_equal(hwloc_bitmap_set(entry->placement->memory_nodes, 1), 0);
        moving->kind = strdup("guest");
        moving->reason = strdup("node 1 is crowded");
        moving->began_us = 77;
        moving->turn = 3;
        moving->narrowing = true;
        moving->back = true;
        entry->moving = moving;
        entry->moved = (struct hn_moved) { 2, 66, true, strdup("moved to node 1") };
        entry->state = HN_ENTRY_STARTED;
        return entry;
}

static void comes_through_as_it_was(void **state)
{
        HN_ENTRY struct hn_entry *entry = make_moving(UUID_A), *again = NULL;
        HN_FREE char *text = NULL, *text_again = NULL;
        size_t length = 0;

        (void) state;
        assert_int_equal(hn_entry_format(entry, &text, &length), 0);
        assert_int_equal(hn_entry_parse(text, length, &again), 0);
        assert_non_null(again->moving);
        assert_set(again->moving->from->home, "1");
        assert_set(again->moving->to->memory_nodes, "2");
        assert_set(again->placement->memory_nodes, "1-2");
        assert_string_equal(again->moving->kind, "guest");
        assert_string_equal(again->moving->reason, "node 1 is crowded");
        assert_int_equal(again->moving->began_us, 77);
        assert_int_equal(again->moving->turn, 3);
        assert_true(again->moving->narrowing && again->moving->back);
        assert_int_equal(again->moved.count, 2);
        assert_int_equal(again->moved.ended_us, 66);
        assert_true(again->moved.delivered);
        assert_string_equal(again->moved.result, "moved to node 1");
        assert_int_equal(hn_entry_format(again, &text_again, &length), 0);
        assert_string_equal(text, text_again);
        for (size_t cut = 0; cut < strlen(text); cut++) {
                struct hn_entry *part = NULL;

                assert_int_equal(hn_entry_parse(text, cut, &part), -EBADMSG);
        }
}

/* The text of a good entry with this JSON as its member `name` of "moving" or "moved"; NULL: without it. */
static int parse_with(const char *of, const char *name, const char *value)
{
        HN_ENTRY struct hn_entry *entry = make_moving(UUID_A), *again = NULL;
        HN_JSON struct json_object *json = NULL;
        struct json_object *object, *member = NULL;
        HN_FREE char *text = NULL;
        size_t length = 0;

        assert_int_equal(hn_entry_format(entry, &text, &length), 0);
        assert_int_equal(hn_json_parse(text, length, 16, &json), 0);
        assert_true(json_object_object_get_ex(json, of, &object));
        if (value)
                assert_non_null(member = json_tokener_parse(value));
        json_object_object_del(object, name);
        if (value)
                assert_int_equal(json_object_object_add(object, name, member), 0);
        const char *changed = json_object_to_json_string(json);
        return hn_entry_parse(changed, strlen(changed), &again);
}

static void refuses_what_is_no_move(void **state)
{
        static const struct { const char *of, *name, *value; } cases[] = {
                { "moving", "from", NULL }, { "moving", "from", "\"1\"" }, { "moving", "from", "{}" },
                { "moving", "to", NULL }, { "moving", "to", "[]" },
                { "moving", "kind", NULL }, { "moving", "kind", "1" }, { "moving", "kind", "\"a\\u0000b\"" },
                { "moving", "reason", NULL }, { "moving", "reason", "{}" },
                { "moving", "began_us", NULL }, { "moving", "began_us", "-1" },
                { "moving", "began_us", "9223372036854775808" },
                { "moving", "turn", NULL }, { "moving", "turn", "-1" }, { "moving", "turn", "4294967296" },
                { "moving", "turn", "0.5" }, { "moving", "turn", "\"1\"" },
                { "moving", "narrowing", NULL }, { "moving", "narrowing", "1" },
                { "moving", "back", NULL },
                { "moved", "count", NULL }, { "moved", "count", "4294967296" }, { "moved", "count", "1.5" },
                { "moved", "ended_us", "-1" }, { "moved", "delivered", "\"yes\"" }, { "moved", "result", NULL },
        };

        (void) state;
        assert_int_equal(parse_with("moving", "kind", "\"cell\""), 0);
        assert_int_equal(parse_with("moving", "turn", "0"), 0);
        assert_int_equal(parse_with("moving", "turn", "4294967295"), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (parse_with(cases[i].of, cases[i].name, cases[i].value) != -EBADMSG)
                        fail_msg("%s of %s", cases[i].name, cases[i].of);
}

/* Going on with a move takes the cells of one placement for those of the other. */
static void refuses_a_move_of_other_cells_or_of_another_guest(void **state)
{
        HN_ENTRY struct hn_entry *other = make_moving(UUID_B), *cell = make_moving(UUID_A), *more = make_moving(UUID_A);
        struct hn_entry *entries[] = { other, cell, more }, *again = NULL;

        (void) state;
        memcpy(other->moving->from->uuid, UUID_A, sizeof UUID_A);
        cell->moving->to->cells[0].id = 1;
        hwloc_bitmap_free(more->moving->to->cells[0].vcpus);
        hwloc_bitmap_free(more->moving->to->cells[0].nodes);
        hwloc_bitmap_free(more->moving->to->cells[0].cpus);
        more->moving->to->n_cells = 0;
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
                HN_FREE char *text = NULL;
                size_t length = 0;

                assert_int_equal(hn_entry_format(entries[i], &text, &length), 0);
                assert_int_equal(hn_entry_parse(text, length, &again), -EBADMSG);
        }
}

/* Started bound to node 0, moved to 1 before, on its way to 2 now. */
static void says_where_cells_are_bound_by_now(void **state)
{
        HN_ENTRY struct hn_entry *entry = make_moving(UUID_A), *still = make_entry(UUID_B, "db");
        HN_BITMAP hwloc_bitmap_t ours = set_of("0"), users = set_of("0");
        struct hn_request_cell cell = { .ours = ours };
        struct hn_request request = { .cells = &cell, .n_cells = 1 };

        (void) state;
        assert_int_equal(hn_entry_settle_bound(still, &request), 0);
        assert_set(ours, "0");
        entry->moving->narrowing = false;
        assert_int_equal(hn_entry_settle_bound(entry, &request), 0);
        assert_set(ours, "1-2");
        entry->moving->narrowing = true;
        assert_int_equal(hn_entry_settle_bound(entry, &request), 0);
        assert_set(ours, "2");
        hn_moving_free(HN_TAKE(entry->moving));
        hwloc_bitmap_only(ours, 0);
        assert_int_equal(hn_entry_settle_bound(entry, &request), 0);
        assert_set(ours, "2");
        /* what the user bound is where the user says, and a guest in other cells than planned is not ours to know */
        cell = (struct hn_request_cell) { .bound = users };
        assert_int_equal(hn_entry_settle_bound(entry, &request), 0);
        assert_set(users, "0");
        request.n_cells = 0;
        assert_int_equal(hn_entry_settle_bound(entry, &request), 0);
}

static void one_that_is_given_back_moves_no_more(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *entry = make_moving(UUID_A), *again = NULL;

        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        assert_int_equal(hn_ledger_give_back(ledger, UUID_A, HN_REASON_GIVEN_BACK), 0);
        assert_int_equal(hn_ledger_get(ledger, UUID_A, &again), 0);
        assert_null(again->moving);
        assert_int_equal(again->moved.count, 2);
}

/* It is another one soon: the index neither has it nor is written for it. */
static void the_index_leaves_it_out(void **state)
{
        static const struct timespec settle = { .tv_nsec = 25000000 };
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_WORDS struct hn_words words = { 0 };
        struct hn_entry **entries = NULL;
        size_t n = 0;

        for (unsigned i = 0; i < 2 * HN_INDEX_SLACK; i++) {
                char uuid[HN_UUID_LENGTH + 1];

                (void) snprintf(uuid, sizeof uuid, "%08x-4e5f-4a6b-8c7d-00000000000a", i);
                HN_ENTRY struct hn_entry *entry = make_moving(uuid);
                entry->state = HN_ENTRY_RESERVED;
                assert_int_equal(hn_entry_to_words(entry, &words), -EINVAL);
                assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        }
        assert_int_equal(nanosleep(&settle, NULL), 0);
        assert_int_equal(hn_ledger_load_room(ledger, &entries, &n), 0);
        assert_int_equal(n, 2 * HN_INDEX_SLACK);
        assert_null(entries[0]->moving);
        assert_null(entries[0]->moved.result);
        hn_entries_free(entries, n);
        assert_false(hn_root_exists(&tree->root, INDEX));
        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        assert_non_null(entries[0]->moving);
        hn_entries_free(entries, n);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(comes_through_as_it_was),
                cmocka_unit_test(refuses_what_is_no_move),
                cmocka_unit_test(refuses_a_move_of_other_cells_or_of_another_guest),
                cmocka_unit_test(says_where_cells_are_bound_by_now),
                cmocka_unit_test_setup_teardown(one_that_is_given_back_moves_no_more, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(the_index_leaves_it_out, ledger_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
