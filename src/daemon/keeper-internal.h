/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What keeper.c (whose guest it is), keep.c (its cgroups) share.
 */
#pragma once

#include "daemon/keeper.h"
#include "daemon/watch.h"
#include "decide/keep.h"

#define HN_DAEMON_WAIT_US 2000000u /* for the ledger's lock */
#define HN_UNIT_WAIT_US 5000000u   /* for systemd: a change of nodes moves pages before it answers */

struct hn_keeper {
        const struct hn_root *root;
        struct hn_running_door door;
        struct hn_systemd *systemd;
        struct hn_watch *watch;
        struct hn_guests guests;
        hwloc_bitmap_t all_cpus, all_nodes; /* that this host can have; NULL: not known */
};

/* Compares the guest's cgroups with its placement.  *ret_relaid: groups came or went since it was kept last. */
int hn_keep_compare(struct hn_keeper *keeper, struct hn_guest *guest, struct hn_actions *ret, bool *ret_relaid);

/* Puts right what is not, but not sooner than the contest allows; asks for another look where one is due.  True: it
 * wrote. */
bool hn_keep_guest(struct hn_keeper *keeper, struct hn_guest *guest);
