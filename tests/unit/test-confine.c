/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/confine.h"

#include "unit/support/guest.h"
#include "unit/support/test.h"

#define WEB "machine-qemu\\x2d1\\x2dweb.scope"
#define SCOPE GUEST_SCOPE(WEB)
#define THREADS GUEST_THREADS(WEB)

/* A guest of two vCPUs and an iothread. */
static int setup(void **state)
{
        const struct guest_plan plan = { .unit = WEB, .confined = "4-5", .all = "0-7", .nodes = "2" };
        static struct tree tree;

        tree_make(&tree);
        guest_put_cgroups(&tree, &plan);
        guest_put_thread(&tree, &plan, "iothread1");
        *state = &tree;
        return 0;
}

static struct hn_placement *on_node_2(void)
{
        struct hn_placement *placement = hn_placement_new();

        assert_non_null(placement);
        placement->cells = calloc(1, sizeof *placement->cells);
        placement->n_cells = 1;
        placement->cells[0] = (struct hn_placed_cell) { .vcpus = set_of("0-1"), .nodes = set_of("2"), .cpus = set_of("4-5") };
        hwloc_bitmap_copy(placement->emulator_cpus, placement->cells[0].cpus);
        hwloc_bitmap_set(placement->home, 2);
        hwloc_bitmap_set(placement->memory_nodes, 2);
        return placement;
}

static const struct hn_guest_cgroup web = { .scope = (char *) SCOPE, .threads = (char *) THREADS, .by_systemd = true };

static void confines_threads_and_opens_the_scope(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = on_node_2();
        struct hn_request request = { 0 };
        struct hn_confined confined = { 0 };

        assert_int_equal(hn_confine(&((struct tree *) *state)->root, &web, placement, &request, &confined), 0);
        assert_int_equal(confined.threads, 4);
        assert_int_equal(confined.users, 0);
        assert_int_equal(confined.failed, 0);
        assert_true(confined.memory_in_force);
        assert_list_file(*state, THREADS "/vcpu0/cpuset.cpus", "4-5");
        assert_list_file(*state, THREADS "/emulator/cpuset.cpus", "4-5");
        assert_list_file(*state, THREADS "/iothread1/cpuset.cpus", "4-5");
        assert_list_file(*state, SCOPE "/cpuset.cpus", "0-7");
        assert_list_file(*state, THREADS "/cpuset.cpus", ""); /* libvirt's own level is never touched */
}

static void leaves_what_the_user_pinned(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = on_node_2();
        HN_BITMAP hwloc_bitmap_t pin = set_of("7");
        struct hn_pin vcpu = { .id = 1, .cpus = pin }, iothread = { .id = 1, .cpus = pin };
        struct hn_request request = { .vcpu_pins = &vcpu, .n_vcpu_pins = 1, .iothread_pins = &iothread,
                                      .n_iothread_pins = 1, .emulator_pin = pin };
        struct hn_confined confined = { 0 };

        assert_int_equal(hn_confine(&((struct tree *) *state)->root, &web, placement, &request, &confined), 0);
        assert_int_equal(confined.threads, 1);
        assert_int_equal(confined.users, 3);
        assert_list_file(*state, THREADS "/vcpu0/cpuset.cpus", "4-5");
        assert_list_file(*state, THREADS "/vcpu1/cpuset.cpus", "");
        assert_list_file(*state, THREADS "/emulator/cpuset.cpus", "");
        assert_list_file(*state, THREADS "/iothread1/cpuset.cpus", "");
}

static void a_cpuset_for_all_is_a_pin_of_all(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = on_node_2();
        HN_BITMAP hwloc_bitmap_t pin = set_of("6-7");
        struct hn_request request = { .vcpu_cpuset = pin };
        struct hn_confined confined = { 0 };

        assert_int_equal(hn_confine(&((struct tree *) *state)->root, &web, placement, &request, &confined), 0);
        assert_int_equal(confined.threads, 0);
        assert_int_equal(confined.users, 4);
}

static void goes_on_after_a_failure_and_says_so(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = on_node_2();
        struct hn_request request = { 0 };
        struct hn_confined confined = { 0 };
        struct tree *tree = *state;

        assert_int_equal(hn_root_remove(&tree->root, THREADS "/vcpu0/cpuset.cpus"), 0);
        hwloc_bitmap_only(placement->memory_nodes, 1);
        assert_int_equal(hn_confine(&tree->root, &web, placement, &request, &confined), 0);
        assert_int_equal(confined.threads, 3);
        assert_int_equal(confined.failed, 1);
        assert_int_equal(confined.error, -ENOENT);
        assert_false(confined.memory_in_force);
        assert_list_file(tree, THREADS "/vcpu1/cpuset.cpus", "4-5");
        assert_list_file(tree, SCOPE "/cpuset.cpus", "0-7");
}

/* As the drop-in has it: the placement's nodes, and those that the XML binds to; of them those that are to be had. */
static void memory_is_in_force_as_it_was_asked_for(void **state)
{
        static const struct { const char *above, *scope; bool in_force; } sets[] = {
                { "0-3\n", "1-2\n", true }, { "0-3\n", "2\n", false }, { "0-3\n", "0-3\n", false },
                { "2-3\n", "2\n", true }, { "3\n", "3\n", false },
        };
        HN_PLACEMENT struct hn_placement *placement = on_node_2();
        HN_BITMAP hwloc_bitmap_t bound = set_of("1");
        struct hn_request_cell cell = { .ours = bound };
        struct hn_request request = { .cells = &cell, .n_cells = 1 };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
                struct hn_confined confined = { 0 };

                tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", sets[i].above);
                tree_put(tree, SCOPE "/cpuset.mems.effective", sets[i].scope);
                assert_int_equal(hn_confine(&tree->root, &web, placement, &request, &confined), 0);
                assert_int_equal(confined.memory_in_force, sets[i].in_force);
        }
        hwloc_bitmap_zero(placement->memory_nodes);
        struct hn_confined confined = { 0 };
        assert_int_equal(hn_confine(&tree->root, &web, placement, &request, &confined), 0);
        assert_true(confined.memory_in_force); /* none was wanted */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(confines_threads_and_opens_the_scope),
                TEST(leaves_what_the_user_pinned),
                TEST(a_cpuset_for_all_is_a_pin_of_all),
                TEST(goes_on_after_a_failure_and_says_so),
                TEST(memory_is_in_force_as_it_was_asked_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
