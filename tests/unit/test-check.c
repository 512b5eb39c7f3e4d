/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a host lacks, and what then does not work.
 */
#include "daemon/check.h"

#include <sys/stat.h>

#include "unit/support/test.h"
#include "unit/support/tree.h"

#define SCOPE "machine-qemu\\x2d1\\x2dweb.scope"

/* A host that lacks nothing: the three capabilities are bits 1, 19 and 23. */
static void put_host(struct tree *tree)
{
        tree_make(tree);
        tree_put(tree, "/proc/self/status", "Name:\thomenoded\nCapPrm:\t0\nCapEff:\t0000000000880002\nCapBnd:\t0\n");
        tree_put(tree, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n");
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cgroup.controllers", "cpu cpuset\n");
        tree_put(tree, "/sys/fs/cgroup/machine.slice/" SCOPE "/cgroup.procs", "");
        tree_put(tree, "/run/libvirt/virtqemud-sock", "");
        tree_put(tree, "/run/systemd/system/.keep", "");
}

/* Asserts that there is but one, and that its texts contain these. */
static void assert_lacks(const struct tree *tree, const char *what, const char *consequence)
{
        HN_LACKS struct hn_lacks lacks = { 0 };

        assert_int_equal(hn_check_host(&tree->files, &lacks), 0);
        assert_int_equal(lacks.n, what ? 1 : 0);
        if (!what)
                return;
        assert_non_null(strstr(lacks.lacks[0].what, what));
        assert_non_null(strstr(lacks.lacks[0].consequence, consequence));
}

static void a_whole_host_lacks_nothing(void **state)
{
        struct tree tree;
        (void) state;

        put_host(&tree);
        assert_lacks(&tree, NULL, NULL);
        assert_false(hn_root_exists(&tree.root, "/run/homenode/.check"));
        /* Without guests the slice has what systemd needed so far. */
        assert_int_equal(hn_root_remove(&tree.root, "%s", "/sys/fs/cgroup/machine.slice/" SCOPE "/cgroup.procs"), 0);
        assert_int_equal(hn_root_remove(&tree.root, "%s", "/sys/fs/cgroup/machine.slice/" SCOPE), 0);
        tree_put(&tree, "/sys/fs/cgroup/machine.slice/cgroup.controllers", "memory pids\n");
        assert_lacks(&tree, NULL, NULL);
        tree_remove(&tree);
}

static void what_is_missing_is_named(void **state)
{
        static const struct {
                const char *path, *text; /* NULL: the file is not there */
                const char *what, *consequence;
        } cases[] = {
                { "/proc/self/status", "Name:\tx\nCapEff:\t0000000000080002\n", "CAP_SYS_NICE", "affinity" },
                { "/proc/self/status", "Name:\tx\nCapEff:\t0000000000800002\n", "CAP_SYS_PTRACE", "memory lies" },
                { "/proc/self/status", "Name:\tx\nCapEff:\t0000000000880000\n", "CAP_DAC_OVERRIDE", "cpusets" },
                { "/proc/self/status", "Name:\tx\n", "/proc/self/status", "not known" },
                { "/sys/fs/cgroup/cgroup.controllers", NULL, "cgroup v2", "confined" },
                { "/sys/fs/cgroup/cgroup.controllers", "cpusets cpu\n", "cpuset in /sys/fs/cgroup/cgroup.co", "confined" },
                { "/sys/fs/cgroup/machine.slice/cgroup.controllers", "\n", "machine.slice", "confined" },
                { "/run/libvirt/virtqemud-sock", NULL, "libvirt's socket", "not seen" },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct tree tree;

                put_host(&tree);
                if (cases[i].text)
                        tree_put(&tree, cases[i].path, cases[i].text);
                else
                        assert_int_equal(hn_root_remove(&tree.root, "%s", cases[i].path), 0);
                assert_lacks(&tree, cases[i].what, cases[i].consequence);
                tree_remove(&tree);
        }
}

static void a_folder_that_cannot_be_written_is_named(void **state)
{
        struct tree tree;
        (void) state;

        put_host(&tree);
        tree_put(&tree, "/var/lib/homenode", "a file");
        assert_lacks(&tree, "/var/lib/homenode/definitions", "definitions are not rewritten");
        tree_remove(&tree);
}

static int where_it_was(const struct hn_cgroup_io *io, char **ret)
{
        (void) io;
        *ret = strdup("/sys/fs/cgroup/cpuset");
        return *ret ? 0 : -ENOMEM;
}

/* The controller can be in but one hierarchy. */
static void a_controller_elsewhere_is_missing(void **state)
{
        struct tree tree;
        (void) state;

        put_host(&tree);
        tree.files.where = where_it_was;
        assert_lacks(&tree, "controller cpuset in /sys/fs/cgroup/cgroup.controllers; it is on /sys/fs/cgroup/cpuset",
                     "confined");
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_whole_host_lacks_nothing),
                cmocka_unit_test(what_is_missing_is_named),
                cmocka_unit_test(a_folder_that_cannot_be_written_is_named),
                cmocka_unit_test(a_controller_elsewhere_is_missing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
