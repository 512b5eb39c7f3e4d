/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/groups.h"

#include <errno.h>
#include <string.h>

#include "model/array.h"
#include "model/domain.h"
#include "model/process.h"

#define SET_LIMIT (256u << 10)     /* bytes; every second of 16,384 numbers takes 48 KiB */
#define THREADS_LIMIT (8u << 20)   /* bytes; PIDs go up to 4,194,304 */
#define STATUS_LIMIT (1u << 20)
#define STATUS_CPUS "\nCpus_allowed_list:"

bool hn_group_named(const char *name, enum hn_group_kind *ret_kind, unsigned *ret_number)
{
        static const struct {
                const char *prefix;
                enum hn_group_kind kind;
                unsigned limit;
        } kinds[] = {
                { "vcpu", HN_GROUP_VCPU, HN_DOMAIN_VCPU_LIMIT },
                { "iothread", HN_GROUP_IOTHREAD, HN_IDSET_LIMIT },
        };

        if (strcmp(name, "emulator") == 0) {
                *ret_kind = HN_GROUP_EMULATOR;
                *ret_number = 0;
                return true;
        }
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                size_t length = strlen(kinds[i].prefix);
                char *end;

                if (strncmp(name, kinds[i].prefix, length) != 0 || name[length] < '0' || name[length] > '9')
                        continue;
                unsigned long number = strtoul(name + length, &end, 10);
                if (*end || number >= kinds[i].limit)
                        return false;
                *ret_kind = kinds[i].kind;
                *ret_number = (unsigned) number;
                return true;
        }
        return false;
}

static int read_set(const struct hn_root *root, const char *dir, const char *file, hwloc_bitmap_t *ret)
{
        HN_FREE char *text = NULL;
        int r = hn_root_read(root, SET_LIMIT, &text, NULL, "%s/%s", dir, file);

        return r < 0 ? r : hn_idset_parse(text, HN_IDSET_LIMIT, ret);
}

/* One thread.  A mask that was set on it outlives the change of its cpuset (DESIGN fact 12). */
static bool strays(const struct hn_root *root, const char *tid, hwloc_const_bitmap_t cpus)
{
        HN_BITMAP hwloc_bitmap_t now = NULL;
        HN_FREE char *status = NULL;
        struct hn_process process;
        char *list;

        if (hn_root_read(root, STATUS_LIMIT, &status, NULL, "/proc/%s/status", tid) < 0)
                return false;
        list = strstr(status, STATUS_CPUS);
        if (!list)
                return false;
        list += strlen(STATUS_CPUS);
        list[strcspn(list, "\n")] = '\0';
        if (hn_idset_parse(list, HN_IDSET_LIMIT, &now) < 0 || hwloc_bitmap_isequal(now, cpus))
                return false;
        return hn_process_read(root, atoi(tid), &process) < 0 || !process.own_affinity;
}

/* `at` is where `dir` is looked up, `root` where /proc is. */
static bool threads_stray(const struct hn_root *root, const struct hn_root *at, const char *dir,
                          hwloc_const_bitmap_t cpus)
{
        HN_FREE char *tasks = NULL;
        char *rest = NULL;

        if (hn_root_read(at, THREADS_LIMIT, &tasks, NULL, "%s/cgroup.threads", dir) < 0)
                return false;
        for (char *tid = strtok_r(tasks, "\n", &rest); tid; tid = strtok_r(NULL, "\n", &rest))
                if (strays(root, tid, cpus))
                        return true;
        return false;
}

bool hn_threads_stray(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus)
{
        return threads_stray(root, root, dir, cpus);
}

/* -ENOENT: it is gone, or was never one of libvirt's. */
static int read_group(const struct hn_root *root, const struct hn_root *level, const char *name, struct hn_group *ret)
{
        struct hn_group group = { 0 };
        int r;

        if (!hn_group_named(name, &group.kind, &group.number))
                return -ENOENT;
        r = read_set(level, name, "cpuset.cpus", &group.cpus);
        if (r >= 0)
                r = read_set(level, name, "cpuset.cpus.effective", &group.effective);
        if (r == -ENOENT && group.cpus)
                r = 0;
        if (r < 0) {
                hwloc_bitmap_free(group.cpus);
                group.cpus = NULL;
                if (r == -ENODEV || !hn_root_exists(level, "%s", name))
                        return -ENOENT;
                group.error = r;
        } else {
                hwloc_const_bitmap_t cpus = group.effective ? group.effective : group.cpus;

                group.strays = !hwloc_bitmap_iszero(cpus) && threads_stray(root, level, name, cpus);
        }
        group.name = strdup(name);
        *ret = group;
        return group.name ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
        const struct hn_group *x = a, *y = b;

        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

static int read_list(const struct hn_root *root, const char *threads, struct hn_groups *groups)
{
        HN_CLOSEDIR DIR *dir = NULL;
        int r = hn_root_open_dir(root, &dir, "%s", threads);

        if (r < 0)
                return r;
        /* The groups' files by short ways: this is read again and again. */
        const struct hn_root level = { .fd = dirfd(dir), .host = root->host };
        for (struct dirent *entry; (entry = readdir(dir));) {
                struct hn_group *list = hn_array_grow(groups->list, groups->n, sizeof *list);

                if (!list)
                        return -ENOMEM;
                groups->list = list;
                r = read_group(root, &level, entry->d_name, &groups->list[groups->n]);
                if (r == -ENOENT)
                        continue;
                groups->n++;
                if (r < 0)
                        return r;
        }
        if (groups->n)
                qsort(groups->list, groups->n, sizeof *groups->list, compare);
        return 0;
}

static int read_levels(const struct hn_root *root, const char *scope, const char *threads, struct hn_groups *groups)
{
        const char *last = strrchr(scope, '/');
        HN_FREE char *above = strndup(scope, last ? (size_t) (last - scope) : 0);

        if (!above)
                return -ENOMEM;
        const struct { const char *dir, *file; hwloc_bitmap_t *set; } sets[] = {
                { scope, "cpuset.cpus", &groups->scope_cpus },
                { above, "cpuset.cpus.effective", &groups->above_cpus },
                { threads, "cpuset.cpus.effective", &groups->threads_cpus },
                { scope, "cpuset.mems.effective", &groups->scope_nodes },
                { above, "cpuset.mems.effective", &groups->above_nodes },
        };
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
                if (read_set(root, sets[i].dir, sets[i].file, sets[i].set) == -ENOMEM)
                        return -ENOMEM;
        return 0;
}

int hn_groups_read(const struct hn_root *root, const char *scope, const char *threads, struct hn_groups **ret)
{
        HN_GROUPS struct hn_groups *groups = calloc(1, sizeof *groups);
        int r;

        if (!groups)
                return -ENOMEM;
        r = read_list(root, threads, groups);
        if (r >= 0)
                r = read_levels(root, scope, threads, groups);
        if (r < 0)
                return r;
        *ret = HN_TAKE(groups);
        return 0;
}

void hn_groups_free(struct hn_groups *groups)
{
        if (!groups)
                return;
        for (size_t i = 0; i < groups->n; i++) {
                free(groups->list[i].name);
                hwloc_bitmap_free(groups->list[i].cpus);
                hwloc_bitmap_free(groups->list[i].effective);
        }
        free(groups->list);
        hwloc_bitmap_free(groups->scope_cpus);
        hwloc_bitmap_free(groups->above_cpus);
        hwloc_bitmap_free(groups->threads_cpus);
        hwloc_bitmap_free(groups->scope_nodes);
        hwloc_bitmap_free(groups->above_nodes);
        free(groups);
}
