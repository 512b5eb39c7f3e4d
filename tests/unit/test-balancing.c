/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Balancing over a herd: four nodes of four cores and 7 GiB.  Moves are made at once, all or none.
 */
#include "daemon/balancing.h"

#include <unistd.h>

#include "model/text.h"
#include "store/published.h"
#include "unit/support/guest.h"
#include "unit/support/herd.h"
#include "unit/support/kept.h"
#include "unit/support/scene.h"

#define S UINT64_C(1000000)

struct scene_of_balancing {
        struct herd herd;
        struct hn_balancing *balancing;
        unsigned begun, moved[HN_MOVE_SPILL + 1];
        int refuse;               /* what begin returns; 0: it moves */
        const char *occupied;     /* why nobody can be moved */
        bool untold;              /* nobody says whether they can */
        bool moving;              /* what was begun never ends */
        bool fails;               /* nobody comes to where they are sent */
};

static int begin(void *data, const struct hn_move *moves, size_t n)
{
        struct scene_of_balancing *s = data;

        if (s->refuse)
                return s->refuse;
        for (size_t i = 0; i < n; i++) {
                assert_non_null(moves[i].reason);
                s->begun++;
                s->moved[moves[i].kind]++;
                if (s->moving)
                        continue;
                if (moves[i].kind == HN_MOVE_SPILL) { /* nobody tells of its end */
                        herd_move(&s->herd, herd_find(moves[i].to->uuid), moves[i].to);
                        continue;
                }
                if (!s->fails)
                        herd_move(&s->herd, herd_find(moves[i].to->uuid), moves[i].to);
                hn_balancing_ended(s->balancing, moves[i].to->uuid, moves[i].to->home, !s->fails);
        }
        return 0;
}

static const char *refusal(void *data)
{
        (void) data;
        return "not today";
}

static bool is_moving(void *data, const char *uuid)
{
        struct scene_of_balancing *s = data;
        (void) uuid;

        return s->moving && s->begun > 0; /* what it was begun for is not told here: all of them */
}

static uint64_t kib_per_second(void *data)
{
        (void) data;
        return 0;
}

static int occupied(void *data, const char *uuid, const char **ret_why)
{
        struct scene_of_balancing *s = data;
        (void) uuid;

        if (s->untold)
                return -EBUSY;
        *ret_why = s->occupied;
        return 0;
}

static uint64_t now_us(void *data)
{
        struct scene_of_balancing *s = data;

        return s->herd.now_s * S;
}

static int setup(void **state)
{
        static struct scene_of_balancing s;
        const struct hn_balancing_door door = { &s, now_us, begin, refusal, is_moving, kib_per_second, occupied };

        s = (struct scene_of_balancing) { 0 };
        herd_make(&s.herd, 4, 4);
        assert_int_equal(hn_balancing_new(s.herd.keeper, &door, &s.balancing), 0);
        *state = &s;
        return 0;
}

static int teardown(void **state)
{
        struct scene_of_balancing *s = *state;

        hn_balancing_free(s->balancing);
        herd_end(&s->herd);
        return 0;
}

/* So many periods pass; how many moves were begun in them. */
static unsigned turn(struct scene_of_balancing *s, unsigned periods)
{
        unsigned before = s->begun;

        for (unsigned i = 0; i < periods; i++) {
                herd_pass(&s->herd, 10);
                hn_balancing_turn(s->balancing);
        }
        return s->begun - before;
}

static bool journal_has(struct scene_of_balancing *s, const char *text)
{
        return tree_file_has(&s->herd.tree, JOURNAL, text);
}

static void two_busy_guests_on_one_node_are_separated(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        assert_int_equal(turn(s, 3), 1);
        assert_true(s->herd.guests[0].node != s->herd.guests[1].node);
        /* and then there is nothing to be done, for as long as they like */
        assert_int_equal(turn(s, 50), 0);
}

static void idle_guests_are_left_in_peace(void **state)
{
        struct scene_of_balancing *s = *state;
        HN_FREE char *published = NULL, *later = NULL;

        for (unsigned i = 0; i < 6; i++)
                herd_start(&s->herd, 2, GIB / 2, 2, 0.02);
        assert_int_equal(turn(s, 3), 0);
        assert_int_equal(hn_root_read(&s->herd.tree.root, 1u << 20, &published, NULL, HN_PUBLISHED_PATH), 0);
        assert_int_equal(turn(s, 20), 0);
        assert_int_equal(hn_root_read(&s->herd.tree.root, 1u << 20, &later, NULL, HN_PUBLISHED_PATH), 0);
        assert_string_equal(published, later); /* the time in it, too */
}

/* What the host does itself drives a guest away as well as other guests do. */
static void a_busy_host_is_left_to_itself(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 2, GIB, 1, 2);
        assert_int_equal(turn(s, 5), 0);
        s->herd.host_cpus[1] = 3.5;
        assert_int_equal(turn(s, 10), 1);
        assert_true(s->herd.guests[0].node != 1);
}

static void turned_off_it_only_tells(void **state)
{
        struct scene_of_balancing *s = *state;
        struct hn_policy policy;

        hn_policy_defaults(&policy);
        policy.balance.off = true;
        hn_balancing_configure(s->balancing, &policy);
        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        assert_int_equal(turn(s, 10), 0);
        assert_true(hn_root_exists(&s->herd.tree.root, HN_PUBLISHED_PATH));
}

static void what_is_refused_rests(void **state)
{
        struct scene_of_balancing *s = *state;
        HN_FREE char *journal = NULL;
        unsigned said = 0;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        s->refuse = -EPERM;
        (void) turn(s, 12);
        assert_int_equal(hn_root_read(&s->herd.tree.root, 1u << 20, &journal, NULL, JOURNAL), 0);
        for (const char *p = journal; (p = strstr(p, "not moved: not today")); p++)
                said++;
        assert_in_range(said, 1, 4);
        s->refuse = 0;
        assert_int_equal(turn(s, 60), 1);
}

static void what_is_busy_is_tried_again_at_once(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        s->refuse = -ETIME;
        assert_int_equal(turn(s, 5), 0);
        assert_false(journal_has(s, "not moved"));
        s->refuse = 0;
        assert_int_equal(turn(s, 1), 1);
}

static void nobody_moves_a_guest_that_libvirt_moves(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        s->occupied = "it is being migrated";
        assert_int_equal(turn(s, 10), 0);
        assert_true(journal_has(s, "not moved: it is being migrated"));
}

static void whom_libvirt_says_nothing_of_is_moved_as_soon_as_it_does(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        s->untold = true;
        assert_int_equal(turn(s, 10), 0);
        assert_false(journal_has(s, "not moved"));
        s->untold = false;
        assert_int_equal(turn(s, 1), 1);
}

static void what_moves_is_not_moved_again(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        s->moving = true;
        assert_int_equal(turn(s, 30), 1);
}

static void what_did_not_get_there_is_not_sent_there_again_soon(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        s->fails = true;
        assert_in_range(turn(s, 6), 1, 2);
}

/* One that ends is not remembered: another of that UUID is another. */
static void guests_come_and_go(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 4, GIB, 2, 4);
        herd_start(&s->herd, 4, GIB, 2, 4);
        assert_int_equal(turn(s, 3), 1);
        herd_stop(&s->herd, 0);
        assert_int_equal(turn(s, 3), 0);
        herd_stop(&s->herd, 1);
        assert_int_equal(turn(s, 3), 0);
}

/* A start is under way: what it was promised is not given away. */
static void reservations_count(void **state)
{
        struct scene_of_balancing *s = *state;
        HN_ENTRY struct hn_entry *entry = make_entry("00000000-0000-4000-8000-000000000fff", "starting");
        HN_LEDGER struct hn_ledger *ledger = NULL;

        herd_start(&s->herd, 4, 4 * GIB, 2, 4);
        herd_start(&s->herd, 4, 2 * GIB, 2, 4);
        entry->placement->promises[0] = (struct hn_promise) { .node = 0, .memory_kib = 6 * GIB };
        for (unsigned node = 1; node < 4; node += 2)
                assert_int_equal(hn_placement_promise(entry->placement, &(struct hn_promise) {
                                         .node = node, .memory_kib = 5 * GIB }), 0);
        assert_int_equal(hn_ledger_open(&s->herd.tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        hn_ledger_unlock(ledger);
        assert_int_equal(turn(s, 10), 0);
        assert_int_equal(hn_ledger_remove(ledger, "00000000-0000-4000-8000-000000000fff"), 0);
        assert_int_equal(turn(s, 3), 1);
}

static void the_users_pins_are_the_users(void **state)
{
        struct scene_of_balancing *s = *state;

        for (unsigned i = 0; i < 2; i++) {
                herd_start(&s->herd, 4, GIB, 2, 4);
                s->herd.guests[i].elements = "<cputune><vcpupin vcpu='0' cpuset='8'/></cputune>";
                hn_keeper_look(s->herd.keeper, herd_uuid(i));
        }
        assert_int_equal(turn(s, 10), 0);
}

/* ---- any herd */

static uint32_t dice;

static unsigned throw(unsigned sides)
{
        dice = dice * 1664525u + 1013904223u;
        return (dice >> 8) % sides;
}

/* What is measured is never the same twice: so many percent more or less. */
static void stir(struct scene_of_balancing *s, const double *busy_cpus, unsigned percent)
{
        for (unsigned i = 0; i < s->herd.n; i++)
                s->herd.guests[i].busy_cpus = busy_cpus[i] * (1 + 0.01 * ((double) throw(2 * percent + 1) - percent));
}

/* Whoever they are and wherever they begin: how many are moved after a while. */
static unsigned late_moves(void **state, uint32_t seed, unsigned percent)
{
        struct scene_of_balancing *s = *state;
        double busy_cpus[HERD_GUESTS];
        unsigned late = 0;

        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
        dice = seed;
        for (unsigned i = 0; i < 6 + throw(8); i++) {
                busy_cpus[i] = throw(3) ? 0.1 * throw(40) : 0.02;
                herd_start(&s->herd, 1 + throw(4), (256 + 256 * throw(2)) * MIB, throw(3), busy_cpus[i]);
        }
        for (unsigned i = 0; i < 50; i++) {
                stir(s, busy_cpus, percent);
                late += turn(s, 1) * (i >= 25);
        }
        return late;
}

static void on_constant_load_it_goes_quiet(void **state)
{
        for (uint32_t seed = 1; seed <= 4; seed++)
                assert_int_equal(late_moves(state, seed, 0), 0);
}

static void on_nearly_constant_load_too(void **state)
{
        for (uint32_t seed = 1; seed <= 2; seed++)
                assert_int_equal(late_moves(state, seed, 5), 0);
}

/* ---- the guard */

static unsigned watch_for(struct scene_of_balancing *s, unsigned seconds)
{
        herd_pass(&s->herd, seconds);
        return hn_balancing_watch(s->balancing);
}

static void with_memory_enough_nobody_watches(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 2, 4 * GIB, 2, 0.1);
        assert_int_equal(turn(s, 2), 0);
        assert_int_equal(hn_balancing_watch(s->balancing), 0);
        s->herd.free_kib[2] = 5 * GIB; /* less the guest's 4 */
        assert_int_equal(turn(s, 1), 0);
        assert_int_equal(hn_balancing_watch(s->balancing), 1000);
}

/* 358 MiB of 7 GiB are never promised. */
static void a_node_that_runs_short_spills_at_once(void **state)
{
        struct scene_of_balancing *s = *state;
        const struct hn_guest *guest;

        herd_start(&s->herd, 2, 4 * GIB, 2, 0.1);
        herd_start(&s->herd, 2, GIB, 2, 0.1);
        assert_int_equal(turn(s, 2), 0);
        s->herd.free_kib[2] = 5 * GIB + 300 * MIB;
        assert_true(watch_for(s, 1) > 0);
        /* one after the other, as long as it is short */
        for (unsigned i = 0; i < 4; i++)
                (void) watch_for(s, 1);
        assert_int_equal(s->moved[HN_MOVE_SPILL], 2);
        assert_int_equal(s->begun, 2);
        for (unsigned i = 0; i < 2; i++) {
                guest = hn_guests_find(hn_keeper_guests(s->herd.keeper), herd_uuid(i));
                assert_set(guest->entry->placement->home, "2");
                assert_int_equal(hwloc_bitmap_weight(guest->entry->placement->memory_nodes), 2);
        }
        assert_true(journal_has(s, "it runs short on node 2"));
        /* it is at home again when there is room again */
        s->herd.free_kib[2] = 7 * GIB;
        (void) turn(s, 30);
        assert_int_equal(s->moved[HN_MOVE_GATHER], 2);
        guest = hn_guests_find(hn_keeper_guests(s->herd.keeper), herd_uuid(0));
        assert_set(guest->entry->placement->memory_nodes, "2");
}

/* 900 MiB are left, and 400 MiB went in the last second. */
static void a_node_that_will_run_short_spills_before(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 2, 4 * GIB, 2, 0.1);
        s->herd.free_kib[2] = 5 * GIB + 300 * MIB;
        assert_int_equal(turn(s, 2), 0);
        (void) watch_for(s, 1);
        assert_int_equal(s->begun, 0);
        s->herd.free_kib[2] -= 400 * MIB;
        (void) watch_for(s, 1);
        assert_int_equal(s->moved[HN_MOVE_SPILL], 1);
}

static void turned_off_it_spills_all_the_same(void **state)
{
        struct scene_of_balancing *s = *state;
        struct hn_policy policy;

        hn_policy_defaults(&policy);
        policy.balance.off = true;
        hn_balancing_configure(s->balancing, &policy);
        herd_start(&s->herd, 2, 4 * GIB, 2, 0.1);
        assert_int_equal(turn(s, 1), 0);
        s->herd.free_kib[2] = 4 * GIB + 100 * MIB;
        (void) watch_for(s, 1);
        assert_int_equal(s->moved[HN_MOVE_SPILL], 1);
}

/* Nobody can be helped: that is not asked every quarter of a second. */
static void where_nothing_helps_it_waits(void **state)
{
        struct scene_of_balancing *s = *state;

        herd_start(&s->herd, 2, 4 * GIB, 2, 0.1);
        assert_int_equal(turn(s, 1), 0);
        for (unsigned node = 0; node < 4; node++)
                s->herd.free_kib[node] = 100 * MIB + (node == 2 ? 4 * GIB : 0);
        (void) watch_for(s, 1);
        assert_int_equal(s->begun, 0);
        assert_int_equal(watch_for(s, 1), 1000);
        assert_int_equal(s->begun, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(two_busy_guests_on_one_node_are_separated),
                TEST(idle_guests_are_left_in_peace),
                TEST(a_busy_host_is_left_to_itself),
                TEST(turned_off_it_only_tells),
                TEST(what_is_refused_rests),
                TEST(what_is_busy_is_tried_again_at_once),
                TEST(nobody_moves_a_guest_that_libvirt_moves),
                TEST(whom_libvirt_says_nothing_of_is_moved_as_soon_as_it_does),
                TEST(what_moves_is_not_moved_again),
                TEST(what_did_not_get_there_is_not_sent_there_again_soon),
                TEST(guests_come_and_go),
                TEST(reservations_count),
                TEST(the_users_pins_are_the_users),
                TEST(on_constant_load_it_goes_quiet),
                TEST(on_nearly_constant_load_too),
                TEST(with_memory_enough_nobody_watches),
                TEST(a_node_that_runs_short_spills_at_once),
                TEST(a_node_that_will_run_short_spills_before),
                TEST(turned_off_it_spills_all_the_same),
                TEST(where_nothing_helps_it_waits),
        };

        /* files are written anew over and over: a disk would be waited for */
        if (access("/dev/shm", W_OK) == 0)
                (void) setenv("TMPDIR", "/dev/shm", 0);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
