/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A mover over a keeper over a recorded tree (kept.h); its guest's pages lie in an array behind the door of the page
 * mover.
 */
#pragma once

#include <stdatomic.h>

#include "daemon/mover.h"
#include "unit/support/kept.h"

#define MOVED_KIB 1015808u /* web's, and db's */

/* The pages of one guest. */
struct moved_pages {
        int pid;
        uint8_t *nodes;             /* of each */
        size_t on[4];               /* how many are on each */
};

struct moved {
        struct kept *kept;
        struct hn_mover *mover;
        struct hn_pages_door door;
        struct moved_pages web, db;
        atomic_size_t room;         /* pages that may come to another node still; then there is no memory */
        atomic_int holds;           /* every batch waits as long as that is set */
        unsigned told;              /* how often the end of a move was told … */
        bool delivered;             /* … and of the last one what */
};

/* As kept_settle: web on node 2, and all its memory there. */
int moved_set_up(void **state);

/* And as kept_settle_db: db on node 3, and all its memory there. */
int moved_set_up_two(void **state);
int moved_tear_down(void **state);

/* A placement of web (of that guest) on this node, as the one that it has. */
struct hn_placement *moved_placement(struct moved *moved, unsigned node);
struct hn_placement *moved_placement_of(struct moved *moved, const char *uuid, unsigned node);

/* Orders web to this node. */
int moved_begin(struct moved *moved, unsigned node);

/* What systemd does once it was told: web's memory set. */
void moved_memory_set(struct moved *moved, const char *nodes);

/* Turns until the move (of that guest) is at this stage, or (-1) has ended. */
void moved_until(struct moved *moved, int stage);
void moved_until_of(struct moved *moved, const char *uuid, int stage);

/* The first `n` pages of web lie there. */
void moved_lay(struct moved *moved, unsigned node, size_t n);
size_t moved_on(const struct moved *moved, unsigned node);

/* A new daemon, which knows the ledger only, and no guest yet. */
void moved_start_anew(struct moved *moved);
