/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libcgroup itself, on a tree that it is told is mounted: what it finds in the list of mounts is ours, the files are
 * plain ones.  A plain file keeps the end of a longer value when libcgroup writes a shorter one over it, which is how a
 * write that came to something else is made here.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "act/cpuset.h"
#include "model/text.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define VCPU "/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt/vcpu0"

static struct tree tree;
static struct hn_cgroup_io io;
static unsigned mounts_read;

/* libcgroup's calls of the C library come here.  2.0.2 reads /proc/mounts, 3.1 /proc/self/mounts. */
FILE *fopen(const char *path, const char *mode)
{
        bool ours = tree.root.fd > 0 && (strcmp(path, "/proc/mounts") == 0 || strcmp(path, "/proc/self/mounts") == 0);
        HN_FREE char *mounts = ours ? hn_text_print("%s/proc/mounts", tree.path) : NULL;
        int fd = open(mounts ? mounts : path, O_CLOEXEC | O_RDONLY);

        assert_int_equal(*mode, 'r');
        mounts_read += ours;
        return fd < 0 ? NULL : fdopen(fd, "r");
}

/* A path of the tree as it is on this host. */
static const char *here(const char *path)
{
        static char text[2][512];
        static unsigned turn;

        turn = !turn;
        (void) snprintf(text[turn], sizeof text[turn], "%s" HN_CGROUP_MOUNT "%s", tree.path, path);
        return text[turn];
}

static void put_mounts(const char *controllers)
{
        HN_FREE char *mounts = hn_text_print("proc /proc proc rw 0 0\ncgroup2 %s cgroup2 rw 0 0\n", here(""));

        assert_non_null(mounts);
        tree_put(&tree, "/proc/mounts", mounts);
        tree_put(&tree, HN_CGROUP_MOUNT "/cgroup.controllers", controllers);
}

static int set_up(void **state)
{
        static struct hn_root host;
        (void) state;

        tree_make(&tree);
        put_mounts("cpuset cpu io memory pids\n");
        tree_put(&tree, HN_CGROUP_MOUNT VCPU "/cpuset.cpus", "0\n");
        tree_put(&tree, HN_CGROUP_MOUNT VCPU "/cpuset.mems", "1\n");
        assert_int_equal(hn_root_open("/", &host), 0);
        io = hn_cgroup_files(&host);
        assert_int_equal(hn_cgroup_use_library(&io), 0);
        assert_ptr_not_equal(io.write, hn_cgroup_files(&host).write);
        return mounts_read ? 0 : -1; /* or it was this host's cgroups that libcgroup looked at */
}

static int tear_down(void **state)
{
        struct hn_root host = *io.root;
        (void) state;

        hn_root_close(&host);
        tree_remove(&tree);
        tree.root.fd = -1;
        return 0;
}

static void assert_file(const char *name, const char *expected)
{
        HN_FREE char *text = NULL;

        assert_int_equal(hn_root_read(&tree.root, 65536, &text, NULL, HN_CGROUP_MOUNT VCPU "/%s", name), 0);
        assert_string_equal(text, expected);
}

static void makes_old(const char *name)
{
        const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        HN_FREE char *path = hn_text_print("%s/%s", here(VCPU), name);

        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
}

static bool was_written(const char *name)
{
        HN_FREE char *path = hn_text_print("%s/%s", here(VCPU), name);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return st.st_mtim.tv_sec != 1000;
}

static void says_where_the_controller_is(void **state)
{
        HN_FREE char *mount = NULL, *none = NULL;
        (void) state;

        assert_int_equal(io.where(&io, &mount), 0);
        assert_string_equal(mount, here(""));
        put_mounts("cpu io memory pids\n");
        assert_int_equal(hn_cgroup_use_library(&io), 0);
        assert_int_equal(io.where(&io, &none), -ENOENT);
        assert_null(none);
}

static void reads_a_value(void **state)
{
        HN_FREE char *text = NULL, *empty = NULL, *none = NULL, *elsewhere = NULL;
        (void) state;

        tree_put(&tree, HN_CGROUP_MOUNT VCPU "/cpuset.cpus", "0-3,8\n");
        assert_int_equal(io.read(&io, here(VCPU), "cpuset.cpus", &text), 0);
        assert_string_equal(text, "0-3,8\n");
        tree_put(&tree, HN_CGROUP_MOUNT VCPU "/cpuset.cpus", "");
        assert_int_equal(io.read(&io, here(VCPU), "cpuset.cpus", &empty), 0);
        assert_string_equal(empty, "");
        assert_int_equal(io.read(&io, here(VCPU), "cpuset.cpus.effective", &none), -ENOENT);
        assert_null(none);
        assert_int_equal(io.read(&io, tree.path, "proc/mounts", &elsewhere), 0);
}

/* Every second of 16,384 CPUs: more than libcgroup takes, written or read. */
static void a_long_value_goes_by_the_file(void **state)
{
        HN_BITMAP hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), again = NULL;
        HN_FREE char *list = NULL, *text = NULL;
        (void) state;

        for (unsigned cpu = 0; cpu < HN_IDSET_LIMIT; cpu += 2)
                assert_int_equal(hwloc_bitmap_set(cpus, cpu), 0);
        assert_int_equal(hn_idset_format(cpus, &list), 0);
        assert_true(strlen(list) > 40000);
        assert_int_equal(io.write(&io, here(VCPU), "cpuset.cpus", list), 0);
        assert_file("cpuset.cpus", list);
        assert_int_equal(io.read(&io, here(VCPU), "cpuset.cpus", &text), 0);
        assert_int_equal(hn_idset_parse(text, HN_IDSET_LIMIT, &again), 0);
        assert_true(hwloc_bitmap_isequal(cpus, again));
}

static void writes_this_value_and_no_other(void **state)
{
        (void) state;

        makes_old("cpuset.mems");
        assert_int_equal(io.write(&io, here(VCPU), "cpuset.cpus", "4-7"), 0);
        assert_file("cpuset.cpus", "4-7");
        assert_false(was_written("cpuset.mems"));
        assert_file("cpuset.mems", "1\n");
}

static void a_write_that_came_to_something_else_is_made_by_hand(void **state)
{
        (void) state;

        tree_put(&tree, HN_CGROUP_MOUNT VCPU "/cpuset.cpus", "0-15\n");
        assert_int_equal(io.write(&io, here(VCPU), "cpuset.cpus", "2"), 0); /* libcgroup leaves 2-15 */
        assert_file("cpuset.cpus", "2");
        assert_int_equal(io.write(&io, here(VCPU), "cpuset.cpus", ""), 0); /* libcgroup leaves 2 */
        assert_file("cpuset.cpus", "");
}

static void tells_why_it_failed(void **state)
{
        (void) state;

        assert_int_equal(io.write(&io, here(VCPU), "cpuset.nothing", "2"), -ENOENT);
        assert_int_equal(io.write(&io, here("/machine.slice/gone"), "cpuset.cpus", "2"), -ENOENT);
        assert_int_equal(hn_root_mkdir(&tree.root, 0755, HN_CGROUP_MOUNT VCPU "/cpuset.folder"), 0);
        assert_int_equal(io.write(&io, here(VCPU), "cpuset.folder", "2"), -EISDIR);
}

static void nothing_is_written_where_all_is_right(void **state)
{
        HN_BITMAP hwloc_bitmap_t same = set_of("8-11"), other = set_of("8-12");
        (void) state;

        tree_put(&tree, HN_CGROUP_MOUNT VCPU "/cpuset.cpus", "8-11\n");
        makes_old("cpuset.cpus");
        assert_int_equal(hn_cpuset_set_cpus(&io, here(VCPU), same), 0);
        assert_false(was_written("cpuset.cpus"));
        assert_int_equal(hn_cpuset_set_cpus(&io, here(VCPU), other), 0);
        assert_true(was_written("cpuset.cpus"));
}

static void goes_by_files_without_cgroups(void **state)
{
        struct hn_cgroup_io files = hn_cgroup_files(io.root), recorded = tree.files;
        (void) state;

        tree_put(&tree, "/proc/mounts", "proc /proc proc rw 0 0\n");
        assert_true(hn_cgroup_use_library(&files) < 0);
        assert_ptr_equal(files.write, tree.files.write);
        assert_int_equal(hn_cgroup_use_library(&recorded), 0); /* no host's own root: nothing to be asked */
        assert_ptr_equal(recorded.write, tree.files.write);
}

int main(void)
{
#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                IN_A_TREE(says_where_the_controller_is),
                IN_A_TREE(reads_a_value),
                IN_A_TREE(a_long_value_goes_by_the_file),
                IN_A_TREE(writes_this_value_and_no_other),
                IN_A_TREE(a_write_that_came_to_something_else_is_made_by_hand),
                IN_A_TREE(tells_why_it_failed),
                IN_A_TREE(nothing_is_written_where_all_is_right),
                IN_A_TREE(goes_by_files_without_cgroups),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
