/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/replay.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "simulate/step.h"

#define MOVES_LIMIT 16u    /* of one call */
#define PERIODS_LIMIT 1000u /* a contender that never goes quiet is not asked for ever */

/* A replay under way. */
struct run {
        const struct hn_replay *replay;
        const struct hn_contender *contender;
        struct hn_world *world; /* the host of now */
        void *state;
        struct hn_outcome *outcome;
        double *slowdowns;      /* of all hosts */
        size_t n_slowdowns;
        double local, node_s, decide_us, moved_kib;
        double step_sum, step_best; /* over all starts whose best is known */
};

static void end_host(struct run *run)
{
        if (run->contender->close)
                run->contender->close(run->state);
        run->state = NULL;
        hn_world_free(HN_TAKE(run->world));
}

static void end_run(struct run *run)
{
        end_host(run);
        free(run->slowdowns);
}

static int begin_host(struct run *run)
{
        int r = hn_world_new(run->replay->host, run->replay->policy, run->replay->busy, &run->world);

        return r < 0 || !run->contender->open ? r : run->contender->open(run->world, &run->state);
}

static void count_home_time(struct run *run, double seconds)
{
        for (size_t at = 0; at < run->world->host->n_nodes; at++)
                run->node_s += run->world->nodes[at].capacity > 0 ? seconds : 0;
}

static int apply_moves(struct run *run, struct hn_world_move *moves, size_t n)
{
        int r = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t kib = 0;

                if (r >= 0)
                        r = hn_world_move(run->world, moves[i].resident, moves[i].spot, &kib);
                if (r < 0)
                        hn_spot_free(moves[i].spot);
                run->moved_kib += (double) kib;
        }
        return r;
}

/* Asks for moves every period until none come, or until it is too late. */
static int balance(struct run *run, double until_s)
{
        struct hn_world_move moves[MOVES_LIMIT];
        double period = run->contender->period_s;

        for (unsigned i = 0; run->contender->balance && i < PERIODS_LIMIT; i++) {
                int n, r;

                if (run->world->now_s + period >= until_s)
                        return 0;
                count_home_time(run, period);
                hn_world_pass(run->world, run->world->now_s + period);
                n = run->contender->balance(run->state, run->world, moves, MOVES_LIMIT);
                if (n <= 0)
                        return n;
                r = apply_moves(run, moves, (size_t) n);
                if (r < 0)
                        return r;
                hn_world_settle(run->world);
        }
        return 0;
}

static int pass(struct run *run, double until_s)
{
        int r;

        if (until_s <= run->world->now_s)
                return 0;
        hn_world_settle(run->world);
        r = balance(run, until_s);
        count_home_time(run, until_s - run->world->now_s);
        hn_world_pass(run->world, until_s);
        return r;
}

/* What a guest's life came to; of one that ends as it began, how it is now. */
static void book(struct run *run, const struct hn_resident *resident)
{
        double seconds = run->world->now_s - resident->since_s, local, slowdown;

        slowdown = hn_world_slowdown(run->world, resident, &local);
        if (run->replay->trace->timed && seconds > 0) {
                slowdown = resident->work / seconds;
                local = resident->local / seconds;
        }
        run->slowdowns[run->n_slowdowns++] = slowdown;
        run->local += local;
}

/* Lets guests end whose time comes before `until_s`. */
static int stop_until(struct run *run, double until_s)
{
        for (;;) {
                size_t first = SIZE_MAX;
                double end = until_s;
                int r;

                for (size_t i = 0; i < run->world->n_residents; i++)
                        if (run->world->residents[i].until_s <= end) {
                                first = i;
                                end = run->world->residents[i].until_s;
                        }
                if (first == SIZE_MAX)
                        return 0;
                r = pass(run, end);
                if (r < 0)
                        return r;
                book(run, &run->world->residents[first]);
                if (run->contender->gone)
                        run->contender->gone(run->state, &run->world->residents[first]);
                hn_world_stop(run->world, first);
        }
}

/* Asks the contender; counts what it does.  -ENOSPC: refused. */
static int ask(struct run *run, const struct hn_trace_guest *guest, size_t number, struct hn_spot **ret)
{
        uint64_t before = run->replay->now_us ? run->replay->now_us() : 0;
        int r = run->contender->place(run->state, run->world, guest, number, ret);
        double us = run->replay->now_us ? (double) (run->replay->now_us() - before) : 0;

        run->decide_us += us;
        if (us > run->outcome->decide_worst_us)
                run->outcome->decide_worst_us = us;
        return r;
}

/* Right after a start: what came of it, and what could have. */
static void compare_step(struct run *run, double best)
{
        if (best <= 0)
                return;
        hn_world_settle(run->world);
        run->step_best += best;
        run->step_sum += hn_step_sum(run->world);
}

static int start(struct run *run, size_t number)
{
        const struct hn_trace_guest *guest = &run->replay->trace->guests[number];
        HN_SPOT struct hn_spot *spot = NULL;
        bool fits = hn_world_fits_node(run->world, guest);
        double best = 0;
        int r = 0;

        if (hn_world_total_room_kib(run->world) < hn_world_wanted_kib(run->world, guest)) {
                run->outcome->n_refused++;
                return -ENOSPC;
        }
        hn_world_settle(run->world);
        if (run->replay->exact)
                r = hn_step_best(run->world, guest, &best);
        if (r < 0 && r != -ENOSPC && r != -E2BIG)
                return r;
        r = ask(run, guest, number, &spot);
        if (r == -ENOSPC) {
                run->outcome->n_refused++;
                run->outcome->n_refused_with_room++;
        }
        if (r < 0)
                return r;
        run->outcome->n_placed++;
        run->outcome->n_split += fits && hn_spot_width(spot) > 1;
        r = hn_world_start(run->world, guest, number, spot);
        if (r < 0)
                return r;
        (void) HN_TAKE(spot);
        compare_step(run, best);
        return 0;
}

static double arrival_s(const struct hn_replay *replay, size_t number)
{
        return replay->trace->timed ? replay->trace->guests[number].arrive_s
                                    : (double) (number / replay->n_hosts) * HN_REPLAY_APART_S;
}

/* Guests without an end stay until the last one that has one is gone. */
static double last_end_s(const struct hn_replay *replay)
{
        double last = 0;

        for (size_t i = 0; i < replay->trace->n_guests; i++) {
                const struct hn_trace_guest *guest = &replay->trace->guests[i];
                double end = arrival_s(replay, i);

                if (replay->trace->timed && isfinite(guest->lifetime_s))
                        end += guest->lifetime_s;
                last = end > last ? end : last;
        }
        return last + (replay->trace->timed ? 0 : HN_REPLAY_APART_S);
}

static int run_host(struct run *run, size_t first)
{
        const struct hn_replay *replay = run->replay;
        size_t limit = replay->limits ? replay->limits[first] : SIZE_MAX, n = 0;
        bool refused = false;
        int r = begin_host(run);

        if (r >= 0)
                run->world->now_s = first < replay->trace->n_guests ? arrival_s(replay, first) : 0;
        for (size_t i = first; r >= 0 && i < replay->trace->n_guests && n < limit; i += replay->n_hosts, n++) {
                double now = arrival_s(replay, i);

                if (replay->trace->timed)
                        r = stop_until(run, now);
                if (r >= 0)
                        r = pass(run, now);
                if (r >= 0)
                        r = start(run, i);
                if (r != -ENOSPC)
                        continue;
                r = 0;
                if (replay->taken && !refused)
                        replay->taken[first] = n;
                refused = true;
                if (replay->to_refusal)
                        return 0;
        }
        if (replay->taken && !refused)
                replay->taken[first] = n;
        return r;
}

/* The end of the trace: what is to be said of those that still run. */
static int finish_host(struct run *run, double last_s)
{
        int r = 0;

        if (!run->replay->trace->timed)
                last_s = run->world->now_s + HN_REPLAY_APART_S;
        else
                r = stop_until(run, last_s);
        if (r >= 0)
                r = pass(run, last_s);
        hn_world_settle(run->world);
        for (size_t i = 0; r >= 0 && i < run->world->n_residents; i++)
                book(run, &run->world->residents[i]);
        return r;
}

/* Without times a host's load is that in the end, not that of the way there. */
static double overloaded_share(const struct run *run, double overloaded_s)
{
        return run->node_s > 0 ? overloaded_s / run->node_s : 0;
}

static int ascending(const void *a, const void *b)
{
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static void sum_up(struct run *run, double overloaded_s)
{
        struct hn_outcome *outcome = run->outcome;
        size_t n = run->n_slowdowns;
        double sum = 0;

        outcome->overloaded = overloaded_share(run, overloaded_s);
        outcome->above_step = run->step_best > 0 ? run->step_sum / run->step_best - 1 : 0;
        outcome->moved_gib = run->moved_kib / 1048576;
        if (!n)
                return;
        qsort(run->slowdowns, n, sizeof *run->slowdowns, ascending);
        for (size_t i = 0; i < n; i++)
                sum += run->slowdowns[i];
        outcome->mean_slowdown = sum / (double) n;
        outcome->p99_slowdown = run->slowdowns[(n * 99 + 99) / 100 - 1];
        outcome->local = run->local / (double) n;
        outcome->decide_us = run->decide_us / (double) outcome->n_placed;
}

int hn_replay_run(const struct hn_replay *replay, const struct hn_contender *contender, struct hn_outcome *ret)
{
        struct hn_outcome outcome = { 0 };
        HN_CLEANUP(end_run) struct run run = { .replay = replay, .contender = contender, .outcome = &outcome };
        double overloaded_s = 0, last_s = last_end_s(replay);
        int r = 0;

        run.slowdowns = calloc(replay->trace->n_guests + 1, sizeof *run.slowdowns);
        if (!run.slowdowns)
                return -ENOMEM;
        for (size_t first = 0; r >= 0 && first < replay->n_hosts; first++) {
                size_t before = run.n_slowdowns;

                if (replay->sums)
                        replay->sums[first] = 0;
                r = run_host(&run, first);
                if (r >= 0)
                        r = finish_host(&run, last_s);
                if (r >= 0)
                        overloaded_s += run.world->overloaded_s;
                for (size_t i = before; replay->sums && i < run.n_slowdowns; i++)
                        replay->sums[first] += run.slowdowns[i];
                end_host(&run);
        }
        if (r < 0)
                return r;
        sum_up(&run, overloaded_s);
        *ret = outcome;
        return 0;
}
