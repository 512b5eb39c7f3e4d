/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Balancing on the daemon's loop: a turn in each period, and a look at the nodes' memory as often as that is low.
 */
#pragma once

#include "daemon/connection.h"
#include "daemon/mover.h"
#include "model/policy.h"

struct hn_rounds;

/* The first turn is at once.  All of these must outlive it; the mover has no more turns once it is freed.  `mover` NULL:
 * nobody is moved. */
int hn_rounds_new(struct hn_keeper *keeper, struct hn_connection *connection, struct hn_asking *asking,
                  struct hn_mover *mover, const struct hn_policy *policy, struct hn_rounds **ret);
void hn_rounds_free(struct hn_rounds *rounds);
HN_DEFINE_CLEANUP(struct hn_rounds *, hn_rounds_free, hn_cleanup_rounds)
#define HN_ROUNDS HN_CLEANUP(hn_cleanup_rounds)

/* The configuration may have changed. */
void hn_rounds_configure(struct hn_rounds *rounds, const struct hn_policy *policy);
