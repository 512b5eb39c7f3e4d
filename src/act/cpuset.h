/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cpuset files of a guest's cgroups, and the affinity of its threads.
 */
#pragma once

#include "model/placement.h"
#include "model/root.h"

/* Where a running guest's cgroups are ("/sys/fs/cgroup/machine.slice/machine-….scope"), found by its QEMU's
 * /proc/PID/cgroup: with or without systemd, with or without the `libvirt` level, in any partition.
 * -ENOENT: cgroup v2 with threads below is not there.  The caller frees with hn_guest_cgroup_free. */
struct hn_guest_cgroup {
        char *scope;      /* the unit's or machine's own cgroup */
        char *threads;    /* the level that holds emulator, vcpuN, iothreadN */
        bool by_systemd;  /* `scope` is a unit that systemd owns */
};
int hn_guest_cgroup_find(const struct hn_root *root, int pid, struct hn_guest_cgroup **ret);
void hn_guest_cgroup_free(struct hn_guest_cgroup *cgroup);
HN_DEFINE_CLEANUP(struct hn_guest_cgroup *, hn_guest_cgroup_free, hn_cleanup_guest_cgroup)
#define HN_GUEST_CGROUP HN_CLEANUP(hn_cleanup_guest_cgroup)

/* Puts `cpus` into DIR/cpuset.cpus and reads the effective set back.  Nothing is written where it says so
 * already.  -ENOSPC: conflicts with parent or child; -EREMOTEIO: written, but not in force as asked. */
int hn_cpuset_set_cpus(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus);
int hn_cpuset_get(const struct hn_root *root, const char *dir, const char *file, hwloc_bitmap_t *ret);

/* Sets the affinity of every thread in DIR/cgroup.threads (fact 12).  Threads that are gone are passed over. */
int hn_affinity_set(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus);
