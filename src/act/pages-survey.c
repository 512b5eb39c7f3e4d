/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "act/pages-internal.h"
#include "model/array.h"
#include "model/process.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)
#define RANGES_LIMIT 65536u  /* the kernel's own limit is about that (vm.max_map_count), small ones are joined */
#define SMALL (4 * MIB)      /* thread and coroutine stacks, arenas: joined where they are close */
#define CLOSE MIB

/* Files that are not memory: devices, doors into the kernel. */
static bool is_memory_file(const struct hn_mapping *mapping)
{
        static const char *const doors[] = { "/dev/shm/", "/dev/zero", "/dev/hugepages" };

        if (mapping->huge)
                return true;
        for (size_t i = 0; i < sizeof doors / sizeof *doors; i++)
                if (strncmp(mapping->path, doors[i], strlen(doors[i])) == 0)
                        return true;
        return mapping->path[0] == '/' && strncmp(mapping->path, "/dev/", 5) != 0;
}

uint64_t hn_mapping_kib(const struct hn_mapping *mapping, hwloc_const_bitmap_t nodes)
{
        uint64_t kib = 0;

        for (size_t i = 0; i < mapping->n_on; i++)
                if (!nodes || hwloc_bitmap_isset(nodes, mapping->on[i].node))
                        kib += mapping->on[i].kib;
        return kib;
}

bool hn_mapping_is_own(const struct hn_mapping *mapping)
{
        uint64_t size = mapping->end - mapping->start;

        if (!mapping->writable)
                return false;
        if (mapping->shared)
                return size >= MIB && is_memory_file(mapping);
        if (size < SMALL && hn_mapping_kib(mapping, NULL) == 0)
                return false;
        return mapping->path[0] != '/' || mapping->anonymous || (size >= SMALL && is_memory_file(mapping));
}

/* ---- adding up where a range is */

static int add_on(struct hn_range *range, const struct hn_mapping *mapping)
{
        struct hn_on_node *on = reallocarray(range->on, range->n_on + mapping->n_on + 1, sizeof *on);

        if (!on)
                return -ENOMEM;
        range->on = on;
        for (size_t i = 0; i < mapping->n_on; i++) {
                size_t k = 0;

                while (k < range->n_on && on[k].node != mapping->on[i].node)
                        k++;
                if (k == range->n_on)
                        on[range->n_on++] = (struct hn_on_node) { .node = mapping->on[i].node };
                on[k].kib += mapping->on[i].kib;
        }
        range->resident_kib += hn_mapping_kib(mapping, NULL);
        return 0;
}

static bool is_small(const struct hn_mapping *mapping)
{
        return !mapping->shared && !mapping->huge && !mapping->policy && mapping->path[0] != '/' &&
               mapping->end - mapping->start < SMALL;
}

/* A range of small mappings begins with one, and what lies between them holds no page. */
static bool joins(const struct hn_pages *pages, const struct hn_mapping *mapping)
{
        const struct hn_range *last = pages->n_ranges ? &pages->ranges[pages->n_ranges - 1] : NULL;

        return last && is_small(mapping) && last->cell == SIZE_MAX && mapping->start - last->end <= CLOSE;
}

static int add_range(struct hn_pages *pages, struct hn_mapping *mapping)
{
        struct hn_range *range;

        if (joins(pages, mapping)) {
                range = &pages->ranges[pages->n_ranges - 1];
                range->end = mapping->end;
                return add_on(range, mapping);
        }
        if (pages->n_ranges == RANGES_LIMIT)
                return 0;
        range = hn_array_grow(pages->ranges, pages->n_ranges, sizeof *range);
        if (!range)
                return -ENOMEM;
        pages->ranges = range;
        range += pages->n_ranges;
        *range = (struct hn_range) {
                .start = mapping->start,
                .end = mapping->end,
                .cell = is_small(mapping) ? SIZE_MAX : pages->n_cells, /* SIZE_MAX: while it may be joined */
                .page = mapping->page_kib ? mapping->page_kib * KIB : (uint64_t) sysconf(_SC_PAGESIZE),
                .hugetlb = mapping->huge,
                .shared = mapping->shared,
                .policy = HN_TAKE(mapping->policy),
        };
        pages->n_ranges++;
        return add_on(range, mapping);
}

static int see(void *data, struct hn_mapping *mapping)
{
        struct hn_pages *pages = data;

        if (strstr(mapping->path, "vfio"))
                pages->pinned = true;
        /* Two mappings that overlap are two looks at one that grew meanwhile. */
        if (!hn_mapping_is_own(mapping) || (pages->n_ranges && mapping->start < pages->ranges[pages->n_ranges - 1].end))
                return 0;
        return add_range(pages, mapping);
}

/* ---- the object */

/* The ranges' counts come to those of cells. */
static void add_up(struct hn_pages *pages)
{
        for (size_t i = 0; i < pages->n_ranges; i++) {
                const struct hn_range *range = &pages->ranges[i];
                struct hn_pages_memory *memory = &pages->memory[range->cell];

                memory->found = true;
                memory->shared = memory->shared || range->shared;
                memory->resident_kib += range->resident_kib;
                if (range->hugetlb)
                        memory->page_kib = range->page / KIB;
        }
        pages->memory[pages->n_cells].found = true;
}

int hn_pages_check(const struct hn_pages *pages)
{
        struct hn_process process;
        int r = hn_process_read(pages->root, pages->pid, &process);

        if (r < 0)
                return r;
        return pages->start_ticks == 0 || process.start_ticks == pages->start_ticks ? 0 : -ESRCH;
}

static struct hn_pages *new_pages(size_t n_cells)
{
        HN_PAGES struct hn_pages *pages = calloc(1, sizeof *pages);

        if (!pages)
                return NULL;
        pages->n_cells = n_cells;
        pages->memory = calloc(n_cells + 1, sizeof *pages->memory);
        pages->targets = calloc(n_cells + 1, sizeof *pages->targets);
        pages->full = hwloc_bitmap_alloc();
        return pages->memory && pages->targets && pages->full ? HN_TAKE(pages) : NULL;
}

int hn_pages_survey(const struct hn_root *root, int pid, uint64_t start_ticks, const struct hn_pages_cell *cells,
                    size_t n_cells, const struct hn_pages_door *door, struct hn_pages **ret)
{
        HN_PAGES struct hn_pages *pages = new_pages(n_cells);
        int r;

        if (!pages)
                return -ENOMEM;
        pages->root = root;
        pages->pid = pid;
        pages->start_ticks = start_ticks;
        pages->door = door ? *door : root->host ? hn_pages_kernel_door : hn_pages_recorded_door;
        if (hn_root_read_u64(root, &pages->huge, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") < 0 ||
            (pages->huge & (pages->huge - 1)) != 0)
                pages->huge = 0;
        r = hn_pages_check(pages);
        if (r >= 0)
                r = hn_maps_read(root, pid, see, pages);
        if (r < 0)
                return r;
        hn_pages_tell_cells(pages, cells);
        add_up(pages);
        *ret = HN_TAKE(pages);
        return 0;
}

void hn_pages_free(struct hn_pages *pages)
{
        if (!pages)
                return;
        for (size_t i = 0; i < pages->n_ranges; i++) {
                hwloc_bitmap_free(pages->ranges[i].policy);
                free(pages->ranges[i].on);
        }
        for (size_t i = 0; pages->targets && i <= pages->n_cells; i++)
                hwloc_bitmap_free(pages->targets[i]);
        hwloc_bitmap_free(pages->full);
        free(pages->targets);
        free(pages->memory);
        free(pages->ranges);
        free(pages->batch);
        free(pages);
}

const struct hn_pages_memory *hn_pages_memory(const struct hn_pages *pages, size_t at)
{
        return at <= pages->n_cells ? &pages->memory[at] : NULL;
}

bool hn_pages_pinned(const struct hn_pages *pages)
{
        return pages->pinned;
}
