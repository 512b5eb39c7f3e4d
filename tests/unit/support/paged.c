/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/paged.h"

#include <errno.h>
#include <stdio.h>

#include "unit/support/test.h"

static struct paged_page *page_at(struct paged *paged, const void *address)
{
        uint64_t at = ((uint64_t) (uintptr_t) address - PAGED_START) / 4096;

        assert_int_equal((uintptr_t) address % 4096, 0);
        return (uint64_t) (uintptr_t) address >= PAGED_START && at < PAGED_PAGES ? &paged->pages[at] : NULL;
}

/* One page or, with all that belong to it, one huge page.  False: it stays. */
static bool migrate(struct paged *paged, struct paged_page *page, int node)
{
        size_t at = (size_t) (page - paged->pages), n = page->huge ? PAGED_HUGE : 1;

        at -= at % n;
        if (page->pinned)
                return false;
        for (size_t i = at; i < at + n; i++)
                paged->pages[i].node = node;
        paged->free_pages[node] -= n;
        paged->moved += n;
        paged->now_us += paged->page_us * n;
        return true;
}

/* Moves what is queued, [from, to).  The number that stayed, or -ENOMEM. */
static long flush(struct paged *paged, void **addresses, size_t from, size_t to, const int *nodes, int *status)
{
        long stayed = 0;

        for (size_t i = from; i < to; i++) {
                struct paged_page *page = page_at(paged, addresses[i]);

                if (!page)
                        abort(); /* only pages are queued */
                if (paged->free_pages[nodes[i]] < (page->huge ? PAGED_HUGE : 1))
                        return -ENOMEM;
                if (!migrate(paged, page, nodes[i]))
                        stayed++;
        }
        for (size_t i = from; stayed == 0 && i < to; i++)
                status[i] = nodes[i];
        return stayed;
}

/* 0: queued; 1: `*ret` says it all. */
static int isolate(struct paged *paged, void **addresses, size_t from, size_t i, int node, bool all, int *ret)
{
        struct paged_page *page = page_at(paged, addresses[i]);

        *ret = !page ? -EFAULT : page->node;
        if (!page || page->node < 0 || page->node == node)
                return 1;
        *ret = -EACCES;
        if (page->shared && !all)
                return 1;
        *ret = -EBUSY;
        if (page->busy > 0) {
                page->busy--;
                return 1;
        }
        /* It is queued already, by another address. */
        for (size_t k = page->huge && i > from ? i - 1 : i; k < i; k++)
                if ((uint64_t) (page - paged->pages) / PAGED_HUGE ==
                    (uint64_t) (page_at(paged, addresses[k]) - paged->pages) / PAGED_HUGE)
                        return 1;
        return 0;
}

static long move(struct paged *paged, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        size_t from = 0;

        for (size_t i = 0; i <= n; i++) {
                int told = 0;
                long r;

                if (i < n && isolate(paged, addresses, from, i, nodes[i], all, &told) == 0)
                        continue;
                r = flush(paged, addresses, from, i, nodes, status);
                if (r != 0)
                        return r < 0 ? r : r + (long) (n - i);
                if (i < n)
                        status[i] = told;
                from = i + 1;
        }
        return 0;
}

static long move_or_ask(void *data, int pid, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        struct paged *paged = data;

        assert_int_equal(pid, PAGED_PID);
        assert_true(n > 0);
        if (paged->fails)
                return paged->fails;
        if (!nodes) {
                paged->queries++;
                paged->asked += n;
                for (size_t i = 0; i < n; i++) {
                        const struct paged_page *page = page_at(paged, addresses[i]);

                        status[i] = page ? page->node : -EFAULT;
                }
                return 0;
        }
        paged->moves++;
        paged->most = n > paged->most ? n : paged->most;
        paged->now_us += paged->call_us;
        return move(paged, n, addresses, nodes, status, all);
}

static uint64_t now_us(void *data)
{
        return ((struct paged *) data)->now_us;
}

void paged_tell(struct paged *paged, unsigned mappings, const char *how)
{
        HN_FREE char *maps = NULL, *numa = NULL;
        size_t maps_size, numa_size, each = PAGED_PAGES / mappings;
        FILE *maps_file = open_memstream(&maps, &maps_size), *numa_file = open_memstream(&numa, &numa_size);

        for (unsigned m = 0; m < mappings; m++) {
                uint64_t start = PAGED_START + (uint64_t) m * each * 4096;

                fprintf(maps_file, "%lx-%lx %s\n", (unsigned long) start, (unsigned long) (start + each * 4096), how);
                fprintf(numa_file, "%lx default anon=1", (unsigned long) start);
                for (int node = 0; node < 4; node++) {
                        size_t count = 0;

                        for (size_t i = m * each; i < (m + 1) * each; i++)
                                count += paged->pages[i].node == node;
                        if (count > 0)
                                fprintf(numa_file, " N%d=%zu", node, count);
                }
                fprintf(numa_file, " kernelpagesize_kB=4\n");
        }
        fclose(maps_file);
        fclose(numa_file);
        tree_put(&paged->tree, "/proc/7/maps", maps);
        tree_put(&paged->tree, "/proc/7/numa_maps", numa);
}

void paged_make(struct paged *paged)
{
        memset(paged, 0, sizeof *paged);
        tree_make(&paged->tree);
        tree_put(&paged->tree, "/proc/7/stat", "7 (qemu-system) S 1 7 7 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 9 0 4711 1 1\n");
        paged->door = (struct hn_pages_door) { .data = paged, .move = move_or_ask, .now_us = now_us };
        for (int node = 0; node < 4; node++)
                paged->free_pages[node] = SIZE_MAX;
        paged->call_us = 500;
        paged->page_us = 1;
        paged_tell(paged, 1, "rw-p 00000000 00:00 0 ");
}

void paged_remove(struct paged *paged)
{
        tree_remove(&paged->tree);
}

size_t paged_on(const struct paged *paged, int node)
{
        size_t n = 0;

        for (size_t i = 0; i < PAGED_PAGES; i++)
                n += paged->pages[i].node == node;
        return n;
}
