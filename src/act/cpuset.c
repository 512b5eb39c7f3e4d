/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/cpuset.h"

#include <errno.h>
#include <string.h>

#define SET_LIMIT (256u << 10) /* every second of 16,384 numbers takes 48 KiB */

int hn_cpuset_get(const struct hn_cgroup_io *io, const char *dir, const char *file, hwloc_bitmap_t *ret)
{
        HN_FREE char *text = NULL;
        int r = io->read(io, dir, file, &text);

        return r < 0 ? r : hn_idset_parse(text, HN_IDSET_LIMIT, ret);
}

/* The CPUs that DIR's parent has in force. */
static int get_parents(const struct hn_cgroup_io *io, const char *dir, hwloc_bitmap_t *ret)
{
        HN_FREE char *parent = strdup(dir);

        if (!parent)
                return -ENOMEM;
        char *last = strrchr(parent, '/');
        if (!last)
                return -ENOENT;
        *last = '\0';
        return hn_cpuset_get(io, parent, "cpuset.cpus.effective", ret);
}

/* Reads back: the kernel takes a set and may still put another into force, its parent's for one that has
 * none of the parent's CPUs.  A recorded tree without these files leaves nothing to compare. */
static int check_in_force(const struct hn_cgroup_io *io, const char *dir, hwloc_const_bitmap_t cpus)
{
        HN_BITMAP hwloc_bitmap_t effective = NULL, expected = NULL;
        int r;

        r = hn_cpuset_get(io, dir, "cpuset.cpus.effective", &effective);
        if (r >= 0)
                r = get_parents(io, dir, &expected);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (hwloc_bitmap_and(expected, expected, cpus) < 0)
                return -ENOMEM;
        return hwloc_bitmap_isequal(effective, expected) ? 0 : -EREMOTEIO;
}

int hn_cpuset_set_cpus(const struct hn_cgroup_io *io, const char *dir, hwloc_const_bitmap_t cpus)
{
        HN_BITMAP hwloc_bitmap_t before = NULL;
        HN_FREE char *list = NULL;
        int r;

        if (!cpus || hwloc_bitmap_iszero(cpus))
                return -EINVAL;
        r = hn_idset_format(cpus, &list);
        if (r >= 0)
                r = hn_cpuset_get(io, dir, "cpuset.cpus", &before);
        if (r >= 0 && !hwloc_bitmap_isequal(before, cpus))
                r = io->write(io, dir, "cpuset.cpus", list);
        return r < 0 ? r : check_in_force(io, dir, cpus);
}

int hn_cpuset_open(const struct hn_cgroup_io *io, const char *dir)
{
        HN_BITMAP hwloc_bitmap_t own = NULL, parents = NULL;
        int r;

        r = hn_cpuset_get(io, dir, "cpuset.cpus", &own);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (hwloc_bitmap_iszero(own))
                return 0;
        r = get_parents(io, dir, &parents);
        if (r < 0)
                return r;
        return hwloc_bitmap_isincluded(parents, own) ? 0 : hn_cpuset_set_cpus(io, dir, parents);
}

static hwloc_bitmap_t read_possible(const struct hn_root *root, const char *path)
{
        HN_FREE char *text = NULL;
        hwloc_bitmap_t set = NULL;

        if (hn_root_read(root, SET_LIMIT, &text, NULL, "%s", path) < 0 || hn_idset_parse(text, HN_IDSET_LIMIT, &set) < 0)
                return NULL;
        return set;
}

void hn_possible_read(const struct hn_root *root, hwloc_bitmap_t *ret_cpus, hwloc_bitmap_t *ret_nodes)
{
        *ret_cpus = read_possible(root, "/sys/devices/system/cpu/possible");
        *ret_nodes = read_possible(root, "/sys/devices/system/node/possible");
}
