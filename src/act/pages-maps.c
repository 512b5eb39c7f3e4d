/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/pages-maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NODE_LIMIT 1024u
#define PAGE_LIMIT_KIB (UINT64_C(1) << 30)
#define COUNT_LIMIT (UINT64_C(1) << 50)

static int open_lines(const struct hn_root *root, int pid, const char *name, FILE **ret)
{
        int fd = hn_root_open_regular(root, O_RDONLY, 0, "/proc/%d/%s", pid, name);

        if (fd < 0)
                return fd == -ENOENT ? -ESRCH : fd;
        *ret = fdopen(fd, "r");
        if (!*ret) {
                (void) close(fd);
                return -ENOMEM;
        }
        return 0;
}

/* 1: a line, without its newline; 0: the end. */
static int next_line(FILE *file, char **line, size_t *room)
{
        errno = 0;
        ssize_t length = getline(line, room, file);

        if (length < 0)
                return feof(file) ? 0 : errno ? -errno : -EIO;
        if (length > 0 && (*line)[length - 1] == '\n')
                (*line)[length - 1] = '\0';
        return 1;
}

static int read_hex(char **p, char after, uint64_t *ret)
{
        char *end;

        if (!strchr("0123456789abcdef", **p) || !**p)
                return -EBADMSG;
        errno = 0;
        *ret = strtoull(*p, &end, 16);
        if (errno || *end != after)
                return -EBADMSG;
        *p = end + 1;
        return 0;
}

/* "7f0000000000-7f0008000000 rw-p 00000000 00:00 0      /path" */
static int read_maps_line(char *line, struct hn_mapping *ret)
{
        char *p = line;

        if (read_hex(&p, '-', &ret->start) < 0 || read_hex(&p, ' ', &ret->end) < 0 || ret->end <= ret->start ||
            strcspn(p, " ") != 4)
                return -EBADMSG;
        ret->writable = p[1] == 'w';
        ret->shared = p[3] == 's';
        for (int field = 0; field < 4; field++) { /* permissions, offset, device, inode */
                p += strcspn(p, " ");
                p += strspn(p, " ");
        }
        ret->path = p;
        return 0;
}

static bool read_number(const char *text, uint64_t limit, char after, const char **ret_end, uint64_t *ret)
{
        char *end;

        if (*text < '0' || *text > '9')
                return false;
        errno = 0;
        *ret = strtoull(text, &end, 10);
        *ret_end = end + (after != '\0');
        return !errno && *ret < limit && *end == after;
}

/* The word after the address, or two: "default", "bind:0-1", "bind=static:0", "prefer (many):0", "weighted interleave:0" */
static int read_policy(char **rest, struct hn_mapping *mapping)
{
        char *word = strtok_r(NULL, " ", rest), *nodes;

        if (word && (strcmp(word, "prefer") == 0 || strcmp(word, "weighted") == 0))
                word = strtok_r(NULL, " ", rest);
        if (!word)
                return -EBADMSG;
        nodes = strchr(word, ':');
        return nodes ? hn_idset_parse(nodes + 1, NODE_LIMIT, &mapping->policy) : 0;
}

/* "N0=131072": pages of the size that the line's end tells. */
static int read_node(const char *word, struct hn_mapping *mapping)
{
        uint64_t node, pages;
        const char *p;

        if (!read_number(word + 1, NODE_LIMIT, '=', &p, &node) || !read_number(p, COUNT_LIMIT, '\0', &p, &pages))
                return -EBADMSG;
        if (mapping->n_on < HN_MAPPING_NODES)
                mapping->on[mapping->n_on++] = (struct hn_on_node) { .node = (unsigned) node, .kib = pages };
        return 0;
}

static int read_words(char **rest, struct hn_mapping *mapping)
{
        static const char page[] = "kernelpagesize_kB=";
        const char *end;

        for (char *word = strtok_r(NULL, " ", rest); word; word = strtok_r(NULL, " ", rest)) {
                if (word[0] == 'N' && word[1] >= '0' && word[1] <= '9') {
                        int r = read_node(word, mapping);

                        if (r < 0)
                                return r;
                } else if (strcmp(word, "huge") == 0) {
                        mapping->huge = true;
                } else if (strncmp(word, "anon=", 5) == 0) {
                        mapping->anonymous = true;
                } else if (strncmp(word, page, sizeof page - 1) == 0 &&
                           !read_number(word + sizeof page - 1, PAGE_LIMIT_KIB, '\0', &end, &mapping->page_kib)) {
                        return -EBADMSG;
                }
        }
        return 0;
}

/* Counts of pages come to KiB; where there are none the kernel tells no size either. */
static int settle(struct hn_mapping *mapping)
{
        if (mapping->n_on > 0 && mapping->page_kib == 0)
                return -EBADMSG;
        for (size_t i = 0; i < mapping->n_on; i++)
                if (__builtin_mul_overflow(mapping->on[i].kib, mapping->page_kib, &mapping->on[i].kib) ||
                    mapping->on[i].kib > COUNT_LIMIT)
                        return -EBADMSG;
        return 0;
}

static int read_numa_line(char *line, struct hn_mapping *mapping)
{
        char *rest = NULL;
        int r;

        (void) strtok_r(line, " ", &rest);
        r = read_policy(&rest, mapping);
        if (r >= 0)
                r = read_words(&rest, mapping);
        return r < 0 ? (r == -ENOMEM ? r : -EBADMSG) : settle(mapping);
}

struct reading {
        FILE *maps, *numa;
        char *maps_line, *numa_line;
        size_t maps_room, numa_room;
};

/* The line of numa_maps for a mapping that begins at `start`: 1; 0: there is none.  Both files ascend. */
static int find_numa_line(struct reading *reading, uint64_t start, bool *have, uint64_t *at)
{
        while (!*have || *at < start) {
                char *p;
                int r = next_line(reading->numa, &reading->numa_line, &reading->numa_room);

                if (r <= 0)
                        return r;
                p = reading->numa_line;
                r = read_hex(&p, ' ', at);
                if (r < 0)
                        return r;
                *have = true;
        }
        return *at == start;
}

static int read_side_by_side(struct reading *reading, hn_mapping_seen *seen, void *data)
{
        uint64_t at = 0;
        bool have = false;

        for (bool any = false;; any = true) {
                struct hn_mapping mapping = { 0 };
                int r = next_line(reading->maps, &reading->maps_line, &reading->maps_room);

                if (r <= 0)
                        return r < 0 || any ? r : -ESRCH;
                r = read_maps_line(reading->maps_line, &mapping);
                if (r >= 0)
                        r = find_numa_line(reading, mapping.start, &have, &at);
                if (r > 0) {
                        have = false;
                        r = read_numa_line(reading->numa_line, &mapping);
                        if (r >= 0)
                                r = seen(data, &mapping);
                }
                hwloc_bitmap_free(mapping.policy);
                if (r < 0)
                        return r;
        }
}

int hn_maps_read(const struct hn_root *root, int pid, hn_mapping_seen *seen, void *data)
{
        HN_FCLOSE FILE *maps = NULL, *numa = NULL;
        struct reading reading = { 0 };
        int r = open_lines(root, pid, "maps", &maps);

        if (r >= 0)
                r = open_lines(root, pid, "numa_maps", &numa);
        if (r >= 0) {
                reading.maps = maps;
                reading.numa = numa;
                r = read_side_by_side(&reading, seen, data);
        }
        free(reading.maps_line);
        free(reading.numa_line);
        return r;
}
