/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The best that could be done with one guest that is about to start, all others staying where they are: whole on any
 * node, or cut evenly into as many cells as its size asks for on any nodes; where it fits none of these, over any nodes, its vCPUs on one or all.
 */
#pragma once

#include "simulate/world.h"

/* The sum of all residents' slowdowns as things are. */
double hn_step_sum(const struct hn_world *world);

/* *ret: the least that this sum can be with the guest.  The world is as before afterwards.  -ENOSPC: there is no way;
 * -E2BIG: too many nodes; -ENOMEM. */
int hn_step_best(struct hn_world *world, const struct hn_trace_guest *guest, double *ret);
