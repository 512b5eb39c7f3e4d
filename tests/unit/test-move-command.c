/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode move, with the daemon's part played by a thread.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>

#include "command/command.h"
#include "daemon/orders.h"
#include "model/json.h"
#include "model/text.h"
#include "unit/support/entry.h"
#include "unit/support/tree.h"
#include "unit/support/ledger.h"

#define FOLDER HN_ORDERS_FOLDER "/"

/* What the daemon does with the one order that comes. */
struct played {
        struct tree *tree;
        const char *file;            /* that it waits for */
        const char *states[3];       /* that it answers with, one after the other */
        const char *text;
        bool interrupts;             /* the user does */
        bool ends, begins_anew;      /* the daemon does */
        bool deaf;                   /* it ends without taking the order */
        char *order;
        atomic_bool runs, over;      /* the daemon does; the command has ended */
};

static void pause_ms(unsigned ms)
{
        const struct timespec pause = { .tv_nsec = (long) ms * 1000000 };

        (void) nanosleep(&pause, NULL);
}

static void wait_for(struct played *played, const char *file)
{
        for (unsigned i = 0; i < 5000 && !hn_root_exists(&played->tree->root, FOLDER "%s", file); i++)
                pause_ms(1);
}

static void *play(void *data)
{
        struct played *played = data;
        struct hn_root *root = &played->tree->root;
        HN_CLOSE int lock = hn_root_open_regular(root, O_RDWR | O_CREAT, 0600, FOLDER ".lock");
        HN_JSON struct json_object *json = NULL;
        uint64_t asked_us = 0;
        size_t length = 0;

        if (flock(lock, LOCK_EX | LOCK_NB) < 0)
                return NULL;
        played->runs = true;
        wait_for(played, played->file);
        if (played->deaf)
                return NULL;
        if (hn_root_read(root, 4096, &played->order, &length, FOLDER "%s", played->file) < 0)
                return NULL;
        (void) hn_root_remove(root, FOLDER "%s", played->file);
        (void) hn_json_parse(played->order, length, 4, &json);
        (void) hn_json_get_u64(json, "asked_us", UINT64_MAX, &asked_us);
        for (size_t i = 0; i < 3 && played->states[i]; i++) {
                HN_FREE char *answer = hn_text_print("{\"state\":\"%s\",\"moved_kib\":2,\"left_kib\":1,\"took_us\":5,"
                                                     "\"text\":\"%s\"}", played->states[i], played->text);

                (void) hn_root_replace(root, answer, strlen(answer), 0600, HN_ORDERS_ANSWER, UUID_A, asked_us);
                if (played->interrupts && i == 0) {
                        (void) kill(getpid(), SIGINT);
                        wait_for(played, UUID_A ".cancel");
                }
                pause_ms(150);
        }
        if (played->begins_anew)
                (void) hn_root_remove(root, HN_ORDERS_ANSWER, UUID_A, asked_us);
        for (unsigned i = 0; !played->ends && i < 5000 && !played->over; i++)
                pause_ms(1);
        return NULL;
}

#define ARGUMENTS 5

/* The command with these arguments, at most ARGUMENTS, NULL behind them. */
static int move(const char *const *arguments)
{
        char *argv[ARGUMENTS + 1] = { NULL };
        int argc = 0, exit;

        for (; arguments[argc]; argc++) {
                argv[argc] = strdup(arguments[argc]);
                assert_non_null(argv[argc]);
        }
        exit = hn_command_move(argc, argv);
        /* getopt has them in another order now */
        for (int i = 0; i < argc; i++)
                free(argv[i]);
        return exit;
}
#define MOVE(...) move((const char *const[ARGUMENTS + 1]) { "move", __VA_ARGS__ })

/* The command beside that daemon; its output into *ret_out. */
static int run(struct played *played, const char *const *arguments, char **ret_out)
{
        int exit, out = dup(STDOUT_FILENO);
        FILE *file = tmpfile();
        pthread_t thread;

        assert_non_null(file);
        tree_put(played->tree, FOLDER ".lock", "");
        assert_int_equal(pthread_create(&thread, NULL, play, played), 0);
        for (unsigned i = 0; i < 5000 && !played->runs; i++)
                pause_ms(1);
        (void) fflush(stdout);
        assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
        exit = move(arguments);
        played->over = true;
        (void) fflush(stdout);
        assert_true(dup2(out, STDOUT_FILENO) >= 0);
        (void) close(out);
        assert_int_equal(pthread_join(thread, NULL), 0);
        *ret_out = calloc(1, 4096);
        assert_non_null(*ret_out);
        rewind(file);
        (void) fread(*ret_out, 1, 4095, file);
        (void) fclose(file);
        return exit;
}
#define RUN(played, ret_out, ...) run(played, (const char *const[ARGUMENTS + 1]) { "move", __VA_ARGS__ }, ret_out)

static int set_up(void **state)
{
        int r = ledger_setup(state);
        struct tree *tree = *state;
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");

        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        assert_int_equal(setenv("HOMENODE_ROOT", tree->path, 1), 0);
        return r;
}

/* Is there anything but the lock? */
static bool has_files(struct tree *tree)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;

        assert_int_equal(hn_root_open_dir(&tree->root, &dir, HN_ORDERS_FOLDER), 0);
        while ((entry = readdir(dir)))
                if (entry->d_name[0] != '.')
                        return true;
        return false;
}

static void asks_the_daemon_and_tells_what_came_of_it(void **state)
{
        static const char *const names[] = { "web", UUID_A, "7" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                struct played played = { .tree = *state, .file = UUID_A, .states = { "opening", "moving", "done" },
                                         .text = "moved to node 3" };
                HN_FREE char *out = NULL;

                assert_int_equal(RUN(&played, &out, names[i], "3"), HN_EXIT_DONE);
                assert_non_null(strstr(played.order, "\"nodes\":\"3\""));
                assert_string_equal(out, "web: moved to node 3\n");
                assert_false(has_files(played.tree));
                free(played.order);
        }
}

static void a_refusal_is_a_failure(void **state)
{
        struct played played = { .tree = *state, .file = UUID_A, .states = { "refused" }, .text = "its memory is locked" };
        HN_FREE char *out = NULL;

        assert_int_equal(RUN(&played, &out, "--json", "web", "3"), HN_EXIT_FAILED);
        assert_non_null(strstr(out, "\"state\": \"refused\""));
        assert_non_null(strstr(out, "its memory is locked"));
        assert_non_null(strstr(out, UUID_A));
        free(played.order);
}

static void an_interrupt_calls_it_off(void **state)
{
        struct played played = { .tree = *state, .file = UUID_A, .states = { "moving", "narrowing", "failed" },
                                 .text = "stays on node 2", .interrupts = true };
        HN_FREE char *out = NULL;

        assert_int_equal(RUN(&played, &out, "web", "3"), HN_EXIT_FAILED);
        assert_true(hn_root_exists(&played.tree->root, FOLDER UUID_A ".cancel"));
        free(played.order);
}

static void calls_off_what_others_began(void **state)
{
        struct played played = { .tree = *state, .file = UUID_A ".cancel", .states = { "failed" }, .text = "stays" };
        HN_FREE char *out = NULL;

        assert_int_equal(RUN(&played, &out, "--cancel", "web"), HN_EXIT_DONE);
        assert_string_equal(out, "web: stays\n");
        assert_null(strstr(played.order, "nodes"));
        free(played.order);
}

static void does_not_wait_for_a_daemon_that_ends(void **state)
{
        struct played played = { .tree = *state, .file = UUID_A, .states = { "moving" }, .text = "", .ends = true };
        HN_FREE char *out = NULL;

        assert_int_equal(RUN(&played, &out, "web", "3"), HN_EXIT_FAILED);
        free(played.order);
}

/* The next daemon would make a move that its user was told of as one that came to nothing. */
static void takes_back_what_a_daemon_did_not_take(void **state)
{
        struct played played = { .tree = *state, .file = UUID_A, .deaf = true };
        struct played cancelled = { .tree = *state, .file = UUID_A ".cancel", .deaf = true };
        HN_FREE char *out = NULL, *cancel_out = NULL;

        assert_int_equal(RUN(&played, &out, "web", "3"), HN_EXIT_FAILED);
        assert_false(has_files(played.tree));
        assert_int_equal(RUN(&cancelled, &cancel_out, "--cancel", "web"), HN_EXIT_FAILED);
        assert_false(has_files(cancelled.tree));
}

static void does_not_wait_for_a_daemon_that_was_started_anew(void **state)
{
        struct played played = { .tree = *state, .file = UUID_A, .states = { "moving" }, .text = "", .begins_anew = true };
        HN_FREE char *out = NULL;

        assert_int_equal(RUN(&played, &out, "web", "3"), HN_EXIT_FAILED);
        assert_false(has_files(played.tree));
        free(played.order);
}

static void without_a_daemon_nothing_is_put_down(void **state)
{
        struct tree *tree = *state;

        assert_int_equal(MOVE("web", "3"), HN_EXIT_FAILED);
        tree_put(tree, FOLDER ".lock", "");
        assert_int_equal(MOVE("web", "3"), HN_EXIT_FAILED);
        assert_false(hn_root_exists(&tree->root, FOLDER UUID_A));
}

static void wrong_usage(void **state)
{
        static const char *const wrong[][ARGUMENTS + 1] = {
                { "move" }, { "move", "web" }, { "move", "web", "x" }, { "move", "web", "" }, { "move", "--cancel" },
                { "move", "--cancel", "web", "3" }, { "move", "web", "1", "2" },
        };

        (void) state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                assert_int_equal(move(wrong[i]), HN_EXIT_USAGE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define BESIDE(test) cmocka_unit_test_setup_teardown(test, set_up, tree_teardown)
                BESIDE(asks_the_daemon_and_tells_what_came_of_it),
                BESIDE(a_refusal_is_a_failure),
                BESIDE(an_interrupt_calls_it_off),
                BESIDE(calls_off_what_others_began),
                BESIDE(does_not_wait_for_a_daemon_that_ends),
                BESIDE(takes_back_what_a_daemon_did_not_take),
                BESIDE(does_not_wait_for_a_daemon_that_was_started_anew),
                BESIDE(without_a_daemon_nothing_is_put_down),
                BESIDE(wrong_usage),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
