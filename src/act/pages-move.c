/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One batch through move_pages(2), and what came of each address.
 */
#include <errno.h>

#include "act/pages-internal.h"

#define KIB UINT64_C(1024)
#define UNTOLD (-EINPROGRESS) /* the kernel says nothing of pages after one that would not go */
#define ATTEMPTS 4u
#define STAYS_KIB (16u << 10) /* so much in a row would not go: neither will the rest (VFIO) */

void hn_pages_moved(struct hn_pages *pages, struct hn_range *range, uint64_t kib)
{
        uint64_t known_kib = kib < range->left_kib ? kib : range->left_kib;

        range->left_kib -= known_kib;
        pages->progress.left_kib -= known_kib;
        pages->progress.moved_kib += known_kib;
        pages->progress.batch_kib += kib;
}

/* Accounts for what is sure and keeps the others: what the kernel said nothing of, what was busy, and what is
 * elsewhere.  An address in the midst of a huge page that moves by another counts as busy too. */
static void sort_out(struct hn_pages *pages)
{
        struct hn_batch *batch = pages->batch;
        size_t kept = 0;

        for (size_t i = 0; i < batch->n; i++) {
                struct hn_range *range = &pages->ranges[batch->ranges[i]];
                int status = batch->status[i];

                if (status == batch->node || hn_pages_right(pages, range, status)) {
                        hn_pages_moved(pages, range, batch->piece / KIB);
                } else if (status >= 0 || status == UNTOLD || status == -EBUSY) {
                        batch->addresses[kept] = batch->addresses[i];
                        batch->ranges[kept++] = batch->ranges[i];
                } else if (status != -ENOENT && status != -EFAULT) {
                        pages->progress.stuck_kib += batch->piece / KIB;
                }
        }
        batch->n = kept;
}

static long call(struct hn_pages *pages, bool move)
{
        struct hn_batch *batch = pages->batch;

        for (size_t i = 0; i < batch->n; i++) {
                batch->nodes[i] = batch->node;
                batch->status[i] = UNTOLD;
        }
        return pages->door.move(pages->door.data, pages->pid, batch->n, batch->addresses, move ? batch->nodes : NULL,
                                batch->status, batch->all);
}

/* The node is full.  -ENOMEM: and no other one is left for the range. */
static int node_full(struct hn_pages *pages, const struct hn_range *range)
{
        int r = hwloc_bitmap_set(pages->full, (unsigned) pages->batch->node);

        return r < 0 || hwloc_bitmap_isincluded(pages->targets[range->cell], pages->full) ? -ENOMEM : 0;
}

/* Page by page.  A page that won't go ends the call, those that follow may not even have been tried: again without
 * those that have gone, as long as that is of use. */
static long move_pages(struct hn_pages *pages)
{
        struct hn_batch *batch = pages->batch;
        long r = 1;

        for (unsigned attempt = 0; r > 0 && attempt < ATTEMPTS && batch->n > 0; attempt++) {
                size_t before = batch->n;
                long asked = 0;

                r = call(pages, true);
                if (r < 0 && r != -ENOMEM)
                        return r;
                sort_out(pages);
                if (batch->n > 0)
                        asked = call(pages, false);
                if (asked < 0)
                        return asked;
                sort_out(pages);
                if (batch->n == before)
                        break;
        }
        pages->progress.stuck_kib += batch->n * batch->piece / KIB;
        return r;
}

/* By the first page of each huge page.  Where it was one, the last has come along. */
static long move_huge(struct hn_pages *pages)
{
        struct hn_batch *batch = pages->batch;
        struct hn_range *range = &pages->ranges[batch->first_range];
        size_t split = 0;
        long r = call(pages, true), asked;

        if (r < 0 && r != -ENOMEM)
                return r;
        for (size_t i = 0; i < batch->n; i++)
                batch->addresses[i] = (char *) batch->addresses[i] + (batch->piece - range->page);
        asked = call(pages, false);
        if (asked < 0)
                return asked;
        for (size_t i = 0; i < batch->n; i++) {
                if (hn_pages_right(pages, range, batch->status[i]))
                        hn_pages_moved(pages, range, batch->piece / KIB);
                else
                        split++;
        }
        if (split > batch->n / 2 && r >= 0) { /* page by page then, from here on */
                range->coarse = false;
                pages->fine = 0;
                pages->at = batch->first_range;
                pages->address = batch->first_address;
        }
        return r;
}

int hn_pages_move(struct hn_pages *pages)
{
        struct hn_batch *batch = pages->batch;
        struct hn_range *range = &pages->ranges[batch->ranges[0]];
        uint64_t kib = batch->n * batch->piece / KIB;
        bool coarse = batch->coarse;
        long r = coarse ? move_huge(pages) : move_pages(pages);

        if (r < 0 && r != -ENOMEM)
                return (int) r;
        if (pages->progress.batch_kib > 0 || coarse)
                pages->unmoved_kib = 0;
        else
                pages->unmoved_kib += kib;
        if (pages->unmoved_kib >= STAYS_KIB)
                range->stays = true;
        return r == -ENOMEM ? node_full(pages, range) : 0;
}
