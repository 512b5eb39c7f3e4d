/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Metering a guest: readings 10 s apart, worked out by hand.  With a window of nothing the last reading counts alone.
 */
#include <math.h>

#include "model/load-guest.h"
#include "unit/support/groups.h"
#include "unit/support/scene.h"
#include "unit/support/test.h"

#define S UINT64_C(1000000)
#define UUID_X "0a1b2c3d-4e5f-4a6b-8c7d-0000000000aa"

/* An emulator and n vCPUs with these counters in seconds. */
static struct hn_guest_usage reading(unsigned n, double emulator_s, double vcpu_s, double wait_s)
{
        struct hn_guest_usage usage = { .n_groups = n + 1, .groups = calloc(n + 1, sizeof *usage.groups),
                                  .cpu_pressure_us = wait_s < 0 ? HN_USAGE_UNKNOWN : (uint64_t) (wait_s * 1e6),
                                  .memory_pressure_us = HN_USAGE_UNKNOWN, .io_pressure_us = HN_USAGE_UNKNOWN };

        assert_non_null(usage.groups);
        usage.groups[0] = (struct hn_usage_group) { .kind = HN_GROUP_EMULATOR, .cpu_us = (uint64_t) (emulator_s * 1e6),
                                                    .wait_us = HN_USAGE_UNKNOWN, .pressure_us = HN_USAGE_UNKNOWN };
        for (unsigned i = 0; i < n; i++)
                usage.groups[i + 1] = (struct hn_usage_group) {
                        .kind = HN_GROUP_VCPU, .number = i, .cpu_us = (uint64_t) (vcpu_s * 1e6),
                        .wait_us = wait_s < 0 ? HN_USAGE_UNKNOWN : (uint64_t) (wait_s * 1e6),
                        .pressure_us = HN_USAGE_UNKNOWN,
                };
        return usage;
}

static void add(struct hn_guest_meter *meter, struct hn_guest_usage usage, uint64_t now_us)
{
        assert_int_equal(hn_guest_meter_add(meter, &usage, now_us, 0), 0);
        assert_null(usage.groups);
}

static bool near(double a, double b)
{
        return fabs(a - b) < 1e-6;
}

static void one_reading_says_nothing(void **state)
{
        HN_GUEST_METER struct hn_guest_meter meter = { 0 };
        struct hn_guest_load load;

        (void) state;
        assert_true(hn_guest_meter_busy(&meter) < 0);
        add(&meter, reading(2, 100, 100, 100), 50 * S);
        assert_true(hn_guest_meter_busy(&meter) < 0);
        assert_false(hn_guest_meter_load(&meter, UUID_X, &load));
}

static void two_readings_say_what_lies_between(void **state)
{
        HN_GUEST_METER struct hn_guest_meter meter = { 0 };
        struct hn_guest_load load;

        (void) state;
        add(&meter, reading(2, 100, 50, 7), 50 * S);
        /* 10 s later: the emulator ran 1 s, each vCPU 5 s and waited 2 s */
        add(&meter, reading(2, 101, 55, 9), 60 * S);
        assert_true(near(meter.run.level, 1.1));
        assert_true(near(meter.wait.level, 0.4));
        assert_true(near(hn_guest_meter_busy(&meter), 1.5));
        assert_true(near(meter.groups[2].run.level, 0.5));
        assert_true(near(meter.groups[2].wait.level, 0.2));
        assert_true(hn_guest_meter_load(&meter, UUID_X, &load));
        assert_string_equal(load.uuid, UUID_X);
        assert_true(near(load.run_cpus, 1.1));
        assert_true(near(load.cpu_pressure, 0.2));
        assert_true(load.memory_pressure < 0);
}

static void waiting_that_is_not_told_counts_as_none(void **state)
{
        HN_GUEST_METER struct hn_guest_meter meter = { 0 };
        struct hn_guest_load load;

        (void) state;
        add(&meter, reading(2, 0, 0, -1), 50 * S);
        add(&meter, reading(2, 0, 10, -1), 60 * S);
        assert_true(near(hn_guest_meter_busy(&meter), 2));
        assert_true(hn_guest_meter_load(&meter, UUID_X, &load));
        assert_true(load.wait_cpus < 0);
}

static void vcpus_come_and_go(void **state)
{
        HN_GUEST_METER struct hn_guest_meter meter = { 0 };

        (void) state;
        add(&meter, reading(1, 0, 100, 0), 50 * S);
        /* the second vCPU is new: what it ran before nobody knows */
        add(&meter, reading(2, 0, 105, 0), 60 * S);
        assert_true(near(hn_guest_meter_busy(&meter), 0.5));
        add(&meter, reading(2, 0, 110, 0), 70 * S);
        assert_true(near(hn_guest_meter_busy(&meter), 1));
        add(&meter, reading(1, 0, 120, 0), 80 * S);
        assert_true(near(hn_guest_meter_busy(&meter), 1));
        assert_int_equal(meter.n_groups, 2);
}

static void counters_that_fall_count_as_nothing(void **state)
{
        HN_GUEST_METER struct hn_guest_meter meter = { 0 };

        (void) state;
        add(&meter, reading(2, 100, 100, 100), 50 * S);
        add(&meter, reading(2, 0, 0, 0), 60 * S);
        assert_true(near(hn_guest_meter_busy(&meter), 0));
        /* a clock that stood still, or went back */
        add(&meter, reading(2, 0, 50, 0), 60 * S);
        add(&meter, reading(2, 0, 50, 0), 55 * S);
        assert_true(near(hn_guest_meter_busy(&meter), 0));
}

/* vCPUs 0-1 on node 2 with CPUs 4-5, the emulator on CPUs 5 and 6, of which the latter is node 3's. */
static void usage_is_told_by_node(void **state)
{
        static const struct host_plan plan = { .nodes = 4, .cores = 2, .threads = 1, .memory_kib = GIB };
        HN_USAGE struct hn_guest_usage from = reading(1, 1, 2, 0), to = reading(2, 6, 12, 0);
        HN_PLACEMENT struct hn_placement *placement = placed_on(2);
        HN_HOST struct hn_host *host = host_of(&plan);

        (void) state;
        hwloc_bitmap_zero(placement->emulator_cpus);
        hwloc_bitmap_set_range(placement->emulator_cpus, 5, 6);
        /* 5 s of the emulator, 10 s of the one vCPU, and all 12 s of the other, which is new */
        assert_true(near(hn_usage_on_node(&from, &to, placement, &host->nodes[2]), 24.5e6));
        assert_true(near(hn_usage_on_node(&from, &to, placement, &host->nodes[3]), 2.5e6));
        assert_true(near(hn_usage_on_node(&from, &to, placement, &host->nodes[0]), 0));
        assert_true(near(hn_usage_on_node(NULL, &to, placement, &host->nodes[2]), 27e6));
        /* counters that fell: another group of that name */
        assert_true(near(hn_usage_on_node(&to, &from, placement, &host->nodes[2]), 0));
        /* an isolated CPU counts to no capacity */
        hwloc_bitmap_clr(host->nodes[2].cpus, 4);
        assert_true(near(hn_usage_on_node(NULL, &to, placement, &host->nodes[2]), 15e6));
}

/* Only counted: 3 of its 4 vCPUs are taken to be on node 1. */
static void usage_without_cells_is_told_by_promises(void **state)
{
        static const struct host_plan plan = { .nodes = 2, .cores = 2, .threads = 1, .memory_kib = GIB };
        const struct hn_promise promises[] = { { .node = 0, .vcpus_milli = 1000 }, { .node = 1, .vcpus_milli = 3000 } };
        HN_USAGE struct hn_guest_usage to = reading(2, 4, 8, 0);
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();
        HN_HOST struct hn_host *host = host_of(&plan);

        (void) state;
        assert_true(near(hn_usage_on_node(NULL, &to, placement, &host->nodes[1]), 0));
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(hn_placement_promise(placement, &promises[i]), 0);
        assert_true(near(hn_usage_on_node(NULL, &to, placement, &host->nodes[1]), 15e6));
        assert_true(near(hn_usage_on_node(NULL, &to, placement, &host->nodes[0]), 5e6));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_reading_says_nothing),
                cmocka_unit_test(two_readings_say_what_lies_between),
                cmocka_unit_test(waiting_that_is_not_told_counts_as_none),
                cmocka_unit_test(vcpus_come_and_go),
                cmocka_unit_test(counters_that_fall_count_as_nothing),
                cmocka_unit_test(usage_is_told_by_node),
                cmocka_unit_test(usage_without_cells_is_told_by_promises),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
