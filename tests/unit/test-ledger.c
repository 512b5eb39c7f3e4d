/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ledger's form on disk, and what it makes of files that are not its own.
 */
#include "store/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "model/clock.h"
#include "unit/support/ledger.h"

#define FOLDER "/run/homenode/ledger/"
#define UUID_N "0a1b2c3d-4e5f-4a6b-8c7d-00000000000"
#define BELOW_ROOT(path) (&(path)[1])
#define FILE_OF(uuid) FOLDER uuid ".json"

static mode_t mode_of(struct tree *tree, const char *path)
{
        struct stat st;

        assert_int_equal(fstatat(tree->root.fd, path + 1, &st, AT_SYMLINK_NOFOLLOW), 0);
        return st.st_mode & 07777;
}

static void takes_only_uuids_as_file_names(void **state)
{
        static const char *const wrong[] = {
                "", "web", "0a1b2c3d4e5f4a6b8c7d00000000000a", UUID_N "",
                UUID_N "aa", UUID_N "g",
                "0a1b2c3d-4e5f-4a6b-8c7d-0000000/../a", "../../../../../../../../../../etc/x.",
                "-a1b2c3d-4e5f-4a6b-8c7d-00000000000a", "0a1b2c3d_4e5f_4a6b_8c7d_00000000000a",
                "0a1b2c3d-4e5f-4a6b-8c7d-0000000000\n0",
        };
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        char uuid[HN_UUID_LENGTH + 1] = "";

        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct hn_entry *got = NULL;
                char *text = NULL;

                assert_int_equal(hn_uuid_canonical(wrong[i], uuid), -EINVAL);
                assert_int_equal(hn_ledger_get(ledger, wrong[i], &got), -EINVAL);
                assert_int_equal(hn_ledger_remove(ledger, wrong[i]), -EINVAL);
                assert_int_equal(hn_ledger_explanation(ledger, wrong[i], &text), -EINVAL);
                if (strlen(wrong[i]) <= HN_UUID_LENGTH) {
                        HN_ENTRY struct hn_entry *entry = make_entry(wrong[i], "web");
                        assert_int_equal(hn_ledger_put(ledger, entry, NULL), -EINVAL);
                }
        }
        assert_string_equal(uuid, "");
        assert_int_equal(hn_uuid_canonical("0A1B2C3D-4E5F-4A6B-8C7D-00000000000A", uuid), 0);
        assert_string_equal(uuid, UUID_A);
}

static void gives_back_what_was_put(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web (\"1\")\\"), *got = NULL;
        HN_FREE char *why = NULL;
        uint64_t before_us = hn_boottime_us();

        entry->state = HN_ENTRY_STARTED;
        entry->unit = strdup("machine-qemu\\x2d7\\x2dweb.scope");
        entry->pid = 4711;
        entry->start_ticks = UINT64_MAX;
        entry->reason = strdup("fits node 2");
        entry->kept = true;
        assert_int_equal(hn_ledger_put(ledger, entry, "the long story\n"), 0);
        assert_int_equal(mode_of(tree, FILE_OF(UUID_A)), 0600);
        assert_int_equal(mode_of(tree, "/run/homenode/explain/" UUID_A ".json"), 0600);
        assert_int_equal(mode_of(tree, "/run/homenode"), 0700);
        assert_int_equal(mode_of(tree, "/run/homenode/lock"), 0600);

        assert_int_equal(hn_ledger_get(ledger, UUID_A, &got), 0);
        assert_string_equal(got->placement->uuid, UUID_A);
        assert_string_equal(got->placement->name, "web (\"1\")\\");
        assert_set(got->placement->cells[0].cpus, "8-15");
        assert_int_equal(got->placement->promises[0].memory_kib, 1048576);
        assert_int_equal(got->state, HN_ENTRY_STARTED);
        assert_string_equal(got->boot_id, BOOT_ID);
        assert_true(got->written_us >= before_us && got->written_us <= hn_boottime_us());
        assert_int_equal(got->domain_id, 7);
        assert_string_equal(got->unit, "machine-qemu\\x2d7\\x2dweb.scope");
        assert_int_equal(got->pid, 4711);
        assert_true(got->start_ticks == UINT64_MAX);
        assert_string_equal(got->reason, "fits node 2");
        assert_true(got->managed && got->kept);
        assert_int_equal(hn_ledger_explanation(ledger, UUID_A, &why), 0);
        assert_string_equal(why, "the long story\n");
}

static void keeps_absent_members_absent(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        static const char upper[] = "0A1B2C3D-4E5F-4A6B-8C7D-00000000000A";
        HN_ENTRY struct hn_entry *entry = make_entry(upper, "web"), *got = NULL;
        char *why = NULL;

        entry->domain_id = -1;
        entry->managed = false;
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        assert_int_equal(hn_ledger_get(ledger, upper, &got), 0);
        assert_string_equal(got->placement->uuid, UUID_A);
        assert_int_equal(got->state, HN_ENTRY_RESERVED);
        assert_int_equal(got->domain_id, -1);
        assert_null(got->unit);
        assert_null(got->reason);
        assert_int_equal(got->pid, 0);
        assert_false(got->managed || got->kept);
        assert_int_equal(hn_ledger_explanation(ledger, UUID_A, &why), -ENOENT);
}

static void gives_them_in_order(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        struct hn_entry **entries = NULL;
        size_t n = 0;

        for (unsigned i = 0; i < 70; i++) {
                char uuid[HN_UUID_LENGTH + 1];

                (void) snprintf(uuid, sizeof uuid, "%08x-4e5f-4a6b-8c7d-00000000000a", i * 37 % 70);
                HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");
                assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        }
        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        assert_int_equal(n, 70);
        for (size_t i = 1; i < n; i++)
                assert_true(strcmp(entries[i - 1]->placement->uuid, entries[i]->placement->uuid) < 0);
        hn_entries_free(entries, n);
}

static void removes_entry_and_explanation_once(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web"), *got = NULL;
        char *why = NULL;

        assert_int_equal(hn_ledger_remove(ledger, UUID_A), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, "first"), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        /* `started` does not lose the story */
        assert_int_equal(hn_ledger_explanation(ledger, UUID_A, &why), 0);
        assert_string_equal(why, "first");
        free(why);
        assert_int_equal(ledger_count(ledger), 1);
        assert_int_equal(hn_ledger_remove(ledger, UUID_A), 0);
        assert_int_equal(hn_ledger_remove(ledger, UUID_A), 0);
        assert_int_equal(hn_ledger_get(ledger, UUID_A, &got), -ENOENT);
        assert_int_equal(hn_ledger_explanation(ledger, UUID_A, &why), -ENOENT);
        assert_int_equal(ledger_count(ledger), 0);
}

static void refuses_what_it_could_not_read_back(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *text = make_entry(UUID_A, "web"), *path = make_entry(UUID_A, "web");
        HN_ENTRY struct hn_entry *large = make_entry(UUID_A, "web");

        text->reason = strdup("half a letter: \xc3");
        assert_int_equal(hn_ledger_put(ledger, text, NULL), -EINVAL);
        path->unit = strdup("../../../etc");
        assert_int_equal(hn_ledger_put(ledger, path, NULL), -EINVAL);
        large->reason = malloc(HN_ENTRY_LIMIT + 1);
        assert_non_null(large->reason);
        memset(large->reason, 'x', HN_ENTRY_LIMIT);
        large->reason[HN_ENTRY_LIMIT] = '\0';
        assert_int_equal(hn_ledger_put(ledger, large, NULL), -EFBIG);
        assert_int_equal(ledger_count(ledger), 0);

        hn_ledger_unlock(ledger);
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), -ENOLCK);
}

/* The text of a good entry with this UUID in it. */
static char *good_text(const char *uuid)
{
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");
        char *text = NULL;
        size_t length = 0;

        entry->written_us = hn_boottime_us();
        assert_int_equal(hn_entry_format(entry, &text, &length), 0);
        return text;
}

static void passes_over_all_that_is_no_entry(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_FREE char *a = good_text(UUID_A), *large = malloc(HN_ENTRY_LIMIT + 2);
        struct hn_entry **entries = NULL, *got = NULL;
        size_t n = 0;

        assert_non_null(large);
        memset(large, ' ', HN_ENTRY_LIMIT + 1);
        large[HN_ENTRY_LIMIT + 1] = '\0';
        tree_put(tree, FILE_OF(UUID_A), a);
        tree_put(tree, FILE_OF(UUID_B), a); /* the same domain under another name */
        tree_put(tree, FOLDER "0A1B2C3D-4E5F-4A6B-8C7D-00000000000A.json", a);
        tree_put(tree, FOLDER UUID_A ".jsn", a);
        tree_put(tree, FOLDER UUID_A, a);
        tree_put(tree, FOLDER "web.json", a);
        tree_put(tree, FOLDER ".json", a);
        tree_put(tree, FILE_OF(UUID_N "1"), "");
        tree_put(tree, FILE_OF(UUID_N "2"), large);
        tree_put(tree, FILE_OF(UUID_N "3"), "[]");
        tree_put(tree, FILE_OF(UUID_N "4") "/x", "a folder");
        HN_FREE char *c = good_text(UUID_C);
        tree_put(tree, "/etc/elsewhere", c);
        assert_int_equal(symlinkat("../../../etc/elsewhere", tree->root.fd, BELOW_ROOT(FILE_OF(UUID_C))), 0);
        assert_int_equal(mkfifoat(tree->root.fd, BELOW_ROOT(FILE_OF(UUID_N "5")), 0600), 0);

        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        assert_int_equal(n, 1);
        assert_string_equal(entries[0]->placement->uuid, UUID_A);
        hn_entries_free(entries, n);

        assert_int_equal(hn_ledger_get(ledger, UUID_B, &got), -EBADMSG);
        assert_int_equal(hn_ledger_get(ledger, UUID_C, &got), -EBADMSG);
        assert_int_equal(hn_ledger_get(ledger, UUID_N "2", &got), -EBADMSG);
        assert_int_equal(hn_ledger_get(ledger, UUID_N "4", &got), -EBADMSG);
        assert_int_equal(hn_ledger_get(ledger, UUID_N "5", &got), -EBADMSG);
}

static void refuses_every_cut_of_an_entry(void **state)
{
        HN_FREE char *text = good_text(UUID_A);
        struct hn_entry *entry = NULL;

        (void) state;
        for (size_t length = 0; length < strlen(text); length++)
                assert_int_equal(hn_entry_parse(text, length, &entry), -EBADMSG);
        assert_int_equal(hn_entry_parse(text, strlen(text), &entry), 0);
        hn_entry_free(entry);
}

/* `text` with `from` (that must be in it) replaced by `to`; the test frees it. */
static char *replaced(const char *text, const char *from, const char *to)
{
        const char *at = strstr(text, from);
        char *result = NULL;

        if (!at)
                fail_msg("no %s in %s", from, text);
        assert_true(asprintf(&result, "%.*s%s%s", (int) (at - text), text, to, at + strlen(from)) > 0);
        return result;
}

static void refuses_wrong_members(void **state)
{
        static const struct { const char *from, *to; } cases[] = {
                { "\"version\":1", "\"version\":2" },
                { "\"version\":1", "\"version\":\"1\"" },
                { "\"version\":1,", "" },
                { "\"reserved\"", "\"Reserved\"" },
                { "\"reserved\"", "null" },
                { BOOT_ID, "" },
                { BOOT_ID, "../" },
                { "\"domain_id\":7", "\"domain_id\":-7" },
                { "\"domain_id\":7", "\"domain_id\":2147483648" },
                { "\"domain_id\":7", "\"pid\":99999999999999999999" },
                { "\"domain_id\":7", "\"pid\":1.0" },
                { "\"domain_id\":7", "\"start_ticks\":-1" },
                { "\"domain_id\":7", "\"unit\":\"\"" },
                { "\"domain_id\":7", "\"unit\":\"a/b\"" },
                { "\"domain_id\":7", "\"unit\":\"..\"" },
                { "\"domain_id\":7", "\"unit\":7" },
                { "\"domain_id\":7", "\"reason\":\"a\\u0000b\"" },
                { "\"managed\":true", "\"managed\":1" },
                { "\"kept\":false,", "" },
                { UUID_A, "" },
                { UUID_A, UUID_N "/" },
                { "\"placement\"", "\"replacement\"" },
                { "\"memory_kib\":1015808", "\"memory_kib\":-1" },
        };
        HN_FREE char *good = good_text(UUID_A);

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *text = replaced(good, cases[i].from, cases[i].to);
                struct hn_entry *entry = NULL;

                assert_int_equal(hn_entry_parse(text, strlen(text), &entry), -EBADMSG);
        }
}

static void uses_a_given_folder_as_it_is(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *dir = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");

        assert_true(asprintf(&dir, "%s/given", tree->path) > 0);
        assert_int_equal(hn_ledger_open(&tree->root, dir, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, "why"), 0);
        assert_true(hn_root_exists(&tree->root, "/given/" UUID_A ".json"));
        assert_true(hn_root_exists(&tree->root, "/given/explain/" UUID_A ".json"));
        assert_true(hn_root_exists(&tree->root, "/given/lock"));
        assert_false(hn_root_exists(&tree->root, "/run"));

        /* another boot's, long ago, with a QEMU that is not here: a copy of a record */
        entry->state = HN_ENTRY_STARTED;
        entry->pid = 4711;
        memset(entry->boot_id, '1', 4);
        HN_FREE char *text = NULL;
        size_t length = 0;
        memcpy(entry->placement->uuid, UUID_B, sizeof UUID_B);
        assert_int_equal(hn_entry_format(entry, &text, &length), 0);
        HN_FREE char *old = replaced(text, "1111-", "2222-");
        tree_put(tree, "/given/" UUID_B ".json", old);
        tree_put(tree, "/given/." UUID_B ".json.1.tmp", "mine");
        assert_int_equal(ledger_count(ledger), 2);
        assert_true(hn_root_exists(&tree->root, "/given/" UUID_B ".json"));
        assert_true(hn_root_exists(&tree->root, "/given/.%s.json.1.tmp", UUID_B));
}

static void reads_a_copy_of_its_own_folder(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *dir = NULL, *explanation = NULL, *text = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        size_t length = 0;

        assert_int_equal(hn_entry_format(entry, &text, &length), 0);
        tree_put(tree, "/copy/ledger/" UUID_A ".json", text);
        tree_put(tree, "/copy/explain/" UUID_A ".json", "why");
        assert_true(asprintf(&dir, "%s/copy", tree->path) > 0);
        assert_int_equal(hn_ledger_open(&tree->root, dir, &ledger), 0);
        assert_int_equal(ledger_count(ledger), 1);
        assert_int_equal(hn_ledger_explanation(ledger, UUID_A, &explanation), 0);
        assert_string_equal(explanation, "why");
}

static void says_where_it_cannot_be(void **state)
{
        struct tree *tree = *state;
        struct hn_ledger *ledger = NULL;
        HN_FREE char *file = NULL;

        tree_put(tree, "/run/homenode", "a file");
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), -ENOTDIR);
        assert_true(asprintf(&file, "%s/run/homenode", tree->path) > 0);
        assert_int_equal(hn_ledger_open(&tree->root, file, &ledger), -ENOTDIR);
        assert_int_equal(hn_ledger_open(&tree->root, "/nonexistent/folder", &ledger), -ENOENT);
        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode"), 0);

        HN_LEDGER struct hn_ledger *odd = NULL;
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &odd), 0);
        assert_int_equal(symlinkat("elsewhere", tree->root.fd, "run/homenode/lock"), 0);
        assert_int_equal(hn_ledger_lock(odd, 0), -ELOOP);
        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode/lock"), 0);
        assert_int_equal(hn_root_mkdir(&tree->root, 0700, "/run/homenode/lock"), 0);
        assert_int_equal(hn_ledger_lock(odd, 0), -EISDIR);
        assert_int_equal(ledger_count(odd), 0);
}

static bool knows_a(void *data, const char *uuid)
{
        ++*(unsigned *) data;
        return strcmp(uuid, UUID_A) == 0;
}

static void those_that_are_known_are_not_read(void **state)
{
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(*state);
        struct hn_entry **entries = NULL;
        unsigned asked = 0;
        size_t n = 0;

        for (unsigned i = 0; i < 2; i++) {
                HN_ENTRY struct hn_entry *entry = make_entry(i ? UUID_B : UUID_A, "web");

                assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        }
        tree_put(*state, "/run/homenode/ledger/odd.json", "{}");
        assert_int_equal(hn_ledger_load_others(ledger, knows_a, &asked, &entries, &n), 0);
        assert_int_equal(asked, 2);
        assert_int_equal(n, 1);
        assert_string_equal(entries[0]->placement->uuid, UUID_B);
        assert_non_null(entries[0]->placement->home);
        hn_entries_free(entries, n);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(takes_only_uuids_as_file_names, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(gives_back_what_was_put, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(keeps_absent_members_absent, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(gives_them_in_order, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(removes_entry_and_explanation_once, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(refuses_what_it_could_not_read_back, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(passes_over_all_that_is_no_entry, ledger_setup, tree_teardown),
                cmocka_unit_test(refuses_every_cut_of_an_entry),
                cmocka_unit_test(refuses_wrong_members),
                cmocka_unit_test_setup_teardown(uses_a_given_folder_as_it_is, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(reads_a_copy_of_its_own_folder, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(says_where_it_cannot_be, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(those_that_are_known_are_not_read, ledger_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
