/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ledger between processes: waiting, promising once, dying in the middle.
 */
#include "store/ledger.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "model/clock.h"
#include "unit/support/entry.h"
#include "unit/support/tree.h"

#define WRITERS 6
#define TRIES 25
#define BUDGET 40u /* entries of one promise each */
#define ROUNDS 40

static void pause_us(long us)
{
        const struct timespec pause_time = { .tv_nsec = us * 1000 };

        (void) nanosleep(&pause_time, NULL);
}

static void end_child(pid_t pid)
{
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A child that has the lock and then does nothing more. */
static pid_t start_holder(struct tree *tree)
{
        int ready[2];
        char byte;

        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct hn_ledger *ledger = NULL;

                if (hn_ledger_open(&tree->root, NULL, &ledger) < 0 || hn_ledger_lock(ledger, 0) < 0 ||
                    write(ready[1], "x", 1) != 1)
                        _exit(1);
                for (;;)
                        (void) pause();
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        (void) close(ready[0]);
        (void) close(ready[1]);
        return pid;
}

static void waits_for_the_lock_no_longer_than_told(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        pid_t holder = start_holder(tree);

        assert_int_equal(kill(holder, SIGSTOP), 0);
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        uint64_t began_us = hn_monotonic_us();
        assert_int_equal(hn_ledger_lock(ledger, 50000), -ETIME);
        uint64_t waited_us = hn_monotonic_us() - began_us;
        assert_true(waited_us >= 50000 && waited_us < 1000000);
        assert_int_equal(hn_ledger_lock(ledger, 0), -ETIME);

        end_child(holder); /* and with it goes the lock */
        assert_int_equal(hn_ledger_lock(ledger, 1000000), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        hn_ledger_unlock(ledger);
        hn_ledger_unlock(ledger);
}

static void unlocks_for_others_in_the_same_process(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *first = NULL, *second = NULL;

        assert_int_equal(hn_ledger_open(&tree->root, NULL, &first), 0);
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &second), 0);
        assert_int_equal(hn_ledger_lock(first, 0), 0);
        assert_int_equal(hn_ledger_lock(second, 0), -ETIME);

        /* A child that was forked under the lock does not keep it. */
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
                for (;;)
                        (void) pause();
        hn_ledger_close(HN_TAKE(first));
        assert_int_equal(hn_ledger_lock(second, 0), 0);
        end_child(child);
}

static void name_uuid(unsigned writer, unsigned n, char ret[HN_UUID_LENGTH + 1])
{
        (void) snprintf(ret, HN_UUID_LENGTH + 1, "%08x-0000-4000-8000-%012x", writer, n);
}

/* Puts one entry more if the budget allows it.  1: put, 0: full, < 0: an error. */
static int try_to_put(struct hn_ledger *ledger, const char *uuid)
{
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r = hn_ledger_lock(ledger, 20000000);

        if (r >= 0)
                r = hn_ledger_load(ledger, &entries, &n);
        if (r < 0)
                return r;
        hn_entries_free(entries, n);
        if (n < BUDGET)
                r = hn_ledger_put(ledger, entry, NULL);
        hn_ledger_unlock(ledger);
        return r < 0 ? r : n < BUDGET;
}

static int write_many(struct tree *tree, unsigned writer)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int put = 0;

        if (hn_ledger_open(&tree->root, NULL, &ledger) < 0)
                return 255;
        for (unsigned i = 0; i < TRIES; i++) {
                char uuid[HN_UUID_LENGTH + 1];

                name_uuid(writer, i, uuid);
                int r = try_to_put(ledger, uuid);
                if (r < 0)
                        return 255;
                put += r;
        }
        return put;
}

static void promises_nothing_twice(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_entry **entries = NULL;
        pid_t writers[WRITERS];
        unsigned put = 0;
        size_t n = 0;

        for (unsigned i = 0; i < WRITERS; i++) {
                writers[i] = fork();
                assert_true(writers[i] >= 0);
                if (writers[i] == 0)
                        _exit(write_many(tree, i));
        }
        for (unsigned i = 0; i < WRITERS; i++) {
                int status = 0;

                assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
                put += (unsigned) WEXITSTATUS(status);
        }
        assert_int_equal(put, BUDGET);
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        assert_int_equal(n, BUDGET);
        hn_entries_free(entries, n);
}

static _Noreturn void write_until_killed(struct tree *tree)
{
        struct hn_ledger *ledger = NULL;
        struct hn_entry *entry = make_entry(UUID_A, "web");

        if (hn_ledger_open(&tree->root, NULL, &ledger) < 0)
                _exit(1);
        entry->reason = calloc(1, 8193);
        memset(entry->reason, 'x', 8192);
        for (;;) {
                if (hn_ledger_lock(ledger, 1000000) < 0 || hn_ledger_put(ledger, entry, entry->reason) < 0)
                        _exit(1);
                hn_ledger_unlock(ledger);
        }
}

static void survives_the_death_of_a_writer(void **state)
{
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        for (int i = 0; i < ROUNDS; i++) {
                struct hn_entry **entries = NULL;
                int status = 0, names = 0;
                size_t n = 0;
                pid_t writer = fork();

                assert_true(writer >= 0);
                if (writer == 0)
                        write_until_killed(tree);
                while (!hn_root_exists(&tree->root, "/run/homenode/explain/%s.json", UUID_A))
                        pause_us(100);
                pause_us(137 * i);
                assert_int_equal(kill(writer, SIGKILL), 0);
                assert_int_equal(waitpid(writer, &status, 0), writer);
                assert_true(WIFSIGNALED(status)); /* and no failure of its own */

                assert_int_equal(hn_ledger_lock(ledger, 1000000), 0);
                assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
                assert_int_equal(n, 1);
                assert_int_equal(strlen(entries[0]->reason), 8192);
                hn_entries_free(entries, n);

                /* nothing of the dead writer is left beside it */
                HN_CLOSEDIR DIR *dir = NULL;
                assert_int_equal(hn_root_open_dir(&tree->root, &dir, "/run/homenode/ledger"), 0);
                while (readdir(dir))
                        names++;
                assert_int_equal(names, 3); /* ".", "..", the entry */
                hn_ledger_unlock(ledger);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(waits_for_the_lock_no_longer_than_told, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(unlocks_for_others_in_the_same_process, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(promises_nothing_twice, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(survives_the_death_of_a_writer, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
