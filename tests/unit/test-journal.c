/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What goes to journald, and to a recorded tree instead.
 */
#include "act/journal.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

/* https://systemd.io/JOURNAL_NATIVE_PROTOCOL: "NAME=value" and a newline, or for values with a newline in them the name,
 * a newline, the length in 64 bits little-endian, the value and a newline. */
static void speaks_the_native_protocol(void **state)
{
        static const struct hn_journal_field fields[] = {
                { "MESSAGE", "prepare g\xc3\xa4st: one\ntwo" }, { "PRIORITY", "6" }, { "HOMENODE_DOMAIN", NULL },
                { "EMPTY", "" }, { "SIGNS", "a=b" },
        };
        static const char expected[] = "MESSAGE\n\x16\0\0\0\0\0\0\0prepare g\xc3\xa4st: one\ntwo\n"
                                       "PRIORITY=6\nEMPTY=\nSIGNS=a=b\n";
        HN_FREE char *datagram = NULL;
        size_t length = 0;
        (void) state;

        assert_int_equal(hn_journal_datagram(fields, sizeof fields / sizeof *fields, &datagram, &length), 0);
        assert_int_equal(length, sizeof expected - 1);
        assert_memory_equal(datagram, expected, length);
}

static void a_recorded_tree_gets_a_file(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *text = NULL;

        tree_put(tree, HN_JOURNAL_FILE, "");
        hn_journal(&tree->root, LOG_INFO, "homenode-hook", "web", NULL, "%s: %d", "prepare web", 1);
        hn_journal(&tree->root, LOG_INFO, "homenode-hook", NULL, NULL, "again");
        assert_int_equal(hn_root_read(&tree->root, 4096, &text, NULL, HN_JOURNAL_FILE), 0);
        assert_string_equal(text, "homenode-hook: prepare web: 1\nhomenode-hook: again\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(speaks_the_native_protocol),
                cmocka_unit_test_setup_teardown(a_recorded_tree_gets_a_file, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
