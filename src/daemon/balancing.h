/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Balancing: period by period what runs is measured (meter.h), published (publish.h) and looked at (decide/balance.h);
 * what comes of it is handed to whoever moves guests.  And the guard: where a node runs short of memory between two
 * periods, its guests are given memory of another at once.
 *
 * Knows the mover, libvirt and the event loop by a door only.
 */
#pragma once

#include "daemon/keeper.h"
#include "decide/balance.h"

struct hn_balancing_door {
        void *data;
        uint64_t (*now_us)(void *data); /* hn_monotonic_us */
        /* One group of moves, all or none, as hn_mover_begin, which tells of what it moves and of what came of it; what was
         * refused is told by `refusal`.  NULL: there is no mover. */
        int (*begin)(void *data, const struct hn_move *moves, size_t n);
        const char *(*refusal)(void *data);
        bool (*moves)(void *data, const char *uuid);
        uint64_t (*kib_per_second)(void *data);
        /* Why libvirt has something else to do with it: it is being migrated, saved …; NULL: it has not.  -EBUSY: nobody
         * tells just now. */
        int (*occupied)(void *data, const char *uuid, const char **ret_why);
};

struct hn_balancing;

/* The keeper must outlive it.  -ENOMEM. */
int hn_balancing_new(struct hn_keeper *keeper, const struct hn_balancing_door *door, struct hn_balancing **ret);
void hn_balancing_free(struct hn_balancing *balancing);
HN_DEFINE_CLEANUP(struct hn_balancing *, hn_balancing_free, hn_cleanup_balancing)
#define HN_BALANCING HN_CLEANUP(hn_cleanup_balancing)

/* How from now on; without it as by default. */
void hn_balancing_configure(struct hn_balancing *balancing, const struct hn_policy *policy);

/* A period has passed. */
void hn_balancing_turn(struct hn_balancing *balancing);

/* Looks whether a node runs short.  To be called after each turn, and then as many milliseconds later as it returns; 0:
 * not before the next turn. */
unsigned hn_balancing_watch(struct hn_balancing *balancing);

/* A move has ended (daemon/mover.h). */
void hn_balancing_ended(void *data, const char *uuid, hwloc_const_bitmap_t home, bool delivered);
