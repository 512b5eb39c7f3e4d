/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Copies of definitions: whole or not at all, for nobody else to read.
 */
#include "store/copies.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit/support/test.h"
#include "unit/support/tree.h"

#define UUID_A "0a1b2c3d-4e5f-4a6b-8c7d-00000000000a"

static void keeps_and_gives_back(void **state)
{
        struct tree tree;
        HN_FREE char *first = NULL, *second = NULL;
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_copy_get(&tree.root, UUID_A, &first), -ENOENT);
        assert_int_equal(hn_copy_put(&tree.root, UUID_A, "<domain>1</domain>\n"), 0);
        assert_int_equal(hn_copy_get(&tree.root, UUID_A, &first), 0);
        assert_string_equal(first, "<domain>1</domain>\n");
        assert_int_equal(hn_copy_put(&tree.root, UUID_A, "<domain>2</domain>\n"), 0);
        assert_int_equal(hn_copy_get(&tree.root, UUID_A, &second), 0);
        assert_string_equal(second, "<domain>2</domain>\n");
        assert_int_equal(hn_copy_remove(&tree.root, UUID_A), 0);
        assert_int_equal(hn_copy_remove(&tree.root, UUID_A), 0);
        assert_false(hn_root_exists(&tree.root, HN_COPIES_FOLDER "/" UUID_A ".xml"));
        tree_remove(&tree);
}

static void nobody_else_reads_passwords(void **state)
{
        struct tree tree;
        struct stat st;
        mode_t mask = umask(0);
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_copy_put(&tree.root, UUID_A, "<domain/>"), 0);
        (void) umask(mask);
        assert_int_equal(fstatat(tree.root.fd, "var/lib/homenode/definitions/" UUID_A ".xml", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(fstatat(tree.root.fd, "var/lib/homenode/definitions", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        tree_remove(&tree);
}

static void only_uuids_become_file_names(void **state)
{
        struct tree tree;
        HN_FREE char *xml = NULL;
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_copy_put(&tree.root, "../../../etc/passwd", "<domain/>"), -EINVAL);
        assert_int_equal(hn_copy_put(&tree.root, "", "<domain/>"), -EINVAL);
        assert_int_equal(hn_copy_get(&tree.root, UUID_A "/..", &xml), -EINVAL);
        assert_int_equal(hn_copy_remove(&tree.root, ".."), -EINVAL);
        tree_remove(&tree);
}

static void a_copy_that_cannot_be_kept_is_said(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        tree_put(&tree, "/var/lib/homenode/definitions", "a file where the folder should be");
        assert_int_equal(hn_copy_put(&tree.root, UUID_A, "<domain/>"), -ENOTDIR);
        tree_remove(&tree);
}

static void layout_does_not_tell_definitions_apart(void **state)
{
        uint64_t digest = hn_left_digest("<domain type='kvm'>\n  <cpu mode='custom'>\n  </cpu>\n  <name>a b</name>\n</domain>\n");

        (void) state;
        assert_int_equal(hn_left_digest("<?xml version=\"1.0\"?><domain type=\"kvm\"><cpu mode=\"custom\"/><name>a b</name></domain>"), digest);
        assert_int_not_equal(hn_left_digest("<domain type='kvm'><cpu mode='custom'/><name>ab</name></domain>"), digest);
        assert_int_not_equal(hn_left_digest("<domain type='kvm'><cpu mode='Custom'/><name>a b</name></domain>"), digest);
        assert_int_not_equal(hn_left_digest("no domain"), hn_left_digest("no definition"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keeps_and_gives_back),
                cmocka_unit_test(nobody_else_reads_passwords),
                cmocka_unit_test(only_uuids_become_file_names),
                cmocka_unit_test(a_copy_that_cannot_be_kept_is_said),
                cmocka_unit_test(layout_does_not_tell_definitions_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
