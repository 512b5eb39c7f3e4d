/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cpuset files of a guest's cgroups, and the affinity of its threads.
 */
#pragma once

#include "act/cgroup-io.h"
#include "model/placement.h"

/* Where a running guest's cgroups are ("/sys/fs/cgroup/machine.slice/machine-….scope"), found by its QEMU's
 * /proc/PID/cgroup: with or without systemd, with or without the `libvirt` level, in any partition.
 * -ENOENT: cgroup v2 with threads below is not there.  The caller frees with hn_guest_cgroup_free. */
struct hn_guest_cgroup {
        char *scope;      /* the unit's or machine's own cgroup */
        char *threads;    /* the level that holds emulator, vcpuN, iothreadN */
        bool by_systemd;  /* `scope` is a unit that systemd owns */
};
int hn_guest_cgroup_find(const struct hn_root *root, int pid, struct hn_guest_cgroup **ret);
/* The same for a path below /sys: a scope, or a group in there that a main thread is in. */
int hn_guest_cgroup_of_scope(const struct hn_root *root, const char *scope, struct hn_guest_cgroup **ret);

/* The last part of the scope: its unit, where systemd owns it. */
const char *hn_guest_cgroup_unit(const struct hn_guest_cgroup *cgroup);

void hn_guest_cgroup_free(struct hn_guest_cgroup *cgroup);
HN_DEFINE_CLEANUP(struct hn_guest_cgroup *, hn_guest_cgroup_free, hn_cleanup_guest_cgroup)
#define HN_GUEST_CGROUP HN_CLEANUP(hn_cleanup_guest_cgroup)

/* Puts `cpus` into DIR/cpuset.cpus and reads the effective set back.  Nothing is written where it says so
 * already.  -ENOENT: no such cgroup, or the cpuset controller is off there; -EINVAL: an empty set (undo
 * writes a full one), or CPUs that the host has not or a sibling's partition owns; -ENOSPC: conflicts with
 * parent or child; -EREMOTEIO: written, but what is in force is not the asked set as far as the parent has
 * it. */
int hn_cpuset_set_cpus(const struct hn_cgroup_io *io, const char *dir, hwloc_const_bitmap_t cpus);

/* Makes DIR's own cpuset.cpus confine nothing: writes what the parent has in force, as a full list, unless
 * it holds all that already (DESIGN facts 4 and 13: clearing may be refused).  Errors as above; no
 * controller there is success. */
int hn_cpuset_open(const struct hn_cgroup_io *io, const char *dir);

/* Reads a set from DIR/FILE ("cpuset.mems.effective"); the caller frees.  -ENOENT, -EINVAL, -ERANGE. */
int hn_cpuset_get(const struct hn_cgroup_io *io, const char *dir, const char *file, hwloc_bitmap_t *ret);

/* Every CPU and every memory node that this host can come to have; NULL where the kernel does not say.  A cpuset that
 * holds them all confines nothing, whatever is plugged later. */
void hn_possible_read(const struct hn_root *root, hwloc_bitmap_t *ret_cpus, hwloc_bitmap_t *ret_nodes);

/* The thread numbers in DIR/cgroup.threads; the caller frees.  Threads of other PID namespaces (0) are left
 * out. */
int hn_cgroup_threads(const struct hn_root *root, const char *dir, int **ret, size_t *ret_n);

/* Sets the affinity of every thread in DIR/cgroup.threads (fact 12; before kernel 6.2 the mask is cut to
 * the cpuset of that moment, so write the cpuset first).  Passed over: threads that are gone, and those
 * whose CPUs the kernel keeps to itself (io_uring workers).  A failing thread does not keep the others from
 * being set. Returns how many threads it is in force for; in a recorded tree how many it would be, and
 * nothing is set. The first error otherwise: -EINVAL (none of the CPUs is in the thread's cpuset, or an
 * empty set), -EPERM. */
int hn_affinity_set(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus);

/* Of the calling thread; in a recorded tree nothing is set.  -EINVAL: as above. */
int hn_affinity_set_own(const struct hn_root *root, hwloc_const_bitmap_t cpus);
