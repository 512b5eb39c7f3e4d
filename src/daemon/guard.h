/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The guard: how much memory the homes have left between two readings, and what will be left of it a moment from now.
 * Promises see to it that guests do not run a node short; others do: the host itself, guests that nobody placed.
 */
#pragma once

#include "daemon/meter.h"
#include "model/policy.h"

struct hn_guarded_node;

struct hn_guard {
        struct hn_guarded_node *nodes; /* the homes */
        size_t n;
};

enum hn_guard_level {
        HN_GUARD_EASY,
        HN_GUARD_NEAR,  /* some home has less left than the headroom, besides what is never promised */
        HN_GUARD_SHORT, /* some home has, or soon will have, less left than what is never promised */
};

/* A reading was made.  -ENOMEM. */
int hn_guard_set(struct hn_guard *guard, const struct hn_policy *policy, const struct hn_reading *reading,
                 uint64_t now_us);

/* Looks again, at nothing but free memory. */
enum hn_guard_level hn_guard_look(struct hn_guard *guard, const struct hn_root *root, uint64_t now_us);

/* How long until the next look; 0: not before the next reading. */
unsigned hn_guard_wait_ms(enum hn_guard_level level);

/* Puts into the reading what will soon be left, where that is less. */
void hn_guard_foresee(const struct hn_guard *guard, struct hn_reading *reading);

void hn_guard_clear(struct hn_guard *guard);
