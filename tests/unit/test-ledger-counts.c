/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which entries still count: the QEMU lives, the start is fresh or under way, the boot is the same.
 */
#include "store/ledger.h"

#include "model/clock.h"
#include "unit/support/ledger.h"

#define OTHER_BOOT "99999999-2222-4333-8444-555555555555"
#define STAT(start) "4711 (qemu-system-x86) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 5 0 " start " 1 1\n"
#define UNIT "machine-qemu\\x2d7\\x2dweb.scope"
#define NOW_US UINT64_C(1000000000)

static bool counts(struct tree *tree, const struct hn_entry *entry)
{
        return hn_entry_counts(&tree->root, entry, BOOT_ID, NOW_US);
}

static void counts_a_guest_while_its_qemu_lives(void **state)
{
        struct tree *tree = *state;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");

        entry->state = HN_ENTRY_STARTED;
        assert_true(counts(tree, entry)); /* the PID was not to be had */
        entry->pid = 4711;
        assert_false(counts(tree, entry));
        tree_put(tree, "/proc/4711/stat", STAT("123456"));
        assert_true(counts(tree, entry)); /* start time not known */
        entry->start_ticks = 123456;
        assert_true(counts(tree, entry));
        entry->start_ticks = 123455; /* the PID came again */
        assert_false(counts(tree, entry));
        tree_put(tree, "/proc/4711/stat", "no such form");
        assert_true(counts(tree, entry)); /* can't be told */
        memcpy(entry->boot_id, OTHER_BOOT, sizeof OTHER_BOOT);
        assert_false(counts(tree, entry));
}

static void counts_a_reservation_for_two_minutes(void **state)
{
        struct tree *tree = *state;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");

        entry->written_us = NOW_US;
        assert_true(counts(tree, entry));
        entry->written_us = NOW_US - 120000000;
        assert_true(counts(tree, entry));
        entry->written_us = NOW_US - 120000001;
        assert_false(counts(tree, entry));
        entry->written_us = NOW_US + 1;
        assert_false(counts(tree, entry));
        entry->written_us = NOW_US;
        memcpy(entry->boot_id, OTHER_BOOT, sizeof OTHER_BOOT);
        assert_false(counts(tree, entry));
}

static void counts_a_slow_start_while_it_is_under_way(void **state)
{
        struct tree *tree = *state;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");

        entry->written_us = 1;
        entry->unit = strdup(UNIT);
        assert_false(counts(tree, entry));
        tree_put(tree, "/sys/fs/cgroup/machine.slice/" UNIT "/cgroup.procs", "");
        assert_true(counts(tree, entry));
        free(HN_TAKE(entry->unit));
        assert_false(counts(tree, entry));

        tree_put(tree, "/run/libvirt/qemu/web.pid", "4711\n");
        assert_false(counts(tree, entry)); /* left behind by a QEMU that is gone */
        tree_put(tree, "/proc/4711/stat", STAT("1"));
        assert_true(counts(tree, entry));
        tree_put(tree, "/run/libvirt/qemu/web.pid", "0\n");
        assert_false(counts(tree, entry));
        tree_put(tree, "/run/libvirt/qemu/web.pid", "");
        assert_false(counts(tree, entry));
}

static void follows_no_name_elsewhere(void **state)
{
        static const char *const names[] = { "../web", "a/b", "" };
        struct tree *tree = *state;

        tree_put(tree, "/proc/4711/stat", STAT("1"));
        tree_put(tree, "/run/libvirt/web.pid", "4711\n");
        tree_put(tree, "/run/libvirt/qemu/a/b.pid", "4711\n");
        tree_put(tree, "/run/libvirt/qemu/.pid", "4711\n");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, names[i]);

                assert_false(counts(tree, entry));
        }

        /* A guest may be called that. */
        HN_ENTRY struct hn_entry *hidden = make_entry(UUID_A, ".hidden");

        tree_put(tree, "/run/libvirt/qemu/.hidden.pid", "4711\n");
        assert_true(counts(tree, hidden));
}

static void put_text(struct tree *tree, const char *uuid, const char *boot_id, uint64_t written_us)
{
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");
        HN_FREE char *text = NULL, *path = NULL;
        size_t length = 0;

        memcpy(entry->boot_id, boot_id, sizeof entry->boot_id);
        entry->written_us = written_us;
        assert_int_equal(hn_entry_format(entry, &text, &length), 0);
        assert_true(asprintf(&path, "/run/homenode/ledger/%s.json", uuid) > 0);
        tree_put(tree, path, text);
}

static bool is_there(struct tree *tree, const char *path)
{
        return hn_root_exists(&tree->root, "/run/homenode/%s", path);
}

static void clears_what_no_longer_counts_under_the_lock(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        put_text(tree, UUID_A, BOOT_ID, hn_boottime_us());
        put_text(tree, UUID_B, OTHER_BOOT, hn_boottime_us());
        put_text(tree, UUID_C, BOOT_ID, hn_boottime_us() + 1000000000);
        tree_put(tree, "/run/homenode/explain/" UUID_B ".json", "why");
        tree_put(tree, "/run/homenode/ledger/." UUID_A ".json.77.tmp", "half");
        for (int locked = 0; locked < 2; locked++) {
                struct hn_entry **entries = NULL;
                size_t n = 0;

                if (locked)
                        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
                assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
                assert_int_equal(n, 1);
                assert_string_equal(entries[0]->placement->uuid, UUID_A);
                hn_entries_free(entries, n);
                assert_int_equal(is_there(tree, "ledger/" UUID_B ".json"), !locked);
                assert_int_equal(is_there(tree, "ledger/" UUID_C ".json"), !locked);
                assert_int_equal(is_there(tree, "explain/" UUID_B ".json"), !locked);
                assert_int_equal(is_there(tree, "ledger/." UUID_A ".json.77.tmp"), !locked);
                assert_true(is_there(tree, "ledger/" UUID_A ".json"));
        }
}

static size_t count_started(struct tree *tree, const char *unit, int pid)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");
        struct hn_entry **entries = NULL;
        size_t n = 0;

        entry->state = HN_ENTRY_STARTED;
        entry->unit = unit ? strdup(unit) : NULL;
        entry->pid = pid;
        entry->start_ticks = 99;
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        hn_entries_free(entries, n);
        return n;
}

/* Scope and process together need no look at the process's figures; without either, those tell. */
static void tells_a_guest_by_its_scope(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/proc/4711/stat", STAT("99"));
        assert_int_equal(count_started(tree, UNIT, 4711), 1); /* no machine.slice */
        tree_put(tree, "/sys/fs/cgroup/machine.slice/machine-other.scope/cgroup.procs", "");
        assert_int_equal(count_started(tree, UNIT, 4711), 1);
        assert_int_equal(count_started(tree, UNIT, 4712), 0);

        tree_put(tree, "/proc/4711/stat", STAT("98"));
        assert_int_equal(count_started(tree, UNIT, 4711), 0); /* the PID came again */
        tree_put(tree, "/sys/fs/cgroup/machine.slice/" UNIT "/cgroup.procs", "");
        assert_int_equal(count_started(tree, UNIT, 4711), 1);
        assert_int_equal(count_started(tree, UNIT, 4712), 0); /* a scope whose QEMU is gone */
        assert_int_equal(count_started(tree, NULL, 4711), 0);
        assert_int_equal(count_started(tree, "machine-", 4711), 0);
        assert_int_equal(count_started(tree, UNIT, 0), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(counts_a_guest_while_its_qemu_lives, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(counts_a_reservation_for_two_minutes, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(counts_a_slow_start_while_it_is_under_way, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(follows_no_name_elsewhere, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(clears_what_no_longer_counts_under_the_lock, ledger_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(tells_a_guest_by_its_scope, ledger_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
