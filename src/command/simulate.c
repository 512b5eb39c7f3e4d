/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode simulate: how the guests of a trace would fare on a host.
 */
#include "command/simulate.h"

#include <errno.h>
#include <string.h>

#include "command/command.h"
#include "command/input.h"
#include "command/report.h"
#include "command/where.h"
#include "model/clock.h"
#include "model/json.h"
#include "simulate/exact.h"

#define TRACE_LIMIT (256u << 20) /* bytes: some million guests */
#define EXACT_TRIES 3000000u      /* some seconds */
#define HOSTS_LIMIT 100000u

struct simulation {
        const struct hn_contender *const *contenders;
        size_t n_contenders;
        const char *names; /* of those that are wanted; NULL: all */
        struct hn_replay replay;
        double *best;              /* per host: the least possible sum of slowdowns, negative: not known; NULL: not asked */
        struct hn_simulated *list; /* of one trace */
        size_t n;
};

static int read_trace(const char *path, struct hn_trace **ret)
{
        HN_FREE char *text = NULL;
        size_t length = 0, line = 0;
        int r = hn_input_text(path, TRACE_LIMIT, &text, &length);

        if (r >= 0)
                r = hn_trace_parse(text, length, ret, &line);
        if (r == -EBADMSG)
                (void) hn_complain("%s: line %zu is not what is expected there in a trace: see --help", path, line);
        else if (r < 0)
                (void) hn_complain("%s: %s", path, strerror(-r));
        return r;
}

static bool is_wanted(const struct simulation *simulation, const char *name)
{
        size_t length = strlen(name);

        for (const char *p = simulation->names; p;) {
                size_t n = strcspn(p, ",");

                if (n == length && memcmp(p, name, n) == 0)
                        return true;
                p = p[n] ? p + n + 1 : NULL;
        }
        return !simulation->names;
}

static int run(struct simulation *simulation, const struct hn_contender *contender, struct hn_outcome *ret)
{
        int r = hn_replay_run(&simulation->replay, contender, ret);

        if (r < 0)
                return hn_complain("%s: %s", contender->name,
                                   r == -EINVAL ? "put a guest where it can't be" : strerror(-r));
        return HN_EXIT_DONE;
}

/* By how much a contender is above the best possible, on the hosts of which that is known. */
static void compare_best(const struct simulation *simulation, const double *sums, struct hn_simulated *ret)
{
        double best = 0, sum = 0;

        for (size_t host = 0; host < simulation->replay.n_hosts; host++)
                if (simulation->best[host] > 0) {
                        best += simulation->best[host];
                        sum += sums[host];
                        ret->n_best++;
                }
        if (best > 0)
                ret->above_best = sum / best - 1;
}

/* All wanted contenders. */
static int replay(struct simulation *simulation, const char *stage)
{
        for (size_t i = 0; i < simulation->n_contenders; i++) {
                struct hn_simulated *s = &simulation->list[simulation->n];

                if (!is_wanted(simulation, simulation->contenders[i]->name))
                        continue;
                if (run(simulation, simulation->contenders[i], &s->outcome) != HN_EXIT_DONE)
                        return HN_EXIT_FAILED;
                s->above_best = -1;
                if (simulation->best)
                        compare_best(simulation, simulation->replay.sums, s);
                s->name = simulation->contenders[i]->name;
                s->stage = stage;
                simulation->n++;
        }
        return HN_EXIT_DONE;
}

/* How many guests each host takes until some contender refuses one. */
static int find_limits(struct simulation *simulation, size_t *limits, size_t *taken)
{
        struct hn_outcome outcome;

        for (size_t host = 0; host < simulation->replay.n_hosts; host++)
                limits[host] = SIZE_MAX;
        simulation->replay.to_refusal = true;
        simulation->replay.taken = taken;
        for (size_t i = 0; i < simulation->n_contenders; i++) {
                if (!is_wanted(simulation, simulation->contenders[i]->name))
                        continue;
                if (run(simulation, simulation->contenders[i], &outcome) != HN_EXIT_DONE)
                        return HN_EXIT_FAILED;
                for (size_t host = 0; host < simulation->replay.n_hosts; host++)
                        limits[host] = taken[host] < limits[host] ? taken[host] : limits[host];
        }
        simulation->replay.to_refusal = false;
        simulation->replay.taken = NULL;
        return HN_EXIT_DONE;
}

/* The best possible on each host with the guests that it takes. */
static int find_best(struct simulation *simulation, const size_t *limits, double *best)
{
        const struct hn_replay *replay = &simulation->replay;
        HN_WORLD struct hn_world *world = NULL;
        int r = hn_world_new(replay->host, replay->policy, replay->busy, &world);

        for (size_t host = 0; r >= 0 && host < replay->n_hosts; host++) {
                const struct hn_trace_guest *guests[HN_EXACT_GUESTS + 1];
                size_t n = 0;

                for (size_t i = host; i < replay->trace->n_guests && n < limits[host] && n <= HN_EXACT_GUESTS;
                     i += replay->n_hosts)
                        guests[n++] = &replay->trace->guests[i];
                best[host] = -1;
                r = hn_exact_best(world, guests, n, EXACT_TRIES, &best[host]);
                r = r == -ENOSPC || r == -E2BIG ? 0 : r;
        }
        return r < 0 ? hn_complain("the best possible: %s", strerror(-r)) : HN_EXIT_DONE;
}

static int replay_same(struct simulation *simulation, const size_t *limits)
{
        HN_FREE double *best = calloc(simulation->replay.n_hosts, sizeof *best);
        HN_FREE double *sums = calloc(simulation->replay.n_hosts, sizeof *sums);
        int r = best && sums ? HN_EXIT_DONE : hn_complain("out of memory");

        if (r == HN_EXIT_DONE && simulation->replay.exact)
                r = find_best(simulation, limits, best);
        simulation->best = simulation->replay.exact ? best : NULL;
        simulation->replay.sums = sums;
        simulation->replay.limits = limits;
        if (r == HN_EXIT_DONE)
                r = replay(simulation, "the same guests: to the first refusal by any");
        simulation->best = NULL;
        simulation->replay.sums = NULL;
        simulation->replay.limits = NULL;
        return r;
}

/* Without times: filled until one contender refuses a guest, so that all have the same guests; until each of them does;
 * and to the end. */
static int replay_filling(struct simulation *simulation)
{
        HN_FREE size_t *limits = calloc(simulation->replay.n_hosts, sizeof *limits);
        HN_FREE size_t *taken = calloc(simulation->replay.n_hosts, sizeof *taken);
        int r = limits && taken ? find_limits(simulation, limits, taken) : hn_complain("out of memory");

        if (r == HN_EXIT_DONE)
                r = replay_same(simulation, limits);
        simulation->replay.to_refusal = true;
        if (r == HN_EXIT_DONE)
                r = replay(simulation, "to the first refusal");
        simulation->replay.to_refusal = false;
        return r == HN_EXIT_DONE ? replay(simulation, "to the end") : r;
}

static int report(const struct simulation *simulation, const char *path, struct json_object *array)
{
        struct json_object *element = NULL;
        int r;

        if (!array) {
                (void) printf("%s\n", path);
                return hn_simulate_print(simulation->list, simulation->n, simulation->replay.exact, stdout) < 0 ? hn_complain("out of memory")
                                                                                      : HN_EXIT_DONE;
        }
        r = hn_simulate_json(path, simulation->list, simulation->n, simulation->replay.exact, &element);
        if (r >= 0 && json_object_array_add(array, element) < 0) {
                json_object_put(element);
                r = -ENOMEM;
        }
        return r < 0 ? hn_complain("out of memory") : HN_EXIT_DONE;
}

static int simulate_trace(struct simulation *simulation, const char *path, struct json_object *array)
{
        HN_TRACE struct hn_trace *trace = NULL;
        HN_FREE struct hn_simulated *list = calloc(3 * simulation->n_contenders + 1, sizeof *list);
        int r = list ? read_trace(path, &trace) : hn_complain("out of memory");

        if (r)
                return HN_EXIT_FAILED;
        simulation->replay.trace = trace;
        simulation->list = list;
        simulation->n = 0;
        r = trace->timed ? replay(simulation, NULL) : replay_filling(simulation);
        return r == HN_EXIT_DONE ? report(simulation, path, array) : r;
}

/* Nothing runs there yet, whatever this host is doing now. */
static void empty(struct hn_host *host)
{
        for (size_t at = 0; at < host->n_nodes; at++)
                host->nodes[at].free_kib = host->nodes[at].memory_kib;
}

static int simulate_all(struct simulation *simulation, const struct hn_where *where, bool json, char *const *paths,
                        size_t n_paths)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_JSON struct json_object *array = json ? json_object_new_array() : NULL;
        int r = HN_EXIT_DONE;

        if (json && !array)
                return hn_complain("out of memory");
        if (hn_where_scene(where, &scene) < 0)
                return HN_EXIT_FAILED;
        empty(scene->host);
        simulation->replay.host = scene->host;
        simulation->replay.policy = &scene->policy;
        for (size_t i = 0; r == HN_EXIT_DONE && i < n_paths; i++)
                r = simulate_trace(simulation, paths[i], array);
        if (r != HN_EXIT_DONE)
                return r;
        return json ? hn_report_json(array) : HN_EXIT_DONE;
}

/* A whole number from 1 on. */
static bool read_number(const char *text, unsigned long limit, unsigned long *ret)
{
        char *end;
        unsigned long value;

        if (!text)
                return true;
        errno = 0;
        value = strtoul(text, &end, 10);
        if (errno || *end || *text < '0' || *text > '9' || value < 1 || value > limit)
                return false;
        *ret = value;
        return true;
}

static bool knows_names(const struct hn_usage *usage, struct simulation *simulation)
{
        HN_FREE char *names = simulation->names ? strdup(simulation->names) : NULL;
        char *rest = NULL;

        for (char *name = names ? strtok_r(names, ",", &rest) : NULL; name; name = strtok_r(NULL, ",", &rest)) {
                size_t i = 0;

                while (i < simulation->n_contenders && strcmp(simulation->contenders[i]->name, name) != 0)
                        i++;
                if (i == simulation->n_contenders) {
                        (void) hn_usage_wrong(usage, "--policy: there is no %s", name);
                        return false;
                }
        }
        return true;
}

/* What the help text says below the options; the caller frees. */
static char *more_help(const struct hn_contender *const *contenders, size_t n)
{
        HN_FREE char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);

        if (!out)
                return NULL;
        (void) fputs("\nTRACE.csv has a line per guest (\"-\": standard input), and this one first:\n"
                     "  id,group,arrive_s,lifetime_s,lifetime_hi_s,censored,vcpus,mem_mib,vnuma,note\n"
                     "vcpus and mem_mib are needed; the others may be empty, but for their commas: a,,0,600,,,4,8192,,\n"
                     "Times are whole seconds, for all guests or for none, in the order of arrival; with arrive_s a guest\n"
                     "needs lifetime_s, too.  Without times the hosts are filled in order: until any policy refuses a\n"
                     "guest (the same guests for all), until the policy itself does, and to the end.\n"
                     "\nColumns:\n"
                     "  MEAN SLOWDOWN     of all guests placed, each over its life; 1 is a guest with all memory local and\n"
                     "                    a CPU for each vCPU\n"
                     "  99TH PERCENTILE   one guest in a hundred fares worse\n"
                     "  LOCAL             accesses to memory on the node of the CPU that makes them\n"
                     "  OVERLOADED        time that nodes had more vCPUs wanting to run than CPUs, of all nodes' time\n"
                     "  REFUSED           had no place; in brackets those for whom all nodes together had memory enough\n"
                     "  SPLIT             lie on several nodes though one had room for the whole guest\n"
                     "  MOVED GIB         memory copied by moves\n"
                     "  DECISION US       time taken to decide, per guest placed, in microseconds\n"
                     "\nPolicies:\n", out);
        for (size_t i = 0; i < n; i++)
                (void) fprintf(out, "  %-20s%s\n", contenders[i]->name, contenders[i]->summary);
        if (fclose(out) != 0)
                return NULL;
        return HN_TAKE(text);
}

int hn_simulate(const char *command, const struct hn_contender *const *contenders, size_t n_contenders, int argc,
                char **argv)
{
        HN_FREE char *more = more_help(contenders, n_contenders);
        struct simulation simulation = { .contenders = contenders, .n_contenders = n_contenders };
        struct hn_where where = { .empty = true };
        const char *hosts = NULL, *busy = NULL;
        unsigned long n_hosts = 1, percent = 100;
        bool json = false;
        const struct hn_option table[] = {
                { .name = "host", .argument = "TOPOLOGY", .value = &where.host,
                  .help = "an hwloc XML file or synthetic description (default: this host)" },
                { .name = "hosts", .argument = "N", .value = &hosts,
                  .help = "deal the guests to N such hosts in turn (default: 1)" },
                { .name = "busy", .argument = "PERCENT", .value = &busy,
                  .help = "CPU time that each vCPU wants (default: 100)" },
                { .name = "policy", .argument = "NAME,...", .value = &simulation.names,
                  .help = "these only (default: all)" },
                { .name = "exact", .flag = &simulation.replay.exact,
                  .help = "say how far each is from the best possible (small hosts)" },
                { .name = "json", .flag = &json, .help = "print a JSON array" },
        };
        const struct hn_usage usage = {
                .command = command,
                .operands = "TRACE.csv...",
                .summary = "Replays guests on a host and says how they fared, under several policies.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = more,
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (first == argc)
                return hn_usage_wrong(&usage, "no trace named");
        if (!read_number(hosts, HOSTS_LIMIT, &n_hosts))
                return hn_usage_wrong(&usage, "--hosts: %s is no number from 1 to %u", hosts, HOSTS_LIMIT);
        if (!read_number(busy, 100, &percent))
                return hn_usage_wrong(&usage, "--busy: %s is no number from 1 to 100", busy);
        if (!knows_names(&usage, &simulation))
                return HN_EXIT_USAGE;
        simulation.replay.n_hosts = n_hosts;
        simulation.replay.busy = (double) percent / 100;
        simulation.replay.now_us = hn_monotonic_us;
        return simulate_all(&simulation, &where, json, argv + first, (size_t) (argc - first));
}

int hn_command_simulate(int argc, char **argv)
{
        static const struct hn_contender *const contenders[] = { &hn_contender_homenode, &hn_contender_homenode_start,
                                                                &hn_contender_libvirt };

        return hn_simulate("homenode simulate", contenders, sizeof contenders / sizeof *contenders, argc, argv);
}
