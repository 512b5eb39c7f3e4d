/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The one scoring function, for placing, balancing, explaining and simulating.  It looks at a layout: how
 * much of each of a domain's cells is on which node.
 *
 * All terms are expected slowdown, summed up over all domains and weighted by their priority: a layout that
 * slows this domain by 2 % and two others by 1 % each is as bad as one that slows this one by 4 %.
 */
#pragma once

#include "decide/ground.h"

/* What a domain's slowdown weighs.  Four to one: a high domain is worth disturbing three others for. */
#define HN_WEIGHT_HIGH 4.0
#define HN_WEIGHT_NORMAL 1.0
#define HN_WEIGHT_LOW 0.25

/* An access at distance 20 takes 150 ns where a local one takes 100: half as long again per 10. */
#define HN_SLOW_PER_DISTANCE (0.5 / 10)

/* Share of a cell's accesses that goes to the memory of the domain's other cells: guests that know their
 * cells keep most of their accesses at home, but not kernel text, page cache and shared heaps. */
#define HN_CROSS_SHARE 0.3

/* Share of the work that waits for devices where a domain has some. */
#define HN_DEVICE_SHARE 0.3

/* All memory of a node gone but for the reserve: reclaim and compaction take a fiftieth of the time.  Guests are promised
 * all that they may touch: what is left is not what they still need. */
#define HN_SHORTAGE_SLOW 0.02

/* vCPUs split over very many last-level caches, against all in one. */
#define HN_CACHE_SLOW 0.05

/* A host full to the brim whose best hole is torn: what domains still to come would lose by spanning, half of the speed
 * for each of two. */
#define HN_HOLE_SLOW 1.0

/* Below this share of promised memory there are holes enough and none is worth keeping. */
#define HN_HOLE_FILL 0.2

/* So far around a demand of the whole capacity vCPUs wait now and then: it is never as even as its mean. */
#define HN_CONTENTION_REACH 0.2

/* How much a demand below the capacity is worth to be evened out: siblings of one core, caches and memory bandwidth are
 * shared before CPUs are, and what demands little now may come to demand more. */
#define HN_CONTENTION_EVEN 0.15

/* One cell's part on one node, in what it is promised there. */
struct hn_seat {
        size_t cell;           /* seats of one cell stand together */
        size_t at;
        size_t kind;           /* page size: index into the ground's pages[] */
        uint64_t vcpus_milli;
        uint64_t memory_kib;   /* of that page size; overhead included for ordinary pages */
        uint64_t overhead_kib; /* ordinary memory beside huge pages */
        double cache;          /* share of cache locality lost: 1 - 1/caches; 0 where it is in one */
};

/* Scratch of the scoring function, by `at`. */
struct hn_tally {
        uint64_t vcpus_milli, ordinary_kib;
        double reach;          /* Σ of the cells' memory shares there */
        double pull;           /* mean slowdown of accesses from here to all of that */
        bool touched;
        size_t listed;         /* unlike the rest not about this node: the i-th node that was touched */
};

double hn_weight(enum hn_priority priority);

/* Expected slowdown at a CPU demand of u times the capacity: what is above it takes so much longer; near to it some does.
 * Besides, up to twice the capacity, it rises with the square: of two ways with the same sum the more even one is better
 * for those that would be worst off. */
double hn_contention(double u);

/* The CPU term of one node: the slowdown of what of a domain comes to be there (`weight`: the domain's, times the share
 * of its vCPUs), and by how much it slows those that are there already. */
double hn_score_cpu(const struct hn_ground_node *node, double weight, uint64_t vcpus_milli);

/* Scores seats.  `tallies` is scratch for n_nodes entries, zeroed by the caller once. */
void hn_score_seats(const struct hn_ground *ground, const struct hn_seat *seats, size_t n_seats,
                    struct hn_tally *tallies, struct hn_score *ret);
