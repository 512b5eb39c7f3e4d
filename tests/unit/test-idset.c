/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/idset.h"

#include "unit/support/test.h"

static void reads_what_libvirt_and_the_kernel_write(void **state)
{
        static const struct { const char *text, *list; } cases[] = {
                { "", "" },
                { "\n", "" },
                { "0", "0" },
                { "0-3", "0-3" },
                { "0-3,^2", "0-1,3" },
                { "^2,0-3", "0-3" },          /* order counts, as in virBitmapParse */
                { "8,0", "0,8" },
                { " 1 , 3 - 4 ", "1,3-4" },
                { "0-3,2-7", "0-7" },
                { "5-5", "5" },
                { "007", "7" },
                { "0-1023\n", "0-1023" },
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_BITMAP hwloc_bitmap_t set = NULL;

                assert_int_equal(hn_idset_parse(cases[i].text, HN_IDSET_LIMIT, &set), 0);
                assert_set(set, cases[i].list);
        }
}

static void refuses_what_is_no_list(void **state)
{
        static const char *const texts[] = {
                "a", "-1", "1-", "-", ",", "1,", ",1", "1,,2", "3-1", "1 2", "0x3", "+1", "^", "^1-2", "1-^2",
                "1.5", "0-3;", "1\t-\t", "\xc3\xa4",
        };
        (void) state;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                hwloc_bitmap_t set = NULL;

                assert_int_equal(hn_idset_parse(texts[i], HN_IDSET_LIMIT, &set), -EINVAL);
                assert_null(set);
        }
}

/* virBitmapParse: a comma is followed by an item or by the end, and strtol reads where a range ends. */
static void reads_what_libvirt_takes_in_its_xml(void **state)
{
        static const struct { const char *text, *list; } cases[] = {
                { "0-3,", "0-3" },
                { "0-3 , ", "0-3" },
                { "0-3,^2,", "0-1,3" },
                { "^2,", "" },
                { "1-+3", "1-3" },
                { "1 - +3 ,8", "1-3,8" },
                { "0--0", "0" },
                { "0-3,^2,8", "0-1,3,8" },
                { " 1 , 3 - 4 ", "1,3-4" },
        };
        static const char *const refused[] = {
                ",", ",1", "1,,2", "1,,", "1, ,", "+1", "-1", "^+1", "1-", "1-,", "1-+", "1-+ 3", "1-++3", "1--1", "0--1",
                "^1-+2", "1,^", "1 2",
        };
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_BITMAP hwloc_bitmap_t set = NULL;

                assert_int_equal(hn_idset_parse_libvirt(cases[i].text, HN_IDSET_LIMIT, &set), 0);
                assert_set(set, cases[i].list);
        }
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
                hwloc_bitmap_t set = NULL;

                assert_int_equal(hn_idset_parse_libvirt(refused[i], HN_IDSET_LIMIT, &set), -EINVAL);
                assert_null(set);
        }
}

static void refuses_numbers_beyond_the_limit(void **state)
{
        hwloc_bitmap_t set = NULL;
        (void) state;

        assert_int_equal(hn_idset_parse("8", 8, &set), -ERANGE);
        assert_int_equal(hn_idset_parse("0-8", 8, &set), -ERANGE);
        assert_int_equal(hn_idset_parse("16384", HN_IDSET_LIMIT + 5, &set), -ERANGE);
        assert_int_equal(hn_idset_parse("4294967296", HN_IDSET_LIMIT, &set), -ERANGE);
        assert_int_equal(hn_idset_parse("18446744073709551617", HN_IDSET_LIMIT, &set), -ERANGE);
        assert_int_equal(hn_idset_parse_libvirt("0-+8,", 8, &set), -ERANGE);
        assert_int_equal(hn_idset_parse_libvirt("0--4294967296", HN_IDSET_LIMIT, &set), -ERANGE);
        assert_null(set);
}

static void prints_what_it_reads_the_same(void **state)
{
        unsigned seed = 7;
        (void) state;

        for (int round = 0; round < 500; round++) {
                HN_BITMAP hwloc_bitmap_t set = hwloc_bitmap_alloc(), again = NULL;
                HN_FREE char *text = NULL;

                for (int i = 0; i < round % 40; i++) {
                        seed = seed * 1103515245u + 12345u;
                        hwloc_bitmap_set(set, (seed >> 8) % 600);
                }
                assert_int_equal(hn_idset_format(set, &text), 0);
                assert_int_equal(hn_idset_parse(text, HN_IDSET_LIMIT, &again), 0);
                assert_true(hwloc_bitmap_isequal(set, again));
                assert_int_equal(hn_idset_count(set), (unsigned) hwloc_bitmap_weight(again));
        }
}

static void does_not_print_infinite_sets(void **state)
{
        HN_BITMAP hwloc_bitmap_t full = hwloc_bitmap_alloc_full();
        char *text = NULL;
        (void) state;

        assert_int_equal(hn_idset_format(full, &text), -EINVAL);
        assert_null(text);
        assert_int_equal(hn_idset_count(full), 0);
        assert_int_equal(hn_idset_count(NULL), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_what_libvirt_and_the_kernel_write),
                cmocka_unit_test(refuses_what_is_no_list),
                cmocka_unit_test(reads_what_libvirt_takes_in_its_xml),
                cmocka_unit_test(refuses_numbers_beyond_the_limit),
                cmocka_unit_test(prints_what_it_reads_the_same),
                cmocka_unit_test(does_not_print_infinite_sets),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
