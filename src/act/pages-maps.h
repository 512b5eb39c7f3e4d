/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mappings of a process: /proc/PID/maps tells where they end and what they are of, /proc/PID/numa_maps their policy
 * and how much of them is on which node.  Read side by side, line by line: nothing of the size of a guest is kept.
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

#define HN_MAPPING_NODES 64u /* more nodes than that hold memory of one mapping: the rest is not told */

struct hn_on_node { unsigned node; uint64_t kib; };

struct hn_mapping {
        uint64_t start, end; /* bytes */
        bool writable, shared;
        bool huge;           /* of hugetlbfs */
        bool anonymous;      /* holds pages of the process's own */
        uint64_t page_kib;
        const char *path;    /* "": of no file */
        hwloc_bitmap_t policy; /* the nodes that it names; NULL: none; whoever wants to keep it takes it (HN_TAKE) */
        struct hn_on_node on[HN_MAPPING_NODES];
        size_t n_on;
};

/* One mapping; negative ends the reading with that error. */
typedef int hn_mapping_seen(void *data, struct hn_mapping *mapping);

/* Mappings that come or go meanwhile are told or not.  -ESRCH: no such process, or it is ending
 * and has none any more; -EBADMSG: not the kernel's form. */
int hn_maps_read(const struct hn_root *root, int pid, hn_mapping_seen *seen, void *data);
