/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode simulate, for any choice of contenders: the benchmark has more of them than the command.
 */
#pragma once

#include "command/options.h"
#include "simulate/replay.h"

/* One trace replayed, on one kind of host. */
struct hn_simulated {
        const char *name; /* of the contender */
        const char *stage; /* NULL, or how far a trace without times was replayed */
        struct hn_outcome outcome;
        double above_best; /* share by which its slowdowns are above the best possible; -1: not known */
        size_t n_best;     /* hosts of which that is known */
};

/* Options, replay, report; `command` is how people call it.  One of enum hn_exit. */
int hn_simulate(const char *command, const struct hn_contender *const *contenders, size_t n_contenders, int argc,
                char **argv);

/* `exact`: with how far each is from the best possible.  Both: -ENOMEM. */
int hn_simulate_print(const struct hn_simulated *list, size_t n, bool exact, FILE *out);
int hn_simulate_json(const char *trace, const struct hn_simulated *list, size_t n, bool exact,
                     struct json_object **ret);
