/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A running guest's cgroups as they are now: what decisions about keeping a placement look at.
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

enum hn_group_kind { HN_GROUP_EMULATOR, HN_GROUP_VCPU, HN_GROUP_IOTHREAD };

/* One thread cgroup. */
struct hn_group {
        enum hn_group_kind kind;
        unsigned number;          /* of the vCPU or iothread */
        char *name;               /* its folder below the level of threads */
        int error;                /* its files can't be read: negative errno; then the sets are NULL */
        hwloc_bitmap_t cpus;      /* cpuset.cpus; empty: none of its own */
        hwloc_bitmap_t effective; /* NULL: not told */
        bool strays;              /* a thread of it has other CPUs than these, and not by the kernel's own doing */
};

struct hn_groups {
        struct hn_group *list; /* emulator, vCPUs, iothreads, by number */
        size_t n;
        /* Sets that can't be read are NULL: no cpuset controller there, or a recorded tree without them. */
        hwloc_bitmap_t scope_cpus;    /* the scope's own cpuset.cpus */
        hwloc_bitmap_t above_cpus;    /* in force above the scope */
        hwloc_bitmap_t threads_cpus;  /* in force on the level that holds the groups */
        hwloc_bitmap_t scope_nodes;   /* in force for the scope's memory */
        hwloc_bitmap_t above_nodes;   /* in force above the scope */
};

/* "vcpu12": its kind and number.  False: no thread group of libvirt's. */
bool hn_group_named(const char *name, enum hn_group_kind *ret_kind, unsigned *ret_number);

/* Reads them below a scope and its level of threads (act/cpuset.h, struct hn_guest_cgroup).  Groups that go while
 * we read are left out.  -ENOENT and others: the level of threads is not there; -ENOMEM. */
int hn_groups_read(const struct hn_root *root, const char *scope, const char *threads, struct hn_groups **ret);

/* Has a thread in DIR/cgroup.threads other CPUs than these?  Those whose CPUs the kernel keeps to itself do not
 * count. */
bool hn_threads_stray(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus);

void hn_groups_free(struct hn_groups *groups);
HN_DEFINE_CLEANUP(struct hn_groups *, hn_groups_free, hn_cleanup_groups)
#define HN_GROUPS HN_CLEANUP(hn_cleanup_groups)
