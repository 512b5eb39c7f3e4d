/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode status: nodes and guests as they are now.
 */
#include <errno.h>
#include <string.h>

#include "command/options.h"
#include "command/report.h"
#include "command/status.h"
#include "model/json.h"

#define LOAD_INTERVAL_MS 200u /* 20 ticks of a kernel with 100 Hz: a tenth of a CPU can be told */

/* Chooses the guests that are shown; those that were named and are not there are complained about. */
static int choose(const struct hn_status *status, char *const *names, size_t n_names, struct hn_shown *ret, int *exit)
{
        size_t room = n_names ? n_names : status->n_guests;
        const struct hn_guest_status **guests = calloc(room + 1, sizeof *guests);
        size_t n = 0;

        if (!guests)
                return -ENOMEM;
        for (size_t i = 0; i < room; i++) {
                const struct hn_guest_status *guest = n_names ? hn_status_find(status, names[i]) : &status->guests[i];

                if (guest)
                        guests[n++] = guest;
                else
                        *exit = hn_complain("%s: %s", names[i], status->partial
                                            ? "not found, but not all could be read: it may run"
                                            : "no such guest runs");
        }
        *ret = (struct hn_shown) { .guests = guests, .n_guests = n, .all = n_names == 0 };
        return 0;
}

static int show(const struct hn_status *status, const struct hn_shown *shown, bool as_json)
{
        HN_JSON struct json_object *json = NULL;
        int r;

        if (!as_json)
                return hn_status_text(status, shown, stdout);
        r = hn_status_to_json(status, shown, &json);
        return r < 0 ? r : hn_report_json(json);
}

static int run(char *const *names, size_t n_names, bool as_json)
{
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_STATUS struct hn_status status = { 0 };
        HN_FREE const struct hn_guest_status **guests = NULL;
        struct hn_shown shown = { 0 };
        int exit = HN_EXIT_DONE, r = hn_root_open(NULL, &root);

        if (r < 0)
                return hn_complain("%s: %s", getenv("HOMENODE_ROOT") ? getenv("HOMENODE_ROOT") : "/", strerror(-r));
        /* A recorded tree holds one reading, and guests that are named are shown without their nodes. */
        r = hn_status_read(&root, root.host && n_names == 0 ? LOAD_INTERVAL_MS : 0, &status);
        if (r >= 0)
                r = choose(&status, names, n_names, &shown, &exit);
        guests = shown.guests;
        if (r < 0)
                return hn_complain("out of memory");
        if (status.faults)
                hn_complain_lines("status", status.faults);
        if ((n_names == 0 || shown.n_guests > 0 || as_json) && show(&status, &shown, as_json) < 0)
                return hn_complain("out of memory");
        return status.partial ? HN_EXIT_FAILED : exit;
}

int hn_command_status(int argc, char **argv)
{
        bool json = false;
        const struct hn_option table[] = {
                { .name = "json", .flag = &json, .help = "print a JSON object" },
        };
        const struct hn_usage usage = {
                .command = "homenode status",
                .operands = "[DOMAIN...]",
                .summary = "Shows nodes and guests as they are now; with DOMAIN (name, UUID or id) those in detail.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        return run(argv + first, (size_t) (argc - first), json);
}
