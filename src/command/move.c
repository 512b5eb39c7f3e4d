/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode move: another home for a guest that runs.  The daemon does it (daemon/orders.h says how it is asked); here
 * it is asked, and followed to the end.
 * As JSON: an object with domain, uuid, state ("done", "failed", "refused"), moved_kib, left_kib, took_us, text.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "command/called.h"
#include "command/options.h"
#include "command/report.h"
#include "command/where.h"
#include "daemon/orders.h"
#include "model/clock.h"
#include "model/json.h"
#include "model/text.h"
#include "store/ledger.h"

#define DEPTH 4
#define LOOK_MS 100
#define SILENCE_US 20000000u /* the daemon waits 2 s for the ledger, 5 s for systemd; a libvirt that hangs takes longer */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
        (void) signal;
        interrupted++;
}

struct asking {
        struct hn_root root;
        const char *domain;
        bool json, cancel;
        char uuid[HN_UUID_LENGTH + 1];
        char *name;
        uint64_t asked_us;
        unsigned cancelled; /* interrupts that have been acted on */
        struct json_object *answer;
};

static void clear_asking(struct asking *asking)
{
        hn_root_close(&asking->root);
        free(asking->name);
        json_object_put(asking->answer);
}

/* ---- whom */

static int find(struct asking *asking)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r = hn_where_ledger(&asking->root, NULL, &ledger), best = 0;

        if (r >= 0)
                r = hn_ledger_load(ledger, &entries, &n);
        if (r < 0)
                return hn_complain("%s: the ledger can't be read: %s", asking->domain, strerror(-r));
        for (size_t i = 0; i < n; i++) {
                const struct hn_placement *placement = entries[i]->placement;
                int called = hn_called(asking->domain, entries[i]->domain_id, placement->uuid, placement->name);

                if (called <= best)
                        continue;
                best = called;
                memcpy(asking->uuid, placement->uuid, sizeof asking->uuid);
                free(asking->name);
                asking->name = strdup(placement->name ? placement->name : placement->uuid);
        }
        hn_entries_free(entries, n);
        return asking->name ? HN_EXIT_DONE : hn_complain("%s: does not run, or is unknown", asking->domain);
}

/* Somebody who moves guests holds this lock. */
static bool daemon_runs(const struct hn_root *root)
{
        HN_CLOSE int fd = hn_root_open_regular(root, O_RDWR | O_NOFOLLOW, 0, HN_ORDERS_LOCK);

        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* ---- asking */

static int put_down(const struct asking *asking, const char *suffix, hwloc_const_bitmap_t nodes)
{
        HN_JSON struct json_object *json = json_object_new_object();
        int r = json ? hn_json_add(json, "asked_us", json_object_new_uint64(asking->asked_us)) : -ENOMEM;

        if (r >= 0 && nodes)
                r = hn_json_add(json, "nodes", hn_json_new_set(nodes));
        return r < 0 ? r : hn_json_replace(&asking->root, json, HN_ORDERS_FOLDER "/%s%s", asking->uuid, suffix);
}

/* What the daemon has to say to this order by now.  -EAGAIN: nothing; -ESTALE: and it had something to say before, which
 * only a daemon that is started takes away. */
static int read_answer(struct asking *asking)
{
        HN_JSON struct json_object *json = NULL;
        const char *state = NULL;
        int r = hn_json_read(&asking->root, HN_ORDER_LIMIT, DEPTH, &json, HN_ORDERS_ANSWER, asking->uuid, asking->asked_us);

        if (r == -ENOENT && asking->answer)
                return -ESTALE;
        if (r < 0 || hn_json_get_string(json, "state", &state) < 0)
                return -EAGAIN;
        json_object_put(asking->answer);
        asking->answer = HN_TAKE(json);
        return 0;
}

static const char *state_of(const struct asking *asking)
{
        const char *state = "";

        (void) hn_json_get_string(asking->answer, "state", &state);
        return state;
}

static bool has_ended(const struct asking *asking)
{
        const char *state = state_of(asking);

        return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 || strcmp(state, "refused") == 0;
}

/* ---- following */

static void show_progress(const struct asking *asking)
{
        uint64_t moved_kib = 0, left_kib = 0, took_us = 0;
        char moved[HN_TEXT_SIZE], left[HN_TEXT_SIZE];

        if (asking->json || !isatty(STDERR_FILENO))
                return;
        (void) hn_json_get_u64(asking->answer, "moved_kib", UINT64_MAX, &moved_kib);
        (void) hn_json_get_u64(asking->answer, "left_kib", UINT64_MAX, &left_kib);
        (void) hn_json_get_u64(asking->answer, "took_us", UINT64_MAX, &took_us);
        (void) fprintf(stderr, "\r%s: %s moved, %s left, %llu s\033[K", state_of(asking), hn_text_size(moved_kib, moved),
                       hn_text_size(left_kib, left), (unsigned long long) took_us / 1000000u);
}

static void clear_progress(const struct asking *asking)
{
        if (!asking->json && isatty(STDERR_FILENO))
                (void) fputs("\r\033[K", stderr);
}

/* The move is called off once; who interrupts again does not want to wait for that. */
static bool gives_up(struct asking *asking)
{
        if ((unsigned) interrupted <= asking->cancelled)
                return false;
        asking->cancelled++;
        if (asking->cancelled > 1)
                return true;
        (void) hn_root_remove(&asking->root, HN_ORDERS_FOLDER "/%s", asking->uuid);
        return put_down(asking, ".cancel", NULL) < 0;
}

static int follow(struct asking *asking)
{
        const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
        uint64_t heard_us = hn_monotonic_us();

        for (;;) {
                bool runs = daemon_runs(&asking->root);
                int r = read_answer(asking);

                if (r >= 0) {
                        heard_us = hn_monotonic_us();
                        if (has_ended(asking))
                                return 0;
                        show_progress(asking);
                }
                if (!runs)
                        return -ESRCH;
                if (r == -ESTALE)
                        return r;
                if (hn_monotonic_us() - heard_us > SILENCE_US)
                        return -ETIME;
                if (gives_up(asking))
                        return -EINTR;
                (void) nanosleep(&pause, NULL);
        }
}

/* ---- the end */

static int report(const struct asking *asking)
{
        const char *text = "";
        /* Whoever calls a move off wants it not to succeed. */
        bool done = strcmp(state_of(asking), "done") == 0 || (asking->cancel && strcmp(state_of(asking), "failed") == 0);

        (void) hn_json_get_string(asking->answer, "text", &text);
        if (asking->json) {
                if (hn_json_add(asking->answer, "domain", json_object_new_string(asking->name)) < 0 ||
                    hn_json_add(asking->answer, "uuid", json_object_new_string(asking->uuid)) < 0)
                        return hn_complain("out of memory");
                int exit = hn_report_json(asking->answer);
                return done ? exit : HN_EXIT_FAILED;
        }
        if (!done)
                return hn_complain("%s: %s%s", asking->name,
                                   !asking->cancel && strcmp(state_of(asking), "refused") == 0 ? "not moved: " : "", text);
        (void) printf("%s: %s\n", asking->name, text);
        return HN_EXIT_DONE;
}

/* Did it stand there still?  Nobody is to take it later: whoever asked is told that nothing came of it. */
static bool withdraw(const struct asking *asking)
{
        const char *suffix = asking->cancel ? ".cancel" : "";
        bool stood = hn_root_exists(&asking->root, HN_ORDERS_FOLDER "/%s%s", asking->uuid, suffix);

        return hn_root_remove(&asking->root, HN_ORDERS_FOLDER "/%s%s", asking->uuid, suffix) >= 0 && stood;
}

static int complain(const struct asking *asking, int error, bool withdrawn)
{
        if (withdrawn && error != -ETIME)
                return hn_complain("%s: homenoded has ended before it heard of this; nothing came of it", asking->name);
        if (error == -ESRCH)
                return hn_complain("%s: homenoded has ended; the move goes on when it is started again", asking->name);
        if (error == -ESTALE)
                return hn_complain("%s: homenoded was started anew; a move that had begun goes on, see homenode status",
                                   asking->name);
        if (error == -ETIME)
                return hn_complain("%s: homenoded does not answer", asking->name);
        if (error == -EINTR)
                return hn_complain("%s: the move goes on; see homenode status", asking->name);
        return hn_complain("%s: " HN_ORDERS_FOLDER ": %s", asking->name, strerror(-error));
}

static void catch_interrupts(void)
{
        struct sigaction action = { .sa_handler = on_interrupt };

        (void) sigemptyset(&action.sa_mask);
        (void) sigaction(SIGINT, &action, NULL);
        (void) sigaction(SIGTERM, &action, NULL);
}

static int ask(struct asking *asking, hwloc_const_bitmap_t nodes)
{
        bool withdrawn = false;
        int r;

        asking->asked_us = hn_boottime_us();
        asking->cancelled = asking->cancel;
        interrupted = asking->cancel;
        catch_interrupts();
        r = put_down(asking, asking->cancel ? ".cancel" : "", nodes);
        if (r >= 0)
                r = follow(asking);
        clear_progress(asking);
        if (r == -ETIME || r == -ESRCH || r == -ESTALE)
                withdrawn = withdraw(asking);
        (void) hn_root_remove(&asking->root, HN_ORDERS_ANSWER, asking->uuid, asking->asked_us);
        return r < 0 ? complain(asking, r, withdrawn) : report(asking);
}

static int run(struct asking *asking, hwloc_const_bitmap_t nodes)
{
        int r = hn_root_open(NULL, &asking->root);

        if (r < 0)
                return hn_complain("%s: %s", getenv("HOMENODE_ROOT") ? getenv("HOMENODE_ROOT") : "/", strerror(-r));
        if (asking->root.host && geteuid() != 0)
                return hn_complain("moving guests needs root");
        if (!daemon_runs(&asking->root))
                return hn_complain("homenoded does not run (systemctl start homenoded), or can't move guests "
                                   "(journalctl -u homenoded says why)");
        r = find(asking);
        return r == HN_EXIT_DONE ? ask(asking, nodes) : r;
}

int hn_command_move(int argc, char **argv)
{
        HN_CLEANUP(clear_asking) struct asking asking = { .root.fd = -1 };
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        const struct hn_option table[] = {
                { .name = "cancel", .flag = &asking.cancel, .help = "call off a move that is under way" },
                { .name = "json", .flag = &asking.json, .help = "print a JSON object" },
        };
        const struct hn_usage usage = {
                .command = "homenode move",
                .operands = "DOMAIN NODES | --cancel DOMAIN",
                .summary = "Gives a guest that runs another home: its CPUs at once, then its memory.\n"
                           "DOMAIN is its name, UUID or id; NODES a list like 2 or 0-1.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = "\nWaits until it is done. An interrupt calls the move off: the guest stays where more of its\n"
                        "memory is. The nodes that it lives on already bring memory home that lies elsewhere.\n",
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (argc - first != (asking.cancel ? 1 : 2))
                return hn_usage_wrong(&usage, asking.cancel ? "one domain at a time" : "a domain and its nodes are to be named");
        if (!asking.cancel && (hn_idset_parse(argv[first + 1], HN_IDSET_LIMIT, &nodes) < 0 || hwloc_bitmap_iszero(nodes)))
                return hn_usage_wrong(&usage, "%s: no list of nodes", argv[first + 1]);
        asking.domain = argv[first];
        return run(&asking, nodes);
}
