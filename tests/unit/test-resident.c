/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/resident.h"

#include "unit/support/test.h"
#include "unit/support/tree.h"

static void sums_anonymous_and_shared_memory(void **state)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        struct tree tree;
        (void) state;

        tree_make(&tree);
        tree_put(&tree, "/cg/memory.numa_stat",
                 "anon N0=1048576 N8=4096\n"
                 "file N0=999999999 N8=999999999\n"
                 "kernel_stack N0=16384 N8=0\n"
                 "shmem N0=0 N8=2097152\n"
                 "file_mapped N0=5 N8=5\n"
                 "anon_thp N0=1048576 N8=0\n");
        assert_int_equal(hn_resident_read(&tree.root, "/cg", &resident), 0);
        assert_int_equal(hn_resident_kib(&resident, 0), 1024);
        assert_int_equal(hn_resident_kib(&resident, 1), 0);
        assert_int_equal(hn_resident_kib(&resident, 8), 4 + 2048);
        assert_int_equal(hn_resident_kib(&resident, 4000), 0);
        tree_remove(&tree);
}

static void refuses_another_form(void **state)
{
        static const char *const texts[] = { "anon N=1\n", "anon N0\n", "anon N0=\n", "anon N0=-1\n", "anon Nx=1\n",
                                             "anon N1024=1\n", "anon N0=1 x\n", "anon N0=99999999999999999999\n" };
        struct hn_resident resident = { 0 };
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_resident_read(&tree.root, "/cg", &resident), -ENOENT);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                tree_put(&tree, "/cg/memory.numa_stat", texts[i]);
                assert_int_equal(hn_resident_read(&tree.root, "/cg", &resident), -EBADMSG);
                assert_null(resident.node_kib);
        }
        tree_remove(&tree);
}

static void adds_huge_pages(void **state)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_BITMAP hwloc_bitmap_t nodes = set_of("0,3");
        struct tree tree;
        (void) state;

        tree_make(&tree);
        tree_put(&tree, "/cg/memory.numa_stat", "anon N0=1048576 N1=4096\n");
        tree_put(&tree, "/cg/hugetlb.2MB.numa_stat", "total=6291456 N0=4194304 N3=2097152\n");
        tree_put(&tree, "/cg/hugetlb.1GB.numa_stat", "total=0 N0=0 N3=0\n");
        tree_put(&tree, "/cg/hugetlb.64KB.numa_stat", "N0=0\n");
        assert_int_equal(hn_resident_read(&tree.root, "/cg", &resident), 0);
        assert_int_equal(hn_resident_add_huge(&tree.root, "/cg", 2048, &resident), 0);
        assert_int_equal(hn_resident_add_huge(&tree.root, "/cg", 1048576, &resident), 0);
        assert_int_equal(hn_resident_add_huge(&tree.root, "/cg", 64, &resident), -EBADMSG);
        assert_int_equal(hn_resident_add_huge(&tree.root, "/cg", 32768, &resident), -ENOENT);
        assert_int_equal(hn_resident_kib(&resident, 0), 1024 + 4096);
        assert_int_equal(hn_resident_kib(&resident, 3), 2048);
        assert_int_equal(hn_resident_sum_kib(&resident, NULL), 1024 + 4 + 4096 + 2048);
        assert_int_equal(hn_resident_sum_kib(&resident, nodes), 1024 + 4096 + 2048);
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sums_anonymous_and_shared_memory),
                cmocka_unit_test(refuses_another_form),
                cmocka_unit_test(adds_huge_pages),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
