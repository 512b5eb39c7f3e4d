/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The best that could be done with given guests on a small host, all of them known beforehand: each in as many cells as
 * its size asks for (none is cut for want of room), each cell on one node.  Branch and bound over all ways.
 */
#pragma once

#include "simulate/world.h"

/* Guests of one search, at most. */
#define HN_EXACT_GUESTS 24u

/* *ret: the least sum of slowdowns.  `world` says what the host is, nothing runs there.  -ENOSPC: there is no way; -E2BIG: too
 * many guests, or more than `tries` steps; -ENOMEM. */
int hn_exact_best(const struct hn_world *world, const struct hn_trace_guest *const *guests, size_t n, size_t tries,
                  double *ret);
