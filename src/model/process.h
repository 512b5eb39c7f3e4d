/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What /proc/PID/stat says of a process or a thread, and which process a guest's QEMU is.
 */
#pragma once

#include "model/root.h"

struct hn_process {
        uint64_t start_ticks; /* field 22: since boot; with the PID it names one process of a boot */
        bool own_affinity;    /* the kernel keeps its CPUs to itself (PF_NO_SETAFFINITY) */
};

/* -ESRCH: no such process; -EBADMSG: not the kernel's form. */
int hn_process_read(const struct hn_root *root, int pid, struct hn_process *ret);

/* The PID of a running guest's QEMU, as libvirt keeps it in a file.  -ENOENT: there is none; -EINVAL, -ERANGE: no
 * name of a guest, no PID. */
int hn_process_of_guest(const struct hn_root *root, const char *name, int *ret);
