/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include "act/pages-internal.h"
#include "model/clock.h"

static long kernel_move(void *data, int pid, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        (void) data;
        long r = syscall(SYS_move_pages, (long) pid, (unsigned long) n, addresses, nodes, status,
                         all ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE);

        return r < 0 ? -errno : r;
}

static uint64_t now_us(void *data)
{
        (void) data;
        return hn_monotonic_us();
}

/* A recorded tree knows of no page: what is asked about is on a node that is no target. */
static long recorded_move(void *data, int pid, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        (void) data;
        (void) pid;
        (void) addresses;
        (void) all;
        for (size_t i = 0; i < n; i++)
                status[i] = nodes ? nodes[i] : (int) HN_IDSET_LIMIT;
        return 0;
}

const struct hn_pages_door hn_pages_kernel_door = { .move = kernel_move, .now_us = now_us };
const struct hn_pages_door hn_pages_recorded_door = { .move = recorded_move, .now_us = now_us };
