/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a guest's cgroups say that it has used, on fabricated trees.
 */
#include "model/usage.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define SCOPE "/sys/fs/cgroup/machine.slice/web.scope"
#define THREADS SCOPE "/libvirt"

static void put_group(struct tree *tree, const char *name, const char *cpu_us, const char *tids, const char *pressure)
{
        char path[256], text[128];

        (void) snprintf(path, sizeof path, THREADS "/%s/cpu.stat", name);
        (void) snprintf(text, sizeof text, "usage_usec %s\nuser_usec 1\nsystem_usec 2\n", cpu_us);
        tree_put(tree, path, text);
        (void) snprintf(path, sizeof path, THREADS "/%s/cgroup.threads", name);
        tree_put(tree, path, tids);
        if (!pressure)
                return;
        (void) snprintf(path, sizeof path, THREADS "/%s/cpu.pressure", name);
        (void) snprintf(text, sizeof text, "some avg10=0.10 avg60=0.00 avg300=0.00 total=%s\n"
                        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", pressure);
        tree_put(tree, path, text);
}

static void put_guest(struct tree *tree)
{
        put_group(tree, "vcpu10", "3000", "110\n", "5");
        put_group(tree, "vcpu2", "2000", "102\n", "4");
        put_group(tree, "emulator", "1000", "100\n101\n", "3");
        put_group(tree, "iothread1", "4000", "120\n", NULL);
        tree_put(tree, "/proc/100/schedstat", "999 1000000 12\n");
        tree_put(tree, "/proc/101/schedstat", "999 2000000 12\n");
        tree_put(tree, "/proc/102/schedstat", "999 5000999 12\n");
        tree_put(tree, "/proc/110/schedstat", "0 0 0\n");
        tree_put(tree, THREADS "/cpu.stat", "usage_usec 99\n");
        tree_put(tree, SCOPE "/memory.numa_stat", "anon N0=4096 N2=8192\nfile N0=1 N2=1\nshmem N0=0 N2=4096\n");
        tree_put(tree, SCOPE "/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456789\n");
        tree_put(tree, SCOPE "/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull total=1\n");
}

static void all_groups_are_read(void **state)
{
        HN_USAGE struct hn_guest_usage usage = { 0 };
        struct tree *tree = *state;

        put_guest(tree);
        assert_int_equal(hn_usage_read(&tree->root, SCOPE, THREADS, 0, &usage), 0);
        assert_int_equal(usage.n_groups, 4);
        assert_int_equal(usage.groups[0].kind, HN_GROUP_EMULATOR);
        assert_int_equal(usage.groups[0].cpu_us, 1000);
        assert_int_equal(usage.groups[0].wait_us, 3000);
        assert_int_equal(usage.groups[0].pressure_us, 3);
        assert_int_equal(usage.groups[1].number, 2);
        assert_int_equal(usage.groups[1].wait_us, 5000);
        assert_int_equal(usage.groups[2].number, 10);
        assert_int_equal(usage.groups[2].cpu_us, 3000);
        assert_int_equal(usage.groups[2].wait_us, 0);
        assert_int_equal(usage.groups[3].kind, HN_GROUP_IOTHREAD);
        assert_int_equal(usage.groups[3].cpu_us, 4000);
        assert_int_equal(usage.cpu_pressure_us, 123456789);
        assert_int_equal(usage.memory_pressure_us, 0);
        assert_true(usage.has_resident);
        assert_int_equal(hn_resident_kib(&usage.resident, 2), 12);
}

static void what_the_kernel_does_not_tell_is_unknown(void **state)
{
        HN_USAGE struct hn_guest_usage usage = { 0 };
        struct tree *tree = *state;

        put_group(tree, "vcpu0", "5", "7\n", NULL);
        assert_int_equal(hn_usage_read(&tree->root, SCOPE, THREADS, 0, &usage), 0);
        assert_int_equal(usage.n_groups, 1);
        assert_true(usage.groups[0].wait_us == HN_USAGE_UNKNOWN);
        assert_true(usage.groups[0].pressure_us == HN_USAGE_UNKNOWN);
        assert_true(usage.cpu_pressure_us == HN_USAGE_UNKNOWN);
        assert_true(usage.io_pressure_us == HN_USAGE_UNKNOWN);
        assert_false(usage.has_resident);
}

static void huge_pages_count_or_nothing_does(void **state)
{
        struct tree *tree = *state;
        HN_USAGE struct hn_guest_usage usage = { 0 }, told = { 0 };

        put_guest(tree);
        assert_int_equal(hn_usage_read(&tree->root, SCOPE, THREADS, 2048, &usage), 0);
        assert_false(usage.has_resident);
        tree_put(tree, SCOPE "/hugetlb.2MB.numa_stat", "total=4194304 N0=0 N2=4194304\n");
        assert_int_equal(hn_usage_read(&tree->root, SCOPE, THREADS, 2048, &told), 0);
        assert_true(told.has_resident);
        assert_int_equal(hn_resident_kib(&told.resident, 2), 12 + 4096);
}

static void odd_files_are_passed_over(void **state)
{
        static const char *const pressures[] = { "", "some", "some total=", "some total=x", "full total=3",
                                                 "some avg10=0\nfull total=3", "some total=99999999999999999999" };
        HN_USAGE struct hn_guest_usage usage = { 0 };
        struct tree *tree = *state;

        put_group(tree, "vcpu0", "", "1\n", "1");
        put_group(tree, "vcpu1", "-5", "1\n", "1");
        put_group(tree, "vcpu2", "99999999999999999999", "1\n", "1");
        put_group(tree, "vcpu3", "5", "../1\nx\n\n2\n", "1");
        tree_put(tree, "/proc/1/schedstat", "1 2000 3\n");
        tree_put(tree, "/proc/2/schedstat", "1\n");
        tree_put(tree, THREADS "/vcpu4/other", "");
        assert_int_equal(hn_usage_read(&tree->root, SCOPE, THREADS, 0, &usage), 0);
        assert_int_equal(usage.n_groups, 1);
        assert_int_equal(usage.groups[0].number, 3);
        assert_true(usage.groups[0].wait_us == HN_USAGE_UNKNOWN);
        for (size_t i = 0; i < sizeof pressures / sizeof *pressures; i++) {
                tree_put(tree, SCOPE "/cpu.pressure", pressures[i]);
                assert_true(hn_pressure_us(&tree->root, SCOPE, "cpu.pressure") == HN_USAGE_UNKNOWN);
        }
}

static void a_guest_that_is_gone_is_told_so(void **state)
{
        struct hn_guest_usage usage;
        struct tree *tree = *state;

        assert_int_equal(hn_usage_read(&tree->root, SCOPE, THREADS, 0, &usage), -ENOENT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(all_groups_are_read, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(what_the_kernel_does_not_tell_is_unknown, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(huge_pages_count_or_nothing_does, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(odd_files_are_passed_over, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(a_guest_that_is_gone_is_told_so, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
