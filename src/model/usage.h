/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a running guest has used up to now, by the cheap counters of its cgroups (DESIGN fact 15): CPU time of each of
 * its thread groups, how long they waited for a CPU, pressure, and where its memory is.  Counters grow: what lies
 * between two readings is for load-guest.h.
 */
#pragma once

#include "model/groups.h"
#include "model/resident.h"

#define HN_USAGE_UNKNOWN UINT64_MAX /* this kernel does not tell */

/* One thread group. */
struct hn_usage_group {
        enum hn_group_kind kind;
        unsigned number;      /* of the vCPU or iothread */
        uint64_t cpu_us;      /* ran (cpu.stat) */
        uint64_t wait_us;     /* could have run (schedstat of its threads); falls where a thread ends */
        uint64_t pressure_us; /* some of it could have run (cpu.pressure) */
};

struct hn_guest_usage {
        struct hn_usage_group *groups; /* emulator, vCPUs, iothreads, by number */
        size_t n_groups;
        uint64_t cpu_pressure_us, memory_pressure_us, io_pressure_us; /* of the whole guest: some of it waited */
        struct hn_resident resident;   /* huge pages included where they are told of */
        bool has_resident;
};

/* Reads them below a scope and its level of threads (act/cpuset.h, struct hn_guest_cgroup).  `page_kib`: of the huge
 * pages that the guest may have, 0: none.  Groups that go while we read are left out.  -ENOENT and others: the level of
 * threads is not there; -ENOMEM. */
int hn_usage_read(const struct hn_root *root, const char *scope, const char *threads, uint64_t page_kib,
                  struct hn_guest_usage *ret);

/* The same without where its memory is and without the groups' own pressure, in two thirds of the time. */
int hn_usage_read_cpu(const struct hn_root *root, const char *scope, const char *threads, struct hn_guest_usage *ret);

void hn_usage_clear(struct hn_guest_usage *usage);
#define HN_USAGE HN_CLEANUP(hn_usage_clear)

/* The total of the line "some" of a pressure file; HN_USAGE_UNKNOWN: the kernel has none, or it is turned off. */
uint64_t hn_pressure_us(const struct hn_root *root, const char *dir, const char *file);
