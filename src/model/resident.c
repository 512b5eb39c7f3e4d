/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/resident.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NODE_LIMIT 1024u
#define STAT_LIMIT (1u << 20)

static int add(struct hn_resident *resident, unsigned long node, uint64_t bytes)
{
        if (node >= NODE_LIMIT)
                return -EBADMSG;
        if (node >= resident->n_nodes) {
                uint64_t *more = reallocarray(resident->node_kib, node + 1, sizeof *more);

                if (!more)
                        return -ENOMEM;
                memset(more + resident->n_nodes, 0, (node + 1 - resident->n_nodes) * sizeof *more);
                resident->node_kib = more;
                resident->n_nodes = node + 1;
        }
        resident->node_kib[node] += bytes / 1024;
        return 0;
}

/* " N0=4096 N1=0": the rest of a line after its name */
static int read_line(struct hn_resident *resident, char *line)
{
        char *rest = NULL;

        for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
                char *end;
                unsigned long node;
                int r;

                if (word[0] != 'N' || word[1] < '0' || word[1] > '9')
                        return -EBADMSG;
                node = strtoul(word + 1, &end, 10);
                if (*end != '=' || end[1] < '0' || end[1] > '9')
                        return -EBADMSG;
                errno = 0;
                uint64_t bytes = strtoull(end + 1, &end, 10);
                if (*end || errno)
                        return -EBADMSG;
                r = add(resident, node, bytes);
                if (r < 0)
                        return r;
        }
        return 0;
}

int hn_resident_read(const struct hn_root *root, const char *dir, struct hn_resident *ret)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_FREE char *text = NULL;
        char *rest = NULL;
        int r = hn_root_read(root, STAT_LIMIT, &text, NULL, "%s/memory.numa_stat", dir);

        for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &rest); r >= 0 && line; line = strtok_r(NULL, "\n", &rest)) {
                if (strncmp(line, "anon ", 5) == 0)
                        r = read_line(&resident, line + 5);
                else if (strncmp(line, "shmem ", 6) == 0)
                        r = read_line(&resident, line + 6);
        }
        if (r < 0)
                return r;
        *ret = resident;
        resident = (struct hn_resident) { 0 };
        return 0;
}

/* The size as the controller's files have it: "2MB", "1GB", "64KB" (mem_fmt in mm/hugetlb_cgroup.c). */
static void format_page(uint64_t page_kib, char text[static 32])
{
        static const char units[] = "KMG";
        unsigned unit = 0;

        for (; page_kib >= 1024 && unit < 2; unit++)
                page_kib /= 1024;
        (void) snprintf(text, 32, "%" PRIu64 "%cB", page_kib, units[unit]);
}

int hn_resident_add_huge(const struct hn_root *root, const char *dir, uint64_t page_kib,
                         struct hn_resident *resident)
{
        HN_FREE char *line = NULL;
        char page[32];
        int r;

        format_page(page_kib, page);
        r = hn_root_read_line(root, &line, "%s/hugetlb.%s.numa_stat", dir, page);
        if (r < 0)
                return r;
        if (strncmp(line, "total=", 6) != 0)
                return -EBADMSG;
        return read_line(resident, line + strcspn(line, " "));
}

void hn_resident_clear(struct hn_resident *resident)
{
        free(resident->node_kib);
        *resident = (struct hn_resident) { 0 };
}

uint64_t hn_resident_kib(const struct hn_resident *resident, unsigned node)
{
        return node < resident->n_nodes ? resident->node_kib[node] : 0;
}

uint64_t hn_resident_sum_kib(const struct hn_resident *resident, hwloc_const_bitmap_t nodes)
{
        uint64_t sum_kib = 0;

        for (size_t node = 0; node < resident->n_nodes; node++)
                if (!nodes || hwloc_bitmap_isset(nodes, (unsigned) node))
                        sum_kib += resident->node_kib[node];
        return sum_kib;
}
