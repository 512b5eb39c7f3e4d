/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sysfs and procfs of a host below a tree: as much of it as the kernel shows and homenode or hwloc reads.
 */
#pragma once

#include "unit/support/tree.h"

/* Nodes 0 … nodes - 1, each a socket with `cores` cores of `threads` threads and an L3 cache, 8 GiB of which
 * 6 GiB are free, and pools for 2 MiB (none) and 1 GiB pages (one, free).  Threads are numbered as on most
 * x86 servers: first threads of all cores, then second ones.  Distance to another node: 21. */
void host_tree_put(struct tree *tree, unsigned nodes, unsigned cores, unsigned threads);

/* A node's meminfo with these figures in KiB; `cache` is split between Inactive(file) and SReclaimable. */
void host_tree_put_meminfo(struct tree *tree, unsigned node, unsigned long total, unsigned long free,
                           unsigned long cache);

/* A PCI function at 0000:BUS:00.0. */
void host_tree_put_device(struct tree *tree, unsigned bus, const char *class_text, int node);

/* cmocka's set-up of a tree with two nodes of two cores of two threads: CPUs 0-1,4-5 and 2-3,6-7.  It ends with
 * tree_teardown. */
int host_tree_setup(void **state);
