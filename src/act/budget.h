/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Work under a time budget.  A signal handler can't end a process that hangs in the kernel (a cgroup lock held
 * for the length of somebody's page moves, a dead file system), so the work is done in a child, which may be left
 * behind; it lets go of the standard descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cleanup.h"

/* What a piece of work comes to.  Texts are owned by it. */
struct hn_outcome {
        int status;     /* exit status to be */
        char *output;   /* for standard output; NULL: nothing */
        char *complaint; /* for standard error; NULL: nothing */
        char *summary;  /* for the log; NULL: nothing worth telling */
        bool in_time;   /* false: given up, the rest is empty … */
        bool crashed;   /* … because the work ended before its time */
};

void hn_outcome_clear(struct hn_outcome *outcome);
#define HN_OUTCOME HN_CLEANUP(hn_outcome_clear)

typedef void hn_work(void *data, struct hn_outcome *ret);

/* Runs `work` in a child until `deadline_us` (hn_monotonic_us) and hands over what it came to, whole or not at
 * all; a child that is late is killed and not waited for.  ret->in_time is false then, and where it
 * crashed.
 * Errors are those of making pipe and child. */
int hn_budget_run(hn_work *work, void *data, uint64_t deadline_us, struct hn_outcome *ret);
