/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the balancer remembers: cool-downs of 60 s that double with each move of a streak, and homes that a guest did
 * not come to, avoided for 120 s, 240 s, …
 */
#include "unit/support/test.h"

#include <errno.h>

#include "decide/balance-past.h"

#define S UINT64_C(1000000)
#define A "aaaaaaaa-0000-0000-0000-000000000000"
#define B "bbbbbbbb-0000-0000-0000-000000000000"
#define C "cccccccc-0000-0000-0000-000000000000"

static const struct hn_balance_policy policy = { .cooldown_seconds = 60 };

static void note(struct hn_balance_past *past, const char *uuid, const char *nodes, bool delivered, uint64_t now_us)
{
        HN_BITMAP hwloc_bitmap_t home = set_of(nodes);

        assert_int_equal(hn_balance_note(past, uuid, home, delivered, now_us), 0);
}

static bool rests(const struct hn_balance_past *past, const char *uuid, uint64_t now_us)
{
        return hn_balance_rests(hn_balance_recall(past, uuid), &policy, now_us);
}

static bool avoids(const struct hn_balance_past *past, const char *uuid, const char *nodes, uint64_t now_us)
{
        HN_BITMAP hwloc_bitmap_t home = set_of(nodes);

        return hn_balance_avoids(hn_balance_recall(past, uuid), &policy, home, now_us);
}

static void a_moved_guest_rests(void **state)
{
        HN_BALANCE_PAST struct hn_balance_past past = { 0 };

        (void) state;
        assert_false(rests(&past, A, 1000 * S));
        note(&past, A, "1", true, 1000 * S);
        assert_true(rests(&past, A, 1059 * S));
        assert_false(rests(&past, A, 1060 * S));
        assert_false(rests(&past, B, 1001 * S));
        /* a clock that went back all the same */
        assert_true(rests(&past, A, 999 * S));
}

static void rest_doubles_with_each_move_of_a_streak(void **state)
{
        HN_BALANCE_PAST struct hn_balance_past past = { 0 };

        (void) state;
        note(&past, A, "1", true, 1000 * S);
        note(&past, A, "0", true, 1060 * S);
        assert_int_equal(hn_balance_streak(hn_balance_recall(&past, A), 1179 * S), 2);
        assert_int_equal(hn_balance_streak(hn_balance_recall(&past, A), 1660 * S), 1);
        assert_int_equal(hn_balance_streak(hn_balance_recall(&past, A), 9999 * S), 0);
        assert_true(rests(&past, A, 1179 * S));
        assert_false(rests(&past, A, 1180 * S));
        note(&past, A, "1", true, 1180 * S);
        assert_true(rests(&past, A, 1419 * S));
        assert_false(rests(&past, A, 1420 * S));
        /* three times ten minutes later nothing of it is left */
        note(&past, A, "0", true, 1180 * S + 1800 * S);
        assert_false(rests(&past, A, 2980 * S + 60 * S));
}

static void rest_has_an_end(void **state)
{
        HN_BALANCE_PAST struct hn_balance_past past = { 0 };

        (void) state;
        for (uint64_t i = 0; i < 100; i++)
                note(&past, A, "1", true, (1000 + i) * S);
        assert_true(rests(&past, A, (1099 + 60 * 32 - 1) * S));
        assert_false(rests(&past, A, (1099 + 60 * 32) * S));
}

static void a_home_that_failed_is_avoided(void **state)
{
        HN_BALANCE_PAST struct hn_balance_past past = { 0 };

        (void) state;
        note(&past, A, "1,3", false, 1000 * S);
        assert_true(avoids(&past, A, "1,3", 1119 * S));
        assert_false(avoids(&past, A, "1,3", 1120 * S));
        assert_false(avoids(&past, A, "1", 1001 * S));
        assert_false(avoids(&past, B, "1,3", 1001 * S));
        note(&past, A, "1,3", false, 1120 * S);
        assert_true(avoids(&past, A, "1,3", 1359 * S));
        assert_false(avoids(&past, A, "1,3", 1360 * S));
        note(&past, A, "1,3", true, 1360 * S);
        assert_false(avoids(&past, A, "1,3", 1361 * S));
}

static void keeps_guests_apart(void **state)
{
        HN_BALANCE_PAST struct hn_balance_past past = { 0 };

        (void) state;
        note(&past, C, "1", false, 10 * S);
        note(&past, A, "1", true, 20 * S);
        note(&past, B, "2", false, 30 * S);
        assert_int_equal(past.n, 3);
        assert_int_equal(hn_balance_recall(&past, A)->moved_us, 20 * S);
        assert_int_equal(hn_balance_recall(&past, B)->moved_us, 30 * S);
        assert_int_equal(hn_balance_recall(&past, C)->moved_us, 10 * S);
        hn_balance_forget(&past, B);
        hn_balance_forget(&past, B);
        assert_null(hn_balance_recall(&past, B));
        assert_int_equal(past.n, 2);
        assert_true(avoids(&past, C, "1", 11 * S));
        assert_int_equal(hn_balance_note(&past, A A, NULL, true, 0), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_moved_guest_rests),
                cmocka_unit_test(rest_doubles_with_each_move_of_a_streak),
                cmocka_unit_test(rest_has_an_end),
                cmocka_unit_test(a_home_that_failed_is_avoided),
                cmocka_unit_test(keeps_guests_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
