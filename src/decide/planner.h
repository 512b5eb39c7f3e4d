/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The planner: a balancing under way.  Several ways of finding moves offer proposals to it, each on the field as it
 * is; the best is accepted, which changes the field, and so on.  Only the files of the balancer include this.
 */
#pragma once

#include "decide/field.h"

/* Making room moves three guests, and the one that gets the room. */
#define HN_PARTS 4u

/* Share of the time of copying that the guest is held up: batches are short, and it waits only for what it touches. */
#define HN_MOVE_STALL_SHARE 0.1

/* Guests about to start that are looked at: deciding where they would lie costs more than all the rest. */
#define HN_STARTS 4u

/* Less than that is rounding, whatever the threshold. */
#define HN_LEAST_GAIN 1e-6

/* Copying takes from everybody else, whoever is moved: memory bandwidth, and a CPU. */
#define HN_MOVE_COPY_SHARE 0.05

/* What any move costs: cold caches, a second of unrest. */
#define HN_MOVE_FIXED_SECONDS 0.2

/* Memory that lies elsewhere comes home for this part of the threshold: it disturbs nobody else and can't go back and
 * forth. */
#define HN_GATHER_PART 0.2

/* One guest of a proposal. */
struct hn_part {
        size_t guest;
        size_t *nodes, k;        /* by `at`, ascending: its new home; room for all nodes of the host */
        int widen;               /* its memory set gets this node (`at`) besides, and nothing else changes; -1: none */
        bool gather;             /* it stays, its memory comes home */
};

struct hn_proposal {
        enum hn_move_kind kind;
        struct hn_part parts[HN_PARTS];
        size_t n;                /* parts; 0: nothing is proposed */
        bool for_start;          /* room for a guest that does not run yet: the last part, and no move */
        double gain, cost, net;  /* net: what is left of the gain with the cost over the pay-back time */
};

struct hn_planner {
        const struct hn_balance_input *input;  /* those that are about to start among the guests, behind all others */
        size_t n_running;        /* guests that run */
        const struct hn_balance_policy *policy;
        struct hn_field *field;
        struct hn_proposal best, trial;
        double threshold;
        bool high;               /* may guests of high priority be moved now? */
        struct hn_seat *seats[HN_PARTS]; /* scratch for any one guest's */
        size_t *nodes;           /* scratch for a set of nodes */
        const struct hn_placement **others; /* scratch for all guests' placements and HN_PARTS more */
        struct hn_moves *moves;
        struct hn_balance_input own;
        struct hn_balance_guest *guests;
        struct hn_decision *decisions[HN_STARTS];
        size_t n_decisions;
        uint64_t *leaving_kib, *coming_kib; /* the input's, and what was decided on since */
};

/* ---- what all ways of finding moves share (planner.c) */

int hn_planner_new(const struct hn_balance_input *input, struct hn_moves *moves, struct hn_planner **ret);
void hn_planner_free(struct hn_planner *planner);
HN_DEFINE_CLEANUP(struct hn_planner *, hn_planner_free, hn_cleanup_planner)
#define HN_PLANNER HN_CLEANUP(hn_cleanup_planner)

/* May this guest be moved now, as far as it and its past say?  `giving`: it gives way to another. */
bool hn_planner_may(const struct hn_planner *planner, const struct hn_stand *stand);

/* May this node become a home of the guest: one that it may use, and not about to run short of memory? */
bool hn_planner_open(const struct hn_planner *planner, const struct hn_stand *stand, size_t at);

/* Is this the home that the guest did not come to lately?  -ENOMEM counts as yes. */
bool hn_planner_avoids(const struct hn_planner *planner, const struct hn_stand *stand, const size_t *nodes, size_t k);

/* Is there memory now for what would be copied to each node, whatever is promised, and would the node not run short? */
bool hn_planner_takes(const struct hn_planner *planner, const struct hn_stand *stand, const struct hn_seat *seats);

/* May it go there while all others are where they are put down?  Moves of a group are made one after the other: there must
 * be memory for the first while the last has not left yet.  What is free now counts; where that is not known, promises. */
bool hn_planner_goes_first(const struct hn_planner *planner, const struct hn_stand *stand, const struct hn_seat *seats);

/* Memory that is copied where a guest's seats become these, and what that costs in slowdown × seconds. */
uint64_t hn_planner_copied_kib(const struct hn_planner *planner, const struct hn_stand *stand,
                               const struct hn_seat *seats);
double hn_planner_copy_seconds(const struct hn_planner *planner, uint64_t memory_kib);
double hn_planner_cost(const struct hn_planner *planner, const struct hn_stand *stand, const struct hn_seat *seats);

/* So much besides the threshold must be left for a guest that was moved of late: the threshold once more for each move of
 * its streak.  What was measured is never the same twice, and nobody is to go back and forth for that. */
double hn_planner_extra(const struct hn_planner *planner, const struct hn_stand *stand);

/* What is left of a gain. */
double hn_planner_net(const struct hn_planner *planner, double gain, double cost);

/* Begins the trial proposal: no parts.  Then parts; then it is offered: it becomes the best where it is better. */
void hn_planner_begin(struct hn_planner *planner, enum hn_move_kind kind);
void hn_planner_part(struct hn_planner *planner, size_t guest, const size_t *nodes, size_t k);
void hn_planner_offer(struct hn_planner *planner, double gain, double cost);

/* ---- the ways of finding moves: each offers the best that it finds */

void hn_look_single(struct hn_planner *planner);  /* balance-single.c: guests, cells, memory */
void hn_look_swaps(struct hn_planner *planner);   /* balance-swap.c */
void hn_look_room(struct hn_planner *planner);    /* balance-room.c */
void hn_look_spill(struct hn_planner *planner);   /* balance-spill.c: not by score */

/* The second best home of a guest that is lifted: into nodes[], as many as it has; 0: none.  *ret_gain: what it would
 * gain there. */
size_t hn_look_second(struct hn_planner *planner, size_t guest, const struct hn_part *best, size_t *nodes,
                      double *ret_gain);

/* Room that a node should keep, by `at`: below it runs short. */
uint64_t hn_short_kib(const struct hn_planner *planner, size_t at);

/* The cells of a spill that was accepted are under way: what is free does not change before they are there. */
void hn_spill_accepted(struct hn_planner *planner, const struct hn_proposal *proposal);

/* ---- accept.c */

/* Makes the moves of the best proposal and changes the field.  1: done; 0: it turned out not to be possible, or not to
 * be worth it, and its guests are left alone from now on; -ENOMEM. */
int hn_accept(struct hn_planner *planner);

/* ---- balance-say.c */

/* Why; the caller frees.  -ENOMEM. */
int hn_move_say(const struct hn_planner *planner, const struct hn_proposal *proposal, const struct hn_move *move,
                char **ret);
