/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Giving back a guest of a recorded tree: which files say what afterwards.
 */
#include "act/undo.h"

#include "act/scope.h"
#include "act/unit.h"
#include "unit/support/guest.h"
#include "unit/support/test.h"
#include "unit/support/xml.h"

#define UNIT "machine-qemu\\x2d7\\x2dweb.scope"
#define THREADS GUEST_THREADS(UNIT)
#define PID 4242

static const struct guest_plan web = { .unit = UNIT, .confined = "4-5", .all = "0-7", .nodes = "2" };

/* All groups confined to CPUs 4-5, the memory to node 2. */
static int setup(void **state)
{
        static struct tree tree;

        tree_make(&tree);
        guest_put_cgroups(&tree, &web);
        guest_put_process(&tree, UNIT, "web", PID, 99);
        tree_put(&tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", "0-3\n");
        tree_put(&tree, THREADS "/emulator/cpuset.cpus", "4-5\n");
        tree_put(&tree, THREADS "/vcpu0/cpuset.cpus", "4-5\n");
        tree_put(&tree, THREADS "/vcpu1/cpuset.cpus", "4-5\n");
        *state = &tree;
        return 0;
}

static int teardown(void **state)
{
        tree_remove(*state);
        return 0;
}

/* The kernel computes what is in force; here it is said beforehand. */
static void put_effective(struct tree *tree, const char *group, const char *list)
{
        char path[256];

        (void) snprintf(path, sizeof path, THREADS "/%s/cpuset.cpus.effective", group);
        tree_put(tree, path, list);
}

static struct hn_undone undo(struct tree *tree, const char *elements)
{
        HN_REQUEST struct hn_request *request = request_of(elements);
        HN_SYSTEMD struct hn_systemd *systemd = NULL;
        struct hn_undone undone = { 0 };

        assert_int_equal(hn_systemd_new(&tree->root, NULL, &systemd), 0);
        const struct hn_unit_setter setter = { .set = hn_unit_set, .systemd = systemd };
        assert_int_equal(hn_undo_running(&tree->files, &setter, request, PID, &undone), 0);
        return undone;
}

static void every_set_is_open_then(void **state)
{
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t nodes = set_of("2");

        put_effective(tree, "emulator", "0-7\n");
        put_effective(tree, "vcpu0", "0-7\n");
        put_effective(tree, "vcpu1", "0-7\n");
        assert_int_equal(hn_dropin_write(&tree->root, UNIT, NULL, nodes), 0);
        struct hn_undone undone = undo(tree, "<memory>1048576</memory><vcpu>2</vcpu>");
        assert_int_equal(undone.failed, 0);
        assert_false(undone.memory_stays);
        assert_list_file(tree, THREADS "/emulator/cpuset.cpus", "0-7");
        assert_list_file(tree, THREADS "/vcpu0/cpuset.cpus", "0-7");
        assert_list_file(tree, THREADS "/vcpu1/cpuset.cpus", "0-7");
        assert_list_file(tree, THREADS "/cpuset.cpus", ""); /* libvirt's own level */
        assert_true(tree_file_has(tree, HN_UNITS_FILE, UNIT " AllowedCPUs=0-7 AllowedMemoryNodes=0-3\n"));
        assert_false(hn_dropin_exists(&tree->root, UNIT));
}

static void users_pins_stay_and_failures_stop_nothing(void **state)
{
        struct tree *tree = *state;

        put_effective(tree, "vcpu1", "0-7\n");
        assert_int_equal(hn_root_remove(&tree->root, THREADS "/vcpu0/cpuset.cpus"), 0);
        struct hn_undone undone = undo(tree, "<memory>1048576</memory><vcpu>2</vcpu>"
                                             "<cputune><emulatorpin cpuset='4-5'/></cputune>");
        assert_int_equal(undone.users, 1);
        assert_int_equal(undone.failed, 1);
        assert_int_equal(undone.error, -ENOENT);
        assert_list_file(tree, THREADS "/emulator/cpuset.cpus", "4-5");
        assert_list_file(tree, THREADS "/vcpu1/cpuset.cpus", "0-7");
}

static void cells_that_are_bound_keep_their_memory_set(void **state)
{
        struct tree *tree = *state;

        struct hn_undone undone = undo(tree, "<memory>1048576</memory><vcpu>2</vcpu>"
                                             "<cpu><numa><cell id='0' cpus='0-1' memory='1048576'/></numa></cpu>"
                                             "<numatune><memnode cellid='0' mode='strict' nodeset='2'/></numatune>");
        assert_true(undone.memory_stays);
        assert_true(tree_file_has(tree, HN_UNITS_FILE, UNIT " AllowedCPUs=0-7 AllowedMemoryNodes=2\n"));
}

static void a_guest_that_is_gone_is_told(void **state)
{
        struct tree *tree = *state;
        HN_REQUEST struct hn_request *request = request_of("<memory>1048576</memory><vcpu>2</vcpu>");
        HN_SYSTEMD struct hn_systemd *systemd = NULL;
        struct hn_undone undone = { 0 };

        assert_int_equal(hn_systemd_new(&tree->root, NULL, &systemd), 0);
        const struct hn_unit_setter setter = { .set = hn_unit_set, .systemd = systemd };
        assert_int_equal(hn_undo_running(&tree->files, &setter, request, PID + 1, &undone), -ENOENT);
        assert_false(hn_root_exists(&tree->root, HN_UNITS_FILE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(every_set_is_open_then),
                TEST(users_pins_stay_and_failures_stop_nothing),
                TEST(cells_that_are_bound_keep_their_memory_set),
                TEST(a_guest_that_is_gone_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
