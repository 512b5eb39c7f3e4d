/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Resident memory of a running guest per node, the cheap way: memory.numa_stat of its cgroup (DESIGN fact 15).
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

struct hn_resident {
        uint64_t *node_kib; /* by OS index, n_nodes of them */
        size_t n_nodes;
};

/* Anonymous and shared memory (where guest RAM lives) of the cgroup DIR, without huge pages of hugetlbfs.
 * -ENOENT and others: no such cgroup, or no memory controller; -EBADMSG. */
int hn_resident_read(const struct hn_root *root, const char *dir, struct hn_resident *ret);

/* Adds the guest's huge pages of one size, which memory.numa_stat leaves out: hugetlb.<size>.numa_stat, kernel 5.17
 * and later.  -ENOENT: an older one, or no hugetlb controller there; -EBADMSG, -ENOMEM: some may have been added. */
int hn_resident_add_huge(const struct hn_root *root, const char *dir, uint64_t page_kib,
                         struct hn_resident *resident);
void hn_resident_clear(struct hn_resident *resident);
#define HN_RESIDENT HN_CLEANUP(hn_resident_clear)

/* 0 for nodes that are not in it. */
uint64_t hn_resident_kib(const struct hn_resident *resident, unsigned node);

/* On the nodes of a set, or (NULL) on all. */
uint64_t hn_resident_sum_kib(const struct hn_resident *resident, hwloc_const_bitmap_t nodes);
