/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ledger's index: it saves opening files and changes nothing else, whatever became of it or of them.
 */
#include "store/ledger-index.h"

#include <fcntl.h>

#include "model/clock.h"
#include "store/entry-words.h"
#include "unit/support/ledger.h"

#define INDEX "/run/homenode/ledger.index"
#define GUESTS 20u /* more than the slack */
#define LATER (hn_stamp_now_ns() + UINT64_C(1000000000))

static void uuid_of(unsigned i, char uuid[HN_UUID_LENGTH + 1])
{
        (void) snprintf(uuid, HN_UUID_LENGTH + 1, "%08x-4e5f-4a6b-8c7d-00000000000a", i);
}

static void put(struct hn_ledger *ledger, unsigned i, const char *name)
{
        char uuid[HN_UUID_LENGTH + 1];

        uuid_of(i, uuid);
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, name);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

/* Files changed just now are not put into an index. */
static void settle(void)
{
        const struct timespec pause = { .tv_nsec = 25000000 };

        assert_int_equal(nanosleep(&pause, NULL), 0);
}

/* A ledger of so many guests named "web" with its index. */
static struct hn_ledger *indexed(struct tree *tree)
{
        struct hn_ledger *ledger = ledger_locked(tree);
        struct hn_entry **entries = NULL;
        size_t n = 0;

        for (unsigned i = 0; i < GUESTS; i++)
                put(ledger, i, "web");
        settle();
        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        hn_entries_free(entries, n);
        assert_true(hn_root_exists(&tree->root, INDEX));
        return ledger;
}

/* Loads, and says how many there are of each of two names. */
static void count(struct hn_ledger *ledger, size_t *ret_web, size_t *ret_other)
{
        struct hn_entry **entries = NULL;
        size_t n = 0;

        *ret_web = *ret_other = 0;
        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        for (size_t i = 0; i < n; i++) {
                assert_true(i == 0 || strcmp(entries[i - 1]->placement->uuid, entries[i]->placement->uuid) < 0);
                *(strcmp(entries[i]->placement->name, "web") == 0 ? ret_web : ret_other) += 1;
        }
        hn_entries_free(entries, n);
}

#define assert_names(ledger, n_web, n_other) \
        do { \
                size_t web_, other_; \
                count(ledger, &web_, &other_); \
                assert_int_equal(web_, n_web); \
                assert_int_equal(other_, n_other); \
        } while (0)

/* How the test knows whether the index was asked: one that says something else of the same files. */
static void forge(struct tree *tree, unsigned n)
{
        struct hn_root base = { .fd = hn_root_open_file(&tree->root, O_PATH, 0, "/run/homenode") };
        struct hn_stamped entries[GUESTS];

        for (unsigned i = 0; i < n; i++) {
                char uuid[HN_UUID_LENGTH + 1], path[96];
                struct stat st;

                uuid_of(i, uuid);
                (void) snprintf(path, sizeof path, "run/homenode/ledger/%s.json", uuid);
                assert_int_equal(fstatat(tree->root.fd, path, &st, 0), 0);
                entries[i] = (struct hn_stamped) { make_entry(uuid, "forged"), hn_stamp_of(&st) };
                entries[i].entry->written_us = hn_boottime_us();
        }
        assert_int_equal(hn_index_write(&base, entries, n, LATER), 0);
        for (unsigned i = 0; i < n; i++)
                hn_entry_free(entries[i].entry);
        hn_root_close(&base);
}

static void takes_unchanged_files_from_the_index(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = indexed(tree);

        assert_names(ledger, GUESTS, 0);
        forge(tree, GUESTS);
        assert_names(ledger, 0, GUESTS);
        forge(tree, GUESTS - 3); /* the rest is opened */
        assert_names(ledger, 3, GUESTS - 3);
}

static void reads_files_that_changed(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = indexed(tree);
        char uuid[HN_UUID_LENGTH + 1];

        forge(tree, GUESTS);
        put(ledger, 0, "web"); /* replaced */
        put(ledger, GUESTS, "web"); /* new */
        uuid_of(1, uuid);
        assert_int_equal(hn_ledger_remove(ledger, uuid), 0);
        assert_names(ledger, 2, GUESTS - 2);

        /* Written in place with the same length, time of modification set back: a forger of times. */
        HN_FREE char *text = NULL, *path = NULL;
        uuid_of(2, uuid);
        assert_true(asprintf(&path, "/run/homenode/ledger/%s.json", uuid) > 0);
        assert_int_equal(hn_root_read(&tree->root, HN_ENTRY_LIMIT, &text, NULL, "%s", path), 0);
        struct stat before;
        assert_int_equal(fstatat(tree->root.fd, path + 1, &before, 0), 0);
        tree_put(tree, path, text);
        const struct timespec times[] = { before.st_atim, before.st_mtim };
        assert_int_equal(utimensat(tree->root.fd, path + 1, times, 0), 0);
        assert_names(ledger, 3, GUESTS - 3);

        /* gone bad: no entry any more */
        tree_put(tree, path, "{");
        assert_names(ledger, 2, GUESTS - 3);
        assert_int_equal(unlinkat(tree->root.fd, path + 1, 0), 0);
        assert_int_equal(symlinkat("elsewhere", tree->root.fd, path + 1), 0);
        assert_names(ledger, 2, GUESTS - 3);
}

static void leaves_out_what_may_change_within_a_tick(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        const struct hn_stamp stamp = { .changed_ns = UINT64_C(5000000000) };

        for (unsigned i = 0; i < GUESTS; i++)
                put(ledger, i, "web");
        assert_false(hn_stamp_settled(&stamp, UINT64_C(4999999999)));
        assert_false(hn_stamp_settled(&stamp, UINT64_C(5000000000)));
        assert_false(hn_stamp_settled(&stamp, UINT64_C(5020000000)));
        assert_true(hn_stamp_settled(&stamp, UINT64_C(5020000001)));
        assert_names(ledger, GUESTS, 0);
}

/* What is read for deciding on others has no more than that, index or not. */
static void assert_room_only(struct hn_ledger *ledger, size_t n_expected)
{
        struct hn_entry **entries = NULL;
        size_t n = 0;

        assert_int_equal(hn_ledger_load_room(ledger, &entries, &n), 0);
        assert_int_equal(n, n_expected);
        for (size_t i = 0; i < n; i++) {
                const struct hn_placement *placement = entries[i]->placement;
                HN_ENTRY struct hn_entry *whole = make_entry(placement->uuid, placement->name);
                HN_WORDS struct hn_words words = { 0 };
                HN_FREE char *text = NULL;
                size_t length = 0;

                assert_int_equal(placement->n_cells, whole->placement->n_cells);
                assert_true(hwloc_bitmap_isequal(placement->cells[0].vcpus, whole->placement->cells[0].vcpus));
                assert_true(hwloc_bitmap_isequal(placement->cells[0].cpus, whole->placement->cells[0].cpus));
                assert_int_equal(placement->priority, whole->placement->priority);
                assert_int_equal(placement->n_promises, whole->placement->n_promises);
                assert_memory_equal(placement->promises, whole->placement->promises,
                                    placement->n_promises * sizeof *placement->promises);
                assert_true(!entries[i]->reason && !placement->emulator_cpus && !placement->home &&
                            !placement->memory_nodes && !placement->cells[0].nodes && !entries[i]->moving);
                assert_int_equal(hn_ledger_put(ledger, entries[i], NULL), -EINVAL);
                assert_int_equal(hn_entry_format(entries[i], &text, &length), -EINVAL);
                assert_int_equal(hn_entry_to_words(entries[i], &words), -EINVAL);
        }
        hn_entries_free(entries, n);
}

static void leaves_out_what_others_do_not_ask_for(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);

        for (unsigned i = 0; i < GUESTS; i++)
                put(ledger, i, "web");
        assert_room_only(ledger, GUESTS); /* from files */
        settle();
        assert_room_only(ledger, GUESTS); /* from files, and into the index */
        assert_true(hn_root_exists(&tree->root, INDEX));
        forge(tree, GUESTS);
        assert_room_only(ledger, GUESTS); /* from the index */
        assert_names(ledger, 0, GUESTS);
}

/* An index that is written by who read no whole entries has whole ones all the same. */
static void loses_nothing_where_little_was_read(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = indexed(tree);
        struct stat before, after;

        forge(tree, GUESTS);
        assert_int_equal(fstatat(tree->root.fd, &INDEX[1], &before, 0), 0);
        for (unsigned i = 0; i <= HN_INDEX_SLACK; i++)
                put(ledger, GUESTS + i, "web");
        settle();
        assert_room_only(ledger, GUESTS + HN_INDEX_SLACK + 1);
        assert_int_equal(fstatat(tree->root.fd, &INDEX[1], &after, 0), 0);
        assert_true(after.st_size > before.st_size);
        assert_names(ledger, HN_INDEX_SLACK + 1, GUESTS);
}

static void still_asks_whether_entries_count(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = indexed(tree);

        hn_ledger_close(HN_TAKE(ledger));
        tree_put(tree, "/proc/sys/kernel/random/boot_id", "99999999-2222-4333-8444-555555555555\n");
        ledger = ledger_locked(tree);
        assert_names(ledger, 0, 0);
        assert_false(hn_root_exists(&tree->root, "/run/homenode/ledger/00000000-4e5f-4a6b-8c7d-00000000000a.json"));
}

static void is_written_under_the_lock_only(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = indexed(tree);
        HN_FREE char *dir = NULL;

        assert_int_equal(hn_root_remove(&tree->root, INDEX), 0);
        hn_ledger_unlock(ledger);
        assert_names(ledger, GUESTS, 0);
        assert_false(hn_root_exists(&tree->root, INDEX));
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_names(ledger, GUESTS, 0);
        assert_true(hn_root_exists(&tree->root, INDEX));

        /* A folder that was named is a copy: its own index is not asked. */
        forge(tree, GUESTS);
        assert_true(asprintf(&dir, "%s/run/homenode", tree->path) > 0);
        HN_LEDGER struct hn_ledger *copy = NULL;
        assert_int_equal(hn_ledger_open(&tree->root, dir, &copy), 0);
        assert_names(copy, GUESTS, 0);
}

static void counts_for_nothing_when_odd(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = indexed(tree);
        HN_FREE char *text = NULL;
        size_t length = 0;

        hn_ledger_unlock(ledger); /* so that nobody puts it right */
        forge(tree, GUESTS);
        assert_names(ledger, 0, GUESTS);
        assert_int_equal(fchmodat(tree->root.fd, &INDEX[1], 0620, 0), 0);
        assert_names(ledger, GUESTS, 0); /* others could write it */
        assert_int_equal(fchmodat(tree->root.fd, &INDEX[1], 0600, 0), 0);
        assert_int_equal(hn_root_read(&tree->root, 1u << 20, &text, &length, INDEX), 0);
        for (size_t i = 0; i < length; i += length / 50) {
                text[i] = (char) (text[i] ^ 4);
                assert_int_equal(hn_root_replace(&tree->root, text, length, 0600, INDEX), 0);
                assert_names(ledger, GUESTS, 0);
                text[i] = (char) (text[i] ^ 4);
                assert_int_equal(hn_root_replace(&tree->root, text, i, 0600, INDEX), 0);
                assert_names(ledger, GUESTS, 0);
        }
        assert_int_equal(hn_root_replace(&tree->root, text, length, 0600, "/elsewhere"), 0);
        assert_int_equal(hn_root_remove(&tree->root, INDEX), 0);
        assert_int_equal(symlinkat("../../elsewhere", tree->root.fd, &INDEX[1]), 0);
        assert_names(ledger, GUESTS, 0);
        assert_int_equal(hn_root_remove(&tree->root, INDEX), 0);
        assert_int_equal(hn_root_mkdir(&tree->root, 0700, INDEX), 0);
        assert_names(ledger, GUESTS, 0);
}

static struct hn_entry *through_words(const struct hn_entry *entry, size_t *ret_n)
{
        HN_WORDS struct hn_words words = { 0 };
        struct hn_entry *again = NULL;

        assert_int_equal(hn_entry_to_words(entry, &words), 0);
        assert_int_equal(hn_entry_from_words(words.words, words.n, &again), 0);
        for (size_t n = 0; n < words.n; n++) {
                struct hn_entry *cut = NULL;

                assert_int_equal(hn_entry_from_words(words.words, n, &cut), -EBADMSG);
        }
        *ret_n = words.n;
        return again;
}

static void keeps_all_members(void **state)
{
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "g\xc3\xa4st"), *bare = make_entry(UUID_B, "");
        const struct hn_promise huge = { 3, 2097152, 1048576, 0 };
        struct hn_placement *placement = entry->placement;
        (void) state;

        entry->state = HN_ENTRY_STARTED;
        entry->unit = strdup("machine-qemu\\x2d7\\x2dweb.scope");
        entry->reason = strdup("fits");
        entry->written_us = 12345;
        entry->pid = 4711;
        entry->start_ticks = UINT64_MAX;
        entry->kept = true;
        entry->moved = (struct hn_moved) { 3, 99, true, strdup("came to node 2") };
        placement->priority = HN_PRIORITY_HIGH;
        placement->vcpu_cpus = calloc(1, sizeof *placement->vcpu_cpus);
        placement->n_vcpu_cpus = 1;
        placement->vcpu_cpus[0] = (struct hn_pin) { 3, set_of("16383") };
        assert_int_equal(hwloc_bitmap_set_range(placement->emulator_cpus, 60, 70), 0);
        assert_int_equal(hwloc_bitmap_set(placement->memory_nodes, 64), 0);
        assert_int_equal(hn_placement_promise(placement, &huge), 0);
        bare->domain_id = -1;
        bare->managed = false;
        bare->placement->n_cells = 0;
        hwloc_bitmap_free(bare->placement->cells[0].vcpus);
        hwloc_bitmap_free(bare->placement->cells[0].nodes);
        hwloc_bitmap_free(bare->placement->cells[0].cpus);
        for (int i = 0; i < 2; i++) {
                size_t n = 0, length = 0;
                HN_ENTRY struct hn_entry *again = through_words(i ? bare : entry, &n);
                HN_FREE char *text = NULL, *text_again = NULL;

                assert_int_equal(hn_entry_format(i ? bare : entry, &text, &length), 0);
                assert_int_equal(hn_entry_format(again, &text_again, &length), 0);
                assert_string_equal(text, text_again);
        }
}

/* The same node and page size twice in a row: each may stand here, their sum perhaps not. */
static void refuses_a_node_promised_twice(void **state)
{
        const struct hn_promise other = { 3, HN_PLACEMENT_KIB_LIMIT, 0, 1000 };
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web"), *again = NULL;
        HN_WORDS struct hn_words words = { 0 };
        size_t at = 0;
        (void) state;

        assert_int_equal(hn_placement_promise(entry->placement, &other), 0);
        assert_int_equal(hn_entry_to_words(entry, &words), 0);
        for (size_t i = 0; i + 4 <= words.n; i++)
                if (words.words[i] == 3 && words.words[i + 1] == HN_PLACEMENT_KIB_LIMIT && words.words[i + 3] == 1000)
                        at = i;
        assert_int_not_equal(at, 0);
        words.words[at] = 2; /* the node of the promise before it */
        assert_int_equal(hn_entry_from_words(words.words, words.n, &again), -EBADMSG);
        assert_null(again);
}

/* Each word of an entry set to what a damaged index might hold: refused, or an entry. */
static void survives_any_word(void **state)
{
        static const uint64_t odd[] = { 0, 1, 8, 255, 256, 257, 1023, 1024, 8192, 16384, 1ull << 32, 1ull << 51,
                                        1ull << 60, 1ull << 61, 1ull << 63, UINT64_MAX - 7, UINT64_MAX - 1, UINT64_MAX };
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        HN_WORDS struct hn_words words = { 0 };
        (void) state;

        entry->unit = strdup("web.scope");
        assert_int_equal(hn_entry_to_words(entry, &words), 0);
        for (size_t i = 0; i < words.n; i++)
                for (size_t j = 0; j < sizeof odd / sizeof *odd; j++) {
                        HN_ENTRY struct hn_entry *again = NULL;
                        uint64_t kept = words.words[i];

                        words.words[i] = odd[j];
                        assert_true(hn_entry_from_words(words.words, words.n, &again) <= 0);
                        hn_entry_free(HN_TAKE(again));
                        assert_true(hn_entry_room_from_words(words.words, words.n, &again) <= 0);
                        words.words[i] = kept;
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(takes_unchanged_files_from_the_index, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(reads_files_that_changed, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(leaves_out_what_may_change_within_a_tick, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(leaves_out_what_others_do_not_ask_for, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(loses_nothing_where_little_was_read, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(still_asks_whether_entries_count, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(is_written_under_the_lock_only, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(counts_for_nothing_when_odd, ledger_setup, tree_teardown),
                cmocka_unit_test(keeps_all_members),
                cmocka_unit_test(refuses_a_node_promised_twice),
                cmocka_unit_test(survives_any_word),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
