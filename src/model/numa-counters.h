/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernel's NUMA counters: pages by where they were wanted and where they came from, and what automatic NUMA
 * balancing does.  Since boot, in pages.
 */
#pragma once

#include "model/root.h"

struct hn_node_counters {
        uint64_t hit, miss, foreign;  /* wanted here and got here; wanted elsewhere, got here; wanted here, got elsewhere */
        uint64_t local, other;        /* got here by a CPU of this node, of another */
};

/* A node's numastat.  -ENOENT: no such node; -EBADMSG. */
int hn_node_counters_read(const struct hn_root *root, unsigned node, struct hn_node_counters *ret);

struct hn_numa_counters {
        uint64_t pages_migrated;              /* by automatic NUMA balancing */
        uint64_t hint_faults, hint_faults_local;
        uint64_t migrate_success, migrate_fail; /* by whomever */
};

/* /proc/vmstat; what this kernel does not count is 0.  -ENOENT. */
int hn_numa_counters_read(const struct hn_root *root, struct hn_numa_counters *ret);
