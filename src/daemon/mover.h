/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mover: gives guests that run another home, CPUs first, then their memory (DESIGN facts 9 to 12).
 *
 * It writes the ledger only.  A move begins by putting where the guest goes into its entry, with a memory set that is
 * wide enough for both homes: the keeper sees to that as to any placement.  Once the set is in force a thread moves the
 * pages (haul.h), one at a time for each node that they go to.  When nothing is left to be moved the entry gets the
 * narrow set, and when the keeper has seen to that too, the move has ended.  So the entry is true at any instant, and a
 * daemon that was killed finds it, and goes on.
 */
#pragma once

#include "act/pages.h"
#include "daemon/keeper.h"
#include "decide/balance.h"

/* One guest's move.  Nothing is owned. */
struct hn_move_order {
        const char *uuid;
        const struct hn_placement *to; /* all of its new placement; the one that it has: only its memory moves */
        enum hn_move_kind kind;
        uint64_t memory_kib;           /* foreseen to be moved; 0: only its memory set changes */
        const char *reason;            /* a sentence for people */
};

struct hn_mover;

/* Told when a move has ended: the guest came to rest on `home`, or did not get there (`delivered` false: little of its
 * memory came along, it was called off, it ended). */
typedef void hn_move_ended(void *data, const char *uuid, hwloc_const_bitmap_t home, bool delivered);

/* `keeper` must outlive it.  `ended` may be NULL; others may listen besides.  Moves that the ledger knows and nobody works
 * on are gone on with as their guests are looked at.  -EBUSY: another process of this host moves guests; -ENOMEM and
 * others. */
int hn_mover_new(struct hn_keeper *keeper, hn_move_ended *ended, void *data, struct hn_mover **ret);

/* Ends threads after the batch that they are at; moves stay in the ledger, to be gone on with. */
void hn_mover_free(struct hn_mover *mover);
HN_DEFINE_CLEANUP(struct hn_mover *, hn_mover_free, hn_cleanup_mover)
#define HN_MOVER HN_CLEANUP(hn_cleanup_mover)

int hn_mover_listen(struct hn_mover *mover, hn_move_ended *ended, void *data); /* -ENOSPC */

/* Begins one group of moves: all or none.  Guests of a group are moved in their order; where one does not get there,
 * those after it go back.  The ledger has what belongs together, and so it holds for daemons to come.  -EBUSY: one of
 * them moves already, or is just being started; -ESTALE: it or the ledger has changed, or there is no room (any more);
 * -EPERM: it is not to be moved; -ENOENT: it does not run; -ETIME: somebody else has the ledger; others as of writing
 * it. */
int hn_mover_begin(struct hn_mover *mover, const struct hn_move_order *orders, size_t n);

/* Why the last one was not begun, for people; "" where there is no more to say than the error. */
const char *hn_mover_refusal(const struct hn_mover *mover);

/* Calls a move off: it stays where more of its memory is.  -ENOENT: it does not move. */
int hn_mover_cancel(struct hn_mover *mover, const char *uuid, const char *why);

bool hn_mover_has(const struct hn_mover *mover, const char *uuid);

enum hn_move_stage {
        HN_MOVE_WAITS,   /* for another one to the same node, or of its group */
        HN_MOVE_OPENS,   /* its CPUs and its memory set are being changed */
        HN_MOVE_HAULS,   /* its memory is being moved */
        HN_MOVE_NARROWS, /* only its memory set has to get narrow again */
};

struct hn_move_progress {
        enum hn_move_stage stage;
        uint64_t moved_kib, left_kib, took_us;
};

const char *hn_move_stage_name(enum hn_move_stage stage);

/* -ENOENT: it does not move. */
int hn_mover_look(const struct hn_mover *mover, const char *uuid, struct hn_move_progress *ret);

/* As measured of late, pauses included; 0: not yet. */
uint64_t hn_mover_kib_per_second(const struct hn_mover *mover);

/* All movers together move no faster than that; 0: as fast as pauses let them. */
void hn_mover_limit(struct hn_mover *mover, uint64_t kib_per_second);

/* Readable when a thread has ended. */
int hn_mover_fd(const struct hn_mover *mover);

/* To be called then, after guests were looked at, and after as many milliseconds as it returned last (0: nothing moves). */
unsigned hn_mover_turn(struct hn_mover *mover);

/* For tests: how pages are moved. */
void hn_mover_use(struct hn_mover *mover, const struct hn_pages_door *door);
