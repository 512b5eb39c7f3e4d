/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/contest.h"

#include "unit/support/test.h"

#define SECOND_US UINT64_C(1000000)

static void one_repair_is_no_contest(void **state)
{
        struct hn_contest contest = { 0 };

        (void) state;
        assert_int_equal(hn_contest_wait_ms(&contest, 5 * SECOND_US), 0);
        assert_int_equal(hn_contest_repaired(&contest, 5 * SECOND_US), HN_CONTEST_NO_NEWS);
        assert_int_equal(hn_contest_wait_ms(&contest, 5 * SECOND_US), 1000);
        assert_int_equal(hn_contest_wait_ms(&contest, 6 * SECOND_US), 0);
        assert_int_equal(hn_contest_right(&contest, 7 * SECOND_US), HN_CONTEST_NO_NEWS);
        assert_int_equal(hn_contest_right(&contest, 60 * SECOND_US), HN_CONTEST_NO_NEWS);
        assert_int_equal(contest.last_us, 0);
}

/* Somebody writes as soon as we did: 1 s, 2, 4 … 5 min; a line when it begins, one when it is over. */
static void waits_longer_and_longer_and_says_it_once(void **state)
{
        static const unsigned waits_ms[] = { 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 300000, 300000 };
        struct hn_contest contest = { 0 };
        uint64_t now_us = SECOND_US;
        unsigned begun = 0;

        (void) state;
        for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++) {
                assert_int_equal(hn_contest_wait_ms(&contest, now_us), 0);
                begun += hn_contest_repaired(&contest, now_us) == HN_CONTEST_BEGUN;
                assert_int_equal(begun, i >= 2);
                assert_int_equal(hn_contest_wait_ms(&contest, now_us), waits_ms[i]);
                now_us += contest.wait_ms * UINT64_C(1000);
        }
        assert_int_equal(hn_contest_right(&contest, now_us), HN_CONTEST_NO_NEWS);
        now_us += 601 * SECOND_US;
        assert_int_equal(hn_contest_right(&contest, now_us), HN_CONTEST_SETTLED);
        assert_int_equal(hn_contest_right(&contest, now_us), HN_CONTEST_NO_NEWS);
        assert_int_equal(hn_contest_wait_ms(&contest, now_us), 0);
}

static void repairs_far_apart_are_each_the_first(void **state)
{
        struct hn_contest contest = { 0 };

        (void) state;
        for (unsigned i = 1; i < 10; i++) {
                assert_int_equal(hn_contest_repaired(&contest, i * 30 * SECOND_US), HN_CONTEST_NO_NEWS);
                assert_int_equal(contest.wait_ms, 1000);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_repair_is_no_contest),
                cmocka_unit_test(waits_longer_and_longer_and_says_it_once),
                cmocka_unit_test(repairs_far_apart_are_each_the_first),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
