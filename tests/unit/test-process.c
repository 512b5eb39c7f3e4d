/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/process.h"

#include "unit/support/test.h"
#include "unit/support/tree.h"

/* Fields 4-8, 10-21 and behind are 1; flags (9) and start (22) stand out. */
#define FIELDS(flags, start) \
        " S 1 1 1 1 1 " flags " 1 1 1 1 1 1 1 1 1 1 1 1 " start " 1 1\n"

static void reads_behind_any_command_name(void **state)
{
        static const char *const commands[] = { "qemu", "a b", "a) S 1 (b", ")", "", "x\ny" };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                HN_FREE char *text = NULL;
                struct hn_process process = { 0 };

                assert_true(asprintf(&text, "42 (%s)" FIELDS("4194560", "987654321"), commands[i]) > 0);
                tree_put(tree, "/proc/42/stat", text);
                assert_int_equal(hn_process_read(&tree->root, 42, &process), 0);
                assert_int_equal(process.start_ticks, 987654321);
                assert_false(process.own_affinity);
        }
}

static void knows_threads_that_the_kernel_binds(void **state)
{
        struct tree *tree = *state;
        struct hn_process process = { 0 };

        tree_put(tree, "/proc/42/stat", "42 (iou-wrk-7)" FIELDS("67108928", "5")); /* 0x4000040 */
        assert_int_equal(hn_process_read(&tree->root, 42, &process), 0);
        assert_true(process.own_affinity);
}

static void refuses_what_the_kernel_does_not_write(void **state)
{
        static const char *const texts[] = {
                "", "42", "42 (qemu", "42 (qemu)", "42 (qemu) ", "42 (qemu) S 1 1",
                "42 (qemu)" FIELDS("x", "5"), "42 (qemu)" FIELDS("1", "-5"), "42 (qemu)" FIELDS("1", "5x"),
                "42 (qemu)" FIELDS("1", "99999999999999999999999"),
        };
        struct tree *tree = *state;
        struct hn_process process = { .start_ticks = 7 };

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(tree, "/proc/42/stat", texts[i]);
                assert_int_equal(hn_process_read(&tree->root, 42, &process), -EBADMSG);
        }
        assert_int_equal(hn_process_read(&tree->root, 43, &process), -ESRCH);
        assert_int_equal(process.start_ticks, 7);
}

static void finds_a_guests_process(void **state)
{
        struct tree *tree = *state;
        int pid = 0;

        tree_put(tree, "/run/libvirt/qemu/web.pid", "4242\n");
        tree_put(tree, "/run/libvirt/qemu/odd.pid", "4294967296\n");
        tree_put(tree, "/run/libvirt/qemu/none.pid", "0\n");
        assert_int_equal(hn_process_of_guest(&tree->root, "web", &pid), 0);
        assert_int_equal(pid, 4242);
        assert_int_equal(hn_process_of_guest(&tree->root, "odd", &pid), -ERANGE);
        assert_int_equal(hn_process_of_guest(&tree->root, "none", &pid), -ERANGE);
        assert_int_equal(hn_process_of_guest(&tree->root, "gone", &pid), -ENOENT);
        assert_int_equal(hn_process_of_guest(&tree->root, "../qemu/web", &pid), -EINVAL);
        assert_int_equal(hn_process_of_guest(&tree->root, "", &pid), -EINVAL);
        assert_int_equal(pid, 4242);
}

/* libvirt's virPidFileBuildPath escapes as for XML, seen with 9.0 and 11.3: no file of the plain name is there then. */
static void finds_the_process_of_any_name(void **state)
{
        struct tree *tree = *state;
        int pid = 0;

        tree_put(tree, "/run/libvirt/qemu/it&apos;s &lt;a&gt; &amp; &quot;b&quot;.pid", "4243\n");
        tree_put(tree, "/run/libvirt/qemu/g\xc3\xa4st $(x)+%s.pid", "4244\n");
        tree_put(tree, "/run/libvirt/qemu/&&.pid", "1\n");
        assert_int_equal(hn_process_of_guest(&tree->root, "it's <a> & \"b\"", &pid), 0);
        assert_int_equal(pid, 4243);
        assert_int_equal(hn_process_of_guest(&tree->root, "g\xc3\xa4st $(x)+%s", &pid), 0);
        assert_int_equal(pid, 4244);
        assert_int_equal(hn_process_of_guest(&tree->root, "&&", &pid), -ENOENT);
}

static void reads_this_process(void **state)
{
        HN_ROOT struct hn_root root = { .fd = -1 };
        struct hn_process process = { 0 };

        (void) state;
        assert_int_equal(hn_root_open("/", &root), 0);
        assert_int_equal(hn_process_read(&root, getpid(), &process), 0);
        assert_true(process.start_ticks > 0);
        assert_false(process.own_affinity);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(reads_behind_any_command_name, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(knows_threads_that_the_kernel_binds, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(refuses_what_the_kernel_does_not_write, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(finds_a_guests_process, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(finds_the_process_of_any_name, tree_setup, tree_teardown),
                cmocka_unit_test(reads_this_process),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
