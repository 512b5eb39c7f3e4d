/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/pages-maps.h"

#include "unit/support/test.h"
#include "unit/support/tree.h"

struct seen {
        struct hn_mapping mappings[8];
        char paths[8][64];
        size_t n;
};

static int keep(void *data, struct hn_mapping *mapping)
{
        struct seen *seen = data;

        assert_true(seen->n < 8);
        seen->mappings[seen->n] = *mapping;
        mapping->policy = NULL;
        assert_true(strlen(mapping->path) < 64);
        strcpy(seen->paths[seen->n++], mapping->path);
        return 0;
}

static void forget(struct seen *seen)
{
        for (size_t i = 0; i < seen->n; i++)
                hwloc_bitmap_free(seen->mappings[i].policy);
        *seen = (struct seen) { 0 };
}

static int read_texts(struct tree *tree, const char *maps, const char *numa, struct seen *seen)
{
        tree_put(tree, "/proc/7/maps", maps);
        tree_put(tree, "/proc/7/numa_maps", numa);
        return hn_maps_read(&tree->root, 7, keep, seen);
}

static void joins_both_files(void **state)
{
        struct seen seen = { 0 };

        assert_int_equal(read_texts(*state,
                "55d0c0000000-55d0c0100000 r-xp 00000000 fe:00 1234   /usr/bin/qemu system\n"
                "7f0000000000-7f0008000000 rw-p 00000000 00:00 0 \n"
                "7f0010000000-7f0030000000 rw-s 00000000 00:0f 99     /memfd:ram (deleted)\n"
                "7f0040000000-7f0080000000 rw-s 00000000 00:0f 98     /dev/hugepages/x\n"
                "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n",
                "55d0c0000000 default file=/usr/bin/qemu\\040system mapped=12 mapmax=3 N8=12 kernelpagesize_kB=4\n"
                "7f0000000000 bind:0 anon=32768 dirty=32768 active=0 N0=30000 N8=2768 kernelpagesize_kB=4\n"
                "7f0010000000 prefer (many):0,8 file=/memfd:ram\\040(deleted) dirty=1 N0=1 kernelpagesize_kB=4\n"
                "7f0040000000 bind=static:8 file=/dev/hugepages/x huge dirty=300 N0=200 N8=100 kernelpagesize_kB=2048\n",
                &seen), 0);
        assert_int_equal(seen.n, 4);
        assert_string_equal(seen.paths[0], "/usr/bin/qemu system");
        assert_false(seen.mappings[0].writable);
        assert_false(seen.mappings[0].anonymous);
        assert_null(seen.mappings[0].policy);

        assert_int_equal(seen.mappings[1].end - seen.mappings[1].start, 128u << 20);
        assert_string_equal(seen.paths[1], "");
        assert_true(seen.mappings[1].writable && seen.mappings[1].anonymous && !seen.mappings[1].shared);
        assert_set(seen.mappings[1].policy, "0");
        assert_int_equal(seen.mappings[1].n_on, 2);
        assert_int_equal(seen.mappings[1].on[1].node, 8);
        assert_int_equal(seen.mappings[1].on[1].kib, 2768 * 4);

        assert_true(seen.mappings[2].shared);
        assert_set(seen.mappings[2].policy, "0,8");

        assert_true(seen.mappings[3].huge);
        assert_set(seen.mappings[3].policy, "8");
        assert_int_equal(seen.mappings[3].page_kib, 2048);
        assert_int_equal(seen.mappings[3].on[0].kib, 200 * 2048);
        forget(&seen);
}

/* The two files are read at two moments: what is in one alone is passed over. */
static void passes_over_what_came_or_went(void **state)
{
        struct seen seen = { 0 };

        assert_int_equal(read_texts(*state,
                "1000-2000 rw-p 00000000 00:00 0 \n3000-4000 rw-p 00000000 00:00 0 \n5000-6000 rw-p 00000000 00:00 0 \n",
                "2000 default\n3000 weighted interleave:0-1 anon=1 N0=1 kernelpagesize_kB=4\n4000 local\n",
                &seen), 0);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.mappings[0].start, 0x3000);
        assert_set(seen.mappings[0].policy, "0-1");
        forget(&seen);

        assert_int_equal(read_texts(*state, "1000-2000 rw-p 00000000 00:00 0 \n", "", &seen), 0);
        assert_int_equal(seen.n, 0);
}

static void takes_no_mapping_for_no_process(void **state)
{
        struct seen seen = { 0 };

        assert_int_equal(read_texts(*state, "", "", &seen), -ESRCH);
        assert_int_equal(hn_maps_read(&((struct tree *) *state)->root, 8, keep, &seen), -ESRCH);
}

static void refuses_another_form(void **state)
{
        static const char maps[] = "1000-2000 rw-p 00000000 00:00 0 \n";
        static const char *const bad_maps[] = { "1000 rw-p\n", "1000-2000\n", "2000-1000 rw-p 0 0 0\n", "x\n", "-1-5 rw-p\n",
                                                "1000-2000 rw 0\n", "11111111111111111-2 rw-p 0\n" };
        static const char *const bad_numa[] = { "1000\n", "1000 \n", "1000 bind:x\n", "1000 prefer\n", "1000 default N0\n",
                                                "1000 default N0=\n", "1000 default N0=1\n", "1000 default N1024=1\n",
                                                "1000 default N0=-1 kernelpagesize_kB=4\n",
                                                "1000 default N0=1 kernelpagesize_kB=\n",
                                                "1000 default N0=1 kernelpagesize_kB=99999999999\n",
                                                "1000 default N0=1125899906842623 kernelpagesize_kB=1048576\n" };
        struct seen seen = { 0 };

        assert_int_equal(hn_maps_read(&((struct tree *) *state)->root, 7, keep, &seen), -ESRCH);
        for (size_t i = 0; i < sizeof bad_maps / sizeof *bad_maps; i++)
                assert_int_equal(read_texts(*state, bad_maps[i], "1000 default\n", &seen), -EBADMSG);
        for (size_t i = 0; i < sizeof bad_numa / sizeof *bad_numa; i++)
                assert_int_equal(read_texts(*state, maps, bad_numa[i], &seen), -EBADMSG);
        assert_int_equal(seen.n, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(joins_both_files, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(passes_over_what_came_or_went, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(takes_no_mapping_for_no_process, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(refuses_another_form, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
