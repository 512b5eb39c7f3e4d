/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/text.h"

#include "unit/support/test.h"

static void prints_into_memory(void **state)
{
        HN_FREE char *text = hn_text_print("%s: %d", "vcpu", 12), *empty = hn_text_print("%s", "");
        (void) state;

        assert_string_equal(text, "vcpu: 12");
        assert_string_equal(empty, "");
}

static void puts_a_semicolon_between_pieces(void **state)
{
        HN_FREE char *text = NULL;
        (void) state;

        assert_int_equal(hn_text_add(&text, "on %s", "node 2"), 0);
        assert_string_equal(text, "on node 2");
        assert_int_equal(hn_text_add(&text, "%u%%", 20u), 0);
        assert_int_equal(hn_text_add(&text, "%s", ""), 0);
        assert_string_equal(text, "on node 2; 20%; ");
}

/* A piece may quote the text that it is added to. */
static void adds_a_text_to_itself(void **state)
{
        HN_FREE char *text = NULL;
        (void) state;

        assert_int_equal(hn_text_add(&text, "x"), 0);
        assert_int_equal(hn_text_add(&text, "%s", text), 0);
        assert_string_equal(text, "x; x");
}

static void finds_whole_words_only(void **state)
{
        (void) state;

        assert_true(hn_text_has_word("cpuset", "cpuset"));
        assert_true(hn_text_has_word("cpu io cpuset", "cpuset"));
        assert_true(hn_text_has_word("cpuset2 mycpuset cpuset io", "cpuset"));
        assert_false(hn_text_has_word("cpuset2 mycpuset", "cpuset"));
        assert_false(hn_text_has_word("cpuset io", "cpu"));
        assert_false(hn_text_has_word("", "cpuset"));
}

static void numbers_are_told_apart(void **state)
{
        char a[HN_TEXT_SIZE], b[HN_TEXT_SIZE];
        (void) state;

        hn_text_apart(0.25, 0.5, a, b);
        assert_string_equal(a, "0.25");
        assert_string_equal(b, "0.5");
        hn_text_apart(1.2344, 1.2346, a, b);
        assert_string_equal(a, "1.234");
        assert_string_equal(b, "1.235");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(prints_into_memory),
                cmocka_unit_test(puts_a_semicolon_between_pieces),
                cmocka_unit_test(adds_a_text_to_itself),
                cmocka_unit_test(finds_whole_words_only),
                cmocka_unit_test(numbers_are_told_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
