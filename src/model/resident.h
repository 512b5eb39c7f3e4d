/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Resident memory of a running guest per node, the cheap way: memory.numa_stat of its cgroup (DESIGN fact 15).
 */
#pragma once

#include "model/root.h"

struct hn_resident {
        uint64_t *node_kib; /* by OS index, n_nodes of them */
        size_t n_nodes;
};

/* Anonymous and shared memory (where guest RAM lives) of the cgroup DIR, without huge pages of hugetlbfs.
 * -ENOENT and others: no such cgroup, or no memory controller; -EBADMSG. */
int hn_resident_read(const struct hn_root *root, const char *dir, struct hn_resident *ret);
void hn_resident_clear(struct hn_resident *resident);
#define HN_RESIDENT HN_CLEANUP(hn_resident_clear)

/* 0 for nodes that are not in it. */
uint64_t hn_resident_kib(const struct hn_resident *resident, unsigned node);
