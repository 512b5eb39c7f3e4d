/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/rebind.h"

/* How many members come before this one. */
static unsigned rank(hwloc_const_bitmap_t set, int member)
{
        unsigned n = 0;

        HN_IDSET_FOREACH(id, set)
                n += id < member;
        return n;
}

bool hn_rebind_keeps(hwloc_const_bitmap_t from, hwloc_const_bitmap_t to, hwloc_const_bitmap_t bound)
{
        unsigned width = hn_idset_count(to);

        HN_IDSET_FOREACH(node, bound) {
                if (!hwloc_bitmap_isset(from, (unsigned) node))
                        continue;
                if (!hwloc_bitmap_isset(to, (unsigned) node) || rank(from, node) % width != rank(to, node))
                        return false;
        }
        return true;
}
