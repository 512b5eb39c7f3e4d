/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What keeper.c (whose guest it is), keep.c (its cgroups) share.
 */
#pragma once

#include "daemon/host.h"
#include "daemon/keeper.h"
#include "daemon/watch.h"
#include "decide/keep.h"

#define HN_DAEMON_WAIT_US 2000000u /* for the ledger's lock */
#define HN_UNIT_WAIT_US 5000000u   /* for systemd: a change of nodes moves pages before it answers */

struct hn_keeper {
        const struct hn_root *root;
        const struct hn_cgroup_io *io;
        struct hn_running_door door;
        struct hn_systemd *systemd;
        struct hn_watch *watch;
        struct hn_guests guests;
        hwloc_bitmap_t all_cpus, all_nodes; /* that this host can have; NULL: not known */
        struct hn_outlook outlook;
        bool room;               /* a guest went, or the host changed, since guests without a home were tried */
        uint64_t tried_us;       /* when that was; 0: never */
};

/* Compares the guest's cgroups with its placement.  *ret_relaid: groups came or went since it was kept last. */
int hn_keep_compare(struct hn_keeper *keeper, struct hn_guest *guest, struct hn_actions *ret, bool *ret_relaid);

/* Puts right what is not, but not sooner than the contest allows; asks for another look where one is due.  True: it
 * wrote. */
bool hn_keep_guest(struct hn_keeper *keeper, struct hn_guest *guest);

/* The ledger, locked. */
int hn_keeper_lock(const struct hn_keeper *keeper, struct hn_ledger **ret);

/* Is the entry of this guest, as it runs? */
bool hn_keeper_is_its(const struct hn_entry *entry, const struct hn_guest *guest);

enum hn_entering {
        HN_ENTER,           /* it is not in the ledger, or another of that UUID is */
        HN_ENTER_ANEW,      /* its owner changed their mind */
        HN_ENTER_IF_PLACED, /* what is there stays where it would be left to libvirt again */
};

/* Gets the guest into the ledger and takes the entry, or tries again later (enter.c). */
void hn_keeper_enter(const struct hn_keeper *keeper, struct hn_guest *guest, enum hn_entering how);

/* Looks whether the guest's home is still there, once for each host that there has been, and gives it another where it
 * is not (rehome.c). */
void hn_keeper_rehome(struct hn_keeper *keeper, struct hn_guest *guest);

/* Has the ledger promise what memory was plugged in, and no longer what was plugged out (plug.c). */
void hn_keeper_follow_plug(const struct hn_keeper *keeper, struct hn_guest *guest);

/* Now and then, where room has come: guests without a home are to be looked at again (rehome.c). */
void hn_keeper_try_again(struct hn_keeper *keeper);
