/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the page mover share: ranges of a process, and the one batch that is filled, moved and told apart.
 */
#pragma once

#include "act/pages-maps.h"
#include "act/pages.h"

#define HN_PAGES_ROOM 32768u /* addresses in a batch: 128 MiB of 4 KiB pages */
#define HN_PAGES_TURN 512u   /* pages that the kernel moves at a time (NR_MAX_BATCHED_MIGRATION), from 6.3 on */
#define HN_PAGES_ASK 2048u   /* addresses that are asked about at once */

/* Memory of one kind that is moved alike: a mapping, or small ones close to each other. */
struct hn_range {
        uint64_t start, end;   /* bytes */
        size_t cell;           /* n_cells: the rest */
        uint64_t page;         /* bytes that one address moves */
        bool hugetlb, shared;
        bool coarse;           /* is taken to be in transparent huge pages, an address each */
        bool stays;            /* is not to be moved, or would not go */
        uint64_t resident_kib, wrong_kib; /* as last looked at */
        uint64_t left_kib;     /* of the latter, what has not moved since */
        hwloc_bitmap_t policy; /* until the survey ends */
        struct hn_on_node *on; /* until there is a target */
        size_t n_on;
};

struct hn_batch {
        size_t n;
        void *addresses[HN_PAGES_ROOM];
        int nodes[HN_PAGES_ROOM], status[HN_PAGES_ROOM];
        uint32_t ranges[HN_PAGES_ROOM]; /* which range each is in */
        uint64_t piece; /* bytes that each address stands for */
        bool coarse, all;
        int node;       /* where all of it goes; -1: nothing is in it yet */
        size_t first_range; /* where it began */
        uint64_t first_address;
};

struct hn_pages {
        const struct hn_root *root;
        int pid;
        uint64_t start_ticks;
        struct hn_pages_door door;
        size_t n_cells;
        struct hn_pages_memory *memory; /* n_cells + 1 */
        hwloc_bitmap_t *targets;        /* n_cells + 1; NULL: none */
        struct hn_range *ranges;        /* ascending */
        size_t n_ranges;
        uint64_t huge;                  /* bytes of a transparent huge page; 0: there are none */
        bool pinned;

        struct hn_batch *batch; /* NULL: has not begun */
        unsigned walk;          /* how often the ranges have been walked through */
        size_t at;              /* the range that the walk is in … */
        uint64_t address;       /* … and where; 0: at its start */
        uint64_t budget_kib[2]; /* of the next batch: ordinary ones, coarse ones */
        uint64_t call_us;       /* what a call takes beside what it moves */
        unsigned batches;
        unsigned fine;          /* batches since huge pages were last looked for */
        unsigned turn;          /* of the nodes of a target */
        hwloc_bitmap_t full;    /* nodes that have no room */
        uint64_t checked_us;     /* when it was the same process */
        uint64_t walk_began_kib; /* what was elsewhere when the walk began */
        uint64_t unmoved_kib;    /* in a row */
        bool done;
        struct hn_pages_progress progress;
};

/* The kernel's own, and one for recorded trees. */
extern const struct hn_pages_door hn_pages_kernel_door, hn_pages_recorded_door;

/* Memory of QEMU's or its guest's own?  Programs and libraries are everybody's, and not worth a move. */
bool hn_mapping_is_own(const struct hn_mapping *mapping);

/* What of it is on these nodes; NULL: on any. */
uint64_t hn_mapping_kib(const struct hn_mapping *mapping, hwloc_const_bitmap_t nodes);

/* Is it the process that it was?  -ESRCH. */
int hn_pages_check(const struct hn_pages *pages);

/* Tells which ranges are which cell's, and joins small ones of the rest. */
void hn_pages_tell_cells(struct hn_pages *pages, const struct hn_pages_cell *cells);

/* May transparent huge pages be in it? */
bool hn_range_has_huge(const struct hn_pages *pages, const struct hn_range *range);

/* Fills the batch from where the walk is.  1: there is something in it, or more to look at; 0: the walk is at its end. */
int hn_pages_fill(struct hn_pages *pages);

/* Moves what is in the batch, and accounts for it.  0 and the errors of hn_pages_step. */
int hn_pages_move(struct hn_pages *pages);

/* Is what the kernel said of a page that it is where it may stay? */
bool hn_pages_right(const struct hn_pages *pages, const struct hn_range *range, int status);

/* Takes memory off what is known to be elsewhere. */
void hn_pages_moved(struct hn_pages *pages, struct hn_range *range, uint64_t kib);
