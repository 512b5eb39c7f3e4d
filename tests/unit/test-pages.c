/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/pages.h"

#include <stdio.h>

#include "unit/support/paged.h"
#include "unit/support/test.h"

#define ANONYMOUS "rw-p 00000000 00:00 0 "
#define SHARED "rw-s 00000000 00:01 8  /memfd:ram (deleted)"
#define ALL_KIB (PAGED_PAGES * 4u)

static struct paged paged;

static int setup(void **state)
{
        (void) state;
        paged_make(&paged);
        return 0;
}

static int teardown(void **state)
{
        (void) state;
        paged_remove(&paged);
        return 0;
}

static void with_huge_pages(void)
{
        tree_put(&paged.tree, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
}

/* One cell, all of the memory, to these nodes. */
static struct hn_pages *survey(const char *list)
{
        const struct hn_pages_cell cell = { .memory_kib = ALL_KIB };
        HN_BITMAP hwloc_bitmap_t nodes = set_of(list);
        struct hn_pages *pages = NULL;

        assert_int_equal(hn_pages_survey(&paged.tree.root, PAGED_PID, 4711, &cell, 1, &paged.door, &pages), 0);
        assert_true(hn_pages_memory(pages, 0)->found);
        assert_int_equal(hn_pages_target(pages, 0, nodes), 0);
        assert_int_equal(hn_pages_target(pages, 1, nodes), 0);
        return pages;
}

/* The kernel's files are as the pages are whenever they are read. */
static int run(struct hn_pages *pages, const char *how, struct hn_pages_progress *ret)
{
        int r = 1;

        for (unsigned steps = 0; r == 1; steps++) {
                assert_true(steps < 10000);
                paged_tell(&paged, 1, how);
                r = hn_pages_step(pages, ret);
        }
        return r;
}

static void moves_everything_in_batches(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        unsigned slow = 0;
        (void) state;

        paged.page_us = 4;
        assert_int_equal(hn_pages_left_kib(pages), ALL_KIB);
        for (;;) {
                paged_tell(&paged, 1, ANONYMOUS);
                int r = hn_pages_step(pages, &progress);

                assert_true(r >= 0);
                assert_int_equal(progress.moved_kib + progress.left_kib, ALL_KIB);
                slow += progress.batch_us > HN_PAGES_BATCH_US * 3 / 2;
                if (r == 0)
                        break;
        }
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES);
        assert_int_equal(progress.moved_kib, ALL_KIB);
        assert_int_equal(progress.left_kib, 0);
        assert_int_equal(slow, 0);
        /* 4 us a page and 500 us a call: 4,875 pages in 20 ms, so that 8 calls or so do, the first ones apart. */
        assert_in_range(paged.moves, 7, 12);
        /* Nothing was asked: all of it was elsewhere. */
        assert_int_equal(paged.queries, 0);
        assert_int_equal(hn_pages_memory(pages, 0)->there_kib, ALL_KIB);
        assert_int_equal(hn_pages_step(pages, &progress), 0);
}

/* All of it is huge pages but for the last bit, which is less than one. */
static void gets_past_ends_within_a_huge_page(void **state)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of("1");
        HN_PAGES struct hn_pages *pages = NULL;
        struct hn_pages_progress progress;
        int r = 1;

        (void) state;
        with_huge_pages();
        for (size_t i = 0; i < PAGED_PAGES - PAGED_HUGE; i++)
                paged.pages[i].huge = true;
        paged_tell(&paged, 3, ANONYMOUS); /* which leaves the last two pages out */
        assert_int_equal(hn_pages_survey(&paged.tree.root, PAGED_PID, 4711, NULL, 0, &paged.door, &pages), 0);
        assert_int_equal(hn_pages_target(pages, 0, nodes), 0);
        for (unsigned steps = 0; r == 1; steps++) {
                assert_true(steps < 10000);
                paged_tell(&paged, 3, ANONYMOUS);
                r = hn_pages_step(pages, &progress);
        }
        assert_int_equal(r, 0);
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES / 3 * 3);
}

/* Where a call itself takes 5 ms, 20 ms would be a quarter for nothing. */
static void makes_longer_batches_where_calls_are_dear(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        uint64_t longest_us = 0;
        int r = 1;
        (void) state;

        paged.call_us = 5000;
        paged.page_us = 40;
        while (r == 1) {
                paged_tell(&paged, 1, ANONYMOUS);
                r = hn_pages_step(pages, &progress);
                longest_us = progress.batch_us > longest_us ? progress.batch_us : longest_us;
        }
        assert_int_equal(r, 0);
        assert_true(longest_us < 125000); /* 100 ms, and half a turn of the kernel's */
        assert_true(paged.now_us < UINT64_C(40) * PAGED_PAGES * 115 / 100);
}

static void leaves_what_is_right(void **state)
{
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = 0; i < PAGED_PAGES; i++)
                paged.pages[i].node = i % 4 == 3 ? 0 : i % 4 == 2 ? -ENOENT : 1 + (int) (i % 2);
        paged_tell(&paged, 1, ANONYMOUS);
        HN_PAGES struct hn_pages *pages = survey("1-2");

        assert_int_equal(hn_pages_left_kib(pages), ALL_KIB / 4);
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged.moved, PAGED_PAGES / 4);
        assert_int_equal(paged_on(&paged, 0), 0);
        assert_int_equal(progress.left_kib, 0);
        /* Both nodes got their share, beside what they had. */
        assert_in_range(paged_on(&paged, 1), PAGED_PAGES / 4 + PAGED_PAGES / 32, PAGED_PAGES / 2 - PAGED_PAGES / 32);
        /* Once each, no more. */
        assert_in_range(paged.asked, PAGED_PAGES / 2, PAGED_PAGES + PAGED_PAGES / 8);
}

static void does_nothing_where_all_is_right(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("0,3");
        struct hn_pages_progress progress;
        (void) state;

        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged.moves + paged.queries, 0);
}

static void moves_huge_pages_by_an_address_each(void **state)
{
        struct hn_pages_progress progress;
        (void) state;

        with_huge_pages();
        for (size_t i = 0; i < PAGED_PAGES; i++)
                paged.pages[i].huge = true;
        HN_PAGES struct hn_pages *pages = survey("2");

        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged_on(&paged, 2), PAGED_PAGES);
        assert_int_equal(progress.moved_kib, ALL_KIB);
        assert_true(paged.most <= PAGED_PAGES / PAGED_HUGE);
        assert_in_range(paged.asked, 1, 2 * PAGED_PAGES / PAGED_HUGE);
}

/* Where huge pages may be and none are; then where every other is one. */
static void finds_out_where_pages_are_huge(void **state)
{
        struct hn_pages_progress progress;
        (void) state;

        for (int mixed = 0; mixed < 2; mixed++) {
                with_huge_pages();
                for (size_t i = 0; i < PAGED_PAGES; i++)
                        paged.pages[i] = (struct paged_page) { .huge = mixed && i / PAGED_HUGE % 2 == 0 };
                paged.asked = 0;
                paged_tell(&paged, 1, ANONYMOUS);
                HN_PAGES struct hn_pages *pages = survey("2");

                assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
                assert_int_equal(paged_on(&paged, 2), PAGED_PAGES);
                assert_int_equal(progress.left_kib, 0);
                assert_true(paged.asked < 2 * PAGED_PAGES);
        }
}

static void tries_busy_pages_again(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = 0; i < PAGED_PAGES; i += 100)
                paged.pages[i].busy = 2;
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES);
        assert_int_equal(progress.left_kib, 0);
        assert_true(paged.moves < 200);
}

/* A few that stay, for a device writes to them, keep no other from going. */
static void goes_on_past_pages_that_stay(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = 0; i < PAGED_PAGES; i += 1000)
                paged.pages[i].pinned = true;
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged_on(&paged, 0), 33);
        assert_int_equal(progress.left_kib, 33 * 4);
        assert_int_equal(progress.stuck_kib, 33 * 4);
        assert_true(paged.moves < 200);
}

static void gives_up_where_nothing_goes(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = 0; i < PAGED_PAGES; i++)
                paged.pages[i].pinned = true;
        paged.page_us = 0;
        paged.call_us = 20000;
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(progress.moved_kib, 0);
        assert_int_equal(progress.left_kib, ALL_KIB);
        assert_true(paged.moves <= 16);
}

static void moves_shared_memory_of_the_guest(void **state)
{
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = 0; i < PAGED_PAGES; i++)
                paged.pages[i].shared = true;
        paged_tell(&paged, 1, SHARED);
        HN_PAGES struct hn_pages *pages = survey("1");

        assert_true(hn_pages_memory(pages, 0)->shared);
        assert_int_equal(run(pages, SHARED, &progress), 0);
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES);
}

/* Merged by KSM, or of a library: not the guest's alone. */
static void leaves_what_others_have_as_well(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = 0; i < PAGED_PAGES; i += 64)
                paged.pages[i].shared = true;
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(progress.left_kib, PAGED_PAGES / 64 * 4);
        assert_int_equal(progress.stuck_kib, PAGED_PAGES / 64 * 4);
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES - PAGED_PAGES / 64);
}

static void ends_where_the_target_is_full(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        int r = 1;
        (void) state;

        paged.free_pages[1] = 10000;
        while (r == 1) {
                paged_tell(&paged, 1, ANONYMOUS);
                r = hn_pages_step(pages, &progress);
        }
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(paged_on(&paged, 1), 10000);
        assert_int_equal(progress.moved_kib, 40000);
        assert_int_equal(progress.left_kib, ALL_KIB - 40000);
        /* Whoever goes on all the same gets to an end. */
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged_on(&paged, 1), 10000);
}

static void takes_the_other_node_where_one_is_full(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1,3");
        struct hn_pages_progress progress;
        (void) state;

        paged.free_pages[1] = 10;
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(paged_on(&paged, 1), 10);
        assert_int_equal(paged_on(&paged, 3), PAGED_PAGES - 10);
        assert_int_equal(progress.left_kib, 0);
}

/* Unmapped, or never touched: no fault of anybody's. */
static void passes_over_memory_that_goes(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        (void) state;

        for (size_t i = PAGED_PAGES / 2; i < PAGED_PAGES; i++)
                paged.pages[i].node = i % 2 ? -EFAULT : -ENOENT;
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(progress.left_kib, 0);
        assert_int_equal(progress.stuck_kib, 0);
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES / 2);
}

static void tells_a_process_that_ended(void **state)
{
        HN_PAGES struct hn_pages *pages = survey("1");
        struct hn_pages_progress progress;
        (void) state;

        assert_int_equal(hn_pages_step(pages, &progress), 1);
        paged.fails = -ESRCH;
        assert_int_equal(hn_pages_step(pages, &progress), -ESRCH);
        paged.fails = -EACCES;
        assert_int_equal(hn_pages_step(pages, &progress), -EACCES);
        paged.fails = 0;
        /* The number came again. */
        tree_put(&paged.tree, "/proc/7/stat", "7 (sh) S 1 7 7 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 9 0 4712 1 1\n");
        unsigned calls = paged.moves + paged.queries;
        paged.now_us += 100000;
        assert_int_equal(hn_pages_step(pages, &progress), -ESRCH);
        assert_int_equal(hn_pages_look(pages), -ESRCH);
        assert_int_equal(paged.moves + paged.queries, calls);
        assert_true(progress.moved_kib > 0);
}

/* Eight mappings that nobody knows are the rest, and go together. */
static void moves_the_rest_as_well(void **state)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of("1");
        struct hn_pages *pages = NULL;
        struct hn_pages_progress progress;
        int r = 1;
        (void) state;

        paged_tell(&paged, 8, ANONYMOUS);
        assert_int_equal(hn_pages_survey(&paged.tree.root, PAGED_PID, 0, NULL, 0, &paged.door, &pages), 0);
        assert_int_equal(hn_pages_target(pages, 0, nodes), 0);
        while (r == 1) {
                paged_tell(&paged, 8, ANONYMOUS);
                r = hn_pages_step(pages, &progress);
        }
        assert_int_equal(r, 0);
        assert_int_equal(paged_on(&paged, 1), PAGED_PAGES);
        assert_in_range(paged.moves, 2, 8);
        hn_pages_free(pages);
}

/* The kernel's own mappings end with a page. */
static void gets_past_ends_within_a_page(void **state)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of("1");
        HN_PAGES struct hn_pages *pages = NULL;
        struct hn_pages_progress progress;
        int r = 1;
        (void) state;

        tree_put(&paged.tree, "/proc/7/maps", "7f0000000000-7f0000300000 rw-s 00000000 00:0f 9  /dev/hugepages/a\n");
        tree_put(&paged.tree, "/proc/7/numa_maps", "7f0000000000 default huge N0=2 kernelpagesize_kB=2048\n");
        assert_int_equal(hn_pages_survey(&paged.tree.root, PAGED_PID, 0, NULL, 0, &paged.door, &pages), 0);
        assert_int_equal(hn_pages_target(pages, 0, nodes), 0);
        for (unsigned steps = 0; r == 1; steps++) {
                assert_true(steps < 100);
                r = hn_pages_step(pages, &progress);
        }
        assert_int_equal(r, 0);
}

/* Without a door a recorded tree's pages go where they are told; the running host's are not touched. */
static void moves_in_a_recorded_tree(void **state)
{
        HN_BITMAP hwloc_bitmap_t nodes = set_of("1");
        struct hn_pages *pages = NULL;
        struct hn_pages_progress progress;
        int r = 1;
        (void) state;

        assert_int_equal(hn_pages_survey(&paged.tree.root, PAGED_PID, 0, NULL, 0, NULL, &pages), 0);
        assert_int_equal(hn_pages_target(pages, 0, nodes), 0);
        while (r == 1 && hn_pages_left_kib(pages) > 0)
                r = hn_pages_step(pages, &progress);
        assert_int_equal(progress.moved_kib, ALL_KIB);
        for (size_t i = 0; i < PAGED_PAGES; i++)
                paged.pages[i].node = 1;
        paged_tell(&paged, 1, ANONYMOUS);
        assert_int_equal(run(pages, ANONYMOUS, &progress), 0);
        assert_int_equal(progress.left_kib, 0);
        assert_int_equal(hn_pages_memory(pages, 0)->there_kib, ALL_KIB);
        hn_pages_free(pages);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                T(moves_everything_in_batches),       T(makes_longer_batches_where_calls_are_dear),
                T(leaves_what_is_right),              T(gets_past_ends_within_a_huge_page),
                T(does_nothing_where_all_is_right),   T(moves_huge_pages_by_an_address_each),
                T(finds_out_where_pages_are_huge),    T(tries_busy_pages_again),
                T(goes_on_past_pages_that_stay),      T(gives_up_where_nothing_goes),
                T(moves_shared_memory_of_the_guest),  T(leaves_what_others_have_as_well),
                T(ends_where_the_target_is_full),     T(takes_the_other_node_where_one_is_full),
                T(passes_over_memory_that_goes),      T(tells_a_process_that_ended),
                T(moves_the_rest_as_well),            T(moves_in_a_recorded_tree),
                T(gets_past_ends_within_a_page),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
