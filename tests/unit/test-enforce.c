/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/enforce.h"

#include "unit/support/guest.h"
#include "unit/support/scene.h"
#include "unit/support/test.h"

#define UNIT "machine-qemu\\x2d1\\x2dweb.scope"
#define THREADS GUEST_THREADS(UNIT)
#define DROPIN "/run/systemd/system/" UNIT ".d/50-homenode.conf"
#define BOOT_ID "0f3b1c2d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
#define PID 4242

static struct tree tree;
static struct hn_placement *placement; /* two vCPUs on CPUs 4-5 of node 1 */

static int setup(void **state)
{
        const struct guest_plan plan = { .unit = UNIT, .confined = "4-5", .all = "0-7", .nodes = "1" };
        (void) state;

        tree_make(&tree);
        tree_put(&tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(&tree, "/run/homenode/systemd-version", BOOT_ID " 252\n");
        tree_put(&tree, "/run/systemd/system/x.mount", "");
        guest_put_cgroups(&tree, &plan);
        guest_put_process(&tree, UNIT, "web", PID, 7);
        placement = hn_placement_new();
        assert_non_null(placement);
        placement->cells = calloc(1, sizeof *placement->cells);
        assert_non_null(placement->cells);
        placement->n_cells = 1;
        placement->cells[0] = (struct hn_placed_cell) { .vcpus = set_of("0-1"), .nodes = set_of("1"), .cpus = set_of("4-5") };
        hwloc_bitmap_copy(placement->emulator_cpus, placement->cells[0].cpus);
        hwloc_bitmap_set(placement->home, 1);
        hwloc_bitmap_set(placement->memory_nodes, 1);
        return 0;
}

static int teardown(void **state)
{
        (void) state;
        hn_placement_free(placement);
        tree_remove(&tree);
        return 0;
}

static struct hn_enforced enforced_of(const struct hn_request *request)
{
        return (struct hn_enforced) { .root = &tree.root, .request = request, .placement = placement, .unit = UNIT };
}

/* Two nodes with CPUs 0-3 and 4-7: what the XML binds to node 0 and pins to CPU 7 must be allowed besides. */
static void a_start_is_allowed_what_the_xml_asks_for(void **state)
{
        HN_HOST struct hn_host *host = host_of(&(struct host_plan) { 2, 4, 1, 0, 8 * GIB });
        HN_BITMAP hwloc_bitmap_t node = set_of("0"), pin = set_of("7");
        struct hn_request_cell cell = { .bound = node, .mode = HN_NUMA_STRICT };
        struct hn_request request = { .cells = &cell, .n_cells = 1, .emulator_pin = pin };
        struct hn_enforced enforced = enforced_of(&request);
        HN_FREE char *text = NULL;
        (void) state;

        assert_int_equal(hn_enforce_start(&enforced, host, 1000, &text), 0);
        assert_null(text);
        assert_true(tree_file_has(&tree, DROPIN, "\nAllowedCPUs=0-5,7\nAllowedMemoryNodes=0-1\n"));
}

static void a_start_goes_on_without_a_dropin(void **state)
{
        HN_HOST struct hn_host *host = host_of(&(struct host_plan) { 2, 4, 1, 0, 8 * GIB });
        struct hn_request request = { 0 };
        struct hn_enforced enforced = enforced_of(&request);
        HN_FREE char *old = NULL, *dumb = NULL, *none = NULL;
        (void) state;

        tree_put(&tree, "/run/homenode/systemd-version", BOOT_ID " 251\n");
        assert_int_equal(hn_enforce_start(&enforced, host, 1000, &old), -ENOTSUP);
        assert_string_equal(old, "no drop-in: systemd 251 is older than 252");
        assert_int_equal(hn_root_remove(&tree.root, "/run/homenode/systemd-version"), 0);
        assert_int_equal(hn_enforce_start(&enforced, host, 1000, &dumb), -ENXIO);
        assert_non_null(strstr(dumb, "no drop-in: systemd does not answer"));
        enforced.unit = NULL;
        assert_int_equal(hn_enforce_start(&enforced, host, 1000, &none), 0);
        assert_null(none);
        assert_false(hn_root_exists(&tree.root, DROPIN));
}

static void running_threads_take_the_cpus_over_from_the_scope(void **state)
{
        struct hn_request request = { 0 };
        struct hn_enforced enforced = enforced_of(&request);
        struct hn_confined confined = { 0 };
        HN_FREE char *text = NULL;
        (void) state;

        tree_put(&tree, DROPIN, "[Scope]\nAllowedCPUs=4-5\nAllowedMemoryNodes=1\n");
        assert_int_equal(hn_enforce_running(&enforced, PID, &confined, &text), 0);
        assert_int_equal(confined.threads, 3);
        assert_string_equal(text, "3 thread groups confined, 0 left to the user's pins");
        assert_list_file(&tree, THREADS "/vcpu1/cpuset.cpus", "4-5");
        assert_list_file(&tree, GUEST_SCOPE(UNIT) "/cpuset.cpus", "0-7");
        assert_false(tree_file_has(&tree, DROPIN, "AllowedCPUs"));
        assert_true(tree_file_has(&tree, DROPIN, "\nAllowedMemoryNodes=1\n"));
}

static void without_a_placement_only_the_scope_is_opened(void **state)
{
        struct hn_request request = { 0 };
        struct hn_enforced enforced = enforced_of(&request);
        HN_FREE char *text = NULL;
        (void) state;

        enforced.placement = NULL;
        assert_int_equal(hn_enforce_running(&enforced, PID, NULL, &text), 0);
        assert_null(text);
        assert_list_file(&tree, THREADS "/vcpu1/cpuset.cpus", "");
        assert_list_file(&tree, GUEST_SCOPE(UNIT) "/cpuset.cpus", "0-7");
        assert_false(hn_root_exists(&tree.root, DROPIN));
}

/* A drop-in that went on confining CPUs would do so again at the next daemon-reload. */
static void a_guest_without_cgroups_has_its_dropin_opened(void **state)
{
        struct hn_request request = { 0 };
        struct hn_enforced enforced = enforced_of(&request);
        HN_FREE char *text = NULL;
        (void) state;

        tree_put(&tree, DROPIN, "[Scope]\nAllowedCPUs=4-5\nAllowedMemoryNodes=1\n");
        assert_int_equal(hn_enforce_running(&enforced, PID + 1, NULL, &text), -ENOENT);
        assert_string_equal(text, "CPUs not confined: No such file or directory");
        assert_false(tree_file_has(&tree, DROPIN, "AllowedCPUs"));
}

static void tells_of_what_failed(void **state)
{
        struct hn_request request = { 0 };
        struct hn_enforced enforced = enforced_of(&request);
        struct hn_confined confined = { 0 };
        HN_FREE char *text = NULL;
        (void) state;

        assert_int_equal(hn_root_remove(&tree.root, THREADS "/vcpu0/cpuset.cpus"), 0);
        hwloc_bitmap_only(placement->memory_nodes, 0);
        assert_int_equal(hn_enforce_running(&enforced, PID, &confined, &text), -ENOENT);
        assert_int_equal(confined.failed, 1);
        assert_string_equal(text, "2 thread groups confined, 0 left to the user's pins; "
                                  "1 failed: No such file or directory; the scope's memory set is not the planned one");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_start_is_allowed_what_the_xml_asks_for),
                TEST(a_start_goes_on_without_a_dropin),
                TEST(running_threads_take_the_cpus_over_from_the_scope),
                TEST(without_a_placement_only_the_scope_is_opened),
                TEST(a_guest_without_cgroups_has_its_dropin_opened),
                TEST(tells_of_what_failed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
