/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Smoothing, worked out by hand: after one window 1 - 1/e = 0.63212 of a step has come through.
 */
#include <math.h>

#include "model/gauge.h"
#include "unit/support/test.h"

#define S UINT64_C(1000000)

static bool near(double a, double b)
{
        return fabs(a - b) < 1e-4;
}

static void the_first_measurement_is_the_level(void **state)
{
        struct hn_gauge gauge = { 0 };

        (void) state;
        hn_gauge_add(&gauge, 3, 5 * S, 30 * S);
        assert_true(near(gauge.level, 3));
        assert_true(near(gauge.trend, 0));
        assert_true(near(hn_gauge_ahead(&gauge, 100), 3));
}

static void a_step_comes_through_over_the_window(void **state)
{
        struct hn_gauge once = { 0 }, often = { 0 };

        (void) state;
        hn_gauge_add(&once, 0, 0, 30 * S);
        hn_gauge_add(&once, 1, 30 * S, 30 * S);
        assert_true(near(once.level, 0.63212));
        hn_gauge_add(&often, 0, 0, 30 * S);
        for (uint64_t i = 1; i <= 30; i++)
                hn_gauge_add(&often, 1, i * S, 30 * S);
        assert_true(near(often.level, once.level));
}

static void the_trend_follows_a_slope(void **state)
{
        struct hn_gauge gauge = { 0 };

        (void) state;
        for (uint64_t i = 0; i <= 600; i++)
                hn_gauge_add(&gauge, 0.01 * (double) i, i * S, 30 * S);
        assert_true(near(gauge.trend, 0.01));
        assert_true(near(hn_gauge_ahead(&gauge, 60), gauge.level + 0.6));
        for (uint64_t i = 601; i <= 1200; i++)
                hn_gauge_add(&gauge, 1, i * S, 30 * S);
        assert_true(near(gauge.trend, 0));
        assert_true(near(gauge.level, 1));
}

static void what_falls_ends_at_nothing(void **state)
{
        struct hn_gauge gauge = { 0 };

        (void) state;
        hn_gauge_add(&gauge, 1, S, S);
        hn_gauge_add(&gauge, 0, 2 * S, S);
        assert_true(gauge.trend < 0);
        assert_true(near(hn_gauge_ahead(&gauge, 1000), 0));
}

static void what_is_no_measurement_is_passed_over(void **state)
{
        struct hn_gauge gauge = { 0 };

        (void) state;
        hn_gauge_add(&gauge, 1, 10 * S, 30 * S);
        hn_gauge_add(&gauge, 5, 10 * S, 30 * S);
        hn_gauge_add(&gauge, 5, 9 * S, 30 * S);
        hn_gauge_add(&gauge, (double) NAN, 11 * S, 30 * S);
        hn_gauge_add(&gauge, (double) INFINITY, 12 * S, 30 * S);
        assert_true(near(gauge.level, 1));
        hn_gauge_add(&gauge, 4, 13 * S, 0); /* no window: as measured */
        assert_true(near(gauge.level, 4));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_measurement_is_the_level),
                cmocka_unit_test(a_step_comes_through_over_the_window),
                cmocka_unit_test(the_trend_follows_a_slope),
                cmocka_unit_test(what_falls_ends_at_nothing),
                cmocka_unit_test(what_is_no_measurement_is_passed_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
