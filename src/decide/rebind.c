/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/rebind.h"

#include <errno.h>

/* How many members come before this one. */
static unsigned rank(hwloc_const_bitmap_t set, int member)
{
        unsigned n = 0;

        HN_IDSET_FOREACH(id, set)
                n += id < member;
        return n;
}

static int member_at(hwloc_const_bitmap_t set, unsigned at)
{
        int member = hwloc_bitmap_first(set);

        while (at--)
                member = hwloc_bitmap_next(set, member);
        return member;
}

static int new_node(hwloc_const_bitmap_t from, hwloc_const_bitmap_t to, int node)
{
        unsigned width = hn_idset_count(to);

        return hwloc_bitmap_isset(from, (unsigned) node) && width ? member_at(to, rank(from, node) % width) : node;
}

bool hn_rebind_keeps(hwloc_const_bitmap_t from, hwloc_const_bitmap_t to, hwloc_const_bitmap_t bound)
{
        HN_IDSET_FOREACH(node, bound)
                if (hwloc_bitmap_isset(from, (unsigned) node) &&
                    (!hwloc_bitmap_isset(to, (unsigned) node) || new_node(from, to, node) != node))
                        return false;
        return true;
}

int hn_rebind(hwloc_const_bitmap_t from, hwloc_const_bitmap_t to, hwloc_const_bitmap_t bound, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t result = hwloc_bitmap_alloc();

        if (!result)
                return -ENOMEM;
        HN_IDSET_FOREACH(node, bound)
                if (hwloc_bitmap_set(result, (unsigned) new_node(from, to, node)) < 0)
                        return -ENOMEM;
        *ret = HN_TAKE(result);
        return 0;
}
