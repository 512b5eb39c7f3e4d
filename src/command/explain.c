/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode explain: who a domain is, where it lives, what it was promised there, and why; from the ledger, or (of one
 * that does not run) as it would be decided now (explain-next.c).
 * As JSON: an element of `plan --json` with what the entry says besides: state, decided, domain_id, pid,
 * unit, priority, home, memory_nodes, emulator_cpus, vcpu_cpus, promises, moves, moving, last_move; without what is not
 * known.  Of a guest that was moved there is no score: that of its start says nothing of where it is.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "command/called.h"
#include "command/explain-next.h"
#include "command/explain-text.h"
#include "command/options.h"
#include "command/report.h"
#include "command/where.h"
#include "model/clock.h"
#include "model/json.h"
#include "model/text.h"
#include "store/ledger.h"

#define EXPLANATION_DEPTH 16

struct entries {
        struct hn_entry **all;
        size_t n;
};

static void clear_entries(struct entries *entries)
{
        hn_entries_free(entries->all, entries->n);
}

static const struct hn_entry *find_entry(const struct entries *entries, const char *domain)
{
        const struct hn_entry *found = NULL;
        int best = 0;

        for (size_t i = 0; i < entries->n; i++) {
                const struct hn_entry *entry = entries->all[i];
                int called = hn_called(domain, entry->domain_id, entry->placement->uuid, entry->placement->name);

                if (called <= best)
                        continue;
                best = called;
                found = entry;
        }
        return found;
}

/* The ledger's clock goes on from boot, whatever is done to the wall clock: what another boot wrote can't be
 * told in that. */
static bool of_this_boot(const struct hn_root *root, const struct hn_entry *entry)
{
        char boot_id[HN_UUID_LENGTH + 1];

        return hn_boot_id(root, boot_id) >= 0 && strcmp(boot_id, entry->boot_id) == 0;
}

/* When it was decided, by the wall clock. */
static int add_time(const struct hn_entry *entry, struct json_object *json)
{
        time_t boot = time(NULL) - (time_t) (hn_boottime_us() / 1000000u);
        time_t decided = boot + (time_t) (entry->written_us / 1000000u);
        char text[64];
        struct tm local;

        if (!localtime_r(&decided, &local) || strftime(text, sizeof text, "%FT%T%z", &local) == 0)
                return 0;
        return hn_json_add(json, "decided", json_object_new_string(text));
}

/* "moving": where from and why; "last_move": what came of it; "moves": how many there were. */
static int add_moves(const struct hn_entry *entry, struct json_object *json)
{
        const struct hn_moving *moving = entry->moving;
        HN_FREE char *from = moving ? hn_text_nodes(moving->from->home) : NULL;
        HN_FREE char *text = from ? hn_text_print("%s %s: %s", moving->back ? "back from" : "from", from, moving->reason)
                                  : NULL;

        if (moving && (!text || hn_json_add(json, "moving", json_object_new_string(text)) < 0))
                return -ENOMEM;
        if (!entry->moved.result)
                return 0;
        if (hn_json_add(json, "last_move", json_object_new_string(entry->moved.result)) < 0)
                return -ENOMEM;
        return hn_json_add(json, "moves", json_object_new_uint64(entry->moved.count));
}

static int add_entry(const struct hn_root *root, const struct hn_entry *entry, struct json_object *json)
{
        const char *state = entry->state == HN_ENTRY_STARTED ? "started" : "reserved";

        if (hn_json_add(json, "managed", json_object_new_boolean(entry->managed)) < 0 ||
            hn_json_add(json, "reason", json_object_new_string(entry->reason ? entry->reason : "")) < 0 ||
            hn_json_add(json, "state", json_object_new_string(state)) < 0)
                return -ENOMEM;
        if (of_this_boot(root, entry) && add_time(entry, json) < 0)
                return -ENOMEM;
        if (entry->domain_id >= 0 &&
            hn_json_add(json, "domain_id", json_object_new_int64(entry->domain_id)) < 0)
                return -ENOMEM;
        if (entry->pid > 0 && hn_json_add(json, "pid", json_object_new_int(entry->pid)) < 0)
                return -ENOMEM;
        if (add_moves(entry, json) < 0)
                return -ENOMEM;
        return entry->unit ? hn_json_add(json, "unit", json_object_new_string(entry->unit)) : 0;
}

/* What only the long explanation says.  It is of the day of the decision; where both speak, the entry, which
 * follows every move, is right, and where it has no vCPU of its own CPUs there is none any more. */
static int add_explanation(struct hn_ledger *ledger, const struct hn_entry *entry, struct json_object *json)
{
        HN_JSON struct json_object *explanation = NULL;
        HN_FREE char *text = NULL;
        int r = hn_ledger_explanation(ledger, entry->placement->uuid, &text);

        if (r >= 0)
                r = hn_json_parse(text, strlen(text), EXPLANATION_DEPTH, &explanation);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || !json_object_is_type(explanation, json_type_object))
                return 0;
        json_object_object_del(explanation, "vcpu_cpus");
        if (entry->moving || entry->moved.count) {
                json_object_object_del(explanation, "score");
                json_object_object_del(explanation, "runner_up");
        }
        return hn_json_add_absent(json, explanation);
}

static int explain(const struct hn_root *root, struct hn_ledger *ledger, const struct hn_entry *entry,
                   bool as_json)
{
        HN_JSON struct json_object *json = NULL;
        int r = hn_placement_to_json(entry->placement, &json);

        if (r >= 0)
                r = add_entry(root, entry, json);
        if (r >= 0)
                r = add_explanation(ledger, entry, json);
        if (r >= 0 && as_json)
                return hn_report_json(json);
        if (r >= 0)
                r = hn_explain_text(json, stdout);
        return r < 0 ? hn_complain("out of memory") : HN_EXIT_DONE;
}

static int complain_ledger(const char *domain, const char *dir, int error)
{
        bool denied = error == -EACCES || error == -EPERM;

        return hn_complain("%s: the ledger%s%s can't be read (%s%s)", domain, dir ? " " : "", dir ? dir : "",
                           strerror(-error), denied && !dir ? ": needs root" : "");
}

/* As JSON an object all the same: of a domain that is not known there is nothing to say. */
static int complain_unknown(const char *domain, bool as_json)
{
        HN_JSON struct json_object *nothing = as_json ? json_object_new_object() : NULL;

        if (nothing)
                (void) hn_report_json(nothing);
        return hn_complain("%s: has not been started in this boot, or is unknown", domain);
}

static int find_and_explain(const char *domain, const char *dir, bool as_json)
{
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_CLEANUP(clear_entries) struct entries entries = { 0 };
        int r = hn_root_open(NULL, &root);

        if (r >= 0)
                r = hn_where_ledger(&root, dir, &ledger);
        if (r >= 0)
                r = hn_ledger_load(ledger, &entries.all, &entries.n);
        if (r < 0)
                return complain_ledger(domain, dir, r);
        const struct hn_entry *entry = find_entry(&entries, domain);
        if (!entry && dir)
                return complain_unknown(domain, as_json);
        if (!entry)
                return hn_explain_next(domain, as_json);
        return explain(&root, ledger, entry, as_json);
}

int hn_command_explain(int argc, char **argv)
{
        const char *dir = NULL;
        bool json = false;
        const struct hn_option table[] = {
                HN_LEDGER_OPTION(dir),
                { .name = "json", .flag = &json, .help = "print a JSON object" },
        };
        const struct hn_usage usage = {
                .command = "homenode explain",
                .operands = "DOMAIN",
                .summary = "Says where a domain lives and why, or where it would if it were started now.\n"
                           "DOMAIN is its name, UUID or id.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (argc - first != 1)
                return hn_usage_wrong(&usage, first == argc ? "no domain named" : "one domain at a time");
        return find_and_explain(argv[first], dir, json);
}
