/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/cpuset.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit/support/test.h"
#include "unit/support/tree.h"

#define SLICE "/sys/fs/cgroup/machine.slice"
#define SCOPE SLICE "/machine-qemu\\x2d7\\x2dweb.scope"
#define BELOW "/machine.slice/machine-qemu\\x2d7\\x2dweb.scope"
#define LEGACY "/machine/qemu-1-x.libvirt-qemu"
#define VCPU SCOPE "/libvirt/vcpu0"

static void finds_the_cgroups_of_every_layout(void **state)
{
        static const struct {
                const char *own; /* in /proc/PID/cgroup */
                const char *made; /* folder of the threads' groups below the hierarchy */
                const char *scope, *threads;
                bool by_systemd;
        } cases[] = {
                { "0::" BELOW "/libvirt/emulator\n", SCOPE "/libvirt", SCOPE,
                  SCOPE "/libvirt", true },
                /* not yet sorted into thread groups when /proc was read */
                { "0::" BELOW "\n", SCOPE "/libvirt", SCOPE, SCOPE "/libvirt",
                  true },
                { "0::" BELOW "/libvirt\n", SCOPE "/libvirt", SCOPE,
                  SCOPE "/libvirt", true },
                { "0::" BELOW "/libvirt/vcpu12\n", SCOPE "/libvirt", SCOPE,
                  SCOPE "/libvirt", true },
                /* without the level */
                { "0::" BELOW "/emulator\n", SCOPE, SCOPE, SCOPE, true },
                /* a partition of its own */
                { "0::/gold.slice/gold-a.slice/machine-qemu\\x2d7\\x2dweb.scope/libvirt/emulator\n",
                  "/sys/fs/cgroup/gold.slice/gold-a.slice/machine-qemu\\x2d7\\x2dweb.scope/libvirt",
                  "/sys/fs/cgroup/gold.slice/gold-a.slice/machine-qemu\\x2d7\\x2dweb.scope",
                  "/sys/fs/cgroup/gold.slice/gold-a.slice/machine-qemu\\x2d7\\x2dweb.scope/libvirt", true },
                /* without systemd */
                { "0::" LEGACY "/emulator\n", "/sys/fs/cgroup" LEGACY, "/sys/fs/cgroup" LEGACY,
                  "/sys/fs/cgroup" LEGACY, false },
                /* v1 trees that are mounted and say nothing here */
                { "12:cpuset:/elsewhere\n1:name=systemd:/x\n"
                  "0::" BELOW "/libvirt/emulator", SCOPE "/libvirt", SCOPE,
                  SCOPE "/libvirt", true },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;

                assert_int_equal(tree_setup(state), 0);
                struct tree *tree = *state;
                tree_put(tree, "/proc/42/cgroup", cases[i].own);
                assert_int_equal(hn_root_mkdir(&tree->root, 0755, "%s/emulator", cases[i].made), 0);
                assert_int_equal(hn_guest_cgroup_find(&tree->root, 42, &cgroup), 0);
                assert_string_equal(cgroup->scope, cases[i].scope);
                assert_string_equal(cgroup->threads, cases[i].threads);
                assert_int_equal(cgroup->by_systemd, cases[i].by_systemd);
                assert_int_equal(tree_teardown(state), 0);
        }
}

static void finds_the_unified_tree_of_a_hybrid_host(void **state)
{
        struct tree *tree = *state;
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;

        tree_put(tree, "/sys/fs/cgroup/unified/cgroup.controllers", "cpuset\n");
        tree_put(tree, "/sys/fs/cgroup/unified/a.scope/emulator/cpuset.cpus", "\n");
        tree_put(tree, "/proc/42/cgroup", "0::/a.scope/emulator\n");
        assert_int_equal(hn_guest_cgroup_find(&tree->root, 42, &cgroup), 0);
        assert_string_equal(cgroup->scope, "/sys/fs/cgroup/unified/a.scope");
}

static void finds_nothing_where_no_guest_is(void **state)
{
        static const char *const texts[] = {
                "", "\n", "0::/\n", "0::/system.slice/ssh.service\n", "0::/user.slice/emulator\n",
                "0::relative/emulator\n",
                "4:cpuset:/machine/qemu/emulator\n",
                "0::/../cgroup/machine.slice/guest/emulator\n", "0::/a/..\n",
                "0::/emulator\n", "0::/a.scope/emulator (deleted)\n", "10::/machine.slice/guest/emulator\n",
        };
        struct tree *tree = *state;
        struct hn_guest_cgroup *cgroup = NULL;

        assert_int_equal(hn_root_mkdir(&tree->root, 0755, SLICE "/guest/emulator"), 0);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(tree, "/proc/42/cgroup", texts[i]);
                assert_int_equal(hn_guest_cgroup_find(&tree->root, 42, &cgroup), -ENOENT);
        }
        assert_int_equal(hn_guest_cgroup_find(&tree->root, 43, &cgroup), -ENOENT);
        assert_null(cgroup);
}

static void assert_text(struct tree *tree, const char *path, const char *expected)
{
        HN_FREE char *text = NULL;

        assert_int_equal(hn_root_read(&tree->root, 65536, &text, NULL, "%s", path), 0);
        assert_string_equal(text, expected);
}

static void writes_a_set_only_where_it_differs(void **state)
{
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t cpus = set_of("4-5,9"), others = set_of("4-5"), none = set_of("");

        assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, cpus), -ENOENT);
        tree_put(tree, VCPU "/cpuset.cpus", "9,4,5\n");
        assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, cpus), 0);
        assert_text(tree, VCPU "/cpuset.cpus", "9,4,5\n");

        tree_put(tree, VCPU "/cpuset.cpus", "\n");
        assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, cpus), 0);
        assert_text(tree, VCPU "/cpuset.cpus", "4-5,9");
        assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, none), -EINVAL);
        assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, NULL), -EINVAL);
        assert_text(tree, VCPU "/cpuset.cpus", "4-5,9");

        /* a text that is no set is written over by nobody */
        tree_put(tree, VCPU "/cpuset.cpus", "lots\n");
        assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, others), -EINVAL);
        assert_text(tree, VCPU "/cpuset.cpus", "lots\n");
}

static void reads_back_what_is_in_force(void **state)
{
        static const struct {
                const char *asked, *parents, *effective;
                int result;
        } cases[] = {
                { "4-5", "0-7", "4-5\n", 0 },
                { "4-5", "0-7", "4\n", -EREMOTEIO },
                { "4-5", "0-4", "4\n", 0 },           /* 5 is offline or not the parent's */
                { "4-5", "0-3", "0-3\n", -EREMOTEIO }, /* none of them: the kernel gives the parent's */
                { "4-5", "0-7", "0-7\n", -EREMOTEIO },
                { "4-5", "0-7", "\n", -EREMOTEIO },
        };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_BITMAP hwloc_bitmap_t cpus = set_of(cases[i].asked);

                tree_put(tree, VCPU "/cpuset.cpus", "\n");
                tree_put(tree, VCPU "/cpuset.cpus.effective", cases[i].effective);
                tree_put(tree, SCOPE "/libvirt/cpuset.cpus.effective", cases[i].parents);
                assert_int_equal(hn_cpuset_set_cpus(&tree->files, VCPU, cpus), cases[i].result);
        }
}

static void opens_a_scope_with_a_full_list(void **state)
{
        struct tree *tree = *state;

        assert_int_equal(hn_cpuset_open(&tree->files, SCOPE), 0);
        tree_put(tree, SLICE "/cpuset.cpus.effective", "0-7\n");
        tree_put(tree, SCOPE "/cpuset.cpus", "4-5\n");
        assert_int_equal(hn_cpuset_open(&tree->files, SCOPE), 0);
        assert_text(tree, SCOPE "/cpuset.cpus", "0-7");

        /* more than the parent has, or none of its own: confines nothing */
        tree_put(tree, SCOPE "/cpuset.cpus", "0-63\n");
        assert_int_equal(hn_cpuset_open(&tree->files, SCOPE), 0);
        assert_text(tree, SCOPE "/cpuset.cpus", "0-63\n");
        tree_put(tree, SCOPE "/cpuset.cpus", "\n");
        assert_int_equal(hn_cpuset_open(&tree->files, SCOPE), 0);
        assert_text(tree, SCOPE "/cpuset.cpus", "\n");

        tree_put(tree, SCOPE "/cpuset.cpus", "4-5\n");
        tree_put(tree, SCOPE "/cpuset.cpus.effective", "4-5\n");
        assert_int_equal(hn_cpuset_open(&tree->files, SCOPE), -EREMOTEIO);
}

static void lists_threads(void **state)
{
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t cpus = set_of("0"), none = set_of("");
        HN_FREE int *tids = NULL;
        size_t n = 0;

        assert_int_equal(hn_cgroup_threads(&tree->root, VCPU, &tids, &n), -ENOENT);
        tree_put(tree, VCPU "/cgroup.threads", "100\n0\n4194303\n7");
        assert_int_equal(hn_cgroup_threads(&tree->root, VCPU, &tids, &n), 0);
        assert_int_equal(n, 3);
        assert_int_equal(tids[0], 100);
        assert_int_equal(tids[1], 4194303);
        assert_int_equal(tids[2], 7);

        /* a recorded tree: counted, not set */
        assert_int_equal(hn_affinity_set(&tree->root, VCPU, cpus), 3);
        assert_int_equal(hn_affinity_set(&tree->root, VCPU, none), -EINVAL);
        tree_put(tree, VCPU "/cgroup.threads", "");
        assert_int_equal(hn_affinity_set(&tree->root, VCPU, cpus), 0);
}

static void refuses_lists_of_anything_else(void **state)
{
        static const char *const texts[] = {
                "x\n", "-1\n", "1 2\n", "\n", "1\n\n2\n", "99999999999\n", " 1\n",
        };
        struct tree *tree = *state;
        int *tids = NULL;
        size_t n = 0;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(tree, VCPU "/cgroup.threads", texts[i]);
                assert_int_equal(hn_cgroup_threads(&tree->root, VCPU, &tids, &n), -EBADMSG);
        }
        assert_null(tids);
}

/* A child that runs until it is killed, to have its affinity set; returns its PID. */
static pid_t start_child(void)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                for (;;)
                        (void) pause();
        return pid;
}

static void sets_the_affinity_of_threads_that_live(void **state)
{
        struct tree *tree = *state;
        struct hn_root host = { .fd = tree->root.fd, .host = true };
        HN_BITMAP hwloc_bitmap_t one = hwloc_bitmap_alloc(), beyond = set_of("16000");
        HN_FREE char *text = NULL;
        cpu_set_t allowed, got;
        int cpu = 0;

        assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
        while (!CPU_ISSET((size_t) cpu, &allowed))
                cpu++;
        /* A number beyond any mask of the C library, and the host's, does no harm beside one it has. */
        assert_int_equal(hwloc_bitmap_set(one, (unsigned) cpu), 0);
        assert_int_equal(hwloc_bitmap_set(one, 5000), 0);

        pid_t gone = start_child(), child = start_child();
        assert_int_equal(kill(gone, SIGKILL), 0);
        assert_int_equal(waitpid(gone, NULL, 0), gone);
        assert_true(asprintf(&text, "%d\n%d\n", gone, child) > 0);
        tree_put(tree, VCPU "/cgroup.threads", text);

        assert_int_equal(hn_affinity_set(&host, VCPU, one), 1);
        assert_int_equal(sched_getaffinity(child, sizeof got, &got), 0);
        assert_int_equal(CPU_COUNT(&got), 1);
        assert_true(CPU_ISSET((size_t) cpu, &got));

        assert_int_equal(hn_affinity_set(&host, VCPU, beyond), -EINVAL);
        assert_int_equal(sched_getaffinity(child, sizeof got, &got), 0);
        assert_int_equal(CPU_COUNT(&got), 1);

        /* of the caller itself */
        cpu_set_t before;
        assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
        assert_int_equal(hn_affinity_set_own(&host, one), 0);
        assert_int_equal(hn_affinity_set_own(&host, beyond), -EINVAL);
        assert_int_equal(sched_getaffinity(0, sizeof got, &got), 0);
        assert_int_equal(CPU_COUNT(&got), 1);
        assert_true(CPU_ISSET((size_t) cpu, &got));
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);

        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_the_cgroups_of_every_layout),
                cmocka_unit_test_setup_teardown(finds_the_unified_tree_of_a_hybrid_host, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(finds_nothing_where_no_guest_is, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(writes_a_set_only_where_it_differs, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(reads_back_what_is_in_force, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(opens_a_scope_with_a_full_list, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(lists_threads, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(refuses_lists_of_anything_else, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(sets_the_affinity_of_threads_that_live, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
