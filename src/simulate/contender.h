/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Contenders: the policies that a simulation compares.
 */
#pragma once

#include "simulate/world.h"

/* A resident's new spot. */
struct hn_world_move {
        size_t resident;      /* index into world->residents */
        struct hn_spot *spot;
};

struct hn_contender {
        const char *name;
        const char *summary;

        /* What it remembers of one host; both NULL: nothing.  -ENOMEM. */
        int (*open)(const struct hn_world *world, void **ret);
        void (*close)(void *state);

        /* Where a guest that is about to start goes; the host has room for its memory in total.  -ENOSPC: refused. */
        int (*place)(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                     struct hn_spot **ret);

        /* A guest is gone (it is still among the residents).  NULL: does not want to know. */
        void (*gone)(void *state, const struct hn_resident *resident);

        /* Called every period_s as long as it moves guests, and after each start or stop: fills in at most `limit` moves,
         * whose spots the caller takes over.  The number of moves, or negative errno.  NULL: moves nothing. */
        int (*balance)(void *state, const struct hn_world *world, struct hn_world_move *ret, size_t limit);
        double period_s;
};

/* homenode itself: hn_decide with what it has promised, and hn_balance; or without the latter, as the hook does alone. */
extern const struct hn_contender hn_contender_homenode;
extern const struct hn_contender hn_contender_homenode_start;

/* Guests left to libvirt and the kernel: vCPUs run where there is room for them, memory is where that happens to be. */
extern const struct hn_contender hn_contender_libvirt;
