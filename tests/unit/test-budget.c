/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/budget.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "model/clock.h"
#include "unit/support/test.h"

static void quick(void *data, struct hn_outcome *ret)
{
        ret->status = 3;
        ret->output = strdup(data);
        ret->summary = strdup("");
}

static void large(void *data, struct hn_outcome *ret)
{
        (void) data;
        ret->output = malloc(3000001);
        memset(ret->output, 'x', 3000000);
        ret->output[3000000] = '\0';
}

static void slow(void *data, struct hn_outcome *ret)
{
        (void) data;
        (void) ret;
        sleep(20);
}

static void stopped(void *data, struct hn_outcome *ret)
{
        (void) data;
        (void) ret;
        (void) raise(SIGSTOP);
}

static void crashing(void *data, struct hn_outcome *ret)
{
        (void) data;
        ret->output = strdup("half");
        _exit(0);
}

static uint64_t in_ms(unsigned ms)
{
        return hn_monotonic_us() + ms * 1000u;
}

static void hands_over_the_whole_outcome(void **state)
{
        HN_OUTCOME struct hn_outcome outcome = { 0 };
        char text[] = "<domain/>";
        (void) state;

        assert_int_equal(hn_budget_run(quick, text, in_ms(5000), &outcome), 0);
        assert_true(outcome.in_time);
        assert_int_equal(outcome.status, 3);
        assert_string_equal(outcome.output, "<domain/>");
        assert_null(outcome.complaint);
        assert_string_equal(outcome.summary, "");
        hn_outcome_clear(&outcome);

        assert_int_equal(hn_budget_run(large, NULL, in_ms(5000), &outcome), 0);
        assert_true(outcome.in_time);
        assert_int_equal(strlen(outcome.output), 3000000);
}

static void gives_up_at_the_deadline(void **state)
{
        hn_work *const works[] = { slow, stopped };
        (void) state;

        for (size_t i = 0; i < 2; i++) {
                HN_OUTCOME struct hn_outcome outcome = { 0 };
                uint64_t before_us = hn_monotonic_us();

                assert_int_equal(hn_budget_run(works[i], NULL, in_ms(100), &outcome), 0);
                assert_false(outcome.in_time);
                assert_false(outcome.crashed);
                assert_int_equal(outcome.status, 0);
                assert_null(outcome.output);
                assert_true(hn_monotonic_us() - before_us < 5000000);
        }
}

static void a_crash_is_no_outcome(void **state)
{
        HN_OUTCOME struct hn_outcome outcome = { 0 };
        (void) state;

        assert_int_equal(hn_budget_run(crashing, NULL, in_ms(5000), &outcome), 0);
        assert_false(outcome.in_time);
        assert_true(outcome.crashed);
        assert_null(outcome.output);
}

/* Whoever started the hook waits until every copy of its descriptors is closed. */
static void a_child_left_behind_holds_no_descriptor(void **state)
{
        int ends[2];
        (void) state;

        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                HN_OUTCOME struct hn_outcome outcome = { 0 };

                (void) dup2(ends[1], STDOUT_FILENO);
                (void) hn_budget_run(slow, NULL, in_ms(50), &outcome);
                _exit(0);
        }
        (void) close(ends[1]);
        char byte;
        uint64_t before_us = hn_monotonic_us();
        assert_int_equal(read(ends[0], &byte, 1), 0); /* end of file, not the 20 s of the work */
        assert_true(hn_monotonic_us() - before_us < 10000000);
        (void) close(ends[0]);
        (void) waitpid(pid, NULL, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(hands_over_the_whole_outcome),
                cmocka_unit_test(gives_up_at_the_deadline),
                cmocka_unit_test(a_crash_is_no_outcome),
                cmocka_unit_test(a_child_left_behind_holds_no_descriptor),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
