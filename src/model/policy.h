/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the administrator can set for the whole host (homenode.conf), as plain values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hn_definition { HN_DEFINITION_AUTO, HN_DEFINITION_MINIMAL, HN_DEFINITION_NEVER };

/* When and how much guests are moved while they run (decide/balance.h). */
struct hn_balance_policy {
        bool off;                      /* guests stay where they are, unless a node runs short of memory */
        unsigned period_seconds;       /* how often it is looked at: 10 */
        unsigned moves;                /* at most so many at once: 2 */
        unsigned threshold_percent;    /* the sum of all guests' slowdowns must fall by as much of one guest: 15 */
        unsigned payback_seconds;      /* a move is worth its cost where it pays back within: 120 */
        unsigned cooldown_seconds;     /* a guest that was moved is left alone for: 60 */
        unsigned rate_mib;             /* memory is moved no faster than so many MiB a second; 0: as fast as it goes */
};

struct hn_policy {
        unsigned smt_percent;          /* what a further SMT thread is worth of a core: 25 */
        unsigned headroom_percent;     /* memory of a node that is better left free (soft): 20 */
        unsigned reserve_percent;      /* memory of a node that is never promised: 5 … */
        uint64_t reserve_max_kib;      /* … but at most this: 1 GiB */
        uint64_t overhead_first_kib;   /* QEMU's own memory for a guest's first GiB: 32 MiB */
        uint64_t overhead_per_gib_kib; /* and for each further one begun: 8 MiB */
        enum hn_definition definition;
        unsigned renew_seconds;        /* nodes in a definition are renewed at most so often: 300 */
        struct hn_balance_policy balance;
};

void hn_policy_defaults(struct hn_policy *ret);
