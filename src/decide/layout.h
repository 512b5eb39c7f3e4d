/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Layouts: a task's open cells laid on a given set of nodes, either every cell on one node, or spread: every
 * cell over the whole set, or leaning: each runs on one node of the set and has what memory there is there, and the rest
 * on others.
 */
#pragma once

#include "decide/task.h"

struct hn_layout {
        const struct hn_task *task;
        bool spread, leaning;   /* leaning ones are spread, too */
        size_t *at;             /* node of each open cell where they are not spread; that which it leans on */
        struct hn_seat *seats;  /* fixed ones first */
        size_t n_seats;
        double *cache_loss;     /* n_needs × n_nodes of the host: share of cache locality lost there */
        struct hn_tally *tallies;
        uint64_t *scratch;      /* 4 × nodes of the host */
};

/* -ENOMEM */
int hn_layout_new(const struct hn_task *task, struct hn_layout **ret);
void hn_layout_free(struct hn_layout *layout);
HN_DEFINE_CLEANUP(struct hn_layout *, hn_layout_free, hn_cleanup_layout)
#define HN_LAYOUT HN_CLEANUP(hn_cleanup_layout)

static inline uint64_t hn_layout_room(const struct hn_layout *layout, size_t at, size_t kind)
{
        const struct hn_ground *ground = layout->task->ground;

        return ground->rooms[at * ground->n_pages + kind];
}

/* May this open cell (index into task->open) be alone on that node? */
bool hn_layout_alone(const struct hn_layout *layout, size_t open, size_t at, bool cores);

/* Lays the open cells on k nodes (ascending `at`), at least one on each, neighbours together.  `cores`: only
 * where they get the host cores that they want for themselves.  False: does not fit. */
bool hn_layout_cells(struct hn_layout *layout, const size_t *nodes, size_t k, bool cores);

/* Lays every open cell over all of the k nodes: evenly, or each leaning on one of its own, whichever scores better
 * (layout-spread.c). */
bool hn_layout_spread(struct hn_layout *layout, const size_t *nodes, size_t k);

void hn_layout_score(struct hn_layout *layout, struct hn_score *ret);
