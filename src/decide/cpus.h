/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CPUs: which of its nodes' CPUs a cell, a single vCPU and the emulator get.
 */
#pragma once

#include "decide/task.h"

/* The cache that a cell is best kept in on a node: it holds the cell's vCPUs on cores of their own, or is at
 * least no fuller than the node as a whole.  The emptiest, the lowest CPU among equals.  NULL: all CPUs of
 * the node.  *ret_loss: share of cache locality lost, for cells that a cache could have held. */
struct hn_cache_part *hn_cpus_cache(const struct hn_ground_node *node, const struct hn_need *need,
                                    double *ret_loss);

/* Counts every node's cores that are nobody's own and have so many threads. */
void hn_cpus_count_free(struct hn_ground *ground, unsigned threads);

/* Fills in the CPUs of a placement whose cells have vCPUs and nodes.  *ret_note (appended to) says what could
 * not be had.  -ENOMEM. */
int hn_cpus_choose(const struct hn_task *task, struct hn_placement *placement, char **ret_note);
