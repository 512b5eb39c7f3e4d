/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Replaying a trace with one contender, and what came of it.
 */
#pragma once

#include "simulate/contender.h"

/* Guests of a trace without times start so far apart. */
#define HN_REPLAY_APART_S 60.0

struct hn_replay {
        const struct hn_host *host;
        const struct hn_policy *policy;
        const struct hn_trace *trace;
        double busy;          /* CPUs that each vCPU wants */
        size_t n_hosts;       /* the trace is dealt to so many hosts of this kind in turn; at least 1 */
        bool to_refusal;      /* a host takes no more guests after the first one that was refused */
        const size_t *limits; /* per host: it is offered no more than so many guests; NULL: all */
        size_t *taken;        /* filled in per host: so many guests it was offered before one was refused; may be NULL */
        double *sums;         /* filled in per host: the sum of its guests' slowdowns; may be NULL */
        bool exact;           /* compare each start with the best that could be done with that guest (step.h) */
        uint64_t (*now_us)(void); /* for the time a decision takes; NULL: not measured */
};

struct hn_outcome {
        size_t n_placed, n_refused;
        size_t n_refused_with_room; /* of those: the host had memory enough in total */
        size_t n_split;             /* on several nodes though one had room for the whole guest */
        double mean_slowdown, p99_slowdown; /* of the guests placed: of each over its life, or in the end */
        double local;               /* share of accesses, each guest counted alike */
        double overloaded;          /* share of the nodes' time */
        double moved_gib;
        double decide_us, decide_worst_us; /* per guest placed */
        double above_step;          /* share by which the sum of slowdowns right after the starts was above the least
                                     * possible; 0 where not asked for */
};

/* -EINVAL: the contender laid a guest where it can't be; -ENOMEM. */
int hn_replay_run(const struct hn_replay *replay, const struct hn_contender *contender, struct hn_outcome *ret);
