/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading JSON texts: what is one, on every json-c that we meet.
 */
#include "unit/support/test.h"

#include <errno.h>
#include <string.h>

#include "model/json.h"
#include "unit/support/tree.h"

static int parse(const char *text, struct json_object **ret)
{
        return hn_json_parse(text, strlen(text), 4, ret);
}

static void texts_beyond_ascii_come_back_byte_by_byte(void **state)
{
        /* Two, three and four bytes; those whose last byte is the highest and the lowest there is; alone and between others. */
        static const char *const names[] = {
                "g\xc3\xa4st-\xc3\xbc", "\xc2\xba", "\xc2\x80", "\xdf\xbf", "\xe6\x97\xa5\xe6\x9c\xac",
                "vm \xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa4",
        };

        (void) state;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                HN_JSON struct json_object *json = NULL;
                const char *name = NULL;
                char text[64];

                (void) snprintf(text, sizeof text, "{ \"name\": \"%s\" }\n", names[i]);
                assert_int_equal(parse(text, &json), 0);
                assert_int_equal(hn_json_get_string(json, "name", &name), 0);
                assert_string_equal(name, names[i]);
        }
}

static void what_is_no_json_text_is_refused(void **state)
{
        static const char *const texts[] = {
                "", "{", "{ \"a\": 1 } x", "{ \"a\": \"\xc3\xa4\" } x", "{ \"a\": \"\xc3\xa4\" }{}",
                "{ \"a\": \"\xc3\" }", "{ \"a\": \"\xff\" }", "{ \"a\": \"\xed\xa0\x80 \xc3\" }",
                "{ \"\xc3\xa4\": [ [ [ [ 1 ] ] ] ] }", "{ \"a\": 1, }",
        };

        (void) state;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                struct json_object *json = NULL;

                if (parse(texts[i], &json) != -EBADMSG || json)
                        fail_msg("taken: %s", texts[i]);
        }
}

static void a_nul_after_the_text_is_no_white_space(void **state)
{
        struct json_object *json = NULL;

        (void) state;
        assert_int_equal(hn_json_parse("{ \"a\": \"\xc3\xa4\" }\0\n", 15, 4, &json), -EBADMSG);
        assert_null(json);
}

static void files_are_read_and_replaced(void **state)
{
        const struct tree *tree = *state;
        HN_JSON struct json_object *json = NULL, *again = NULL, *none = NULL;
        HN_FREE char *text = NULL;
        size_t length = 0;

        assert_int_equal(parse("{ \"a\": [ 1, 2 ] }", &json), 0);
        assert_int_equal(hn_root_mkdir(&tree->root, 0700, "/run"), 0);
        assert_int_equal(hn_json_replace(&tree->root, json, "/run/%s", "a.json"), 0);
        assert_int_equal(hn_root_read(&tree->root, 64, &text, &length, "/run/a.json"), 0);
        assert_string_equal(text, "{\"a\":[1,2]}");
        assert_int_equal(hn_json_read(&tree->root, 64, 4, &again, "/run/%s", "a.json"), 0);
        assert_true(json_object_equal(json, again));

        assert_int_equal(hn_json_read(&tree->root, 4, 4, &none, "/run/a.json"), -EFBIG);
        assert_int_equal(hn_json_read(&tree->root, 64, 1, &none, "/run/a.json"), -EBADMSG);
        assert_int_equal(hn_json_read(&tree->root, 64, 4, &none, "/run/b.json"), -ENOENT);
        assert_null(none);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(texts_beyond_ascii_come_back_byte_by_byte),
                cmocka_unit_test(what_is_no_json_text_is_refused),
                cmocka_unit_test(a_nul_after_the_text_is_no_white_space),
                cmocka_unit_test_setup_teardown(files_are_read_and_replaced, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
