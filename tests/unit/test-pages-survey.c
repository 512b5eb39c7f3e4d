/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Telling a guest's cells apart, and counting what is where.  Addresses fall as mappings are made.
 */
#include "act/pages.h"

#include "unit/support/test.h"
#include "unit/support/tree.h"

#define STAT "7 (qemu-system) S 1 7 7 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 9 0 4711 1 1\n"
#define MAPPED(range) range " rw-p 00000000 00:00 0 \n"

static void put(struct tree *tree, const char *maps, const char *numa)
{
        tree_put(tree, "/proc/7/stat", STAT);
        tree_put(tree, "/proc/7/maps", maps);
        tree_put(tree, "/proc/7/numa_maps", numa);
}

static struct hn_pages *survey(struct tree *tree, const struct hn_pages_cell *cells, size_t n)
{
        struct hn_pages *pages = NULL;

        assert_int_equal(hn_pages_survey(&tree->root, 7, 4711, cells, n, NULL, &pages), 0);
        return pages;
}

static void target(struct hn_pages *pages, size_t at, const char *list)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of(list);

        assert_int_equal(hn_pages_target(pages, at, nodes), 0);
}

/* 64 MiB each; cell 0 was mapped first, so it is the highest. */
static void tells_cells_by_their_order(void **state)
{
        const struct hn_pages_cell cells[] = { { .memory_kib = 65536 }, { .memory_kib = 65536 } };

        put(*state, MAPPED("7f0000000000-7f0004000000") MAPPED("7f0004001000-7f0008001000") MAPPED("7f0010000000-7f0010400000"),
            "7f0000000000 default anon=1000 N0=1000 kernelpagesize_kB=4\n"
            "7f0004001000 default anon=500 N0=400 N1=100 kernelpagesize_kB=4\n"
            "7f0010000000 default anon=10 N3=10 kernelpagesize_kB=4\n");
        HN_PAGES struct hn_pages *pages = survey(*state, cells, 2);

        assert_int_equal(hn_pages_memory(pages, 0)->resident_kib, 2000);
        assert_int_equal(hn_pages_memory(pages, 1)->resident_kib, 4000);
        assert_int_equal(hn_pages_memory(pages, 2)->resident_kib, 40);
        assert_null(hn_pages_memory(pages, 3));
        assert_int_equal(hn_pages_left_kib(pages), 0);
        target(pages, 0, "1");
        target(pages, 1, "0");
        assert_int_equal(hn_pages_memory(pages, 0)->there_kib, 400);
        assert_int_equal(hn_pages_left_kib(pages), 1600);
        target(pages, 2, "0-1");
        assert_int_equal(hn_pages_left_kib(pages), 1640);
        assert_false(hn_pages_pinned(pages));
}

/* A rebound guest's cells may be told by their policy alone; what was plugged in is bound likewise. */
static void tells_bound_cells_by_their_policy(void **state)
{
        HN_BITMAP hwloc_bitmap_t two = set_of("2"), three = set_of("3");
        const struct hn_pages_cell cells[] = { { .memory_kib = 65536, .bound = two }, { .memory_kib = 65536, .bound = three } };

        put(*state, MAPPED("7e0000000000-7e0002000000") MAPPED("7f0000000000-7f0004000000") MAPPED("7f0004001000-7f0008001000"),
            "7e0000000000 bind:3 anon=7 N3=7 kernelpagesize_kB=4\n"
            "7f0000000000 bind:2 anon=1000 N2=1000 kernelpagesize_kB=4\n"
            "7f0004001000 bind:3 anon=500 N3=500 kernelpagesize_kB=4\n");
        HN_PAGES struct hn_pages *pages = survey(*state, cells, 2);

        assert_int_equal(hn_pages_memory(pages, 0)->resident_kib, 4000);
        assert_int_equal(hn_pages_memory(pages, 1)->resident_kib, 2028);
        assert_int_equal(hn_pages_memory(pages, 2)->resident_kib, 0);
}

/* Advice for a part of it splits a mapping. */
static void puts_a_split_mapping_together(void **state)
{
        const struct hn_pages_cell cells[] = { { .memory_kib = 65536 } };

        put(*state, MAPPED("7f0000000000-7f0001000000") MAPPED("7f0001000000-7f0001001000") MAPPED("7f0001001000-7f0004000000")
                    MAPPED("7f0005000000-7f0005800000"),
            "7f0000000000 default anon=10 N0=10 kernelpagesize_kB=4\n"
            "7f0001000000 default anon=1 N0=1 kernelpagesize_kB=4\n"
            "7f0001001000 default anon=20 N0=20 kernelpagesize_kB=4\n"
            "7f0005000000 default anon=40 N0=40 kernelpagesize_kB=4\n");
        HN_PAGES struct hn_pages *pages = survey(*state, cells, 1);

        assert_true(hn_pages_memory(pages, 0)->found);
        assert_int_equal(hn_pages_memory(pages, 0)->resident_kib, 31 * 4);
        assert_int_equal(hn_pages_memory(pages, 1)->resident_kib, 40 * 4);
}

static void leaves_what_is_not_its_own(void **state)
{
        put(*state,
            "1000-100000 r-xp 00000000 fe:00 5  /usr/bin/qemu\n"
            "100000-200000 rw-p 00000000 fe:00 5  /usr/bin/qemu\n"
            "200000-900000 rw-s 00000000 00:0e 1  anon_inode:kvm-vcpu:0\n"
            "1000000-2000000 rw-s 00000000 00:0e 1  anon_inode:[vfio-device]\n"
            "3000000-4000000 rw-p 00000000 fe:00 6  /usr/share/untouched\n"
            "5000000-6000000 rw-s 00000000 00:05 9  /dev/ivshmem\n",
            "1000 default file=/usr/bin/qemu mapped=9 N1=9 kernelpagesize_kB=4\n"
            "100000 default file=/usr/bin/qemu anon=2 N1=2 kernelpagesize_kB=4\n"
            "200000 default file=anon_inode:kvm-vcpu:0\n"
            "1000000 default file=anon_inode:[vfio-device]\n"
            "3000000 default file=/usr/share/untouched mapped=5 N1=5 kernelpagesize_kB=4\n"
            "5000000 default file=/dev/ivshmem N1=3 kernelpagesize_kB=4\n");
        HN_PAGES struct hn_pages *pages = survey(*state, NULL, 0);

        assert_int_equal(hn_pages_memory(pages, 0)->resident_kib, 8 + 20);
        assert_true(hn_pages_pinned(pages));
}

static void tells_huge_and_shared_memory(void **state)
{
        const struct hn_pages_cell cells[] = { { .memory_kib = 65536 }, { .memory_kib = 32768 }, { .memory_kib = 99 } };

        put(*state, "7f0000000000-7f0004000000 rw-s 00000000 00:0f 9  /dev/hugepages/a\n"
                    "7f0010000000-7f0012000000 rw-s 00000000 00:01 8  /memfd:b (deleted)\n",
            "7f0000000000 default file=/dev/hugepages/a huge dirty=32 N0=30 N1=2 kernelpagesize_kB=2048\n"
            "7f0010000000 default file=/memfd:b\\040(deleted) dirty=10 N0=10 kernelpagesize_kB=4\n");
        HN_PAGES struct hn_pages *pages = survey(*state, cells, 3);

        assert_int_equal(hn_pages_memory(pages, 0)->page_kib, 2048);
        assert_int_equal(hn_pages_memory(pages, 0)->resident_kib, 65536);
        assert_int_equal(hn_pages_memory(pages, 1)->page_kib, 0);
        assert_true(hn_pages_memory(pages, 0)->shared && hn_pages_memory(pages, 1)->shared);
        assert_false(hn_pages_memory(pages, 2)->found);
}

static void refuses_another_process(void **state)
{
        struct tree *tree = *state;
        struct hn_pages *pages = NULL;

        assert_int_equal(hn_pages_survey(&tree->root, 7, 0, NULL, 0, NULL, &pages), -ESRCH);
        put(tree, MAPPED("1000-2000"), "1000 default\n");
        assert_int_equal(hn_pages_survey(&tree->root, 7, 4712, NULL, 0, NULL, &pages), -ESRCH);
        assert_null(pages);
        assert_int_equal(hn_pages_survey(&tree->root, 7, 0, NULL, 0, NULL, &pages), 0);
        hn_pages_free(pages);
}

static void takes_a_target_once(void **state)
{
        HN_BITMAP hwloc_bitmap_t none = hwloc_bitmap_alloc(), one = set_of("1");

        put(*state, MAPPED("1000-2000"), "1000 default\n");
        HN_PAGES struct hn_pages *pages = survey(*state, NULL, 0);

        assert_int_equal(hn_pages_target(pages, 0, none), -EINVAL);
        assert_int_equal(hn_pages_target(pages, 0, one), 0);
        assert_int_equal(hn_pages_target(pages, 0, one), -EBUSY);
}

#define T(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                T(tells_cells_by_their_order),  T(tells_bound_cells_by_their_policy), T(puts_a_split_mapping_together),
                T(leaves_what_is_not_its_own),  T(tells_huge_and_shared_memory),      T(refuses_another_process),
                T(takes_a_target_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
