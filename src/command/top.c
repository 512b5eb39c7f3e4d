/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode top: nodes and guests as they change, on a full screen or a page after the other.
 */
#include "command/top.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "command/options.h"
#include "command/report.h"
#include "model/clock.h"
#include "model/json.h"
#include "model/text.h"

#define SHORTEST_S 0.1 /* ten ticks of a kernel with 100 Hz */
#define LONGEST_S 86400.0

static bool parse_interval(const char *text, unsigned *ret_ms)
{
        double seconds;
        char *end;

        seconds = strtod(text, &end);
        if (end == text || *end || !(seconds >= SHORTEST_S && seconds <= LONGEST_S))
                return false;
        *ret_ms = (unsigned) lround(seconds * 1000);
        return true;
}

static bool parse_count(const char *text, uint64_t *ret)
{
        unsigned long long value;
        char *end;

        errno = 0;
        value = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || errno || value == 0)
                return false;
        *ret = value;
        return true;
}

/* ---- without a screen */

static int show_text(const struct hn_top *top, const struct hn_top_sort *sort)
{
        HN_TOP_PAGE struct hn_top_page page = { 0 };
        HN_FREE char *banner = hn_top_banner(top, sort);
        int r = banner ? hn_top_page(top, sort, banner, HN_TOP_WIDE, &page) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < page.n_head; i++)
                (void) puts(page.head[i]);
        for (size_t i = 0; r >= 0 && i < page.n_body; i++)
                (void) puts(page.body[i]);
        return r;
}

static int show_json(const struct hn_top *top, const struct hn_top_sort *sort)
{
        HN_JSON struct json_object *json = NULL;
        int r = hn_top_to_json(top, sort, &json);

        return r < 0 ? r : hn_report_json(json);
}

/* Each page shows what lies between two readings. */
static int run_batch(struct hn_top *top, const struct hn_top_plan *plan, bool json)
{
        int r = hn_top_read(top);

        for (uint64_t n = 0; r >= 0 && (!plan->count || n < plan->count); n++) {
                if (n > 0 && !json)
                        (void) putchar('\n');
                hn_sleep_ms(plan->interval_ms);
                r = hn_top_read(top);
                if (r >= 0)
                        r = json ? show_json(top, &plan->sort) : show_text(top, &plan->sort);
                /* main says what is wrong with standard output */
                if (r >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
                        return HN_EXIT_FAILED;
        }
        if (r < 0)
                return hn_complain("out of memory");
        return top->status.partial ? HN_EXIT_FAILED : HN_EXIT_DONE;
}

/* ---- */

struct wanted {
        const char *delay, *number, *sort;
        bool batch, json;
};

/* False: wrong usage, which was complained about. */
static bool plan_of(const struct hn_usage *usage, const struct wanted *wanted, struct hn_top_plan *ret)
{
        struct hn_top_plan plan = { .interval_ms = 2000, .sort.by = HN_TOP_USED };

        if (wanted->delay && !parse_interval(wanted->delay, &plan.interval_ms)) {
                (void) hn_usage_wrong(usage, "%s: seconds are a number from %g to %g", wanted->delay, SHORTEST_S, LONGEST_S);
                return false;
        }
        if (wanted->number && !parse_count(wanted->number, &plan.count)) {
                (void) hn_usage_wrong(usage, "%s: not a number of readings", wanted->number);
                return false;
        }
        if (wanted->sort && (plan.sort.by = hn_top_column_named(wanted->sort)) == HN_TOP_COLUMNS) {
                (void) hn_usage_wrong(usage, "%s: no such column", wanted->sort);
                return false;
        }
        *ret = plan;
        return true;
}

/* Ends the program as the signal would have, for whoever looks why it ended. */
static int die_of(int number)
{
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, number);
        (void) signal(number, SIG_DFL);
        (void) sigprocmask(SIG_UNBLOCK, &set, NULL);
        (void) raise(number);
        return HN_EXIT_FAILED;
}

static int run(struct hn_top_plan *plan, const struct wanted *wanted)
{
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_TOP struct hn_top top = { .root = &root };
        bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        int number = 0, r = hn_root_open(NULL, &root);

        if (r < 0)
                return hn_complain("%s: %s", getenv("HOMENODE_ROOT") ? getenv("HOMENODE_ROOT") : "/", strerror(-r));
        if (terminal && !wanted->batch && !wanted->json) {
                r = hn_top_screen(&top, plan, &number);
                if (number)
                        return die_of(number);
                if (r != -EOPNOTSUPP)
                        return r < 0 ? hn_complain("top: %s", strerror(-r)) : top.status.partial;
        }
        if (!wanted->batch && !plan->count)
                plan->count = 1;
        return run_batch(&top, plan, wanted->json);
}

int hn_command_top(int argc, char **argv)
{
        struct wanted wanted = { 0 };
        const struct hn_option table[] = {
                { .name = "delay", .letter = 'd', .argument = "S", .value = &wanted.delay,
                  .help = "seconds from one reading to the next (2)" },
                { .name = "number", .letter = 'n', .argument = "N", .value = &wanted.number,
                  .help = "ends after so many readings" },
                { .name = "sort", .argument = "COLUMN", .value = &wanted.sort, .help = "by that column (%USED)" },
                { .name = "batch", .letter = 'b', .flag = &wanted.batch,
                  .help = "one page of text after the other, without an end unless -n says so" },
                { .name = "json", .flag = &wanted.json, .help = "the same as JSON objects; without -b and -n one" },
        };
        HN_FREE char *legend = hn_top_legend();
        HN_FREE char *more = legend ? hn_text_print("\nColumns, their words for --sort, and keys:\n%s", legend) : NULL;
        const struct hn_usage usage = {
                .command = "homenode top",
                .operands = "",
                .summary = "Shows nodes and guests as they change.  h shows the keys, q quits.  Without a terminal: one page.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = more,
        };
        struct hn_top_plan plan;
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (first < argc)
                return hn_usage_wrong(&usage, "takes no operands");
        if (!plan_of(&usage, &wanted, &plan))
                return HN_EXIT_USAGE;
        return run(&plan, &wanted);
}
