/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves from their order to their end, with the ledger true at any instant.
 */
#include "daemon/mover.h"

#include <poll.h>

#include "unit/support/moved.h"

#define PAGES (MOVED_KIB / 4)
#define LOCK "/run/homenode/lock"
#define UNIT_SET(nodes) WEB_UNIT " AllowedCPUs=0-15 AllowedMemoryNodes=" nodes "\n"

static uint64_t promised(const struct hn_placement *placement, unsigned node)
{
        for (size_t i = 0; i < placement->n_promises; i++)
                if (placement->promises[i].node == node)
                        return placement->promises[i].memory_kib;
        return 0;
}

/* The keeper does what the entry says, and systemd what it is told. */
static void follow(struct moved *moved, const char *nodes)
{
        hn_keeper_look(moved->kept->keeper, UUID_A);
        moved_memory_set(moved, nodes);
}

/* Its pages are being moved to node 0, and wait. */
static void hold_in_the_middle(struct moved *moved)
{
        assert_int_equal(moved_begin(moved, 0), 0);
        follow(moved, "0,2\n");
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
}

static void goes_cpus_first_then_memory_then_narrow(void **state)
{
        struct moved *moved = *state;
        struct kept *kept = moved->kept;

        assert_int_equal(moved_begin(moved, 0), 0);
        HN_ENTRY struct hn_entry *begun = kept_entry(kept);
        assert_non_null(begun->moving);
        assert_set(begun->moving->from->home, "2");
        assert_set(begun->moving->to->memory_nodes, "0");
        assert_string_equal(begun->moving->kind, "guest");
        assert_set(begun->placement->home, "0");
        assert_set(begun->placement->memory_nodes, "0,2");
        assert_int_equal(promised(begun->placement, 0), 1048576);
        assert_int_equal(promised(begun->placement, 2), 1048576);
        assert_int_equal(hn_placement_milli(begun->placement, 2), 0);
        assert_true(hn_mover_has(moved->mover, UUID_A));

        moved_until(moved, HN_MOVE_OPENS); /* nothing moves before the set is wide */
        assert_int_equal(moved_on(moved, 2), PAGES);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-1");
        assert_true(tree_file_has(&kept->tree, HN_UNITS_FILE, UNIT_SET("0,2")));
        moved_memory_set(moved, "0,2\n");

        moved_until(moved, HN_MOVE_NARROWS);
        assert_int_equal(moved_on(moved, 0), PAGES);
        HN_ENTRY struct hn_entry *narrowing = kept_entry(kept);
        assert_true(narrowing->moving->narrowing);
        assert_set(narrowing->placement->memory_nodes, "0");
        assert_int_equal(promised(narrowing->placement, 2), 1048576);
        assert_int_equal(moved->told, 0);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(tree_file_has(&kept->tree, HN_UNITS_FILE, UNIT_SET("0")));
        moved_memory_set(moved, "0\n");

        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *ended = kept_entry(kept);
        assert_null(ended->moving);
        assert_set(ended->placement->home, "0");
        assert_int_equal(ended->placement->n_promises, 1);
        assert_int_equal(ended->moved.count, 1);
        assert_string_equal(ended->reason, "on node 0: moved, node 2 is crowded");
        assert_true(ended->moved.delivered && ended->moved.ended_us);
        assert_non_null(strstr(ended->moved.result, "moved to node 0: 992 MiB"));
        assert_non_null(strstr(ended->moved.result, "100.0 %"));
        assert_true(moved->told == 1 && moved->delivered);
        assert_false(hn_mover_has(moved->mover, UUID_A));
        assert_int_equal(hn_mover_turn(moved->mover), 0);
}

static void writes_nothing_while_it_hauls_and_after_it(void **state)
{
        struct moved *moved = *state;
        struct kept *kept = moved->kept;

        hold_in_the_middle(moved);
        HN_CLOSE int fd = kept_count_writes(kept);
        for (unsigned i = 0; i < 5; i++) {
                (void) hn_mover_turn(moved->mover);
                hn_keeper_look(kept->keeper, UUID_A);
                hn_keeper_sweep(kept->keeper);
        }
        assert_int_equal(kept_writes(fd), 0);
        moved->holds = 0;
        moved_until(moved, HN_MOVE_NARROWS);
        follow(moved, "0\n");
        moved_until(moved, -1);
        hn_keeper_look(kept->keeper, UUID_A);
        HN_CLOSE int after = kept_count_writes(kept);
        (void) hn_mover_turn(moved->mover);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(kept_writes(after), 0);
}

static void a_full_node_ends_it_where_most_of_it_is(void **state)
{
        static const struct { size_t room; const char *home; } cases[] = {
                { PAGES / 4, "2" },
                { PAGES / 4 * 3, "0" },
                { PAGES - 10240, "0" }, /* 40 MiB are left: what is touched next needs room all the same */
        };
        struct moved *moved = *state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                moved_lay(moved, 2, PAGES);
                moved->room = cases[i].room;
                assert_int_equal(moved_begin(moved, 0), 0);
                follow(moved, "0,2\n");
                tree_put(&moved->kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat",
                         i ? "anon N0=768000000 N2=256000000\n" : "anon N0=256000000 N2=768000000\n");
                moved_until(moved, -1);
                HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
                assert_null(entry->moving);
                assert_set(entry->placement->home, cases[i].home);
                /* where its memory is, and may be */
                assert_set(entry->placement->memory_nodes, "0,2");
                assert_int_equal(promised(entry->placement, 0), 1048576);
                assert_int_equal(promised(entry->placement, 2), 1048576);
                assert_int_equal(entry->moved.count, 0);
                assert_false(entry->moved.delivered);
                assert_non_null(strstr(entry->moved.result, "there is no memory left on node 0"));
                assert_true(moved->told == i + 1 && !moved->delivered);
                hn_keeper_look(moved->kept->keeper, UUID_A);
                assert_list_file(&moved->kept->tree, THREADS "/vcpu0/cpuset.cpus", i ? "0-1" : "4-5");
                /* back to the beginning */
                kept_put_entry(moved->kept, HN_ENTRY_STARTED, false);
                moved_memory_set(moved, "2\n");
                hn_keeper_look(moved->kept->keeper, UUID_A);
        }
}

static void called_off_before_anything_moved_it_goes_back(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(moved_begin(moved, 0), 0);
        follow(moved, "0,2\n");
        assert_int_equal(hn_mover_cancel(moved->mover, UUID_A, "the administrator called it off"), 0);
        moved_until(moved, HN_MOVE_NARROWS);
        HN_ENTRY struct hn_entry *back = kept_entry(moved->kept);
        assert_true(back->moving->back && back->moving->narrowing);
        assert_set(back->placement->home, "2");
        assert_set(back->placement->memory_nodes, "2");
        hn_keeper_look(moved->kept->keeper, UUID_A);
        assert_list_file(&moved->kept->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
        moved_memory_set(moved, "2\n");
        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
        assert_int_equal(entry->placement->n_promises, 1);
        assert_int_equal(promised(entry->placement, 2), 1048576);
        assert_string_equal(entry->moved.result, "stays on node 2: the administrator called it off");
        assert_int_equal(entry->moved.count, 0);
        assert_true(moved->told == 1 && !moved->delivered);
        assert_int_equal(moved_on(moved, 2), PAGES);
        assert_int_equal(hn_mover_cancel(moved->mover, UUID_A, ""), -ENOENT);
}

/* A new daemon, which comes to know the guest. */
static void start_anew(struct moved *moved)
{
        moved_start_anew(moved);
        hn_keeper_look(moved->kept->keeper, UUID_A);
        assert_true(hn_mover_turn(moved->mover) > 0);
}

static void a_daemon_that_was_killed_goes_on(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(moved_begin(moved, 0), 0);
        start_anew(moved);
        moved_until(moved, HN_MOVE_OPENS);
        moved_memory_set(moved, "0,2\n");
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        start_anew(moved);
        moved_until(moved, HN_MOVE_NARROWS);
        assert_int_equal(moved_on(moved, 0), PAGES);
        start_anew(moved);
        moved_until(moved, HN_MOVE_NARROWS);
        moved_memory_set(moved, "0\n");
        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
        assert_set(entry->placement->home, "0");
        assert_int_equal(entry->moved.count, 1);
        assert_string_equal(entry->moved.result, "moved to node 0");
}

static void one_that_is_given_back_is_left_where_it_is(void **state)
{
        struct moved *moved = *state;

        hold_in_the_middle(moved);
        kept_give_back(moved->kept, UUID_A);
        moved->holds = 0;
        hn_keeper_look(moved->kept->keeper, UUID_A);
        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_false(entry->managed);
        assert_null(entry->moving);
        assert_string_equal(entry->reason, HN_REASON_GIVEN_BACK);
        assert_true(moved->told == 1 && !moved->delivered);
}

/* It has been given back before we know of it, and all had just been moved. */
static void what_was_given_back_meanwhile_is_not_written_over(void **state)
{
        struct moved *moved = *state;

        hold_in_the_middle(moved);
        kept_give_back(moved->kept, UUID_A);
        moved->holds = 0;
        unsigned asked = moved->kept->asked;
        moved_until(moved, -1);
        /* nor gone on with by what was known of it */
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(hn_mover_turn(moved->mover), 0);
        assert_false(hn_mover_has(moved->mover, UUID_A));
        assert_true(moved->told == 1 && !moved->delivered);
        assert_int_equal(moved->kept->asked, asked + 1);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_false(entry->managed);
        assert_null(entry->moving);
}

/* Instead of its lock there is something that can't be opened. */
static void block_ledger(struct moved *moved, bool blocked)
{
        const struct hn_root *root = &moved->kept->tree.root;

        assert_int_equal(hn_root_remove(root, LOCK), 0);
        if (blocked)
                assert_int_equal(hn_root_mkdir(root, 0700, LOCK), 0);
}

/* Little was to be moved: so little that what else ends early goes back. */
static void a_ledger_that_cannot_be_written_is_waited_for(void **state)
{
        struct moved *moved = *state;
        struct hn_move_progress progress;

        moved_lay(moved, 0, PAGES - PAGES / 20);
        hold_in_the_middle(moved);
        block_ledger(moved, true);
        struct pollfd ended = { .fd = hn_mover_fd(moved->mover), .events = POLLIN };
        moved->holds = 0;
        assert_int_equal(poll(&ended, 1, -1), 1);
        for (unsigned i = 0; i < 3; i++)
                assert_true(hn_mover_turn(moved->mover) > 0);
        assert_int_equal(hn_mover_look(moved->mover, UUID_A, &progress), 0);
        assert_int_equal(progress.stage, HN_MOVE_HAULS);
        assert_int_equal(progress.moved_kib, PAGES / 20 * 4);
        block_ledger(moved, false);
        moved_until(moved, HN_MOVE_NARROWS);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_false(entry->moving->back);
        assert_set(entry->placement->memory_nodes, "0");
}

/* Its memory is on both homes, and may be. */
static void assert_between(struct moved *moved, const char *home)
{
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);

        assert_null(entry->moving);
        assert_set(entry->placement->home, home);
        assert_set(entry->placement->memory_nodes, "0,2");
        assert_int_equal(promised(entry->placement, 0), 1048576);
        assert_int_equal(promised(entry->placement, 2), 1048576);
        assert_false(entry->moved.delivered);
}

static void what_another_daemon_moved_is_not_sent_back(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(moved_begin(moved, 0), 0);
        moved_lay(moved, 0, PAGES / 4 * 3);
        tree_put(&moved->kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", "anon N0=768000000 N2=256000000\n");
        start_anew(moved); /* its set is not seen to be wide yet */
        assert_int_equal(hn_mover_cancel(moved->mover, UUID_A, "called off"), 0);
        moved_until(moved, -1);
        assert_between(moved, "0");
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_string_equal(entry->moved.result, "not all of it was moved: called off; runs on node 0");
}

/* The last of it was moved by this daemon, all else by one before. */
static void the_end_of_what_another_began_is_where_it_goes(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(moved_begin(moved, 0), 0);
        follow(moved, "0,2\n");
        moved_lay(moved, 0, PAGES - PAGES / 20);
        start_anew(moved);
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        assert_int_equal(hn_mover_cancel(moved->mover, UUID_A, "called off"), 0);
        moved->holds = 0;
        moved_until(moved, HN_MOVE_NARROWS);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_false(entry->moving->back);
        assert_set(entry->placement->memory_nodes, "0");
}

/* More came to lie elsewhere meanwhile, and then it can't be found out how much. */
static void what_is_not_known_is_not_nothing(void **state)
{
        struct moved *moved = *state;

        assert_int_equal(moved_begin(moved, 0), 0);
        follow(moved, "0,2\n");
        tree_put(&moved->kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", "anon N0=768000000 N2=256000000\n");
        moved->holds = 1;
        moved_until(moved, HN_MOVE_HAULS);
        moved->holds = 0;
        moved_until(moved, HN_MOVE_OPENS);
        assert_int_equal(hn_root_remove(&moved->kept->tree.root, "/proc/%d/numa_maps", WEB_PID), 0);
        moved_until(moved, -1);
        assert_between(moved, "0");
}

static void one_that_ends_is_forgotten(void **state)
{
        struct moved *moved = *state;

        hold_in_the_middle(moved);
        assert_int_equal(hn_root_remove(&moved->kept->tree.root, "/proc/%d/stat", WEB_PID), 0);
        hn_keeper_gone(moved->kept->keeper, UUID_A);
        assert_int_equal(hn_keeper_guests(moved->kept->keeper)->n, 0);
        (void) hn_mover_turn(moved->mover);
        assert_true(moved->told == 1 && !moved->delivered);
        moved->holds = 0;
        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry);
}

static void what_the_user_says_meanwhile_calls_it_off(void **state)
{
        struct moved *moved = *state;

        hold_in_the_middle(moved);
        kept_set_xml(moved->kept, "<numatune><memory mode='strict' nodeset='2'/></numatune>");
        hn_keeper_look(moved->kept->keeper, UUID_A);
        (void) hn_mover_turn(moved->mover);
        moved->holds = 0;
        moved_until(moved, HN_MOVE_NARROWS);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_true(entry->moving->back);
        assert_string_equal(entry->moving->reason, "its XML says where its memory is");
}

static void some_are_not_moved(void **state)
{
        static const struct { const char *elements, *why; } cases[] = {
                { "<memoryBacking><locked/></memoryBacking>", "its memory is locked" },
                { "<launchSecurity type='sev'><policy>0</policy></launchSecurity>", "its memory is encrypted" },
                { "<numatune><memory mode='strict' nodeset='0-3'/></numatune>", "its XML says where its memory is" },
                { "<devices><hostdev mode='subsystem' type='pci'><source><address domain='0' bus='1' slot='0' function='0'/>"
                  "</source></hostdev></devices>", "a device of the host is passed through to it" },
                { "<metadata><h:domain xmlns:h='urn:homenode:1' placement='off'/></metadata>",
                  "it is not homenode's to place" },
        };
        struct moved *moved = *state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                kept_set_xml(moved->kept, cases[i].elements);
                hn_keeper_look(moved->kept->keeper, UUID_A);
                assert_int_equal(moved_begin(moved, 0), -EPERM);
                assert_string_equal(hn_mover_refusal(moved->mover), cases[i].why);
                HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
                assert_null(entry->moving);
                assert_false(hn_mover_has(moved->mover, UUID_A));
        }
        assert_int_equal(hn_mover_turn(moved->mover), 0);
}

static void refuses_what_cannot_be(void **state)
{
        struct moved *moved = *state;
        HN_PLACEMENT struct hn_placement *to = moved_placement(moved, 0);
        struct hn_move_order orders[] = { { .uuid = UUID_A, .to = to, .kind = HN_MOVE_GUEST, .reason = "" },
                                          { .uuid = UUID_B, .to = to, .kind = HN_MOVE_GUEST, .reason = "" } };
        struct hn_mover *another = NULL;

        assert_int_equal(hn_mover_begin(moved->mover, orders, 2), -ENOENT); /* all or none */
        orders[1].uuid = UUID_A;
        assert_int_equal(hn_mover_begin(moved->mover, orders, 2), -EINVAL);
        to->promises[0].memory_kib = UINT64_C(1) << 40;
        assert_int_equal(hn_mover_begin(moved->mover, orders, 1), -ESTALE);
        assert_string_equal(hn_mover_refusal(moved->mover), "node 0 has no room for it");
        to->promises[0].memory_kib = 1048576;
        tree_put(&moved->kept->tree, THREADS "/vcpu1/cpuset.mems", "2\n");
        assert_int_equal(hn_mover_begin(moved->mover, orders, 1), -EPERM);
        tree_put(&moved->kept->tree, THREADS "/vcpu1/cpuset.mems", "\n");
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
        assert_int_equal(hn_mover_begin(moved->mover, orders, 1), 0);
        assert_int_equal(hn_mover_begin(moved->mover, orders, 1), -EBUSY);
        assert_int_equal(hn_mover_new(moved->kept->keeper, NULL, NULL, &another), -EBUSY);
}

static void a_wider_set_takes_no_move(void **state)
{
        struct moved *moved = *state;
        HN_PLACEMENT struct hn_placement *to = moved_placement(moved, 2);
        const struct hn_move_order order = { .uuid = UUID_A, .to = to, .kind = HN_MOVE_SPILL, .reason = "" };

        hwloc_bitmap_set(to->memory_nodes, 3);
        assert_int_equal(hn_mover_begin(moved->mover, &order, 1), 0);
        HN_ENTRY struct hn_entry *entry = kept_entry(moved->kept);
        assert_null(entry->moving);
        assert_set(entry->placement->memory_nodes, "2-3");
        hn_keeper_look(moved->kept->keeper, UUID_A);
        assert_true(tree_file_has(&moved->kept->tree, HN_UNITS_FILE, UNIT_SET("2-3")));
        moved_memory_set(moved, "2-3\n");

        /* and narrow again is one, with whatever lies outside */
        moved_lay(moved, 3, PAGES / 2);
        hwloc_bitmap_only(to->memory_nodes, 2);
        const struct hn_move_order gather = { .uuid = UUID_A, .to = to, .kind = HN_MOVE_GATHER, .reason = "" };
        assert_int_equal(hn_mover_begin(moved->mover, &gather, 1), 0);
        moved_until(moved, HN_MOVE_NARROWS);
        assert_int_equal(moved_on(moved, 2), PAGES);
        follow(moved, "2\n");
        moved_until(moved, -1);
        HN_ENTRY struct hn_entry *gathered = kept_entry(moved->kept);
        assert_set(gathered->placement->memory_nodes, "2");
        assert_true(moved->delivered);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define MOVED(test) cmocka_unit_test_setup_teardown(test, moved_set_up, moved_tear_down)
                MOVED(goes_cpus_first_then_memory_then_narrow),
                MOVED(writes_nothing_while_it_hauls_and_after_it),
                MOVED(a_full_node_ends_it_where_most_of_it_is),
                MOVED(called_off_before_anything_moved_it_goes_back),
                MOVED(a_daemon_that_was_killed_goes_on),
                MOVED(one_that_is_given_back_is_left_where_it_is),
                MOVED(what_was_given_back_meanwhile_is_not_written_over),
                MOVED(a_ledger_that_cannot_be_written_is_waited_for),
                MOVED(what_another_daemon_moved_is_not_sent_back),
                MOVED(the_end_of_what_another_began_is_where_it_goes),
                MOVED(what_is_not_known_is_not_nothing),
                MOVED(one_that_ends_is_forgotten),
                MOVED(what_the_user_says_meanwhile_calls_it_off),
                MOVED(some_are_not_moved),
                MOVED(refuses_what_cannot_be),
                MOVED(a_wider_set_takes_no_move),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
