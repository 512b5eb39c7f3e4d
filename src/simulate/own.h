/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode as a contender.  Only its own files include this.
 */
#pragma once

#include "decide/balance.h"
#include "simulate/contender.h"

/* What it knows of a guest that runs. */
struct hn_own_guest {
        size_t number;
        struct hn_request *request;
        struct hn_shape *shape;          /* NULL: left to libvirt */
        struct hn_placement *placement;
};

struct hn_own {
        struct hn_own_guest *guests;
        const struct hn_placement **placements; /* theirs, in their order */
        size_t n, room;
        struct hn_balance_past past;
};

/* Where a placement puts a guest; without cells it is left to libvirt, and the placement comes to say where it lies,
 * as measured.  -ENOMEM. */
int hn_own_spot(const struct hn_world *world, const struct hn_trace_guest *guest, struct hn_placement *placement,
                struct hn_spot **ret);

/* As contender.h has it. */
int hn_own_balance(void *state, const struct hn_world *world, struct hn_world_move *ret, size_t limit);
