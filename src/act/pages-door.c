/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "act/pages-internal.h"
#include "model/clock.h"

/* ---- pages that the kernel overlooks
 *
 * Automatic NUMA balancing takes away access to a page now and then, to see who asks for it next.  From Linux 6.1 to 6.5
 * move_pages(2) takes such a page for none (follow_page without what became FOLL_HONOR_NUMA_FAULT), and a guest that is
 * idle has nearly all of its memory in that state.  Reading one byte of it gives access back. */

#define WINDOW 512u
#define AT_ONCE 64u
#define PRESENT (UINT64_C(1) << 63) /* of an entry of /proc/PID/pagemap */

struct waking {
        int pid, pagemap;
        uint64_t page;
        uint64_t first, entries[WINDOW]; /* pages from `first` on, n_entries of them */
        size_t n_entries;
        struct iovec pages[AT_ONCE];
        size_t n, woken;
};

static bool is_present(struct waking *waking, const void *address)
{
        uint64_t at = (uint64_t) (uintptr_t) address / waking->page;

        if (at < waking->first || at - waking->first >= waking->n_entries) {
                ssize_t n = pread(waking->pagemap, waking->entries, sizeof waking->entries, (off_t) (at * sizeof(uint64_t)));

                waking->first = at;
                waking->n_entries = n > 0 ? (size_t) n / sizeof(uint64_t) : 0;
        }
        return waking->n_entries > 0 && (waking->entries[at - waking->first] & PRESENT);
}

static void read_pages(struct waking *waking)
{
        char bytes[AT_ONCE];
        const struct iovec here = { bytes, waking->n };

        if (waking->n > 0 && process_vm_readv(waking->pid, &here, 1, waking->pages, waking->n, 0) > 0)
                waking->woken += waking->n;
        waking->n = 0;
}

static bool is_overlooked(int status)
{
        return status == -EFAULT || status == -ENOENT;
}

/* How many were woken; what is not there stays so. */
static size_t wake(int pid, size_t n, void *const *addresses, const int *status)
{
        struct waking waking = { .pid = pid, .pagemap = -1, .page = (uint64_t) sysconf(_SC_PAGESIZE) };
        char path[sizeof "/proc//pagemap" + 3 * sizeof pid];

        for (size_t i = 0; i < n; i++) {
                if (!is_overlooked(status[i]))
                        continue;
                if (waking.pagemap < 0) {
                        (void) snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
                        waking.pagemap = open(path, O_RDONLY | O_CLOEXEC);
                        if (waking.pagemap < 0)
                                return 0;
                }
                if (is_present(&waking, addresses[i]))
                        waking.pages[waking.n++] = (struct iovec) { addresses[i], 1 };
                if (waking.n == AT_ONCE)
                        read_pages(&waking);
        }
        read_pages(&waking);
        if (waking.pagemap >= 0)
                (void) close(waking.pagemap);
        return waking.woken;
}

/* ---- doors */

static long move(int pid, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        long r = syscall(SYS_move_pages, (long) pid, (unsigned long) n, addresses, nodes, status,
                         all ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE);

        if (r >= 0)
                return r;
        /* A process that is ending has no memory any more, and that is what EINVAL says (find_mm_struct in mm/migrate.c). */
        return errno == EINVAL ? -ESRCH : -errno;
}

static long kernel_move(void *data, int pid, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        long r = move(pid, n, addresses, nodes, status, all);

        (void) data;
        return r >= 0 && wake(pid, n, addresses, status) > 0 ? move(pid, n, addresses, nodes, status, all) : r;
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
