/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shaping: how a domain is cut into cells.  Goes by what the host is built of and what the domain is, never
 * by what runs at the moment: cells are guest ABI and outlive any load.
 */
#pragma once

#include "decide/decide.h"

/* The cells that the XML has already, or those that the domain should get.  A domain too large for all the
 * nodes it may use comes out in one piece.  What people should know is added to *ret_note (the caller frees).
 * -ENOMEM. */
int hn_shape_new(const struct hn_host *host, const struct hn_policy *policy, const struct hn_request *request,
                 struct hn_shape **ret, char **ret_note);

/* The cells that a guest runs with, which may be other ones than it would get at a start: those of its live XML, or one.
 * -ENOMEM. */
int hn_shape_running(const struct hn_host *host, const struct hn_request *request, struct hn_shape **ret);

/* Host threads that one guest core stands for: the user's topology; for cells of ours with pinning="core" the
 * host's own; else 1.  Divides the vCPUs. */
unsigned hn_guest_threads(const struct hn_host *host, const struct hn_request *request);

/* Guest distances for n cells: those between the nearest n of the nodes that the domain may use and that hold
 * the cells, lowest numbers first.  n × n values; NULL (with 0) for one cell.  -ENOMEM. */
int hn_shape_distances(const struct hn_host *host, const struct hn_policy *policy, hwloc_const_bitmap_t nodes,
                       const struct hn_shape *shape, unsigned **ret);
