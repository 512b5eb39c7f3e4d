/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the next batch is made of: addresses of memory that is elsewhere, in order.  Where nearly all of a range is, each
 * address is one; else the kernel is asked first: a page that is right between those that are not would part a batch,
 * and the kernel moves what follows each other faster than page by page.
 */
#include <errno.h>

#include "act/pages-internal.h"

#define KIB UINT64_C(1024)

bool hn_range_has_huge(const struct hn_pages *pages, const struct hn_range *range)
{
        return !range->hugetlb && pages->huge > range->page && range->end - range->start >= pages->huge;
}

bool hn_pages_right(const struct hn_pages *pages, const struct hn_range *range, int status)
{
        return status >= 0 && hwloc_bitmap_isset(pages->targets[range->cell], (unsigned) status);
}

/* Fifteen sixteenths of it are elsewhere. */
static bool is_dense(const struct hn_pages *pages, const struct hn_range *range)
{
        uint64_t size_kib = (range->end - range->start) / KIB;

        return pages->walk == 0 && range->wrong_kib >= size_kib - size_kib / 16;
}

/* What is moved without having been asked about may have been right before, and was counted. */
static bool is_wanted(const struct hn_pages *pages, const struct hn_range *range)
{
        return pages->targets[range->cell] && !range->stays && (range->left_kib > 0 || is_dense(pages, range));
}

/* The nodes of a target in turn, but for those that are full; -1: all are. */
static int choose_node(struct hn_pages *pages, const struct hn_range *range)
{
        hwloc_const_bitmap_t target = pages->targets[range->cell];
        unsigned skip = pages->turn++ % hn_idset_count(target);
        int chosen = -1;

        HN_IDSET_FOREACH(node, target) {
                if (hwloc_bitmap_isset(pages->full, (unsigned) node))
                        continue;
                if (skip == 0)
                        return node;
                chosen = chosen < 0 ? node : chosen;
                skip--;
        }
        return chosen;
}

static bool is_coarse(const struct hn_pages *pages, const struct hn_range *range)
{
        return range->coarse && pages->address % pages->huge == 0 && range->end - pages->address >= pages->huge;
}

/* Where addresses that stand for equal pieces end. */
static uint64_t pieces_end(const struct hn_pages *pages, const struct hn_range *range, bool coarse)
{
        uint64_t aligned;

        if (!range->coarse)
                return range->end;
        /* Not coarse: up to where huge ones begin, or the end, which may come sooner than another of them. */
        aligned = (coarse ? range->end : pages->address + pages->huge) / pages->huge * pages->huge;
        return aligned < range->end ? aligned : range->end;
}

/* May what comes next be in the same batch? */
static bool fits(const struct hn_pages *pages, const struct hn_range *range, uint64_t piece, bool coarse, bool all)
{
        const struct hn_batch *batch = pages->batch;

        return batch->piece == piece && batch->coarse == coarse && batch->all == all &&
               (!coarse || batch->first_range == pages->at) &&
               hwloc_bitmap_isset(pages->targets[range->cell], (unsigned) batch->node);
}

/* False: nothing may be added any more. */
static bool open_batch(struct hn_pages *pages, struct hn_range *range, bool coarse)
{
        struct hn_batch *batch = pages->batch;
        uint64_t piece = coarse ? pages->huge : range->page;
        bool all = range->shared && range->cell < pages->n_cells;

        if (batch->n > 0)
                return fits(pages, range, piece, coarse, all);
        batch->piece = piece;
        batch->coarse = coarse;
        batch->all = all;
        batch->node = choose_node(pages, range);
        batch->first_range = pages->at;
        batch->first_address = pages->address;
        return true;
}

/* How many addresses may be added; one at least is in a batch. */
static size_t room(const struct hn_pages *pages)
{
        const struct hn_batch *batch = pages->batch;
        uint64_t most = (pages->budget_kib[batch->coarse] * KIB + batch->piece / 2) / batch->piece;

        if (most == 0)
                most = 1;
        /* A bit of a turn costs nearly as much as a whole one. */
        if (most > HN_PAGES_TURN)
                most = (most + HN_PAGES_TURN / 2) / HN_PAGES_TURN * HN_PAGES_TURN;
        if (most > HN_PAGES_ROOM)
                most = HN_PAGES_ROOM;
        return batch->n < most ? (size_t) most - batch->n : 0;
}

/* Keeps what is elsewhere of the addresses that were put behind the batch's end. */
static int ask(struct hn_pages *pages, const struct hn_range *range, size_t count)
{
        struct hn_batch *batch = pages->batch;
        size_t from = batch->n;
        long r = pages->door.move(pages->door.data, pages->pid, count, batch->addresses + from, NULL,
                                  batch->status + from, false);

        if (r < 0)
                return (int) r;
        for (size_t i = from; i < from + count; i++)
                if (batch->status[i] >= 0 && !hn_pages_right(pages, range, batch->status[i]))
                        batch->addresses[batch->n++] = batch->addresses[i];
        return 0;
}

/* Adds what comes next of a range.  0: the batch is as full as it gets. */
static int add(struct hn_pages *pages, struct hn_range *range, bool coarse)
{
        struct hn_batch *batch = pages->batch;
        bool dense = is_dense(pages, range);
        size_t count = room(pages), from = batch->n;
        uint64_t end = pieces_end(pages, range, coarse), left = (end - pages->address) / batch->piece;
        int r = 0;

        if (left == 0) {
                pages->address = end;
                return 1;
        }
        /* What is asked about need not be in the batch then. */
        if (!dense && count > 0)
                count = HN_PAGES_ROOM - batch->n < HN_PAGES_ASK ? HN_PAGES_ROOM - batch->n : HN_PAGES_ASK;
        if (count > left)
                count = (size_t) left;
        if (count == 0)
                return 0;
        for (size_t i = 0; i < count; i++)
                batch->addresses[from + i] = (void *) (uintptr_t) (pages->address + i * batch->piece);
        if (dense)
                batch->n += count;
        else
                r = ask(pages, range, count);
        for (size_t i = from; i < batch->n; i++)
                batch->ranges[i] = (uint32_t) pages->at;
        pages->address += count * batch->piece;
        return r < 0 ? r : 1;
}

/* The walk is in a range that is wanted. */
static bool find_range(struct hn_pages *pages)
{
        for (; pages->at < pages->n_ranges; pages->at++, pages->address = 0, pages->unmoved_kib = 0) {
                const struct hn_range *range = &pages->ranges[pages->at];

                if (pages->address < range->start)
                        pages->address = range->start;
                if (is_wanted(pages, range) && pages->address < range->end)
                        return true;
        }
        return false;
}

int hn_pages_fill(struct hn_pages *pages)
{
        struct hn_batch *batch = pages->batch;
        uint64_t until_us = pages->door.now_us(pages->door.data) + HN_PAGES_BATCH_US;

        batch->n = 0;
        while (find_range(pages)) {
                struct hn_range *range = &pages->ranges[pages->at];
                bool coarse = is_coarse(pages, range);
                int r;

                if (!open_batch(pages, range, coarse))
                        return 1;
                if (batch->node < 0) {
                        range->stays = true;
                        continue;
                }
                r = add(pages, range, coarse);
                if (r <= 0)
                        return r < 0 ? r : 1;
                if (pages->door.now_us(pages->door.data) >= until_us)
                        return 1;
        }
        return batch->n > 0;
}
