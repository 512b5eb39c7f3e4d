/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading traces of guests.
 */
#include "unit/support/test.h"

#include <errno.h>
#include <math.h>

#include "unit/support/scene.h"
#include "unit/support/trace.h"

#define EPSILON 1e-9

static void traces_are_read(void **state)
{
        HN_TRACE struct hn_trace *timed = trace_of("0,0,100,300,600,0,8,1024,1,flavor=m\r\n\n1,,100,60,,1,2,512,,a,b");
        HN_TRACE struct hn_trace *bare = trace_of("0,,,,,,32,65536,2,strategy=;domain=\n");

        (void) state;
        assert_true(timed->timed);
        assert_int_equal(timed->n_guests, 2);
        assert_int_equal(timed->guests[0].vcpus, 8);
        assert_int_equal(timed->guests[0].memory_kib, GIB);
        assert_float_equal(timed->guests[0].lifetime_s, 450, EPSILON);
        assert_true(isinf(timed->guests[1].lifetime_s));
        assert_false(bare->timed);
        assert_int_equal(bare->guests[0].memory_kib, 64 * GIB);
}

static void what_is_no_trace_is_refused_by_line(void **state)
{
        static const struct { const char *text; size_t line; } wrong[] = {
                { "", 1 }, { "id,vcpus\n", 1 }, { TRACE_HEAD, 2 }, { TRACE_HEAD "1,2,3\n", 2 },
                { TRACE_HEAD "0,,,,,,8,1024,1,\n1,,5,5,,,8,1024,1,\n", 3 }, /* one with times, one without */
                { TRACE_HEAD "0,,9,5,,,8,1024,1,\n1,,8,5,,,8,1024,1,\n", 3 }, /* back in time */
                { TRACE_HEAD "0,,,,,,0,1024,1,\n", 2 }, { TRACE_HEAD "0,,,,,,8,0,1,\n", 2 },
                { TRACE_HEAD "0,,,,,,8,-1,1,\n", 2 },
                { TRACE_HEAD "0,,,,,,8193,1,1,\n", 2 }, { TRACE_HEAD "0,,,,,,8,99999999999999999999,1,\n", 2 },
                { TRACE_HEAD "0,,1,,,,8,1024,1,\n", 2 }, { TRACE_HEAD "0,,1,5,x,,8,1024,1,\n", 2 },
                { TRACE_HEAD "0,,1,5,,2,8,1024,1,\n", 2 },
        };

        (void) state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct hn_trace *trace = NULL;
                size_t line = 0;

                assert_int_equal(hn_trace_parse(wrong[i].text, strlen(wrong[i].text), &trace, &line), -EBADMSG);
                assert_int_equal(line, wrong[i].line);
                assert_null(trace);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(traces_are_read),
                cmocka_unit_test(what_is_no_trace_is_refused_by_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
