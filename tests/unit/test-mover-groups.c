/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves of one group: in their order, and none where the one before it did not get there.
 */
#include "daemon/mover.h"

#include "unit/support/moved.h"

#define PAGES (MOVED_KIB / 4)
#define WEB UUID_A
#define DB UUID_B
#define CALLED_BACK "the move that it was to follow did not succeed"

static int begin(struct moved *moved, size_t n, const char *const *uuids, const unsigned *nodes)
{
        struct hn_placement *to[2] = { NULL };
        struct hn_move_order orders[2] = { { .uuid = NULL } };
        int r;

        for (size_t i = 0; i < n; i++) {
                to[i] = moved_placement_of(moved, uuids[i], nodes[i]);
                orders[i] = (struct hn_move_order) { .uuid = uuids[i], .to = to[i], .kind = HN_MOVE_GUEST,
                                                     .memory_kib = MOVED_KIB, .reason = "room is needed" };
        }
        r = hn_mover_begin(moved->mover, orders, n);
        for (size_t i = 0; i < n; i++)
                hn_placement_free(to[i]);
        return r;
}

/* The keeper does what the entry says, and systemd what it is told. */
static void follow(struct moved *moved, const char *uuid, const char *nodes)
{
        hn_keeper_look(moved->kept->keeper, uuid);
        tree_put(&moved->kept->tree,
                 strcmp(uuid, WEB) == 0 ? GUEST_SCOPE(WEB_UNIT) "/cpuset.mems.effective"
                                        : GUEST_SCOPE(DB_UNIT) "/cpuset.mems.effective", nodes);
}

/* web from node 2 to 0, then db from node 3 to 1: but for their group nothing holds one of them up for the other. */
static void begin_both(struct moved *moved)
{
        assert_int_equal(begin(moved, 2, (const char *const[]) { WEB, DB }, (const unsigned[]) { 0, 1 }), 0);
        follow(moved, WEB, "0,2\n");
        follow(moved, DB, "1,3\n");
}

/* -1: it is none that the mover works on. */
static int stage_of(const struct moved *moved, const char *uuid)
{
        struct hn_move_progress progress;

        return hn_mover_look(moved->mover, uuid, &progress) < 0 ? -1 : (int) progress.stage;
}

static void assert_stays_at(struct moved *moved, const char *uuid, int stage)
{
        for (unsigned i = 0; i < 5; i++) {
                (void) hn_mover_turn(moved->mover);
                assert_int_equal(stage_of(moved, uuid), stage);
        }
}

/* web is being moved, and db waits for it; then both get there. */
static void assert_both_get_there(struct moved *moved)
{
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        assert_stays_at(moved, DB, HN_MOVE_WAITS);
        assert_int_equal(moved->db.on[3], PAGES);
        moved->holds = 0;
        moved_until(moved, HN_MOVE_NARROWS);
        assert_int_equal(moved->web.on[0], PAGES);
        moved_until_of(moved, DB, HN_MOVE_NARROWS);
        assert_int_equal(moved->db.on[1], PAGES);
        follow(moved, WEB, "0\n");
        follow(moved, DB, "1\n");
        moved_until(moved, -1);
        moved_until_of(moved, DB, -1);
        HN_ENTRY struct hn_entry *web = kept_entry(moved->kept), *db = kept_entry_of(moved->kept, DB);
        assert_true(web->moved.delivered && db->moved.delivered);
        assert_set(web->placement->home, "0");
        assert_set(db->placement->home, "1");
}

static void assert_called_back(struct moved *moved)
{
        HN_ENTRY struct hn_entry *entry = kept_entry_of(moved->kept, DB);

        assert_non_null(entry->moving);
        assert_true(entry->moving->back && entry->moving->narrowing);
        assert_string_equal(entry->moving->reason, CALLED_BACK);
        assert_set(entry->placement->home, "3");
        assert_set(entry->placement->memory_nodes, "3");
}

/* It has been called back already: then it comes to rest where it was. */
static void assert_db_ends_where_it_was(struct moved *moved)
{
        follow(moved, DB, "3\n");
        assert_list_file(&moved->kept->tree, GUEST_THREADS(DB_UNIT) "/vcpu0/cpuset.cpus", "6-7");
        moved_until_of(moved, DB, -1);
        HN_ENTRY struct hn_entry *entry = kept_entry_of(moved->kept, DB);
        assert_null(entry->moving);
        assert_set(entry->placement->home, "3");
        assert_set(entry->placement->memory_nodes, "3");
        assert_int_equal(entry->placement->n_promises, 1);
        assert_int_equal(entry->placement->promises[0].node, 3);
        assert_int_equal(entry->moved.count, 0);
        assert_string_equal(entry->moved.result, "stays on node 3: " CALLED_BACK);
        assert_int_equal(moved->db.on[3], PAGES);
}

static void the_ledger_has_their_order(void **state)
{
        struct moved *moved = *state;

        begin_both(moved);
        HN_ENTRY struct hn_entry *web = kept_entry(moved->kept), *db = kept_entry_of(moved->kept, DB);
        assert_int_equal(web->moving->turn, 0);
        assert_int_equal(db->moving->turn, 1);
        assert_true(web->moving->began_us && web->moving->began_us == db->moving->began_us);
}

static void one_goes_after_the_other(void **state)
{
        struct moved *moved = *state;

        begin_both(moved);
        assert_both_get_there(moved);
        assert_int_equal(moved->told, 2);
}

static void one_that_is_called_off_calls_back_what_follows(void **state)
{
        struct moved *moved = *state;

        begin_both(moved);
        assert_int_equal(hn_mover_cancel(moved->mover, WEB, "called off"), 0);
        moved_until(moved, HN_MOVE_NARROWS);
        assert_called_back(moved);
        assert_db_ends_where_it_was(moved);
        follow(moved, WEB, "2\n");
        moved_until(moved, -1);
        assert_true(moved->told == 2 && !moved->delivered);
}

static void what_went_before_it_is_not_called_back(void **state)
{
        struct moved *moved = *state;

        begin_both(moved);
        assert_int_equal(hn_mover_cancel(moved->mover, DB, "called off"), 0);
        moved_until_of(moved, DB, HN_MOVE_NARROWS);
        moved_until(moved, HN_MOVE_NARROWS);
        HN_ENTRY struct hn_entry *web = kept_entry(moved->kept), *db = kept_entry_of(moved->kept, DB);
        assert_false(web->moving->back);
        assert_true(db->moving->back);
        assert_string_equal(db->moving->reason, "called off");
}

static void put_most_on_node_2(struct moved *moved)
{
        tree_put(&moved->kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", "anon N0=256000000 N2=768000000\n");
}

static void one_that_finds_no_room_calls_back_what_follows(void **state)
{
        struct moved *moved = *state;

        moved->room = PAGES / 4;
        put_most_on_node_2(moved);
        begin_both(moved);
        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *web = kept_entry(moved->kept);
        assert_set(web->placement->memory_nodes, "0,2");
        assert_false(web->moved.delivered);
        assert_called_back(moved);
        assert_db_ends_where_it_was(moved);
}

static void kill_in_the_middle(struct moved *moved)
{
        begin_both(moved);
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        moved_start_anew(moved);
}

static void a_daemon_that_was_killed_goes_on_in_their_order(void **state)
{
        struct moved *moved = *state;

        kill_in_the_middle(moved);
        hn_keeper_look(moved->kept->keeper, WEB);
        hn_keeper_look(moved->kept->keeper, DB);
        assert_both_get_there(moved);
}

static void also_if_it_knows_the_second_one_first(void **state)
{
        struct moved *moved = *state;

        kill_in_the_middle(moved);
        hn_keeper_look(moved->kept->keeper, DB);
        assert_stays_at(moved, DB, HN_MOVE_WAITS);
        hn_keeper_look(moved->kept->keeper, WEB);
        assert_both_get_there(moved);
}

/* It runs on where it was, so there is no more room than before. */
static void one_that_is_given_back_calls_back_what_follows(void **state)
{
        struct moved *moved = *state;

        begin_both(moved);
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        kept_give_back(moved->kept, WEB);
        moved->holds = 0;
        hn_keeper_look(moved->kept->keeper, WEB);
        moved_until(moved, -1);
        assert_called_back(moved);
        assert_db_ends_where_it_was(moved);
        assert_int_equal(moved->db.on[3], PAGES);
}

static void the_second_goes_alone_where_the_first_has_got_there(void **state)
{
        struct moved *moved = *state;

        begin_both(moved);
        moved_until(moved, HN_MOVE_NARROWS);
        follow(moved, WEB, "0\n");
        moved->holds = 1;
        moved_until(moved, -1);
        moved_start_anew(moved);
        hn_keeper_look(moved->kept->keeper, DB);
        moved_until_of(moved, DB, HN_MOVE_NARROWS);
        assert_int_equal(moved->db.on[1], PAGES);
}

static void the_second_goes_alone_where_the_first_runs_no_more(void **state)
{
        struct moved *moved = *state;

        static const char *const files[] = { "/stat", "/cgroup", "/maps", "/numa_maps", "" };

        kill_in_the_middle(moved);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                assert_int_equal(hn_root_remove(&moved->kept->tree.root, "/proc/%d%s", WEB_PID, files[i]), 0);
        hn_keeper_look(moved->kept->keeper, DB);
        moved_until_of(moved, DB, HN_MOVE_NARROWS);
        assert_int_equal(moved->db.on[1], PAGES);
}

/* The first does not get there before the second is known. */
static void one_that_is_not_known_yet_is_called_back(void **state)
{
        struct moved *moved = *state;

        put_most_on_node_2(moved);
        kill_in_the_middle(moved);
        hn_keeper_look(moved->kept->keeper, WEB);
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        assert_int_equal(hn_mover_cancel(moved->mover, WEB, "called off"), 0);
        moved->holds = 0;
        moved_until(moved, -1);
        assert_called_back(moved);
        moved_start_anew(moved);
        hn_keeper_look(moved->kept->keeper, DB);
        assert_stays_at(moved, DB, HN_MOVE_NARROWS);
        assert_db_ends_where_it_was(moved);
}

static void groups_do_not_wait_for_each_other(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(begin(moved, 1, (const char *const[]) { WEB }, (const unsigned[]) { 0 }), 0);
        assert_int_equal(begin(moved, 1, (const char *const[]) { DB }, (const unsigned[]) { 1 }), 0);
        HN_ENTRY struct hn_entry *web = kept_entry(moved->kept), *db = kept_entry_of(moved->kept, DB);
        assert_true(web->moving->began_us < db->moving->began_us);
        assert_true(web->moving->turn == 0 && db->moving->turn == 0);
        follow(moved, WEB, "0,2\n");
        follow(moved, DB, "1,3\n");
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        moved_until_of(moved, DB, HN_MOVE_HAULS);
        assert_int_equal(hn_mover_cancel(moved->mover, WEB, "called off"), 0);
        moved->holds = 0;
        moved_until_of(moved, DB, HN_MOVE_NARROWS);
        HN_ENTRY struct hn_entry *narrowing = kept_entry_of(moved->kept, DB);
        assert_false(narrowing->moving->back);
}

static void nor_after_a_restart(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(begin(moved, 1, (const char *const[]) { WEB }, (const unsigned[]) { 0 }), 0);
        assert_int_equal(begin(moved, 1, (const char *const[]) { DB }, (const unsigned[]) { 1 }), 0);
        follow(moved, DB, "1,3\n");
        moved_start_anew(moved);
        hn_keeper_look(moved->kept->keeper, DB);
        moved_until_of(moved, DB, HN_MOVE_NARROWS);
        assert_int_equal(moved->db.on[1], PAGES);
}

/* db becomes the second of a group whose first one libvirt does not tell of. */
static void put_unknown_before_db(struct moved *moved)
{
        HN_ENTRY struct hn_entry *db = kept_entry_of(moved->kept, DB), *unknown = kept_entry_of(moved->kept, DB);
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_placement *placements[] = { unknown->placement, unknown->moving->from, unknown->moving->to };

        for (size_t i = 0; i < sizeof placements / sizeof *placements; i++)
                memcpy(placements[i]->uuid, UUID_C, sizeof UUID_C);
        db->moving->turn = 1;
        assert_int_equal(hn_ledger_open(&moved->kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, db, NULL), 0);
        assert_int_equal(hn_ledger_put(ledger, unknown, NULL), 0);
}

static void one_that_waits_for_an_unknown_one_holds_up_no_other_group(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(begin(moved, 1, (const char *const[]) { DB }, (const unsigned[]) { 0 }), 0);
        assert_int_equal(begin(moved, 1, (const char *const[]) { WEB }, (const unsigned[]) { 0 }), 0);
        follow(moved, WEB, "0,2\n");
        follow(moved, DB, "0,3\n");
        put_unknown_before_db(moved);
        moved_start_anew(moved);
        hn_keeper_look(moved->kept->keeper, DB);
        hn_keeper_look(moved->kept->keeper, WEB);
        moved_until(moved, HN_MOVE_NARROWS);
        assert_int_equal(moved->web.on[0], PAGES);
        assert_stays_at(moved, DB, HN_MOVE_WAITS);
        assert_int_equal(hn_mover_cancel(moved->mover, DB, "called off"), 0);
        moved_until_of(moved, DB, -1);
        HN_ENTRY struct hn_entry *unknown = kept_entry_of(moved->kept, UUID_C);
        assert_true(unknown->moving && !unknown->moving->back);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define MOVED(test) cmocka_unit_test_setup_teardown(test, moved_set_up_two, moved_tear_down)
                MOVED(the_ledger_has_their_order),
                MOVED(one_goes_after_the_other),
                MOVED(one_that_is_called_off_calls_back_what_follows),
                MOVED(what_went_before_it_is_not_called_back),
                MOVED(one_that_finds_no_room_calls_back_what_follows),
                MOVED(a_daemon_that_was_killed_goes_on_in_their_order),
                MOVED(also_if_it_knows_the_second_one_first),
                MOVED(one_that_is_given_back_calls_back_what_follows),
                MOVED(the_second_goes_alone_where_the_first_has_got_there),
                MOVED(the_second_goes_alone_where_the_first_runs_no_more),
                MOVED(one_that_is_not_known_yet_is_called_back),
                MOVED(groups_do_not_wait_for_each_other),
                MOVED(nor_after_a_restart),
                MOVED(one_that_waits_for_an_unknown_one_holds_up_no_other_group),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
