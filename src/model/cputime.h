/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How busy CPUs are: the counters of /proc/stat, and what lies between two readings of them.
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

struct hn_cpu_time { uint64_t busy, total; }; /* in the kernel's ticks since boot; total 0: no such CPU */

struct hn_cpu_times {
        struct hn_cpu_time *cpus; /* by CPU number, n_cpus of them */
        size_t n_cpus;
};

/* The lines of single CPUs.  -ENOENT; -EBADMSG: not the kernel's form. */
int hn_cpu_times_read(const struct hn_root *root, struct hn_cpu_times *ret);
void hn_cpu_times_clear(struct hn_cpu_times *times);
#define HN_CPU_TIMES HN_CLEANUP(hn_cpu_times_clear)

/* How many of `cpus` were busy between the two readings (1.5: one all the time and one half of it); negative:
 * nothing can be said, no time has passed for any of them. */
double hn_cpu_times_busy(const struct hn_cpu_times *before, const struct hn_cpu_times *after,
                         hwloc_const_bitmap_t cpus);
