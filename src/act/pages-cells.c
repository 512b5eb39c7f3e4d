/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which mapping is which cell's: QEMU maps each cell's memory at once, in the order of cells, and the kernel puts each
 * mapping below the last (DESIGN fact 18).  A policy that names the cell's node tells better.
 */
#include "act/pages-internal.h"

static bool is_free(const struct hn_pages *pages, const struct hn_range *range)
{
        return range->cell == pages->n_cells;
}

static bool has_policy(const struct hn_range *range, hwloc_const_bitmap_t nodes)
{
        return range->policy && nodes && hwloc_bitmap_isequal(range->policy, nodes);
}

/* Ranges below `top`, adjacent and of one kind, that come to so many bytes: how many, 0 if none do.  One alone is the
 * rule; a mapping is split where some advice was for a part of it. */
static size_t find_run(const struct hn_pages *pages, size_t top, uint64_t size)
{
        const struct hn_range *ranges = pages->ranges;
        uint64_t sum = 0;

        for (size_t n = 1; n <= top; n++) {
                const struct hn_range *range = &ranges[top - n];

                if (!is_free(pages, range) || (n > 1 && (range->end != range[1].start || range->page != range[1].page ||
                                                         range->shared != range[1].shared)))
                        return 0;
                sum += range->end - range->start;
                if (sum >= size)
                        return sum == size ? n : 0;
        }
        return 0;
}

/* The highest that fits.  `policy` NULL: whatever its policy. */
static bool claim(struct hn_pages *pages, size_t cell, uint64_t size, hwloc_const_bitmap_t policy, bool whole)
{
        for (size_t top = pages->n_ranges; size > 0 && top > 0; top--) {
                size_t n = find_run(pages, top, size);

                if (n == 0 || (whole && n > 1) || (policy && !has_policy(&pages->ranges[top - 1], policy)))
                        continue;
                for (size_t i = 1; i <= n; i++)
                        pages->ranges[top - i].cell = cell;
                return true;
        }
        return false;
}

static void claim_cells(struct hn_pages *pages, const struct hn_pages_cell *cells, bool by_policy, bool whole)
{
        for (size_t cell = 0; cell < pages->n_cells; cell++) {
                struct hn_pages_memory *memory = &pages->memory[cell];

                if (!memory->found && (!by_policy || cells[cell].bound))
                        memory->found = claim(pages, cell, cells[cell].memory_kib * 1024,
                                              by_policy ? cells[cell].bound : NULL, whole);
        }
}

/* DIMMs and virtio-mem of a bound cell are bound as it is. */
static void claim_devices(struct hn_pages *pages, const struct hn_pages_cell *cells)
{
        for (size_t i = 0; i < pages->n_ranges; i++)
                for (size_t cell = 0; cell < pages->n_cells; cell++)
                        if (is_free(pages, &pages->ranges[i]) && has_policy(&pages->ranges[i], cells[cell].bound))
                                pages->ranges[i].cell = cell;
}

static void settle(struct hn_pages *pages)
{
        for (size_t i = 0; i < pages->n_ranges; i++) {
                struct hn_range *range = &pages->ranges[i];

                hwloc_bitmap_free(range->policy);
                range->policy = NULL;
                range->coarse = hn_range_has_huge(pages, range);
                /* Nothing is in it, and the size of its pages is not told. */
                range->stays = range->hugetlb && range->resident_kib == 0;
        }
}

void hn_pages_tell_cells(struct hn_pages *pages, const struct hn_pages_cell *cells)
{
        for (size_t i = 0; i < pages->n_ranges; i++)
                if (pages->ranges[i].cell == SIZE_MAX)
                        pages->ranges[i].cell = pages->n_cells;
        claim_cells(pages, cells, true, true);
        claim_cells(pages, cells, true, false);
        claim_cells(pages, cells, false, true);
        claim_cells(pages, cells, false, false);
        claim_devices(pages, cells);
        settle(pages);
}
