/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the balancer looks at (decide/balance.h), gathered from the guests that the daemon keeps, what was read of them,
 * and the ledger.
 */
#pragma once

#include "daemon/keeper.h"
#include "daemon/meter.h"
#include "decide/balance.h"

struct hn_gather_source {
        const struct hn_root *root;
        const struct hn_guests *guests;
        struct hn_reading *reading;        /* its huge pages are credited */
        const struct hn_policy *policy;
        const struct hn_balance_past *past;
        unsigned generation;               /* of the host on which homes were looked at (daemon/host.h) */
        bool (*moves)(void *data, const char *uuid); /* is it being moved? */
        void *data;
        uint64_t copy_kib_per_second;
        uint64_t now_us;
        bool urgent;                       /* memory runs short: guests that were not measured yet are not held */
};

struct hn_gathered {
        struct hn_balance_input input;     /* points at the below, and at what the guests' keeper has of them */
        struct hn_balance_guest *guests;
        struct hn_balance_wanted wanted[4];
        uint64_t *leaving_kib, *coming_kib; /* by `at`: what moves under way have yet to take along */
        struct hn_shape **shapes;
        uint64_t **resident;
        size_t n;                          /* of the keeper's guests */
        struct hn_entry **entries;         /* of the ledger: those that the keeper does not know, and that count as well */
        size_t n_entries;
};

/* -ENOMEM, and those of reading the ledger. */
int hn_gather(const struct hn_gather_source *source, struct hn_gathered *ret);
void hn_gathered_clear(struct hn_gathered *gathered);
#define HN_GATHERED HN_CLEANUP(hn_gathered_clear)
