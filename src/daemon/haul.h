/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hauling: the memory of one guest moved by a thread of its own, batch by batch with pauses between, so that neither the
 * guest nor the daemon's loop waits.  It may be called off after any batch; what was moved stays moved.
 */
#pragma once

#include "act/pages.h"
#include "model/placement.h"

/* What is to be moved where; all of it is copied but `root` and what `door` points at, which must outlive the haul. */
struct hn_haul_order {
        const struct hn_root *root;
        const struct hn_pages_door *door;    /* NULL: the kernel's */
        int pid;
        uint64_t start_ticks;
        const struct hn_request *request;    /* of the live XML: which cells are bound (`ours`), and where to by it */
        const struct hn_placement *to;
        hwloc_const_bitmap_t in_force;       /* the guest's memory set, wide already */
        int event;                           /* an eventfd that is written to when it has ended */
};

struct hn_haul_progress {
        bool ended;
        int error;             /* as of hn_pages_step, and -ECANCELED: called off; -EXDEV: a device of the host reaches
                                * into its memory; -ENOSPC: too few free huge pages; -ENODATA: its cells can't be told
                                * apart; 0: all that would go has gone */
        uint64_t resident_kib; /* of the guest, as of the survey and of the end */
        uint64_t moved_kib, left_kib;
        bool known;            /* left_kib and what follows of the end: it was found out where its memory is */
        uint64_t took_us;      /* so far */
        unsigned least_local;  /* at the end: of the worst cell so many thousandths are where they should be */
};

struct hn_haul;

/* -ENOMEM, -EAGAIN: no thread. */
int hn_haul_start(const struct hn_haul_order *order, struct hn_haul **ret);
void hn_haul_cancel(struct hn_haul *haul);
void hn_haul_limit(struct hn_haul *haul, uint64_t kib_per_second); /* 0: as fast as the pauses let it */
void hn_haul_look(struct hn_haul *haul, struct hn_haul_progress *ret);

/* Calls it off and waits for its end: a batch, or a look at where the memory is. */
void hn_haul_free(struct hn_haul *haul);
HN_DEFINE_CLEANUP(struct hn_haul *, hn_haul_free, hn_cleanup_haul)
#define HN_HAUL HN_CLEANUP(hn_cleanup_haul)
