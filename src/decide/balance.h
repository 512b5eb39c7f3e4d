/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Balancing: from where guests are and how busy they are to a few moves that are worth what they cost.  Pure: no I/O,
 * no clock; time and what is remembered of earlier moves are handed in.
 *
 * The score is the one of placing (score.h), looked at over all guests: what a guest's score changes by when it moves
 * is what the sum over all guests changes by.  A move is made where that falls by more than the move costs within the
 * pay-back time, and by a threshold besides; so on constant load each move brings the sum down by at least that much,
 * and the balancer goes quiet.  Unlike placing, which has only promises to go by, it goes by measured load: a guest
 * demands the CPUs that it uses and waits for, and counts the less the less it does.
 */
#pragma once

#include "decide/decide.h"

/* A guest that runs.  Nothing is owned. */
struct hn_balance_guest {
        const struct hn_request *request;     /* of the live XML */
        const struct hn_shape *shape;         /* its cells; NULL: it is only counted */
        const struct hn_placement *placement; /* in force; without cells it is only counted */
        double busy_cpus;                     /* CPUs that it uses or waits for (model/load.h); negative: not measured,
                                               * counts with all its vCPUs */
        const uint64_t *resident_kib;         /* where its memory is, by `at`; NULL: where the placement says */
        const char *immovable;                /* why its memory can't be moved; NULL: it can.  What the XML tells
                                               * (locked, encrypted, passed-through devices) is known without */
        bool held;                            /* being moved or started, or somebody else's at the moment */
};

/* A guest that is about to start. */
struct hn_balance_wanted {
        const struct hn_request *request;
        const struct hn_shape *shape;
};

/* A guest that was moved, or was to be. */
struct hn_balance_record {
        char uuid[HN_UUID_LENGTH + 1];
        uint64_t moved_us;       /* when it last came to rest; 0: never */
        unsigned streak;         /* moves one soon after the other */
        hwloc_bitmap_t failed;   /* the home it did not come to; NULL: none */
        unsigned failures;       /* in a row */
        uint64_t failed_us;
};

/* What is remembered of earlier moves.  Zeroed: nothing. */
struct hn_balance_past {
        struct hn_balance_record *records; /* by uuid, ascending */
        size_t n;
};

struct hn_balance_input {
        const struct hn_host *host;           /* free memory as in a scene: with what placed guests hold */
        const struct hn_policy *policy;
        const struct hn_load *load;           /* what has no placement; NULL: nothing runs beside guests */
        const struct hn_balance_guest *guests;
        size_t n_guests;
        const struct hn_balance_wanted *wanted;
        size_t n_wanted;
        const uint64_t *free_kib;             /* free and reclaimable by the kernel's figures now, by `at`; NULL: no
                                               * node is looked at for running short */
        const uint64_t *leaving_kib;          /* ordinary memory that moves under way will take from a node, by `at` … */
        const uint64_t *coming_kib;           /* … and bring to it yet; NULL: nothing moves */
        uint64_t copy_kib_per_second;         /* as measured of late; 0: HN_COPY_KIB_PER_SECOND */
        const struct hn_balance_past *past;   /* NULL: nothing is remembered */
        uint64_t now_us;                      /* any clock that does not go back */
};

#define HN_COPY_KIB_PER_SECOND (UINT64_C(1) << 20)

enum hn_move_kind {
        HN_MOVE_GUEST,  /* one guest, all of it */
        HN_MOVE_CELL,   /* one cell of several */
        HN_MOVE_ROTATE, /* several cells of one guest, their order kept */
        HN_MOVE_SWAP,   /* two guests change places: two moves of one group */
        HN_MOVE_ROOM,   /* gives way to a guest that has no room or lies across nodes; the last of a group may be that
                         * guest itself */
        HN_MOVE_GATHER, /* its memory is not where it lives: only memory moves, or the memory set gets narrow again */
        HN_MOVE_SPILL,  /* a node runs out of memory: the guest's memory set gets wider, or it moves */
};

/* Where one cell goes. */
struct hn_move_cell {
        unsigned id;
        hwloc_bitmap_t from, to; /* OS indexes */
        uint64_t memory_kib;     /* of it to be copied */
};

struct hn_move {
        enum hn_move_kind kind;
        unsigned group;           /* moves with the same number are made all, in this order, or none */
        size_t guest;             /* into the input's guests */
        struct hn_placement *to;  /* all of its new placement */
        struct hn_move_cell *cells;
        size_t n_cells;
        uint64_t memory_kib;      /* to be copied in all */
        uint64_t copy_us;         /* how long that takes */
        uint64_t stall_us;        /* how long the guest is held up in all meanwhile, in many short pieces */
        double gain;              /* of the whole group: by how much the sum of slowdowns falls */
        double cost;              /* of the whole group, in slowdown × seconds */
        uint64_t pays_back_us;    /* of the whole group: cost / gain; 0 for a spill */
        struct hn_score before, after; /* of this guest */
        hwloc_bitmap_t runner_up; /* the second best home for it; NULL: there was none */
        double runner_up_gain;
        char *reason;             /* a sentence for people */
};

struct hn_moves {
        struct hn_move *list;
        size_t n;
        size_t scored;            /* layouts that were scored */
};

/* At most policy->balance.moves groups, the best first; none where all is well.  -ENOMEM. */
int hn_balance(const struct hn_balance_input *input, struct hn_moves *ret);

void hn_moves_clear(struct hn_moves *moves);
#define HN_MOVES HN_CLEANUP(hn_moves_clear)

const char *hn_move_kind_name(enum hn_move_kind kind);

/* The score summed up over all guests where they are now: what moves bring down.  -ENOMEM. */
int hn_balance_total(const struct hn_balance_input *input, struct hn_score *ret);

/* ---- what is remembered */

/* To be called as a move ends, for each of its guests: it came to rest on `home`, or did not get there (`delivered`
 * false: little of its memory came along, it was cancelled, refused).  -ENOMEM: nothing is remembered. */
int hn_balance_note(struct hn_balance_past *past, const char *uuid, hwloc_const_bitmap_t home, bool delivered,
                    uint64_t now_us);

/* A guest that is gone. */
void hn_balance_forget(struct hn_balance_past *past, const char *uuid);

const struct hn_balance_record *hn_balance_recall(const struct hn_balance_past *past, const char *uuid);

void hn_balance_past_clear(struct hn_balance_past *past);
#define HN_BALANCE_PAST HN_CLEANUP(hn_balance_past_clear)
