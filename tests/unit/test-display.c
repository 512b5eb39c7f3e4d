/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/display.h"

#include <locale.h>

#include "unit/support/test.h"

static void assert_escaped(const char *text, const char *expected)
{
        HN_FREE char *escaped = hn_display_escape(text);

        assert_non_null(escaped);
        assert_string_equal(escaped, expected);
}

static void keeps_what_can_be_shown(void **state)
{
        (void) state;
        assert_escaped("", "");
        assert_escaped("web 1 ~", "web 1 ~");
        assert_escaped("g\xc3\xa4st", "g\xc3\xa4st");
        assert_escaped("\xe8\x99\x9a \xf0\x9f\x90\xa7", "\xe8\x99\x9a \xf0\x9f\x90\xa7");
        assert_escaped("\xc2\xa0", "\xc2\xa0"); /* the first beyond C1 */
        assert_escaped("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"); /* beside the surrogates */
        assert_escaped("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");                 /* U+10FFFF */
}

static void escapes_what_drives_a_terminal(void **state)
{
        (void) state;
        assert_escaped("a\x1b[31mb", "a\\x1b[31mb");
        assert_escaped("\n\t\r\x7f\x01", "\\x0a\\x09\\x0d\\x7f\\x01");
        assert_escaped("\xc2\x9b" "2J\xc2\x80\xc2\x9f", "\\x9b2J\\x80\\x9f");
}

static void escapes_what_is_not_utf8(void **state)
{
        (void) state;
        assert_escaped("\xff\x80", "\\xff\\x80");
        assert_escaped("\xc0\xaf", "\\xc0\\xaf");                 /* "/" in two bytes */
        assert_escaped("\xe0\x80\x9b", "\\xe0\\x80\\x9b");        /* ESC-like in three */
        assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");        /* a surrogate */
        assert_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
        assert_escaped("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf");
        assert_escaped("\xe8\x99", "\\xe8\\x99");                 /* cut short */
        assert_escaped("\xc3", "\\xc3");
        assert_escaped("\xc2", "\\xc2");
}

static void measures_display_width(void **state)
{
        (void) state;
        assert_int_equal(hn_display_width(""), 0);
        assert_int_equal(hn_display_width("web"), 3);
        if (!setlocale(LC_CTYPE, "C.UTF-8"))
                skip();
        assert_int_equal(hn_display_width("g\xc3\xa4st"), 4);
        assert_int_equal(hn_display_width("\xe8\x99\x9a\xe6\x8b\x9f"), 4); /* two wide ones */
        assert_int_equal(hn_display_width("a\xcc\x88"), 1);                /* a combining mark */
        (void) setlocale(LC_CTYPE, "C");
        assert_int_equal(hn_display_width("g\xc3\xa4st"), 4);
}

static void assert_cut(const char *text, unsigned width, const char *expected)
{
        HN_FREE char *cut = hn_display_cut(text, width);

        assert_non_null(cut);
        assert_string_equal(cut, expected);
}

static void cuts_to_a_width(void **state)
{
        (void) state;
        assert_cut("", 1, "");
        assert_cut("web", 3, "web");
        assert_cut("webs", 3, "we+");
        assert_cut("webs", 1, "+");
        assert_cut("g\xc3\xa4ste", 3, "g\xc3\xa4+"); /* whatever the locale */
        if (!setlocale(LC_CTYPE, "C.UTF-8"))
                skip();
        assert_cut("g\xc3\xa4ste", 3, "g\xc3\xa4+");
        assert_cut("a\xcc\x88", 1, "a\xcc\x88");
        assert_cut("a\xcc\x88xy", 2, "a\xcc\x88+");
        /* a wide one that does not fit goes as a whole */
        assert_cut("\xe8\x99\x9a\xe6\x8b\x9f", 3, "\xe8\x99\x9a+");
        assert_cut("\xe8\x99\x9a\xe6\x8b\x9f", 2, "+");
        (void) setlocale(LC_CTYPE, "C");
}

static void writes_sets(void **state)
{
        HN_BITMAP hwloc_bitmap_t set = set_of("8-11,2"), none = set_of("");
        HN_FREE char *text = hn_display_set(set), *dash = hn_display_set(none), *null = hn_display_set(NULL);
        (void) state;

        assert_string_equal(text, "2,8-11");
        assert_string_equal(dash, "-");
        assert_string_equal(null, "-");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keeps_what_can_be_shown),
                cmocka_unit_test(escapes_what_drives_a_terminal),
                cmocka_unit_test(escapes_what_is_not_utf8),
                cmocka_unit_test(measures_display_width),
                cmocka_unit_test(cuts_to_a_width),
                cmocka_unit_test(writes_sets),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
