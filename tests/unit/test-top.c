/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The figures of top, its order and its lines, for guests made by hand.
 */
#include "command/top.h"

#include "unit/support/entry.h"

#define KIB_PER_MIB 1024u
#define S 1000000u

static struct hn_resident resident_of(uint64_t node0_mib, uint64_t node1_mib, uint64_t node2_mib)
{
        struct hn_resident resident = { .node_kib = calloc(3, sizeof(uint64_t)), .n_nodes = 3 };

        assert_non_null(resident.node_kib);
        resident.node_kib[0] = node0_mib * KIB_PER_MIB;
        resident.node_kib[1] = node1_mib * KIB_PER_MIB;
        resident.node_kib[2] = node2_mib * KIB_PER_MIB;
        return resident;
}

static void add_usage(struct hn_guest_meter *meter, uint64_t now_us, uint64_t cpu_us, uint64_t wait_us)
{
        HN_USAGE struct hn_guest_usage usage = { .cpu_pressure_us = wait_us, .memory_pressure_us = HN_USAGE_UNKNOWN };

        usage.groups = calloc(3, sizeof *usage.groups);
        assert_non_null(usage.groups);
        usage.n_groups = 3;
        usage.groups[0] = (struct hn_usage_group) { .kind = HN_GROUP_EMULATOR, .cpu_us = cpu_us };
        for (unsigned i = 1; i < 3; i++)
                usage.groups[i] = (struct hn_usage_group) {
                        .kind = HN_GROUP_VCPU, .number = i - 1, .cpu_us = cpu_us, .wait_us = wait_us,
                };
        assert_int_equal(hn_guest_meter_add(meter, &usage, now_us, 1), 0);
}

static void put_home(struct hn_placement *placement, const char *list)
{
        HN_BITMAP hwloc_bitmap_t set = set_of(list);

        assert_int_equal(hwloc_bitmap_copy(placement->home, set), 0);
}

/* A move from one home to another. */
static struct hn_moving *moving_between(const char *from, const char *to)
{
        struct hn_moving *moving = calloc(1, sizeof *moving);

        assert_non_null(moving);
        moving->from = hn_placement_new();
        moving->to = hn_placement_new();
        assert_non_null(moving->from);
        assert_non_null(moving->to);
        put_home(moving->from, from);
        put_home(moving->to, to);
        return moving;
}

static void tells_what_a_guest_used_and_waited(void **state)
{
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        HN_RESIDENT struct hn_resident resident = resident_of(100, 0, 300);
        HN_GUEST_METER struct hn_guest_meter meter = { 0 };
        struct hn_guest_status guest = {
                .state = HN_GUEST_RUNNING, .name = entry->placement->name, .entry = entry, .resident = resident, .read_us = 1,
        };
        struct hn_top_row row;
        (void) state;

        add_usage(&meter, 1 * S, 0, 0);
        hn_top_row(&guest, &meter, &row);
        assert_true(row.used < 0 && row.ready < 0 && row.cpu_pressure < 0);
        /* in two seconds each of three threads ran for one, and two waited for half a second */
        add_usage(&meter, 3 * S, 1 * S, S / 2);
        hn_top_row(&guest, &meter, &row);
        assert_float_equal(row.used, 150, 1e-9);
        assert_float_equal(row.ready, 50, 1e-9);
        assert_float_equal(row.cpu_pressure, 25, 1e-9);
        assert_true(row.memory_pressure < 0);
        assert_int_equal(row.vcpus, 2);
        /* at home, on node 2, is 300 MiB of 400 */
        assert_int_equal(row.local_kib, 300 * KIB_PER_MIB);
        assert_int_equal(row.remote_kib, 100 * KIB_PER_MIB);
        assert_float_equal(row.local_percent, 75, 1e-9);
        assert_string_equal(row.state, "placed");
        /* the interval before does not count */
        add_usage(&meter, 4 * S, 1 * S, S / 2);
        hn_top_row(&guest, &meter, &row);
        assert_float_equal(row.used, 0, 1e-9);
}

static void says_what_is_not_known(void **state)
{
        struct hn_guest_status guest = { .state = HN_GUEST_NOT_KNOWN, .name = (char[]) { "web" } };
        struct hn_guest_meter meter = { 0 };
        struct hn_top_row row;
        (void) state;

        hn_top_row(&guest, &meter, &row);
        for (enum hn_top_column c = HN_TOP_PRIORITY; c < HN_TOP_COLUMNS; c++) {
                HN_FREE char *cell = hn_top_cell(&row, c);

                assert_string_equal(cell, "-");
        }
        assert_string_equal(row.state, "not known");
}

static void assert_moved(const char *from, const char *to, struct hn_resident resident, double percent)
{
        HN_MOVING struct hn_moving *moving = moving_between(from, to);

        assert_float_equal(hn_top_moved_percent(moving, &resident), percent, 1e-9);
        hn_resident_clear(&resident);
}

static void tells_how_far_a_move_is(void **state)
{
        (void) state;
        assert_moved("0", "1", resident_of(300, 100, 0), 25);
        /* what is on neither is not of the move */
        assert_moved("0", "1", resident_of(300, 100, 5000), 25);
        /* two cells, one step up each: node 1 is left and gained alike */
        assert_moved("0-1", "1-2", resident_of(100, 100, 300), 75);
        /* only its memory moves; without a home it may have been anywhere */
        assert_moved("1", "1", resident_of(10, 80, 10), 80);
        assert_moved("", "1", resident_of(10, 80, 10), 80);
        /* can't be told: nothing there, no node that is left, none that is gained */
        assert_moved("0", "1", resident_of(0, 0, 0), -1);
        assert_moved("0", "0-1", resident_of(100, 100, 0), -1);
        assert_moved("0-1", "0", resident_of(100, 100, 0), -1);
}

static void names_states(void **state)
{
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        HN_RESIDENT struct hn_resident resident = resident_of(570, 430, 0);
        struct hn_guest_status guest = { .state = HN_GUEST_RUNNING, .name = entry->placement->name, .entry = entry };
        struct hn_guest_meter meter = { 0 };
        struct hn_top_row row;
        (void) state;

        entry->moving = moving_between("0", "1");
        hn_top_row(&guest, &meter, &row);
        assert_string_equal(row.state, "moving");
        guest.resident = resident;
        guest.read_us = 1;
        hn_top_row(&guest, &meter, &row);
        assert_string_equal(row.state, "moving 43%");
        HN_FREE char *home = hn_top_cell(&row, HN_TOP_HOME);
        assert_string_equal(home, "0>1");
        entry->moving->back = true;
        hn_top_row(&guest, &meter, &row);
        assert_string_equal(row.state, "moving back 43%");
        hn_moving_free(HN_TAKE(entry->moving));

        guest.state = HN_GUEST_COUNTED;
        entry->managed = false;
        hn_top_row(&guest, &meter, &row);
        assert_string_equal(row.state, "left to libvirt");
        static const struct { const char *reason, *state; } reasons[] = {
                { HN_REASON_OPTED_OUT, "opted out" }, { HN_REASON_GIVEN_BACK, "given back" },
                { "left to libvirt: it is opted out (placement=\"off\")", "opted out" },
                { "left to libvirt: no room", "left to libvirt" },
        };
        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
                free(entry->reason);
                entry->reason = strdup(reasons[i].reason);
                hn_top_row(&guest, &meter, &row);
                assert_string_equal(row.state, reasons[i].state);
        }
}

/* ---- order */

static const struct hn_guest_status named[] = {
        { .name = (char[]) { "a" } }, { .name = (char[]) { "b" } }, { .name = (char[]) { "c" } }, { .name = (char[]) { "d" } },
};

/* Rows a to d with these figures of %USED; sorts them and reads their names. */
static void assert_order(const struct hn_top_sort *sort, const double used[4], const char *names)
{
        struct hn_top_row rows[4] = { 0 };
        char order[5] = "";

        for (size_t i = 0; i < 4; i++)
                rows[i] = (struct hn_top_row) { .guest = &named[i], .used = used[i], .local_percent = used[i] };
        hn_top_order(rows, 4, sort);
        for (size_t i = 0; i < 4; i++)
                order[i] = *rows[i].guest->name;
        assert_string_equal(order, names);
}

static void sorts_with_the_unknown_last(void **state)
{
        const double used[4] = { 10, -1, 30, 10 };
        (void) state;

        assert_order(&(struct hn_top_sort) { .by = HN_TOP_USED }, used, "cadb");
        assert_order(&(struct hn_top_sort) { .by = HN_TOP_USED, .reversed = true }, used, "adcb");
        /* little at home is what is looked for */
        assert_order(&(struct hn_top_sort) { .by = HN_TOP_LOCALITY }, used, "adcb");
        assert_order(&(struct hn_top_sort) { .by = HN_TOP_GUEST }, used, "abcd");
        assert_order(&(struct hn_top_sort) { .by = HN_TOP_GUEST, .reversed = true }, used, "dcba");
        hn_top_order(NULL, 0, &(struct hn_top_sort) { .by = HN_TOP_USED });
}

static void finds_columns_by_name_and_key(void **state)
{
        (void) state;
        assert_int_equal(hn_top_column_named("%USED"), HN_TOP_USED);
        assert_int_equal(hn_top_column_named("used"), HN_TOP_USED);
        assert_int_equal(hn_top_column_named("n%l"), HN_TOP_LOCALITY);
        assert_int_equal(hn_top_column_named("nrmem"), HN_TOP_REMOTE);
        assert_int_equal(hn_top_column_named("cpu-pressure"), HN_TOP_CPU_PRESSURE);
        assert_int_equal(hn_top_column_named(""), HN_TOP_COLUMNS);
        assert_int_equal(hn_top_column_named("use"), HN_TOP_COLUMNS);
        assert_int_equal(hn_top_column_of_key('R'), HN_TOP_READY);
        assert_int_equal(hn_top_column_of_key('z'), HN_TOP_COLUMNS);
        assert_int_equal(hn_top_column_of_key(0), HN_TOP_COLUMNS);
}

/* ---- lines */

/* Two guests on a host that can't be read. */
static void make_top(struct hn_top *top, struct hn_entry *entry)
{
        top->status.guests = calloc(2, sizeof *top->status.guests);
        top->known = calloc(2, sizeof *top->known);
        assert_non_null(top->status.guests);
        assert_non_null(top->known);
        top->status.n_guests = 2;
        top->status.guests[0] = (struct hn_guest_status) {
                .state = HN_GUEST_RUNNING, .name = strdup("accounting-database"), .entry = entry,
                .resident = resident_of(1, 0, 2047), .read_us = 1,
        };
        top->status.guests[1] = (struct hn_guest_status) { .state = HN_GUEST_NOT_PLACED, .name = strdup("web\033[2J") };
        top->status.faults = strdup("one fault\nanother");
        add_usage(&top->known[0].meter, 1 * S, 0, 0);
        add_usage(&top->known[0].meter, 2 * S, S / 2, 0);
}

static void assert_page(const struct hn_top *top, unsigned width, const char *titles, const char *first, const char *second)
{
        HN_TOP_PAGE struct hn_top_page page = { 0 };

        assert_int_equal(hn_top_page(top, &(struct hn_top_sort) { .by = HN_TOP_USED }, "banner", width, &page), 0);
        assert_int_equal(page.n_head, 5);
        assert_int_equal(page.n_body, 2);
        assert_string_equal(page.head[0], "banner");
        assert_string_equal(page.head[1], "one fault");
        assert_string_equal(page.head[2], "another");
        assert_string_equal(page.head[3], "");
        assert_string_equal(page.head[4], titles);
        assert_string_equal(page.body[0], first);
        assert_string_equal(page.body[1], second);
}

static void makes_pages_that_fit(void **state)
{
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "accounting-database");
        HN_TOP struct hn_top top = { 0 };
        (void) state;

        make_top(&top, entry);
        assert_page(&top, HN_TOP_WIDE,
                    "GUEST                STATE       PRIO    VCPU   %USED   %RDY  %PCPU  %PMEM   %PIO  NHN   NMIG   NRMEM   NLMEM    N%L",
                    "accounting-database  placed      normal     2   150.0    0.0    0.0      -    0.0  2        0       1    2047   99.9",
                    "web\\x1b[2J           not placed  -          -       -      -      -      -      -  -        -       -       -      -");
        /* what stays is as wide as 19 + 4 + 5 + 6 + 5 columns with two blanks between: 47; one less cuts the name */
        assert_page(&top, 47, "GUEST                 %USED   %RDY  NHN     N%L",
                    "accounting-database   150.0    0.0  2      99.9", "web\\x1b[2J                -      -  -         -");
        assert_page(&top, 46, "GUEST                %USED   %RDY  NHN     N%L",
                    "accounting-databa+   150.0    0.0  2      99.9", "web\\x1b[2J               -      -  -         -");
        assert_page(&top, 12, "GUEST", "accounting-+", "web\\x1b[2J");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tells_what_a_guest_used_and_waited),
                cmocka_unit_test(says_what_is_not_known),
                cmocka_unit_test(tells_how_far_a_move_is),
                cmocka_unit_test(names_states),
                cmocka_unit_test(sorts_with_the_unknown_last),
                cmocka_unit_test(finds_columns_by_name_and_key),
                cmocka_unit_test(makes_pages_that_fit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
