/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue of work: coalesced, one domain a turn, each handler its own matters; waiting longer from try to try.
 */
#include "daemon/work.h"

#include "daemon/backoff.h"
#include "daemon/loop.h"
#include "model/clock.h"
#include "unit/support/test.h"

#define UUID_A "0a1b2c3d-4e5f-4a6b-8c7d-00000000000a"
#define UUID_B "0a1b2c3d-4e5f-4a6b-8c7d-00000000000b"

struct seen {
        struct hn_loop *loop;
        struct hn_work *work;
        char text[512]; /* "a:1 b:3 …": the last character of the UUID (or -) and the matters */
        unsigned n, until;
        unsigned again; /* times that the handler marks A anew */
};

static struct seen seen;

static void stop_on_signal(void *data, enum hn_signal signal)
{
        (void) data;
        (void) signal;
}

static bool see(void *data, const char *uuid, unsigned matters)
{
        size_t length = strlen(seen.text);
        const char *prefix = data;

        (void) snprintf(seen.text + length, sizeof seen.text - length, "%s%c:%u ", prefix,
                        *uuid ? uuid[HN_UUID_LENGTH - 1] : '-', matters);
        if (seen.again > 0) {
                seen.again--;
                assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_RUNNING), 0);
        }
        if (++seen.n == seen.until)
                hn_loop_stop(seen.loop);
        return false;
}

static const char *run_until(unsigned n)
{
        seen.until = seen.n + n;
        *seen.text = '\0';
        assert_int_equal(hn_loop_run(seen.loop), 0);
        return seen.text;
}

static int set_up(void **state)
{
        (void) state;
        if (!seen.loop)
                assert_int_equal(hn_loop_open(stop_on_signal, NULL, &seen.loop), 0);
        assert_int_equal(hn_work_new(&seen.work), 0);
        return 0;
}

static int tear_down(void **state)
{
        (void) state;
        hn_work_free(seen.work);
        return 0;
}

static void marks_of_a_domain_become_one(void **state)
{
        (void) state;
        assert_int_equal(hn_work_subscribe(seen.work, 15, see, (void *) ""), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_DEFINITION), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_B, HN_LOOK_RUNNING), 0);
        assert_int_equal(hn_work_mark(seen.work, "", HN_LOOK_HOST), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_GONE), 0);
        assert_int_equal(hn_work_count(seen.work), 3);
        assert_string_equal(run_until(3), "a:5 b:2 -:8 ");
        assert_int_equal(hn_work_count(seen.work), 0);
}

static void each_handler_gets_its_own(void **state)
{
        (void) state;
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_DEFINITION, see, (void *) "d"), 0);
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_RUNNING | HN_LOOK_GONE, see, (void *) "r"), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_RUNNING), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_B, HN_LOOK_GONE | HN_LOOK_DEFINITION), 0);
        assert_string_equal(run_until(3), "ra:2 db:1 rb:4 ");
}

static void a_handler_may_mark(void **state)
{
        (void) state;
        seen.again = 3;
        assert_int_equal(hn_work_subscribe(seen.work, 15, see, (void *) ""), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_B, HN_LOOK_RUNNING), 0);
        assert_string_equal(run_until(4), "b:2 a:2 a:2 a:2 ");
}

/* Domain A takes longer; `data` as for see. */
static bool begin(void *data, const char *uuid, unsigned matters)
{
        (void) see(data, uuid, matters);
        return strcmp(uuid, UUID_A) == 0;
}

static void what_is_under_way_holds_up_its_own_domain_alone(void **state)
{
        (void) state;
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_RUNNING | HN_LOOK_GONE, begin, (void *) "r"), 0);
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_DEFINITION, see, (void *) "d"), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_DEFINITION | HN_LOOK_RUNNING), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_B, HN_LOOK_DEFINITION | HN_LOOK_RUNNING), 0);
        assert_string_equal(run_until(3), "ra:2 rb:2 db:1 ");
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_RUNNING), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_GONE), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_B, HN_LOOK_GONE), 0);
        assert_string_equal(run_until(1), "rb:4 ");
        assert_int_equal(hn_work_count(seen.work), 1);
        /* First what it was called for with, then what came meanwhile. */
        *seen.text = '\0';
        hn_work_done(seen.work, UUID_A);
        assert_string_equal(seen.text, "da:1 ");
        assert_string_equal(run_until(1), "ra:6 ");
        hn_work_done(seen.work, UUID_A);
        assert_int_equal(hn_work_count(seen.work), 0);
        hn_work_done(seen.work, UUID_A);
        hn_work_done(seen.work, UUID_B);
}

/* One after the other takes longer. */
static void handlers_wait_for_each_other(void **state)
{
        (void) state;
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_RUNNING, begin, (void *) "r"), 0);
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_DEFINITION, begin, (void *) "d"), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_DEFINITION | HN_LOOK_RUNNING), 0);
        assert_string_equal(run_until(1), "ra:2 ");
        *seen.text = '\0';
        hn_work_done(seen.work, UUID_A);
        assert_string_equal(seen.text, "da:1 ");
        assert_int_equal(hn_work_count(seen.work), 1);
        hn_work_done(seen.work, UUID_A);
        assert_string_equal(seen.text, "da:1 ");
        assert_int_equal(hn_work_count(seen.work), 0);
}

static void a_domain_that_is_always_marked_does_not_come_before_the_others(void **state)
{
        (void) state;
        seen.again = 2;
        assert_int_equal(hn_work_subscribe(seen.work, HN_LOOK_RUNNING, see, (void *) ""), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_A, HN_LOOK_RUNNING), 0);
        assert_int_equal(hn_work_mark(seen.work, UUID_B, HN_LOOK_RUNNING), 0);
        assert_string_equal(run_until(3), "a:2 b:2 a:2 ");
}

static void later_is_later_and_the_earlier_of_two_counts(void **state)
{
        uint64_t start_us = hn_monotonic_us();
        (void) state;

        assert_int_equal(hn_work_subscribe(seen.work, 15, see, (void *) ""), 0);
        assert_int_equal(hn_work_mark_later(seen.work, UUID_A, HN_LOOK_RUNNING, 60000), 0);
        assert_int_equal(hn_work_mark_later(seen.work, UUID_B, HN_LOOK_RUNNING, 60), 0);
        assert_int_equal(hn_work_mark_later(seen.work, UUID_A, HN_LOOK_DEFINITION, 30), 0);
        assert_string_equal(run_until(2), "a:3 b:2 ");
        assert_true(hn_monotonic_us() - start_us >= 59000);
}

static void refuses_what_is_no_uuid(void **state)
{
        (void) state;
        assert_int_equal(hn_work_mark(seen.work, "web", HN_LOOK_RUNNING), -EINVAL);
        assert_int_equal(hn_work_mark(seen.work, UUID_A "0", HN_LOOK_RUNNING), -EINVAL);
        assert_int_equal(hn_work_count(seen.work), 0);
}

static void many_domains(void **state)
{
        (void) state;
        assert_int_equal(hn_work_subscribe(seen.work, 15, see, (void *) ""), 0);
        for (unsigned i = 0; i < 2000; i++) {
                char uuid[HN_UUID_LENGTH + 1];

                (void) snprintf(uuid, sizeof uuid, "0a1b2c3d-4e5f-4a6b-8c7d-%012u", i);
                assert_int_equal(hn_work_mark(seen.work, uuid, HN_LOOK_RUNNING), 0);
        }
        (void) run_until(2000);
        assert_int_equal(hn_work_count(seen.work), 0);
}

static void waits_double_up_to_the_most(void **state)
{
        struct hn_backoff backoff = { .first_ms = 1000, .most_ms = 60000 };
        static const unsigned waits[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
        struct hn_backoff huge = { .first_ms = 3000000000u, .most_ms = 4000000000u };
        (void) state;

        for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
                assert_int_equal(hn_backoff_next(&backoff), waits[i]);
        hn_backoff_reset(&backoff);
        assert_int_equal(hn_backoff_next(&backoff), 1000);
        assert_int_equal(hn_backoff_next(&huge), 3000000000u);
        assert_int_equal(hn_backoff_next(&huge), 4000000000u);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(marks_of_a_domain_become_one, set_up, tear_down),
                cmocka_unit_test_setup_teardown(each_handler_gets_its_own, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_handler_may_mark, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_under_way_holds_up_its_own_domain_alone, set_up, tear_down),
                cmocka_unit_test_setup_teardown(handlers_wait_for_each_other, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_domain_that_is_always_marked_does_not_come_before_the_others, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(later_is_later_and_the_earlier_of_two_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(refuses_what_is_no_uuid, set_up, tear_down),
                cmocka_unit_test_setup_teardown(many_domains, set_up, tear_down),
                cmocka_unit_test(waits_double_up_to_the_most),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        hn_loop_close(seen.loop);
        return r;
}
