/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Metering over a recorded tree: readings 10 s apart, worked out by hand.  Nodes 0-3 have CPUs 0-1, 2-3, 4-5, 6-7 and
 * 7 GiB each; web, on node 2, was promised 1 GiB there.
 */
#include "daemon/meter.h"

#include <math.h>

#include "model/text.h"
#include "unit/support/host-tree.h"
#include "unit/support/kept.h"
#include "unit/support/scene.h"

#define S UINT64_C(1000000)

/* The first is smoothed by none, the second by 1 - e^(-10/20). */
#define SECOND 0.3934693402873666

static void put_number(struct kept *kept, const char *path, const char *before, uint64_t number)
{
        HN_FREE char *text = hn_text_print("%s%llu\n", before, (unsigned long long) number);

        assert_non_null(text);
        tree_put(&kept->tree, path, text);
}

/* What web's groups ran up to now, each vCPU and the emulator. */
static void put_usage(struct kept *kept, uint64_t vcpu_s, uint64_t emulator_s)
{
        put_number(kept, THREADS "/vcpu0/cpu.stat", "usage_usec ", vcpu_s * S);
        put_number(kept, THREADS "/vcpu1/cpu.stat", "usage_usec ", vcpu_s * S);
        put_number(kept, THREADS "/emulator/cpu.stat", "usage_usec ", emulator_s * S);
}

/* Busy seconds of each CPU of node 2 up to now, of so many in all; all others are idle.  A tick is 0.01 s. */
static void put_cpus(struct kept *kept, unsigned busy_s, unsigned all_s)
{
        HN_FREE char *text = strdup("cpu 1 2 3 4\n");

        for (unsigned cpu = 0; cpu < 8; cpu++) {
                unsigned busy = cpu / 2 == 2 ? busy_s * 100 : 0;
                char *more = hn_text_print("%scpu%u %u 0 0 %u 0 0 0 0 0 0\n", text, cpu, busy, all_s * 100 - busy);

                assert_non_null(more);
                free(text);
                text = more;
        }
        tree_put(&kept->tree, "/proc/stat", text);
}

static void put_resident(struct kept *kept, uint64_t node_1_kib, uint64_t node_2_kib)
{
        HN_FREE char *text = hn_text_print("anon N1=%llu N2=%llu\n", (unsigned long long) node_1_kib * 1024,
                                           (unsigned long long) node_2_kib * 1024);

        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", text);
}

static struct hn_reading read_at(struct kept *kept, struct hn_meter *meter, uint64_t now_s)
{
        struct hn_reading reading = { 0 };

        assert_int_equal(hn_meter_read(meter, hn_keeper_guests(kept->keeper), now_s * S, &reading), 0);
        assert_int_equal(reading.host->n_nodes, 4);
        assert_int_equal(reading.load->n_nodes, 4);
        return reading;
}

static void pass_over(struct kept *kept, struct hn_meter *meter, uint64_t now_s)
{
        struct hn_reading reading = read_at(kept, meter, now_s);

        hn_reading_clear(&reading);
}

static struct hn_meter *begin(struct kept *kept)
{
        struct hn_meter *meter = NULL;

        put_usage(kept, 100, 10);
        put_cpus(kept, 500, 1000);
        put_resident(kept, 0, GIB / 2);
        kept_settle(kept);
        assert_int_equal(hn_meter_new(&kept->tree.root, &meter), 0);
        return meter;
}

static void one_reading_tells_memory_and_no_load(void **state)
{
        HN_METER struct hn_meter *meter = begin(*state);
        HN_READING struct hn_reading reading = { 0 };

        host_tree_put_meminfo(&((struct kept *) *state)->tree, 2, 7 * GIB, 4 * GIB, 0);
        reading = read_at(*state, meter, 50);
        assert_int_equal(reading.load->n_guests, 0);
        assert_true(hn_load_busy(reading.load, 2) < 1e-9);
        /* half of its promise is held: that counts as free beside the promise */
        assert_int_equal(reading.free_kib[2], 4 * GIB);
        assert_int_equal(reading.host->nodes[2].free_kib, 4 * GIB + GIB / 2);
        assert_int_equal(reading.free_kib[1], reading.host->nodes[1].free_kib);
}

static void what_guests_use_is_not_what_runs_besides(void **state)
{
        HN_METER struct hn_meter *meter = begin(*state);
        HN_READING struct hn_reading reading = { 0 };

        pass_over(*state, meter, 50);
        /* 10 s later: both CPUs of node 2 were busy for 8 s, of which web had 5, 5 and 2 */
        put_usage(*state, 105, 12);
        put_cpus(*state, 508, 1010);
        reading = read_at(*state, meter, 60);
        assert_int_equal(reading.load->n_guests, 1);
        assert_true(fabs(reading.load->guests[0].run_cpus - 1.2) < 1e-6);
        assert_true(fabs(hn_load_busy(reading.load, 2) - 0.4) < 1e-6);
        assert_true(hn_load_busy(reading.load, 1) < 1e-9);
        hn_reading_clear(&reading);
        /* and then web had all of it: what was besides is forgotten by and by */
        put_usage(*state, 115, 12);
        put_cpus(*state, 518, 1020);
        reading = read_at(*state, meter, 70);
        assert_true(fabs(hn_load_busy(reading.load, 2) - 0.4 * (1 - SECOND)) < 1e-6);
}

/* Web has all that node 2 is busy with. */
static void run_on_node_2(struct kept *kept, struct hn_meter *meter)
{
        pass_over(kept, meter, 50);
        put_usage(kept, 110, 10);
        put_cpus(kept, 510, 1010);
        pass_over(kept, meter, 60);
}

/* What node 2 was busy with in the next 10 s is nobody's; from then on it is somebody else's. */
static void assert_passed_over(struct kept *kept, struct hn_meter *meter)
{
        HN_READING struct hn_reading reading = { 0 };

        put_cpus(kept, 520, 1020);
        reading = read_at(kept, meter, 70);
        assert_true(hn_load_busy(reading.load, 2) < 1e-9);
        hn_reading_clear(&reading);
        put_cpus(kept, 530, 1030);
        reading = read_at(kept, meter, 80);
        assert_true(hn_load_busy(reading.load, 2) > 0.5);
}

static void what_a_guest_that_went_used_is_passed_over(void **state)
{
        struct kept *kept = *state;
        HN_METER struct hn_meter *meter = begin(kept);

        run_on_node_2(kept, meter);
        /* it is gone, and with it the count of what it used */
        free(kept->xml);
        kept->xml = NULL;
        assert_int_equal(hn_root_remove(&kept->tree.root, "/proc/%d/stat", WEB_PID), 0);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(hn_keeper_guests(kept->keeper)->n, 0);
        assert_passed_over(kept, meter);
}

/* On which node it ran when nobody can tell. */
static void what_a_guest_that_moved_used_is_passed_over(void **state)
{
        struct kept *kept = *state;
        HN_METER struct hn_meter *meter = begin(kept);
        struct hn_guest *web = hn_keeper_guests(kept->keeper)->list[0];

        run_on_node_2(kept, meter);
        /* it runs on node 1 from now on, and did on node 2 up to now */
        hwloc_bitmap_zero(web->entry->placement->cells[0].cpus);
        hwloc_bitmap_set_range(web->entry->placement->cells[0].cpus, 2, 3);
        hwloc_bitmap_copy(web->entry->placement->emulator_cpus, web->entry->placement->cells[0].cpus);
        put_usage(kept, 120, 10);
        assert_passed_over(kept, meter);
}

static void memory_that_nobody_promised_is_not_counted(void **state)
{
        HN_METER struct hn_meter *meter = begin(*state);
        HN_READING struct hn_reading reading = { 0 };

        host_tree_put_meminfo(&((struct kept *) *state)->tree, 1, 7 * GIB, 2 * GIB, 0);
        host_tree_put_meminfo(&((struct kept *) *state)->tree, 2, 7 * GIB, 2 * GIB, 0);
        put_resident(*state, GIB, 3 * GIB);
        reading = read_at(*state, meter, 50);
        assert_int_equal(reading.host->nodes[1].free_kib, 2 * GIB);
        assert_int_equal(reading.host->nodes[2].free_kib, 3 * GIB);
        hn_reading_clear(&reading);
        /* one that does not tell holds it all */
        assert_int_equal(hn_root_remove(&((struct kept *) *state)->tree.root, "%s", GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat"),
                         0);
        reading = read_at(*state, meter, 60);
        assert_int_equal(reading.host->nodes[2].free_kib, 3 * GIB);
}

static void a_guest_tells_where_its_memory_is(void **state)
{
        struct kept *kept = *state;
        HN_METER struct hn_meter *meter = begin(kept);
        HN_READING struct hn_reading reading = { 0 };
        const struct hn_guest *web = hn_keeper_guests(kept->keeper)->list[0];
        HN_FREE uint64_t *kib = NULL;

        put_resident(kept, 3 * MIB, GIB);
        reading = read_at(kept, meter, 50);
        assert_int_equal(hn_meter_resident(web, reading.host, &kib), 0);
        assert_int_equal(kib[0], 0);
        assert_int_equal(kib[1], 3 * MIB);
        assert_int_equal(kib[2], GIB);
}

static void a_clock_that_stands_still_reads_nothing(void **state)
{
        struct kept *kept = *state;
        HN_METER struct hn_meter *meter = begin(kept);
        struct hn_reading reading = { 0 };

        pass_over(kept, meter, 50);
        assert_int_equal(hn_meter_read(meter, hn_keeper_guests(kept->keeper), 50 * S, &reading), -EAGAIN);
        assert_null(reading.host);
        assert_int_equal(hn_root_remove(&kept->tree.root, "/proc/stat"), 0);
        assert_int_equal(hn_meter_read(meter, hn_keeper_guests(kept->keeper), 60 * S, &reading), -ENOENT);
        assert_null(reading.host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(one_reading_tells_memory_and_no_load, kept_set_up, kept_tear_down),
                cmocka_unit_test_setup_teardown(what_guests_use_is_not_what_runs_besides, kept_set_up, kept_tear_down),
                cmocka_unit_test_setup_teardown(what_a_guest_that_went_used_is_passed_over, kept_set_up, kept_tear_down),
                cmocka_unit_test_setup_teardown(what_a_guest_that_moved_used_is_passed_over, kept_set_up, kept_tear_down),
                cmocka_unit_test_setup_teardown(memory_that_nobody_promised_is_not_counted, kept_set_up, kept_tear_down),
                cmocka_unit_test_setup_teardown(a_guest_tells_where_its_memory_is, kept_set_up, kept_tear_down),
                cmocka_unit_test_setup_teardown(a_clock_that_stands_still_reads_nothing, kept_set_up, kept_tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
