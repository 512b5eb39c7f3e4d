/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/cputime.h"

#include "unit/support/test.h"
#include "unit/support/tree.h"

static int read_text(const char *text, struct hn_cpu_times *ret)
{
        struct tree tree;
        int r;

        tree_make(&tree);
        if (text)
                tree_put(&tree, "/proc/stat", text);
        r = hn_cpu_times_read(&tree.root, ret);
        tree_remove(&tree);
        return r;
}

static double busy_between(const char *first, const char *second, const char *cpus)
{
        HN_CPU_TIMES struct hn_cpu_times before = { 0 }, after = { 0 };
        HN_BITMAP hwloc_bitmap_t set = set_of(cpus);

        assert_int_equal(read_text(first, &before), 0);
        assert_int_equal(read_text(second, &after), 0);
        return hn_cpu_times_busy(&before, &after, set);
}

#define FIRST "cpu  1 2 3 4\ncpu0 100 0 100 1000 50 0 0 0 100 0\ncpu2 0 0 0 500 0 0 0 0 0 0\nintr 5 cpu9\n"

static void counts_what_is_neither_idle_nor_waiting(void **state)
{
        (void) state;
        /* CPU 0: 10 of 20 ticks (5 user, 3 system, 2 stolen; 6 idle, 4 waiting); CPU 2: all of 20 */
        assert_float_equal(busy_between(FIRST,
                                        "cpu0 105 0 103 1006 54 0 0 2 105 0\ncpu2 20 0 0 500 0 0 0 0 20 0\n", "0-3"),
                           1.5, 1e-9);
        assert_float_equal(busy_between(FIRST,
                                        "cpu0 105 0 103 1006 54 0 0 2 105 0\ncpu2 20 0 0 500 0 0 0 0 20 0\n", "2"),
                           1, 1e-9);
}

static void says_nothing_of_one_reading(void **state)
{
        (void) state;
        assert_true(busy_between(FIRST, FIRST, "0-3") < 0);
        assert_true(busy_between(FIRST, "cpu0 1 0 1 1\n", "0") < 0); /* off line and on again: counted anew */
        assert_true(busy_between(FIRST, FIRST, "1") < 0);
        assert_true(busy_between(FIRST, FIRST, "") < 0);
}

static void never_counts_more_than_there_is(void **state)
{
        (void) state;
        /* iowait goes back by 40 while 50 ticks are busy */
        assert_float_equal(busy_between(FIRST, "cpu0 150 0 100 1000 10 0 0 0\n", "0"), 1, 1e-9);
}

static void refuses_another_form(void **state)
{
        static const char *const texts[] = { "cpu0\n", "cpu0 1 2\n", "cpu0 1 2 3 x\n", "cpu0 1 2 3 4x\n",
                                             "cpu8192 1 2 3 4\n", "cpu99999999999999999999 1 2 3 4\n" };
        struct hn_cpu_times times = { 0 };

        (void) state;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                assert_int_equal(read_text(texts[i], &times), -EBADMSG);
        assert_int_equal(read_text(NULL, &times), -ENOENT);
        assert_null(times.cpus);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(counts_what_is_neither_idle_nor_waiting),
                cmocka_unit_test(says_nothing_of_one_reading),
                cmocka_unit_test(never_counts_more_than_there_is),
                cmocka_unit_test(refuses_another_form),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
