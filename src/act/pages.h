/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moving the memory of a running guest from node to node in batches of about 20 ms, so that it keeps running (DESIGN
 * facts 9 to 11).  First a survey, while its policies still say which memory is whose; then its memory set is widened
 * and the targets are named; then steps, with pauses between them, until one says that nothing is left.  Between any
 * two steps it may be given up: each page is where the kernel took it, and nothing has to be undone.
 *
 * No globals: one object may be worked on by a thread of its own.  It needs half a MiB, whatever the guest's size.
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

#define HN_PAGES_BATCH_US 20000u

/* A cell as QEMU was started with it.  A guest without cells is one, which has all its memory. */
struct hn_pages_cell {
        uint64_t memory_kib;        /* without what was plugged in besides */
        hwloc_const_bitmap_t bound; /* the nodes that its policy names now; NULL: it is not bound */
};

/* What there is of a cell, or of the rest: QEMU's own memory, ROMs, DIMMs that nobody bound. */
struct hn_pages_memory {
        bool found;            /* its mapping is known; else its memory is in the rest */
        bool shared;           /* mapped so that other processes may share it (vhost-user) */
        uint64_t resident_kib; /* in memory, as of the survey, the end of a walk or hn_pages_look */
        uint64_t there_kib;    /* of that, on the nodes of its target; 0 before it has one */
        uint64_t page_kib;     /* of its huge pages of hugetlbfs, which need free ones on the target; 0: ordinary */
};

struct hn_pages_progress {
        uint64_t moved_kib; /* since the survey */
        uint64_t left_kib;  /* known to be elsewhere still, stuck ones among it */
        uint64_t stuck_kib; /* would not go in the walk that goes on: busy, shared with others */
        uint64_t batch_kib, batch_us; /* the last step's */
};

/* How pages are moved and time is told, for tests. */
struct hn_pages_door {
        void *data;
        /* As move_pages(2), but that it returns -errno.  `nodes` NULL: only asks.  `all`: MPOL_MF_MOVE_ALL. */
        long (*move)(void *data, int pid, size_t n, void **addresses, const int *nodes, int *status, bool all);
        uint64_t (*now_us)(void *data);
};

struct hn_pages;

/* Looks at a QEMU once (numa_maps: walks its page tables).  `start_ticks` 0: not known.  `root` and what `door` points
 * at must outlive it; NULL: the kernel, or for a recorded tree one in which every page goes where it is told.
 * -ESRCH: no such process, or another one; -EBADMSG: not the kernel's form; -ENOMEM. */
int hn_pages_survey(const struct hn_root *root, int pid, uint64_t start_ticks, const struct hn_pages_cell *cells,
                    size_t n_cells, const struct hn_pages_door *door, struct hn_pages **ret);
void hn_pages_free(struct hn_pages *pages);
HN_DEFINE_CLEANUP(struct hn_pages *, hn_pages_free, hn_cleanup_pages)
#define HN_PAGES HN_CLEANUP(hn_cleanup_pages)

/* The memory of cell `at`; of the rest: n_cells. */
const struct hn_pages_memory *hn_pages_memory(const struct hn_pages *pages, size_t at);

/* Does a device of the host reach into it (VFIO)?  Such memory stays where it is. */
bool hn_pages_pinned(const struct hn_pages *pages);

/* Where the memory of cell `at` (the rest: n_cells) is to be: what is on any of these nodes stays, what is elsewhere is
 * spread over them evenly.  Before the first step; what has no target is left alone.  -EBUSY: it began; -EINVAL: no
 * node; -ENOMEM. */
int hn_pages_target(struct hn_pages *pages, size_t at, hwloc_const_bitmap_t nodes);

/* Moves one batch.  1: there may be more; 0: nothing is left, or what is left would not go (ret->left_kib).
 * -ENOMEM: a target is full; -ESRCH: the process has ended; -EACCES: a target is outside its memory set; -EPERM,
 * -ENODEV and others.  What was moved stays moved, and `ret` is filled in then as well. */
int hn_pages_step(struct hn_pages *pages, struct hn_pages_progress *ret);

/* Looks again where the memory is (numa_maps, as for the survey); a walk that has come to its end did that.  -ESRCH,
 * -EBADMSG. */
int hn_pages_look(struct hn_pages *pages);

/* What is known to be elsewhere than its target says. */
uint64_t hn_pages_left_kib(const struct hn_pages *pages);
