/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Searching: which of all sets of nodes is the best for a task's open cells.  Exact where the sets of one
 * size can be looked at one by one (up to 16 nodes in any case), else bounded: sets around every node,
 * improved by swaps.  The same input gives the same answer.
 */
#pragma once

#include "decide/layout.h"

struct hn_found {
        size_t *nodes;   /* by `at`, ascending; room for all nodes of the host */
        size_t k;        /* 0: nothing found */
        bool spread, cores;
        struct hn_score score;
};

struct hn_search {
        struct hn_layout *layout;
        struct hn_found best, second;
        size_t scored;   /* how many sets were scored */
        size_t *chosen, *order, *trial; /* scratch */
};

/* -ENOMEM */
int hn_search_new(struct hn_layout *layout, struct hn_search **ret);
void hn_search_free(struct hn_search *search);
HN_DEFINE_CLEANUP(struct hn_search *, hn_search_free, hn_cleanup_search)
#define HN_SEARCH HN_CLEANUP(hn_cleanup_search)

/* Finds best and second best: the fewest nodes that hold the open cells, each on one; where there are none,
 * the fewest over which they can be spread.  False: no room. */
bool hn_search_run(struct hn_search *search);

/* No fewer nodes than this can hold the open cells: by sums of memory and vCPUs however they are cut, or by
 * whole cells (search-bound.c). */
size_t hn_search_bound(const struct hn_search *search);
size_t hn_search_bound_cells(const struct hn_search *search);

/* Lays a set that was found. */
bool hn_search_lay(struct hn_layout *layout, const struct hn_found *found);
