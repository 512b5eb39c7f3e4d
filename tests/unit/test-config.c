/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/config.h"

#include <sys/stat.h>

#include "unit/support/test.h"
#include "unit/support/tree.h"

#define MAIN "/etc/homenode/homenode.conf"
#define DROPIN(name) MAIN ".d/" name
#define BELOW_ROOT(path) (&(path)[1])

static struct hn_policy load(struct tree *tree, char **ret_faults)
{
        struct hn_policy policy;

        memset(&policy, 0xaa, sizeof policy);
        assert_int_equal(hn_config_load(&tree->root, &policy, ret_faults), 0);
        return policy;
}

static struct hn_policy load_without_faults(struct tree *tree)
{
        char *faults = NULL;
        struct hn_policy policy = load(tree, &faults);

        if (faults)
                fail_msg("unexpected: %s", faults);
        return policy;
}

static void assert_defaults(const struct hn_policy *policy)
{
        assert_int_equal(policy->smt_percent, 25);
        assert_int_equal(policy->headroom_percent, 20);
        assert_int_equal(policy->reserve_percent, 5);
        assert_int_equal(policy->reserve_max_kib, 1048576);
        assert_int_equal(policy->overhead_first_kib, 32768);
        assert_int_equal(policy->overhead_per_gib_kib, 8192);
        assert_int_equal(policy->definition, HN_DEFINITION_AUTO);
        assert_int_equal(policy->renew_seconds, 300);
        assert_false(policy->balance.off);
        assert_int_equal(policy->balance.period_seconds, 10);
        assert_int_equal(policy->balance.moves, 2);
        assert_int_equal(policy->balance.threshold_percent, 15);
        assert_int_equal(policy->balance.payback_seconds, 120);
        assert_int_equal(policy->balance.cooldown_seconds, 60);
        assert_int_equal(policy->balance.rate_mib, 0);
}

static void gives_the_defaults_without_files(void **state)
{
        struct tree *tree = *state;
        struct hn_policy policy = load_without_faults(tree);

        assert_defaults(&policy);
        tree_put(tree, MAIN, "");
        tree_put(tree, DROPIN("10-nothing.conf"), "# [placement]\n# smt_percent = 3\n");
        policy = load_without_faults(tree);
        assert_defaults(&policy);
}

static void reads_every_key(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, MAIN, "# of this host\ndefinition = minimal\n\n[placement]\n"
                             "smt_percent = 30\nheadroom_percent=0\nreserve_percent=100  # all\n"
                             "reserve_max_mib = 2048\noverhead_first_mib=0\n"
                             "  overhead_per_gib_mib = 16\n[daemon]\nrenew_seconds=86400\n"
                             "[balance]\nmode = off\nperiod_seconds=1\nmoves=16\nthreshold_percent=7\n"
                             "payback_seconds=20\ncooldown_seconds=30\nrate_mib=500\n");
        struct hn_policy policy = load_without_faults(tree);
        assert_int_equal(policy.renew_seconds, 86400);
        assert_true(policy.balance.off);
        assert_int_equal(policy.balance.period_seconds, 1);
        assert_int_equal(policy.balance.moves, 16);
        assert_int_equal(policy.balance.threshold_percent, 7);
        assert_int_equal(policy.balance.payback_seconds, 20);
        assert_int_equal(policy.balance.cooldown_seconds, 30);
        assert_int_equal(policy.balance.rate_mib, 500);
        assert_int_equal(policy.smt_percent, 30);
        assert_int_equal(policy.headroom_percent, 0);
        assert_int_equal(policy.reserve_percent, 100);
        assert_int_equal(policy.reserve_max_kib, 2097152);
        assert_int_equal(policy.overhead_first_kib, 0);
        assert_int_equal(policy.overhead_per_gib_kib, 16384);
        assert_int_equal(policy.definition, HN_DEFINITION_MINIMAL);

        tree_put(tree, MAIN, "[definition]\nmode = never\n[placement]\nreserve_max_mib = 1073741824\n");
        policy = load_without_faults(tree);
        assert_int_equal(policy.definition, HN_DEFINITION_NEVER);
        assert_int_equal(policy.reserve_max_kib, UINT64_C(1) << 40);

        tree_put(tree, MAIN, "balance = off\n");
        assert_true(load_without_faults(tree).balance.off);
        tree_put(tree, DROPIN("10-on.conf"), "balance = on\n");
        assert_false(load_without_faults(tree).balance.off);
}

static void lays_dropins_over_it_by_name(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, MAIN, "[placement]\nsmt_percent = 1\nheadroom_percent = 1\nreserve_percent = 1\n");
        tree_put(tree, DROPIN("20-b.conf"), "[placement]\nsmt_percent = 3\n");
        tree_put(tree, DROPIN("10-a.conf"), "[placement]\nsmt_percent = 2\nheadroom_percent = 2\n");
        tree_put(tree, DROPIN("30-c.conf.bak"), "[placement]\nsmt_percent = 4\n");
        tree_put(tree, DROPIN(".40-d.conf"), "[placement]\nsmt_percent = 5\n");
        struct hn_policy policy = load_without_faults(tree);
        assert_int_equal(policy.smt_percent, 3);
        assert_int_equal(policy.headroom_percent, 2);
        assert_int_equal(policy.reserve_percent, 1);
}

static void passes_over_a_broken_file_and_names_it(void **state)
{
        struct tree *tree = *state;
        char *faults = NULL;

        tree_put(tree, MAIN, "[placement]\nsmt_percent = 1\n");
        tree_put(tree, DROPIN("10-a.conf"), "[placement\nsmt_percent = 2\n");
        tree_put(tree, DROPIN("20-b.conf"), "[placement]\nheadroom_percent = 3\n");
        struct hn_policy policy = load(tree, &faults);
        assert_int_equal(policy.smt_percent, 1);
        assert_int_equal(policy.headroom_percent, 3);
        assert_non_null(faults);
        assert_non_null(strstr(faults, DROPIN("10-a.conf") ": line 1: "));
        assert_non_null(strstr(faults, "; nothing in this file counts"));
        assert_null(strchr(faults, '\n'));
        free(faults);
}

static void passes_over_wrong_values_and_names_them(void **state)
{
        static const char *const values[] = {
                "101", "-1", "+1", "1.5", "0x10", "abc", "", "1 2", "25%", "99999999999999999999999",
                "\xd9\xa3", /* a digit of another script */
        };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                HN_FREE char *text = NULL, *faults = NULL, *expected = NULL;

                assert_true(asprintf(&text, "[placement]\nsmt_percent = %s\nheadroom_percent = 7\n",
                                     values[i]) > 0);
                tree_put(tree, MAIN, text);
                struct hn_policy policy = load(tree, &faults);
                assert_int_equal(policy.smt_percent, 25);
                assert_int_equal(policy.headroom_percent, 7);
                assert_true(asprintf(&expected, MAIN ": section \"placement\", key \"smt_percent\": \"%s\""
                                     " is not a number from 0 to 100", values[i]) > 0);
                assert_string_equal(faults, expected);
        }
}

static void names_what_it_does_not_know(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *faults = NULL;

        tree_put(tree, MAIN, "[balance]\nmode = maybe\nperiod_seconds = 0\n");
        struct hn_policy policy = load(tree, &faults);
        assert_defaults(&policy);
        assert_string_equal(faults, MAIN ": section \"balance\", key \"mode\": \"maybe\" is not on or off\n"
                                    MAIN ": section \"balance\", key \"period_seconds\": \"0\" is not a number from 1 to 3600");
        free(faults);
        faults = NULL;
        tree_put(tree, MAIN, "smt_percent = 3\n[placement]\nsmt_percnet = 3\nmode = auto\n"
                             "[Placement]\nsmt_percent = 3\n[definition]\nmode = Auto\n");
        policy = load(tree, &faults);
        assert_defaults(&policy);
        assert_string_equal(faults, MAIN ": key \"smt_percent\": unknown\n"
                            MAIN ": section \"placement\", key \"smt_percnet\": unknown\n"
                            MAIN ": section \"placement\", key \"mode\": unknown\n"
                            MAIN ": section \"Placement\", key \"smt_percent\": unknown\n"
                            MAIN ": section \"definition\", key \"mode\": "
                            "\"Auto\" is not auto, minimal or never");
}

static void names_faults_once_in_a_section_begun_twice(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *faults = NULL;

        tree_put(tree, MAIN, "[placement]\na = 1\n[other]\nb = 1\n[placement]\nsmt_percent = 9\n");
        struct hn_policy policy = load(tree, &faults);
        assert_int_equal(policy.smt_percent, 9);
        assert_string_equal(faults, MAIN ": section \"placement\", key \"a\": unknown\n"
                            MAIN ": section \"other\", key \"b\": unknown");
}

static void is_stopped_by_no_kind_of_file(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *faults = NULL, *large = malloc(HN_CONFIG_LIMIT + 2);

        assert_non_null(large);
        memset(large, '#', HN_CONFIG_LIMIT + 1);
        large[HN_CONFIG_LIMIT + 1] = '\0';
        tree_put(tree, MAIN, large);
        assert_int_equal(hn_root_mkdir(&tree->root, 0755, DROPIN("10-folder.conf")), 0);
        assert_int_equal(mkfifoat(tree->root.fd, BELOW_ROOT(DROPIN("20-fifo.conf")), 0600), 0);
        assert_int_equal(symlinkat("nowhere", tree->root.fd, BELOW_ROOT(DROPIN("30-dangling.conf"))), 0);
        assert_int_equal(symlinkat("40-loop.conf", tree->root.fd, BELOW_ROOT(DROPIN("40-loop.conf"))), 0);
        tree_put(tree, DROPIN("50-good.conf"), "[placement]\nsmt_percent = 9\n");
        struct hn_policy policy = load(tree, &faults);
        assert_int_equal(policy.smt_percent, 9);
        assert_non_null(strstr(faults, MAIN ": not a file of at most 16 KiB\n"));
        assert_non_null(strstr(faults, "10-folder.conf: not a file"));
        assert_non_null(strstr(faults, "20-fifo.conf: not a file"));
        assert_non_null(strstr(faults, "40-loop.conf: "));
}

static void says_only_so_much(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *faults = NULL, *text = calloc(1, HN_CONFIG_LIMIT);
        size_t lines = 1, length = 0;

        assert_non_null(text);
        for (int i = 0; i < 500; i++)
                length += (size_t) sprintf(text + length, "[s%d]\nk\x01%d = v\n", i, i);
        tree_put(tree, MAIN, text);
        (void) load(tree, &faults);
        for (const char *p = faults; *p; p++) {
                lines += *p == '\n';
                assert_true((unsigned char) *p >= ' ' || *p == '\n');
        }
        assert_int_equal(lines, 32);
        assert_non_null(strstr(faults, "\nand more"));
}

/* libeconf 0.7 stumbles over comment signs in comments. */
static void comments_may_hold_anything(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *faults = NULL;

        tree_put(tree, MAIN,
                 "####\n#\n# ### nodes ###\n;;; # ;\n  # #\n[placement]\n## a = 1\n# [x\n#;# =\nsmt_percent = 7\n####");
        struct hn_policy policy = load(tree, &faults);
        assert_int_equal(policy.smt_percent, 7);
        assert_null(faults);

        tree_put(tree, MAIN, "####\n# ## #\n[placement\n");
        (void) load(tree, &faults);
        assert_non_null(strstr(faults, "line 3"));
}

static void reads_only_so_much(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *faults = NULL, *text = malloc(HN_CONFIG_LIMIT + 1);

        assert_non_null(text);
        memset(text, '#', HN_CONFIG_LIMIT);
        text[HN_CONFIG_LIMIT] = '\0';
        tree_put(tree, MAIN, "[placement]\nsmt_percent = 1\n");
        tree_put(tree, DROPIN("1.conf"), text);
        tree_put(tree, DROPIN("2.conf"), text);
        tree_put(tree, DROPIN("3.conf"), text);
        tree_put(tree, DROPIN("4.conf"), text);
        struct hn_policy policy = load(tree, &faults);
        assert_int_equal(policy.smt_percent, 1);
        assert_string_equal(faults, DROPIN("4.conf") ": more than 64 KiB of configuration");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(gives_the_defaults_without_files, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(reads_every_key, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(lays_dropins_over_it_by_name, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(passes_over_a_broken_file_and_names_it, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(passes_over_wrong_values_and_names_them, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(names_what_it_does_not_know, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(names_faults_once_in_a_section_begun_twice, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(is_stopped_by_no_kind_of_file, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(says_only_so_much, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(comments_may_hold_anything, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(reads_only_so_much, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
