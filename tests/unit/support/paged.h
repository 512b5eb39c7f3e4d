/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A process whose pages lie in an array, behind the door of the page mover, as the kernel treats them (6.12's
 * mm/migrate.c): pages that follow each other are moved together; one that is right, absent or refused parts them; a
 * page that won't go ends the call, and nothing is told of those moved with it.
 */
#pragma once

#include "act/pages.h"
#include "unit/support/tree.h"

#define PAGED_PID 7
#define PAGED_START UINT64_C(0x7f0000000000)
#define PAGED_PAGES 32768u /* 128 MiB */
#define PAGED_HUGE 512u

struct paged_page {
        int node;      /* negative: what the kernel says of it (-ENOENT, -EFAULT) */
        bool huge;     /* moves with all 512 */
        bool pinned;   /* never goes */
        bool shared;   /* moves for MPOL_MF_MOVE_ALL alone */
        unsigned busy; /* so often it can't be had */
};

struct paged {
        struct tree tree;
        struct paged_page pages[PAGED_PAGES];
        struct hn_pages_door door;
        uint64_t now_us;
        uint64_t call_us, page_us; /* what a call, and a page that moves, takes */
        size_t free_pages[4];      /* of each node */
        unsigned moves, queries;   /* calls */
        size_t most, asked, moved; /* addresses in one moving call; in all queries; pages */
        int fails;                 /* every call does, with this */
};

/* All pages on node 0, with room everywhere; in its tree it is one mapping of all of them. */
void paged_make(struct paged *paged);
void paged_remove(struct paged *paged);

/* Writes numa_maps by the pages, with mappings of `mappings` equal sizes. */
void paged_tell(struct paged *paged, unsigned mappings, const char *how);

size_t paged_on(const struct paged *paged, int node);
