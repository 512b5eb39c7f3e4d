/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Readings of top, one after the other, of a tree that changes between.
 */
#include "command/top.h"

#include "store/published.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define SLICE "/sys/fs/cgroup/machine.slice/"
#define WEB SLICE "machine-qemu\\x2d7\\x2dweb.scope"
#define NEW SLICE "machine-qemu\\x2d9\\x2dmyvm.scope"
#define RECORD(name) "<domstatus state='running' reason='booted' pid='4712'><domain type='kvm' id='9'><name>" name \
        "</name><uuid>0a1b2c3d-4e5f-4a6b-8c7d-00000000000b</uuid><memory>1048576</memory><vcpu>1</vcpu><os>" \
        "<type>hvm</type></os></domain></domstatus>"

static void put_cpu(struct tree *tree, unsigned cpu_us, unsigned wait_ms)
{
        char text[64];

        (void) snprintf(text, sizeof text, "usage_usec %u\n", cpu_us);
        tree_put(tree, WEB "/libvirt/vcpu0/cpu.stat", text);
        (void) snprintf(text, sizeof text, "1 %u000000 7\n", wait_ms);
        tree_put(tree, "/proc/5000/schedstat", text);
}

static int set_up(void **state)
{
        struct tree *tree;
        int r = host_tree_setup(state);

        tree = *state;
        tree_put(tree, WEB "/memory.numa_stat", "anon N0=4194304 N1=0\n");
        tree_put(tree, WEB "/libvirt/emulator/cpu.stat", "usage_usec 5\n");
        tree_put(tree, WEB "/libvirt/vcpu0/cgroup.threads", "5000\n");
        put_cpu(tree, 1000, 0);
        return r;
}

static const struct hn_top_known *known_of(const struct hn_top *top, const char *name)
{
        for (size_t i = 0; i < top->status.n_guests; i++)
                if (strcmp(top->status.guests[i].name, name) == 0)
                        return &top->known[i];
        fail_msg("no guest %s", name);
        return NULL;
}

static void meters_from_reading_to_reading(void **state)
{
        struct tree *tree = *state;
        HN_TOP struct hn_top top = { .root = &tree->root };

        assert_int_equal(hn_top_read(&top), 0);
        assert_int_equal(top.status.n_guests, 1);
        assert_int_equal(known_of(&top, "web")->meter.run.n, 0);
        assert_int_equal(top.status.load_interval_ms, 0);
        assert_int_equal(hn_resident_kib(&top.status.guests[0].resident, 0), 4096);
        /* 8 ms of CPU and 2 ms of waiting: a quarter, however long that was ago */
        put_cpu(tree, 9000, 2);
        assert_int_equal(hn_top_read(&top), 0);
        const struct hn_guest_meter *meter = &known_of(&top, "web")->meter;
        assert_true(meter->run.level > 0);
        assert_float_equal(meter->wait.level / meter->run.level, 0.25, 1e-9);
        /* it does nothing any more */
        assert_int_equal(hn_top_read(&top), 0);
        assert_float_equal(known_of(&top, "web")->meter.run.level, 0, 1e-9);
}

static void takes_guests_that_come_and_go(void **state)
{
        struct tree *tree = *state;
        HN_TOP struct hn_top top = { .root = &tree->root };

        assert_int_equal(hn_top_read(&top), 0);
        tree_put(tree, NEW "/memory.numa_stat", "anon N0=4194304 N1=0\n"); /* no threads yet */
        tree_put(tree, "/run/libvirt/qemu/my_vm.xml", RECORD("my_vm"));
        put_cpu(tree, 2000, 0);
        assert_int_equal(hn_top_read(&top), 0);
        assert_int_equal(top.status.n_guests, 2);
        assert_int_equal(known_of(&top, "my_vm")->meter.run.n, 0);
        assert_true(known_of(&top, "web")->meter.run.level > 0);
        /* its record is not read again, and its threads are found when they are there */
        tree_put(tree, "/run/libvirt/qemu/my_vm.xml", RECORD("other"));
        tree_put(tree, NEW "/libvirt/emulator/cpu.stat", "usage_usec 5\n");
        assert_int_equal(hn_top_read(&top), 0);
        assert_int_equal(hn_top_read(&top), 0);
        assert_int_equal(known_of(&top, "my_vm")->meter.run.n, 1);
        /* groups that go while it is looked at */
        assert_int_equal(hn_root_remove(&tree->root, NEW "/libvirt/emulator/cpu.stat"), 0);
        assert_int_equal(hn_root_remove(&tree->root, NEW "/libvirt/emulator"), 0);
        assert_int_equal(hn_root_remove(&tree->root, NEW "/libvirt"), 0);
        assert_int_equal(hn_top_read(&top), 0);
        assert_int_equal(known_of(&top, "my_vm")->meter.run.n, 0);
        assert_int_equal(hn_root_remove(&tree->root, NEW "/memory.numa_stat"), 0);
        assert_int_equal(hn_root_remove(&tree->root, NEW), 0);
        assert_int_equal(hn_top_read(&top), 0);
        assert_int_equal(top.status.n_guests, 1);
}

static void tells_how_busy_nodes_were(void **state)
{
        struct tree *tree = *state;
        HN_TOP struct hn_top top = { .root = &tree->root };

        /* CPUs 0-1 and 4-5 are node 0's; the second half of them was busy all the time */
        tree_put(tree, "/proc/stat", "cpu 0\ncpu0 0 0 0 100\ncpu1 0 0 0 100\ncpu4 0 0 0 100\ncpu5 0 0 0 100\n");
        assert_int_equal(hn_top_read(&top), 0);
        assert_true(top.status.nodes[0].busy_cpus < 0);
        tree_put(tree, "/proc/stat", "cpu 0\ncpu0 0 0 0 200\ncpu1 0 0 0 200\ncpu4 100 0 0 100\ncpu5 100 0 0 100\n");
        assert_int_equal(hn_top_read(&top), 0);
        assert_float_equal(top.status.nodes[0].busy_cpus, 2, 1e-9);
        assert_true(top.status.nodes[1].busy_cpus < 0);
        assert_int_equal(hn_root_remove(&tree->root, "/proc/stat"), 0);
        assert_int_equal(hn_top_read(&top), 0);
        assert_non_null(strstr(top.status.faults, "load of nodes is not known"));
}

static void sees_whether_the_daemon_lives(void **state)
{
        struct tree *tree = *state;
        HN_TOP struct hn_top top = { .root = &tree->root };
        HN_CLOSE int held = -1;

        assert_int_equal(hn_top_read(&top), 0);
        assert_true(top.daemon_told && !top.daemon_lives);
        tree_put(tree, HN_PUBLISHED_PATH, "{}\n");
        assert_int_equal(hn_top_read(&top), 0);
        assert_true(top.daemon_told && !top.daemon_lives);
        held = hn_published_hold(&tree->root);
        assert_true(held >= 0);
        assert_int_equal(hn_top_read(&top), 0);
        assert_true(top.daemon_told && top.daemon_lives);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(meters_from_reading_to_reading, set_up, tree_teardown),
                cmocka_unit_test_setup_teardown(takes_guests_that_come_and_go, set_up, tree_teardown),
                cmocka_unit_test_setup_teardown(tells_how_busy_nodes_were, set_up, tree_teardown),
                cmocka_unit_test_setup_teardown(sees_whether_the_daemon_lives, set_up, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
