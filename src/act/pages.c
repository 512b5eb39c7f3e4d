/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/pages.h"

#include <errno.h>

#include "act/pages-internal.h"

#define KIB UINT64_C(1024)
#define BEGIN_KIB (4u << 10)
#define LEAST_KIB 256u
#define WORTH_KIB (8u << 10)   /* the kernel takes four turns for it: less costs more by the page, where that is slow */
#define MOST_KIB (HN_PAGES_ROOM * 4u)
#define MOST_HUGE_KIB (1u << 20)
#define CALL_AGAIN 16u         /* batches after which it is looked again what a call costs … */
#define CALL_SHARE 32u         /* … of which it may be so small a part, as long as … */
#define LONGEST_US (5 * HN_PAGES_BATCH_US)
#define HUGE_AGAIN 32u         /* batches of ordinary pages after which huge ones are looked for again … */
#define HUGE_TRIED 4u          /* … so many */
#define WALKS 4u
#define CHECK_US 100000u       /* between two looks whether it is the same process */
#define CRUMBS_KIB (4u << 10)  /* so little, and a thousandth, is not worth another walk */

/* ---- where the memory is */

/* What a range holds, told mapping by mapping. */
static void count(struct hn_pages *pages, struct hn_range *range, uint64_t resident_kib, uint64_t there_kib)
{
        struct hn_pages_memory *memory = &pages->memory[range->cell];

        memory->resident_kib += resident_kib;
        memory->there_kib += there_kib;
        range->resident_kib += resident_kib;
        if (pages->targets[range->cell]) {
                range->wrong_kib += resident_kib - there_kib;
                range->left_kib = range->wrong_kib;
                pages->progress.left_kib += resident_kib - there_kib;
        }
}

static void count_afresh(struct hn_pages *pages)
{
        for (size_t i = 0; i < pages->n_ranges; i++)
                pages->ranges[i].resident_kib = pages->ranges[i].wrong_kib = pages->ranges[i].left_kib = 0;
        for (size_t i = 0; i <= pages->n_cells; i++)
                pages->memory[i].resident_kib = pages->memory[i].there_kib = 0;
        pages->progress.left_kib = 0;
}

struct looking { struct hn_pages *pages; size_t at; };

static int see(void *data, struct hn_mapping *mapping)
{
        struct looking *looking = data;
        struct hn_pages *pages = looking->pages;

        while (looking->at < pages->n_ranges && pages->ranges[looking->at].end <= mapping->start)
                looking->at++;
        if (looking->at < pages->n_ranges && pages->ranges[looking->at].start < mapping->end && hn_mapping_is_own(mapping)) {
                struct hn_range *range = &pages->ranges[looking->at];
                hwloc_const_bitmap_t target = pages->targets[range->cell];

                count(pages, range, hn_mapping_kib(mapping, NULL), target ? hn_mapping_kib(mapping, target) : 0);
        }
        return 0;
}

int hn_pages_look(struct hn_pages *pages)
{
        struct looking looking = { .pages = pages };
        int r = hn_pages_check(pages);

        if (r < 0)
                return r;
        count_afresh(pages);
        return hn_maps_read(pages->root, pages->pid, see, &looking);
}

uint64_t hn_pages_left_kib(const struct hn_pages *pages)
{
        return pages->progress.left_kib;
}

/* ---- targets */

/* By what the survey found. */
static void compare_with_target(struct hn_pages *pages, size_t cell)
{
        pages->memory[cell].resident_kib = 0;
        for (size_t i = 0; i < pages->n_ranges; i++) {
                struct hn_range *range = &pages->ranges[i];
                uint64_t resident_kib = range->resident_kib, there_kib = 0;

                if (range->cell != cell)
                        continue;
                for (size_t k = 0; k < range->n_on; k++)
                        if (hwloc_bitmap_isset(pages->targets[cell], range->on[k].node))
                                there_kib += range->on[k].kib;
                range->resident_kib = 0;
                count(pages, range, resident_kib, there_kib);
        }
}

int hn_pages_target(struct hn_pages *pages, size_t at, hwloc_const_bitmap_t nodes)
{
        if (pages->batch || pages->targets[at])
                return -EBUSY;
        if (hwloc_bitmap_weight(nodes) <= 0)
                return -EINVAL;
        pages->targets[at] = hwloc_bitmap_dup(nodes);
        if (!pages->targets[at])
                return -ENOMEM;
        compare_with_target(pages, at);
        return 0;
}

/* ---- stepping */

static int begin(struct hn_pages *pages)
{
        pages->batch = malloc(sizeof *pages->batch);
        if (!pages->batch)
                return -ENOMEM;
        pages->budget_kib[false] = BEGIN_KIB;
        pages->budget_kib[true] = HUGE_TRIED * pages->huge / KIB;
        pages->walk_began_kib = pages->progress.left_kib;
        return 0;
}

/* What a call costs that moves nothing.  Each has every CPU give back the pages that it holds back (lru_cache_disable in
 * mm/swap.c), which is nothing on most machines, and 25 ms where all is emulated and the guest busy. */
static void time_call(struct hn_pages *pages)
{
        void *address = (void *) (uintptr_t) pages->batch->first_address;
        uint64_t began_us = pages->door.now_us(pages->door.data), took_us;
        int node = pages->batch->node, status;

        (void) pages->door.move(pages->door.data, pages->pid, 1, &address, &node, &status, false);
        took_us = pages->door.now_us(pages->door.data) - began_us;
        pages->call_us = pages->batches == 0 ? took_us : (3 * pages->call_us + took_us) / 4;
}

/* So that the next one of the kind takes about as long as it should; longer where much of it would be the call. */
static void adapt(struct hn_pages *pages, uint64_t kib, uint64_t took_us)
{
        bool coarse = pages->batch->coarse;
        uint64_t *budget_kib = &pages->budget_kib[coarse];
        uint64_t least_kib = coarse ? pages->huge / KIB : LEAST_KIB, most_kib = coarse ? MOST_HUGE_KIB : MOST_KIB;
        uint64_t call_us = pages->call_us < LONGEST_US / 2 ? pages->call_us : LONGEST_US / 2;
        uint64_t want_us = call_us * CALL_SHARE < HN_PAGES_BATCH_US ? HN_PAGES_BATCH_US : call_us * CALL_SHARE, next_kib;

        if (want_us > LONGEST_US)
                want_us = LONGEST_US;
        /* A short one says little of a long one. */
        if (kib < *budget_kib / 2 && took_us < want_us)
                return;
        took_us = took_us > call_us ? took_us - call_us : 1;
        next_kib = kib * (want_us - call_us) / took_us;
        if (next_kib < WORTH_KIB && kib * LONGEST_US > WORTH_KIB * took_us) /* it will not take too long */
                next_kib = WORTH_KIB;
        if (next_kib > *budget_kib * 2)
                next_kib = *budget_kib * 2;
        if (next_kib < *budget_kib / 8)
                next_kib = *budget_kib / 8;
        *budget_kib = next_kib < least_kib ? least_kib : next_kib > most_kib ? most_kib : next_kib;
}

static int move_batch(struct hn_pages *pages)
{
        struct hn_batch *batch = pages->batch;
        uint64_t kib = batch->n * batch->piece / KIB, began_us = pages->door.now_us(pages->door.data);
        struct hn_range *range = &pages->ranges[batch->ranges[0]];
        int r = hn_pages_move(pages);

        uint64_t took_us = pages->door.now_us(pages->door.data) - began_us;

        if (r >= 0 && pages->batches % CALL_AGAIN == 0)
                time_call(pages);
        pages->batches++;
        adapt(pages, kib, took_us);
        if (!batch->coarse && pages->walk == 0 && hn_range_has_huge(pages, range) && ++pages->fine >= HUGE_AGAIN) {
                pages->fine = 0;
                range->coarse = true;
        }
        if (batch->coarse && !range->coarse)
                pages->budget_kib[true] = HUGE_TRIED * pages->huge / KIB;
        return r;
}

/* Can any of it still be moved? */
static bool is_any_wanted(const struct hn_pages *pages)
{
        for (size_t i = 0; i < pages->n_ranges; i++)
                if (pages->ranges[i].wrong_kib > 0 && !pages->ranges[i].stays)
                        return true;
        return false;
}

static bool is_crumbs(const struct hn_pages *pages)
{
        uint64_t resident_kib = 0;

        for (size_t i = 0; i <= pages->n_cells; i++)
                resident_kib += pages->memory[i].resident_kib;
        return pages->progress.left_kib <= CRUMBS_KIB && pages->progress.left_kib <= resident_kib / 1024;
}

/* 1: another walk, for what was busy, came to be meanwhile or was no huge page; 0: that was all. */
static int end_walk(struct hn_pages *pages)
{
        int r = hn_pages_look(pages);
        bool useless = pages->walk > 1 && pages->progress.left_kib > pages->walk_began_kib / 2;

        if (r < 0)
                return r;
        if (is_crumbs(pages) || useless || pages->walk + 1 == WALKS || !is_any_wanted(pages)) {
                pages->done = true;
                return 0;
        }
        pages->walk++;
        pages->at = 0;
        pages->address = 0;
        pages->progress.stuck_kib = 0;
        pages->walk_began_kib = pages->progress.left_kib;
        for (size_t i = 0; i < pages->n_ranges; i++)
                pages->ranges[i].coarse = false;
        return 1;
}

/* A number does not come again in so short a time, and its memory would only be moved. */
static int check_now_and_then(struct hn_pages *pages)
{
        uint64_t now_us = pages->door.now_us(pages->door.data);
        int r;

        if (pages->checked_us != 0 && now_us - pages->checked_us < CHECK_US)
                return 0;
        r = hn_pages_check(pages);
        pages->checked_us = now_us;
        return r;
}

static int step(struct hn_pages *pages)
{
        int r = pages->batch ? 0 : begin(pages);

        if (r >= 0)
                r = check_now_and_then(pages);
        if (r >= 0)
                r = hn_pages_fill(pages);
        if (r > 0 && pages->batch->n > 0)
                r = move_batch(pages);
        else if (r == 0)
                return end_walk(pages);
        return r < 0 ? r : 1;
}

int hn_pages_step(struct hn_pages *pages, struct hn_pages_progress *ret)
{
        uint64_t began_us = pages->door.now_us(pages->door.data);
        int r = 0;

        pages->progress.batch_kib = 0;
        if (!pages->done)
                r = step(pages);
        pages->progress.batch_us = pages->door.now_us(pages->door.data) - began_us;
        *ret = pages->progress;
        return r;
}
