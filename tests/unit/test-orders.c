/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the administrator orders, by files, and what is answered.
 */
#include "daemon/orders.h"

#include <errno.h>

#include "daemon/keeper-internal.h"
#include "model/clock.h"
#include "model/json.h"
#include "model/text.h"
#include "unit/support/moved.h"

#define FOLDER HN_ORDERS_FOLDER "/"

static struct hn_orders *orders;

static const char *occupation;
static bool untold;

static int occupied(void *data, const char *uuid, const char **ret_why)
{
        (void) data;
        (void) uuid;
        if (untold)
                return -EBUSY;
        *ret_why = occupation;
        return 0;
}

static int set_up(void **state)
{
        if (moved_set_up(state) < 0)
                return -1;
        struct moved *moved = *state;
        const struct hn_orders_door door = { NULL, occupied };
        occupation = NULL;
        untold = false;
        return hn_orders_new(moved->kept->keeper, moved->mover, &door, &orders);
}

static int tear_down(void **state)
{
        hn_orders_free(HN_TAKE(orders));
        return moved_tear_down(state);
}

static uint64_t asked; /* when the last order was put down */

static void put_down(struct moved *moved, const char *file, const char *nodes, uint64_t asked_us)
{
        HN_FREE char *path = hn_text_print(FOLDER "%s", file);
        HN_FREE char *text = hn_text_print("{\"nodes\":\"%s\",\"asked_us\":%llu}", nodes, (unsigned long long) asked_us);

        asked = asked_us;
        tree_put(&moved->kept->tree, path, text);
        hn_orders_read(orders);
}

static void assert_answer(struct moved *moved, const char *uuid, uint64_t asked_us, const char *state, const char *text)
{
        HN_JSON struct json_object *json = NULL;
        HN_FREE char *answer = NULL;
        const char *is_state = NULL, *is_text = NULL;
        size_t length = 0;

        assert_int_equal(hn_root_read(&moved->kept->tree.root, 4096, &answer, &length, HN_ORDERS_ANSWER, uuid, asked_us), 0);
        assert_int_equal(hn_json_parse(answer, length, 4, &json), 0);
        assert_int_equal(hn_json_get_string(json, "state", &is_state), 0);
        assert_int_equal(hn_json_get_string(json, "text", &is_text), 0);
        assert_string_equal(is_state, state);
        if (!strstr(is_text, text))
                fail_msg("%s, wanted %s", is_text, text);
}

static void is_carried_out_and_followed(void **state)
{
        struct moved *moved = *state;

        uint64_t first_us = hn_boottime_us();

        put_down(moved, UUID_A, "0", first_us);
        assert_false(hn_root_exists(&moved->kept->tree.root, FOLDER UUID_A));
        HN_ENTRY struct hn_entry *begun = kept_entry(moved->kept);
        assert_non_null(begun->moving);
        assert_string_equal(begun->moving->reason, "ordered by the administrator");
        assert_set(begun->moving->to->home, "0");
        assert_set(begun->moving->to->cells[0].cpus, "0-1");
        hn_keeper_look(moved->kept->keeper, UUID_A);
        moved_memory_set(moved, "0,2\n");
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        hn_orders_turn(orders);
        assert_answer(moved, UUID_A, asked, "moving", "");
        /* somebody else does as well */
        put_down(moved, UUID_A, "1", hn_boottime_us());
        assert_answer(moved, UUID_A, asked, "refused", "it is being moved already");
        moved->holds = 0;
        moved_until(moved, HN_MOVE_NARROWS);
        moved_memory_set(moved, "0\n");
        moved_until(moved, -1);
        assert_answer(moved, UUID_A, asked, "refused", "");
        assert_answer(moved, UUID_A, first_us, "done", "moved to node 0");
        HN_CLOSE int fd = kept_count_writes(moved->kept);
        hn_orders_turn(orders);
        hn_orders_read(orders);
        assert_int_equal(kept_writes(fd), 0);
}

static void is_called_off(void **state)
{
        struct moved *moved = *state;

        put_down(moved, UUID_A ".cancel", "", hn_boottime_us());
        assert_answer(moved, UUID_A, asked, "refused", "it is not being moved");
        assert_int_equal(moved_begin(moved, 0), 0);
        put_down(moved, UUID_A ".cancel", "", hn_boottime_us());
        moved_until(moved, HN_MOVE_NARROWS);
        moved_until(moved, -1); /* its set never became wide */
        assert_answer(moved, UUID_A, asked, "failed", "stays on node 2: called off by the administrator");
}

static void what_cannot_be_is_said_and_changes_nothing(void **state)
{
        static const struct { const char *uuid, *nodes, *text; } cases[] = {
                { UUID_A, "7", "there is no node 7" },
                { UUID_A, "0-1", "it is on 1 node: name no more" },
                { UUID_A, "", "no node is named" },
                { UUID_B, "0", "does not run" },
        };
        struct moved *moved = *state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                put_down(moved, cases[i].uuid, cases[i].nodes, hn_boottime_us());
                assert_answer(moved, cases[i].uuid, asked, "refused", cases[i].text);
        }
        kept_set_xml(moved->kept, "<metadata><h:domain xmlns:h='urn:homenode:1' nodes='1-2'/></metadata>");
        hn_keeper_look(moved->kept->keeper, UUID_A);
        put_down(moved, UUID_A, "3", hn_boottime_us());
        assert_answer(moved, UUID_A, asked, "refused", "its metadata allows nodes 1-2 only");
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
}

/* Files that are no order, or one that nobody waits for any more. */
static void odd_files_are_passed_over(void **state)
{
        static const char *const texts[] = { "", "{}", "[]", "{\"nodes\":\"0\"}", "{\"asked_us\":-1,\"nodes\":\"0\"}",
                                             "{\"asked_us\":\"now\",\"nodes\":\"0\"}" };
        struct moved *moved = *state;
        struct hn_root *root = &moved->kept->tree.root;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(&moved->kept->tree, FOLDER UUID_A, texts[i]);
                hn_orders_read(orders);
                assert_false(hn_root_exists(root, FOLDER UUID_A));
        }
        put_down(moved, UUID_A, "0", hn_boottime_us() + 60000000u);
        if (hn_boottime_us() > 60000000u)
                put_down(moved, UUID_A, "0", hn_boottime_us() - 60000000u);
        put_down(moved, "web", "0", hn_boottime_us());
        put_down(moved, UUID_A ".move", "0", hn_boottime_us());
        assert_false(hn_root_exists(root, HN_ORDERS_ANSWER, UUID_A, asked));
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
        /* one without nodes that are some */
        tree_put(&moved->kept->tree, FOLDER UUID_A, "{\"nodes\":7,\"asked_us\":1}");
        hn_orders_read(orders);
        assert_false(hn_root_exists(root, FOLDER UUID_A));
}

static void memory_comes_home(void **state)
{
        struct moved *moved = *state;

        moved_lay(moved, 3, MOVED_KIB / 8);
        put_down(moved, UUID_A, "2", hn_boottime_us());
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_non_null(entry->moving);
        assert_string_equal(entry->moving->kind, "gather");
        moved_until(moved, HN_MOVE_NARROWS);
        moved_until(moved, -1);
        assert_int_equal(moved_on(moved, 2), MOVED_KIB / 4);
        assert_answer(moved, UUID_A, asked, "done", "moved to node 2");
}

static void what_libvirt_moves_is_left_alone(void **state)
{
        struct moved *moved = *state;

        occupation = "it is being migrated, saved or restored";
        put_down(moved, UUID_A, "0", hn_boottime_us());
        assert_answer(moved, UUID_A, asked, "refused", "it is being migrated, saved or restored");
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
        untold = true; /* whoever orders it knows best */
        put_down(moved, UUID_A, "0", hn_boottime_us());
        HN_ENTRY struct hn_entry *begun = kept_entry(moved->kept);
        assert_non_null(begun->moving);
}

static void what_came_of_an_earlier_one_is_not_told_again(void **state)
{
        struct moved *moved = *state;

        put_down(moved, UUID_A, "0", hn_boottime_us());
        hn_keeper_look(moved->kept->keeper, UUID_A);
        moved_memory_set(moved, "0,2\n");
        moved_until(moved, HN_MOVE_NARROWS);
        hn_keeper_look(moved->kept->keeper, UUID_A);
        moved_memory_set(moved, "0\n");
        moved_until(moved, -1);
        assert_answer(moved, UUID_A, asked, "done", "moved to node 0");
        put_down(moved, UUID_A, "3", hn_boottime_us());
        kept_give_back(moved->kept, UUID_A);
        hn_keeper_look(moved->kept->keeper, UUID_A);
        moved_until(moved, -1);
        assert_answer(moved, UUID_A, asked, "failed", "it has ended, or was given back");
        put_down(moved, UUID_A ".cancel", "", hn_boottime_us());
        assert_answer(moved, UUID_A, asked, "refused", "it is not being moved");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define ORDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
                ORDER(is_carried_out_and_followed),
                ORDER(is_called_off),
                ORDER(what_came_of_an_earlier_one_is_not_told_again),
                ORDER(what_libvirt_moves_is_left_alone),
                ORDER(what_cannot_be_is_said_and_changes_nothing),
                ORDER(odd_files_are_passed_over),
                ORDER(memory_comes_home),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
