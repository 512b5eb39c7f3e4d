/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/options.h"

#include <unistd.h>

#include "unit/support/test.h"

#define ARGC_LIMIT 8

struct parsed {
        const char *host;
        bool json;
        bool go_on;
        int first;
        int exit;
        char *said; /* on stderr */
};

static char *read_back(FILE *file)
{
        char *text = calloc(1, 4096);

        assert_non_null(text);
        rewind(file);
        (void) fread(text, 1, 4095, file);
        (void) fclose(file);
        return text;
}

/* Parses `arguments` (NULL at the end) with one option that takes a value and one flag. */
static struct parsed parse(bool stop_early, const char *const *arguments)
{
        struct parsed parsed = { .first = -1, .exit = -1 };
        const struct hn_option table[] = {
                { .name = "host", .argument = "TOPOLOGY", .value = &parsed.host, .help = "the host", .letter = 'o' },
                { .name = "json", .flag = &parsed.json, .help = "as JSON", .letter = 'j' },
        };
        const struct hn_usage usage = {
                .command = "homenode x", .operands = "FILE", .summary = "Does x.",
                .options = table, .n_options = 2,
        };
        char *argv[ARGC_LIMIT + 1] = { NULL };
        FILE *caught = tmpfile();
        int argc = 0, kept = dup(STDERR_FILENO);

        assert_non_null(caught);
        for (; arguments[argc]; argc++)
                argv[argc] = strdup(arguments[argc]);
        assert_true(dup2(fileno(caught), STDERR_FILENO) >= 0);
        parsed.go_on = hn_options_parse(&usage, stop_early, argc, argv, &parsed.first, &parsed.exit);
        (void) fflush(stderr);
        assert_true(dup2(kept, STDERR_FILENO) >= 0);
        (void) close(kept);
        parsed.said = read_back(caught);
        parsed.host = parsed.host ? "given" : NULL; /* the value goes with its argv */
        for (int i = 0; i < argc; i++)
                free(argv[i]);
        return parsed;
}
#define PARSE(stop_early, ...) parse(stop_early, (const char *const[]) { "x", __VA_ARGS__, NULL })

static void takes_options_before_and_after_operands(void **state)
{
        struct parsed parsed = PARSE(false, "a.xml", "--json", "--host", "node:2", "-");
        (void) state;

        assert_true(parsed.go_on);
        assert_true(parsed.json);
        assert_non_null(parsed.host);
        assert_int_equal(parsed.first, 4);
        assert_string_equal(parsed.said, "");
        free(parsed.said);
}

static void takes_values_with_a_sign_between(void **state)
{
        struct parsed parsed = PARSE(false, "--host=node:2");
        (void) state;

        assert_true(parsed.go_on);
        assert_non_null(parsed.host);
        assert_int_equal(parsed.first, 2);
        free(parsed.said);
}

static void takes_letters_too(void **state)
{
        struct parsed parsed = PARSE(false, "-j", "-onode:2", "a");
        (void) state;

        assert_true(parsed.go_on);
        assert_true(parsed.json);
        assert_non_null(parsed.host);
        assert_int_equal(parsed.first, 3);
        free(parsed.said);
}

static void helps(void **state)
{
        static const char *const asked[] = { "-h", "--help", "-jh" };
        (void) state;

        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
                struct parsed parsed = PARSE(false, asked[i]);

                assert_false(parsed.go_on);
                assert_int_equal(parsed.exit, HN_EXIT_DONE);
                assert_string_equal(parsed.said, "");
                free(parsed.said);
        }
}

static void ends_options_at_two_dashes(void **state)
{
        struct parsed parsed = PARSE(false, "--", "--json");
        (void) state;

        assert_true(parsed.go_on);
        assert_false(parsed.json);
        assert_int_equal(parsed.first, 2);
        free(parsed.said);
}

static void stops_at_the_subcommand(void **state)
{
        struct parsed parsed = PARSE(true, "--json", "plan", "--unheard-of");
        (void) state;

        assert_true(parsed.go_on);
        assert_int_equal(parsed.first, 2);
        free(parsed.said);
}

#define HINT "(see homenode x --help)\n"

static void assert_wrong(struct parsed parsed, const char *said)
{
        assert_false(parsed.go_on);
        assert_int_equal(parsed.exit, HN_EXIT_USAGE);
        assert_string_equal(parsed.said, said);
        free(parsed.said);
}

static void names_what_is_wrong(void **state)
{
        (void) state;
        assert_wrong(PARSE(false, "a", "--frob"), "homenode: unknown option --frob " HINT);
        assert_wrong(PARSE(false, "-q"), "homenode: unknown option -q " HINT);
        assert_wrong(PARSE(false, "--host"), "homenode: --host wants a value " HINT);
        assert_wrong(PARSE(false, "-o"), "homenode: --host wants a value " HINT);
        assert_wrong(PARSE(false, "-jq"), "homenode: unknown option -q " HINT);
        assert_wrong(PARSE(false, "--json=1"), "homenode: --json=1: takes no value " HINT);
        assert_wrong(PARSE(false, "--help=1"), "homenode: --help=1: takes no value " HINT);
        assert_wrong(PARSE(false, "--a\x1b[2J"), "homenode: unknown option --a\\x1b[2J " HINT);
}

static void prints_help_from_the_table(void **state)
{
        const char *host = NULL;
        const struct hn_option table[] = {
                { .name = "host", .argument = "TOPOLOGY", .value = &host, .help = "the host" },
                { .name = "wait", .argument = "S", .value = &host, .help = "how long", .letter = 'w' },
        };
        const struct hn_usage usage = {
                .command = "homenode x", .operands = "FILE", .summary = "Does x.",
                .options = table, .n_options = 2, .more = "More.\n",
        };
        FILE *out = tmpfile();
        (void) state;

        assert_non_null(out);
        hn_usage_print(&usage, out);
        HN_FREE char *text = read_back(out);
        assert_string_equal(text,
                            "Usage: homenode x [OPTION...] FILE\n"
                            "Does x.\n"
                            "\n"
                            "  --host TOPOLOGY     the host\n"
                            "  -w, --wait S        how long\n"
                            "  -h, --help          this text\n"
                            "More.\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_options_before_and_after_operands),
                cmocka_unit_test(takes_values_with_a_sign_between),
                cmocka_unit_test(takes_letters_too),
                cmocka_unit_test(helps),
                cmocka_unit_test(ends_options_at_two_dashes),
                cmocka_unit_test(stops_at_the_subcommand),
                cmocka_unit_test(names_what_is_wrong),
                cmocka_unit_test(prints_help_from_the_table),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
