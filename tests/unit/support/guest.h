/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A running guest below a tree: the cgroups that libvirt makes for it, and its QEMU's process.
 */
#pragma once

#include "unit/support/tree.h"

#define GUEST_SCOPE(unit) "/sys/fs/cgroup/machine.slice/" unit
#define GUEST_THREADS(unit) GUEST_SCOPE(unit) "/libvirt"

/* A guest whose scope still confines CPUs, as at `started`.  A recorded tree does not compute effective sets, so
 * they say already what will be. */
struct guest_plan {
        const char *unit;
        const char *confined; /* the scope's CPUs, and those that its threads will come to have */
        const char *all;      /* what the slice has */
        const char *nodes;    /* the memory set in force */
};

/* The slice, the scope, emulator, vcpu0 and vcpu1. */
void guest_put_cgroups(struct tree *tree, const struct guest_plan *plan);

/* One more thread cgroup ("iothread1"), confined like the others to come. */
void guest_put_thread(struct tree *tree, const struct guest_plan *plan, const char *name);

/* Its process in /proc, in the emulator's cgroup, with libvirt's PID file under `name`. */
void guest_put_process(struct tree *tree, const char *unit, const char *name, int pid, unsigned start_ticks);

/* Asserts that a file's first line is a list of this set. */
void assert_list_file(struct tree *tree, const char *path, const char *list);

/* Does the file have this text in it?  False where it is not there. */
bool tree_file_has(struct tree *tree, const char *path, const char *text);
