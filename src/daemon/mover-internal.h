/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the mover's files share: mover.c (its life, one turn after another), mover-begin.c (what begins, and what does
 * not), mover-stage.c (how far a move has come), mover-end.c (what the ledger gets of it).
 */
#pragma once

#include "daemon/haul.h"
#include "daemon/keeper-internal.h"
#include "daemon/mover.h"

#define HN_MOVE_LISTENERS 4u

/* One move that the mover works on.  What it is about is in the guest's ledger entry. */
struct hn_job {
        char uuid[HN_UUID_LENGTH + 1];
        char *name;
        int pid;
        uint64_t start_ticks;
        uint64_t group_us;            /* the ledger's began_us … */
        unsigned turn;                /* … and turn */
        bool lacks;                   /* another daemon began it: an earlier one of its group may not be known yet … */
        uint64_t lacked_us;           /* … as it was then; 0: never looked … */
        size_t lacked_n;              /* … when so many guests were known */
        enum hn_move_stage stage;
        uint64_t since_us, began_us;  /* hn_monotonic_us: of the stage, of the move */
        hwloc_bitmap_t target;        /* the home that it goes to */
        struct hn_haul *haul;         /* NULL: no thread is at it */
        unsigned hauls;               /* so many there have been */
        struct hn_haul_progress done; /* of the last one that ended … */
        uint64_t moved_kib;           /* … and of those before it */
        char *why;                    /* why it is called off; NULL: it is not */
        bool resumed;                 /* another daemon began it: how much that one has moved is not known */
        bool back;                    /* the guest stays where it was */
        bool over;                    /* to be forgotten */
};

struct hn_mover {
        struct hn_keeper *keeper;
        int lock_fd, event;
        const struct hn_pages_door *door;
        struct hn_job **jobs;         /* by group and turn: in the order in which they were begun */
        size_t n;
        uint64_t begun_us;            /* began_us of the last group; 0: none yet */
        uint64_t kib_per_second, limit;
        char *refusal;
        struct { hn_move_ended *call; void *data; } listeners[HN_MOVE_LISTENERS];
};

/* ---- mover.c */
struct hn_job *hn_mover_job(const struct hn_mover *mover, const char *uuid);
struct hn_job *hn_mover_add(struct hn_mover *mover, const struct hn_guest *guest); /* NULL without memory */
void hn_mover_tell(const struct hn_mover *mover, const struct hn_job *job, const char *text, ...) HN_PRINTF(3, 4);
void hn_job_stage(struct hn_job *job, enum hn_move_stage stage);

/* Has it to be called off, and why?  The first reason stays. */
void hn_job_call_off(struct hn_job *job, const char *why);

/* ---- mover-stage.c.  As far as it gets now. */
void hn_job_turn(struct hn_mover *mover, struct hn_job *job);

/* ---- mover-end.c */

/* Everything of it is there but what may be left for the kernel: its entry gets the memory set of its new home. */
void hn_job_narrow(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest);

/* It ended early: forward, back, or in between. */
void hn_job_settle(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest);

/* The memory set is as it should be; `note` NULL: nothing is left to be said. */
void hn_job_end(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest, const char *note);

/* It is nobody's any more: the guest ended, or was given back. */
void hn_job_drop(struct hn_mover *mover, struct hn_job *job, const char *why);
