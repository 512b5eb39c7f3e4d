/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/usage.h"

#include <errno.h>
#include <string.h>

#include "model/array.h"

#define FILE_LIMIT (64u << 10)
#define THREADS_LIMIT (8u << 20) /* bytes; PIDs go up to 4,194,304 */
#define GROUP_LIMIT 32768u

/* "…name=123…" or "name 123": the number behind `name`; HN_USAGE_UNKNOWN where it is not there. */
static uint64_t number_after(const char *text, const char *name)
{
        const char *p = strstr(text, name);
        uint64_t value;
        char *end;

        if (!p)
                return HN_USAGE_UNKNOWN;
        p += strlen(name);
        if (*p < '0' || *p > '9')
                return HN_USAGE_UNKNOWN;
        errno = 0;
        value = strtoull(p, &end, 10);
        return errno ? HN_USAGE_UNKNOWN : value;
}

uint64_t hn_pressure_us(const struct hn_root *root, const char *dir, const char *file)
{
        HN_FREE char *text = NULL;

        /* with psi=0 reading it fails with EOPNOTSUPP */
        if (hn_root_read(root, FILE_LIMIT, &text, NULL, "%s/%s", dir, file) < 0 || strncmp(text, "some ", 5) != 0)
                return HN_USAGE_UNKNOWN;
        text[strcspn(text, "\n")] = '\0';
        return number_after(text, " total=");
}

/* "RUN WAIT SLICES", in ns. */
static bool thread_wait_ns(const struct hn_root *root, const char *tid, uint64_t *ret)
{
        HN_FREE char *text = NULL;
        char *end;

        if (hn_root_read(root, FILE_LIMIT, &text, NULL, "/proc/%s/schedstat", tid) < 0)
                return false;
        (void) strtoull(text, &end, 10);
        if (end == text || *end != ' ' || end[1] < '0' || end[1] > '9')
                return false;
        *ret = strtoull(end + 1, NULL, 10);
        return true;
}

/* Of all threads of a group together. */
static uint64_t wait_us(const struct hn_root *root, const char *dir)
{
        HN_FREE char *tasks = NULL;
        char *rest = NULL;
        uint64_t sum_ns = 0, ns;
        bool told = false;

        if (hn_root_read(root, THREADS_LIMIT, &tasks, NULL, "%s/cgroup.threads", dir) < 0)
                return HN_USAGE_UNKNOWN;
        for (char *tid = strtok_r(tasks, "\n", &rest); tid; tid = strtok_r(NULL, "\n", &rest))
                if (tid[strspn(tid, "0123456789")] == '\0' && thread_wait_ns(root, tid, &ns)) {
                        told = true;
                        sum_ns += ns;
                }
        return told ? sum_ns / 1000 : HN_USAGE_UNKNOWN;
}

static bool read_group(const struct hn_root *root, const char *threads, const char *name, bool with_pressure,
                       struct hn_usage_group *ret)
{
        HN_FREE char *text = NULL, *dir = NULL;

        if (!hn_group_named(name, &ret->kind, &ret->number) || asprintf(&dir, "%s/%s", threads, name) < 0) {
                dir = NULL;
                return false;
        }
        if (hn_root_read(root, FILE_LIMIT, &text, NULL, "%s/cpu.stat", dir) < 0)
                return false;
        ret->cpu_us = strncmp(text, "usage_usec ", 11) == 0 ? number_after(text, "usage_usec ") : HN_USAGE_UNKNOWN;
        if (ret->cpu_us == HN_USAGE_UNKNOWN)
                return false;
        ret->wait_us = wait_us(root, dir);
        ret->pressure_us = with_pressure ? hn_pressure_us(root, dir, "cpu.pressure") : HN_USAGE_UNKNOWN;
        return true;
}

static int compare(const void *a, const void *b)
{
        const struct hn_usage_group *x = a, *y = b;

        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

static int read_groups(const struct hn_root *root, const char *threads, bool with_pressure, struct hn_guest_usage *usage)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        int r = hn_root_open_dir(root, &dir, "%s", threads);

        if (r < 0)
                return r;
        while ((entry = readdir(dir)) && usage->n_groups < GROUP_LIMIT) {
                struct hn_usage_group group = { 0 }, *more;

                if (!read_group(root, threads, entry->d_name, with_pressure, &group))
                        continue;
                more = hn_array_grow(usage->groups, usage->n_groups, sizeof *more);
                if (!more)
                        return -ENOMEM;
                usage->groups = more;
                usage->groups[usage->n_groups++] = group;
        }
        if (usage->n_groups)
                qsort(usage->groups, usage->n_groups, sizeof *usage->groups, compare);
        return 0;
}

static int read_resident(const struct hn_root *root, const char *scope, uint64_t page_kib,
                         struct hn_guest_usage *usage)
{
        int r = hn_resident_read(root, scope, &usage->resident);

        usage->has_resident = r >= 0;
        if (r >= 0 && page_kib) {
                r = hn_resident_add_huge(root, scope, page_kib, &usage->resident);
                if (r < 0) { /* most of its memory is not told of */
                        hn_resident_clear(&usage->resident);
                        usage->has_resident = false;
                }
        }
        return r == -ENOMEM ? r : 0;
}

static int read_cpu(const struct hn_root *root, const char *scope, const char *threads, bool with_pressure,
                    struct hn_guest_usage *ret)
{
        HN_USAGE struct hn_guest_usage usage = { 0 };
        int r = read_groups(root, threads, with_pressure, &usage);

        if (r < 0)
                return r;
        usage.cpu_pressure_us = hn_pressure_us(root, scope, "cpu.pressure");
        usage.memory_pressure_us = hn_pressure_us(root, scope, "memory.pressure");
        usage.io_pressure_us = hn_pressure_us(root, scope, "io.pressure");
        *ret = usage;
        usage = (struct hn_guest_usage) { 0 };
        return 0;
}

int hn_usage_read_cpu(const struct hn_root *root, const char *scope, const char *threads, struct hn_guest_usage *ret)
{
        return read_cpu(root, scope, threads, false, ret);
}

int hn_usage_read(const struct hn_root *root, const char *scope, const char *threads, uint64_t page_kib,
                  struct hn_guest_usage *ret)
{
        HN_USAGE struct hn_guest_usage usage = { 0 };
        int r = read_cpu(root, scope, threads, true, &usage);

        if (r >= 0)
                r = read_resident(root, scope, page_kib, &usage);
        if (r < 0)
                return r;
        *ret = usage;
        usage = (struct hn_guest_usage) { 0 };
        return 0;
}

void hn_usage_clear(struct hn_guest_usage *usage)
{
        free(usage->groups);
        hn_resident_clear(&usage->resident);
        *usage = (struct hn_guest_usage) { 0 };
}
