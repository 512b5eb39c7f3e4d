/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The field: all guests laid on one ground, so that taking one off and putting it down elsewhere costs the same with
 * one guest as with thousands.  What is summed up is integers: a guest that comes back leaves all as it was.
 *
 * A guest demands the CPUs that it was measured to use and wait for, a twentieth of its vCPUs at least (it may wake up
 * at any time), and its slowdown counts by how much of one CPU it does work for, a twentieth at
 * least.
 */
#pragma once

#include "decide/balance.h"
#include "decide/score.h"

#define HN_DEMAND_FLOOR 0.05
#define HN_ACTIVITY_FLOOR 0.05

/* A guest on the field. */
struct hn_stand {
        const struct hn_balance_guest *guest;
        const struct hn_placement *placement; /* the one in force, or the one that was decided on since */
        const char *fixed;        /* why it is not to be moved; NULL: it may be */
        const char *immovable;    /* why its memory can't be; NULL: it can */
        double weight;            /* its priority, and how busy it is */
        uint64_t weight_parts;    /* the same as an integer */
        struct hn_seat *seats;    /* vCPUs as it demands them */
        size_t n_seats;
        size_t *nodes;            /* `at` of the seats, ascending */
        size_t n_nodes;
        bool spread;              /* over all of its nodes: then its seats are those of one cell */
        uint64_t asked_milli;     /* vCPUs × 1000 */
        size_t n_cores;           /* host cores that are its own, where it is on one node */
        uint64_t milli;           /* those that it demands */
        double *device;           /* by `at`; NULL: no devices to be near to */
        uint64_t resident_kib, outside_kib; /* of its memory, and of that not at home */
        double away;              /* slowdown because of that */
        struct hn_score score;    /* as it stands, `away` included */
};

struct hn_field_node {
        uint64_t busy_milli, milli;
        uint64_t cpu_parts, memory_parts;
        uint64_t left_kib;        /* without guests */
        size_t own_cores;         /* that single guests have for themselves */
};

struct hn_field {
        const struct hn_balance_input *input;
        size_t n_nodes, n_pages;
        struct hn_ground *ground; /* of those that are put down */
        struct hn_field_node *nodes;
        uint64_t *rooms, *promised; /* n_nodes × n_pages; rooms: without guests */
        struct hn_stand *stands;  /* one per guest of the input */
        size_t n_stands;
        struct hn_tally *tallies;
        struct hn_seat *trial;    /* scratch for the seats of any one guest, and one more per node and cell */
        size_t scored;
};

/* Everybody put down where they are.  -ENOMEM. */
int hn_field_new(const struct hn_balance_input *input, struct hn_field **ret);
void hn_field_free(struct hn_field *field);
HN_DEFINE_CLEANUP(struct hn_field *, hn_field_free, hn_cleanup_field)
#define HN_FIELD HN_CLEANUP(hn_cleanup_field)

/* Takes a guest's seats off the ground and puts them down again; any seats: for looking at what would be. */
void hn_field_lift(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats);
void hn_field_put(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats);

/* Scores seats (as many as it has) for a guest that is lifted. */
void hn_field_score(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats,
                    struct hn_score *ret);

/* Scores all guests where they stand. */
void hn_field_score_all(struct hn_field *field);

/* Have the nodes room for these seats, and are they built for so many vCPUs?  The guest is lifted. */
bool hn_field_fits(const struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats);

/* The seats of a guest on other nodes: the i-th of its nodes becomes the i-th of `nodes`, both ascending; a single
 * one: all of it there.  As many as it has. */
void hn_field_seats(const struct hn_stand *stand, const size_t *nodes, size_t k, struct hn_seat *ret);

/* A stand comes to have another placement; it is lifted before and after.  -ENOMEM. */
int hn_field_settle(struct hn_field *field, struct hn_stand *stand, const struct hn_placement *placement);

/* ---- field-seats.c */

/* Fills in seats and nodes as the placement has them.  -ENOMEM. */
int hn_stand_seats(const struct hn_field *field, struct hn_stand *stand);

/* Fills in what of its memory lies elsewhere, and what that costs. */
void hn_stand_away(struct hn_field *field, struct hn_stand *stand);

/* Why it is not to be moved, or its memory can't be; NULL: no reason. */
const char *hn_stand_fixed(const struct hn_host *host, const struct hn_balance_guest *guest);
const char *hn_stand_immovable(const struct hn_balance_guest *guest);
