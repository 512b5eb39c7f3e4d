/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "act/cpuset.h"
#include "model/process.h"

#define THREADS_LIMIT (8u << 20) /* bytes; PIDs go up to 4,194,304 */
#define PASSES 4 /* a thread made while we go through the list has its maker's old mask */

HN_DEFINE_CLEANUP(cpu_set_t *, CPU_FREE, cleanup_cpuset)

/* The numbers in a list of one per line. */
static int parse_threads(const char *text, int **ret, size_t *ret_n)
{
        HN_FREE int *tids = NULL;
        size_t n = 0, lines = 0;

        for (const char *p = text; *p; p++)
                lines += *p == '\n';
        tids = calloc(lines + 1, sizeof *tids);
        if (!tids)
                return -ENOMEM;
        while (*text) {
                char *end;
                long tid = strtol(text, &end, 10);

                if (!isdigit((unsigned char) *text) || (*end && *end != '\n') || tid > INT32_MAX)
                        return -EBADMSG;
                if (tid > 0)
                        tids[n++] = (int) tid;
                text = end + (*end == '\n');
        }
        *ret = HN_TAKE(tids);
        *ret_n = n;
        return 0;
}

int hn_cgroup_threads(const struct hn_root *root, const char *dir, int **ret, size_t *ret_n)
{
        HN_FREE char *text = NULL;
        int r;

        r = hn_root_read(root, THREADS_LIMIT, &text, NULL, "%s/cgroup.threads", dir);
        return r < 0 ? r : parse_threads(text, ret, ret_n);
}

/* As the kernel wants it; of any size, for cpu_set_t ends at 1,024. */
static cpu_set_t *mask_of(hwloc_const_bitmap_t cpus, size_t *ret_size)
{
        int n = hwloc_bitmap_last(cpus) + 1;
        cpu_set_t *mask = CPU_ALLOC((size_t) n);

        if (!mask)
                return NULL;
        *ret_size = CPU_ALLOC_SIZE((size_t) n);
        CPU_ZERO_S(*ret_size, mask);
        HN_IDSET_FOREACH(cpu, cpus)
                CPU_SET_S((size_t) cpu, *ret_size, mask);
        return mask;
}

/* 1: in force, 0: passed over. */
static int set_thread(const struct hn_root *root, int tid, const cpu_set_t *mask, size_t size)
{
        struct hn_process process;
        int r;

        if (!root->host)
                return 1;
        if (sched_setaffinity(tid, size, mask) == 0)
                return 1;
        r = -errno;
        if (r == -ESRCH)
                return 0;
        /* EINVAL is said for two reasons, and only one of them is about the set. */
        if (r == -EINVAL && hn_process_read(root, tid, &process) >= 0 && process.own_affinity)
                return 0;
        return r;
}

/* Once through the list.  Returns how many were set; *error keeps the first error. */
static int set_listed(const struct hn_root *root, const int *tids, size_t n, const cpu_set_t *mask,
                      size_t size, int *error)
{
        int count = 0;

        *error = 0;
        for (size_t i = 0; i < n; i++) {
                int r = set_thread(root, tids[i], mask, size);

                if (r >= 0)
                        count += r;
                else if (*error == 0)
                        *error = r;
        }
        return count;
}

int hn_affinity_set_own(const struct hn_root *root, hwloc_const_bitmap_t cpus)
{
        HN_CLEANUP(cleanup_cpuset) cpu_set_t *mask = NULL;
        size_t size = 0;

        if (hwloc_bitmap_last(cpus) < 0)
                return -EINVAL;
        mask = mask_of(cpus, &size);
        if (!mask)
                return -ENOMEM;
        return root->host && sched_setaffinity(0, size, mask) < 0 ? -errno : 0;
}

int hn_affinity_set(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus)
{
        HN_CLEANUP(cleanup_cpuset) cpu_set_t *mask = NULL;
        HN_FREE int *before = NULL;
        size_t size = 0, n_before = 0;
        int count = 0, error = 0;

        if (!cpus || hwloc_bitmap_last(cpus) < 0)
                return -EINVAL;
        mask = mask_of(cpus, &size);
        if (!mask)
                return -ENOMEM;
        for (int pass = 0; pass < PASSES; pass++) {
                HN_FREE int *tids = NULL;
                size_t n = 0;
                int r = hn_cgroup_threads(root, dir, &tids, &n);

                if (r < 0)
                        return r;
                if (pass > 0 && n == n_before && memcmp(tids, before, n * sizeof *tids) == 0)
                        break;
                count = set_listed(root, tids, n, mask, size, &error);
                free(before);
                before = HN_TAKE(tids);
                n_before = n;
        }
        return error < 0 ? error : count;
}
