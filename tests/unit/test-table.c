/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/table.h"

#include <locale.h>

#include "unit/support/test.h"

static const struct hn_column columns[] = { { "NAME", false }, { "SIZE", true }, { "WHY", false } };

/* Prints and frees the table. */
static void assert_printed(struct hn_table *table, const char *expected)
{
        HN_FREE char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);

        assert_non_null(out);
        hn_table_print(table, out);
        assert_int_equal(fclose(out), 0);
        hn_table_free(table);
        assert_string_equal(text, expected);
}

static struct hn_table *new_table(void)
{
        struct hn_table *table = hn_table_new(columns, 3);

        assert_non_null(table);
        return table;
}

static void add(struct hn_table *table, const char *name, const char *size, const char *why)
{
        assert_int_equal(hn_table_add(table, (const char *[]) { name, size, why }), 0);
}

static void prints_titles_alone(void **state)
{
        (void) state;
        assert_printed(new_table(), "NAME  SIZE  WHY\n");
}

static void aligns_by_the_widest(void **state)
{
        struct hn_table *table = new_table();
        (void) state;

        add(table, "web", "512 MiB", "fits");
        add(table, "database", "8 GiB", "fits");
        assert_printed(table,
                       "NAME         SIZE  WHY\n"
                       "web       512 MiB  fits\n"
                       "database    8 GiB  fits\n");
}

static void leaves_no_blanks_at_the_end(void **state)
{
        struct hn_table *table = new_table();
        (void) state;

        add(table, "web", NULL, NULL);
        add(table, NULL, "1", NULL);
        add(table, NULL, NULL, "x");
        add(table, NULL, NULL, NULL);
        assert_printed(table,
                       "NAME  SIZE  WHY\n"
                       "web\n"
                       "         1\n"
                       "            x\n"
                       "\n");
}

static void aligns_by_what_is_seen(void **state)
{
        struct hn_table *table;
        (void) state;

        if (!setlocale(LC_CTYPE, "C.UTF-8"))
                skip();
        table = new_table();
        add(table, "g\xc3\xa4ste", "1", "x");
        add(table, "\xe8\x99\x9a\xe6\x8b\x9f", "1", "x");
        assert_printed(table,
                       "NAME   SIZE  WHY\n"
                       "g\xc3\xa4ste     1  x\n"
                       "\xe8\x99\x9a\xe6\x8b\x9f      1  x\n");
}

static void shows_no_control_characters(void **state)
{
        struct hn_table *table = new_table();
        (void) state;

        add(table, "a\nb\x1b", "1", "x");
        assert_printed(table,
                       "NAME        SIZE  WHY\n"
                       "a\\x0ab\\x1b     1  x\n");
}

static void takes_many_rows(void **state)
{
        struct hn_table *table = new_table();
        HN_FREE char *text = NULL;
        size_t length = 0, lines = 0;
        FILE *out = open_memstream(&text, &length);
        (void) state;

        for (int i = 0; i < 1000; i++)
                add(table, "guest", "1", "x");
        hn_table_print(table, out);
        assert_int_equal(fclose(out), 0);
        hn_table_free(table);
        for (const char *p = text; (p = strchr(p, '\n')); p++)
                lines++;
        assert_int_equal(lines, 1001);
}

/* NAME may be cut to 4, WHY goes before SIZE.  Whole: 8 + 2 + 4 + 2 + 7 = 23 columns. */
static struct hn_table *new_fitting(unsigned width)
{
        static const struct hn_column fitting[] = {
                { .title = "NAME", .shrinks = 4 }, { .title = "SIZE", .right = true, .rank = 1 },
                { .title = "WHY", .rank = 2 },
        };
        struct hn_table *table = hn_table_new(fitting, 3);

        assert_non_null(table);
        add(table, "database", "8", "because");
        hn_table_fit(table, width);
        return table;
}

static void cuts_what_shrinks_first(void **state)
{
        (void) state;
        assert_printed(new_fitting(23), "NAME      SIZE  WHY\ndatabase     8  because\n");
        assert_printed(new_fitting(22), "NAME     SIZE  WHY\ndataba+     8  because\n");
}

static void leaves_out_by_rank(void **state)
{
        (void) state;
        assert_printed(new_fitting(19), "NAME  SIZE  WHY\ndat+     8  because\n");
        /* one less: WHY goes, and NAME needs no cutting any more */
        assert_printed(new_fitting(18), "NAME      SIZE\ndatabase     8\n");
        assert_printed(new_fitting(10), "NAME  SIZE\ndat+     8\n");
        assert_printed(new_fitting(9), "NAME\ndatabase\n");
        assert_printed(new_fitting(1), "NAME\ndat+\n");
}

static void keeps_the_least_width(void **state)
{
        static const struct hn_column wide[] = { { .title = "A", .right = true, .least = 5 }, { .title = "B" } };
        struct hn_table *table = hn_table_new(wide, 2);
        (void) state;

        assert_non_null(table);
        add(table, "1", "x", NULL);
        assert_printed(table, "    A  B\n    1  x\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(prints_titles_alone),
                cmocka_unit_test(aligns_by_the_widest),
                cmocka_unit_test(leaves_no_blanks_at_the_end),
                cmocka_unit_test(aligns_by_what_is_seen),
                cmocka_unit_test(shows_no_control_characters),
                cmocka_unit_test(takes_many_rows),
                cmocka_unit_test(cuts_what_shrinks_first),
                cmocka_unit_test(leaves_out_by_rank),
                cmocka_unit_test(keeps_the_least_width),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
