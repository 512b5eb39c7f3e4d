/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Values of the cpuset controller, in the way that a process has to them: by the files below its root, as the hook
 * and whoever works on a recorded tree, or through libcgroup.
 */
#pragma once

#include "model/root.h"

#define HN_CGROUP_MOUNT "/sys/fs/cgroup"

struct hn_cgroup_io {
        const struct hn_root *root; /* must outlive it */

        /* A value of a group, as written on the host ("/sys/fs/cgroup/machine.slice/…", "cpuset.cpus"); the caller
         * frees.  The errors of open(2) and read(2); -EFBIG. */
        int (*read)(const struct hn_cgroup_io *io, const char *group, const char *name, char **ret);
        /* Writes this one value, which is a set, whatever is there.  The errors of open(2) and write(2): -ENOSPC:
         * conflicts with parent or child; -EINVAL or -ERANGE: not on this host. */
        int (*write)(const struct hn_cgroup_io *io, const char *group, const char *name, const char *value);
        /* Where the hierarchy that has the controller enabled is mounted; the caller frees.  -ENOENT: none has. */
        int (*where)(const struct hn_cgroup_io *io, char **ret);
};

/* By files. */
struct hn_cgroup_io hn_cgroup_files(const struct hn_root *root);

/* Through libcgroup from now on, where the root is the running host's own; what it can't do, and what it does not tell,
 * goes by files all the same.  To be called once in a process, and not by the hook: what libcgroup reads first takes it
 * 10 to 29 ms under emulation.  -ENOENT (no cgroups are mounted) and others: it can't be used; nothing has changed. */
int hn_cgroup_use_library(struct hn_cgroup_io *io);
