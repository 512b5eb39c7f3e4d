/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/pages-guest.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "model/clock.h"

#define PAGE 4096u

const char *guest_memory_name(enum guest_memory kind)
{
        static const char *const names[] = { "pages of 4 KiB", "transparent huge pages", "memfd", "hugetlbfs" };

        return names[kind];
}

void pause_for_us(uint64_t us)
{
        const struct timespec time = { .tv_sec = (time_t) (us / 1000000), .tv_nsec = (long) (us % 1000000) * 1000 };

        (void) nanosleep(&time, NULL);
}

/* ---- the process itself */

static long set_policy(int mode, unsigned node)
{
        unsigned long mask[16] = { 0 };

        mask[node / 64] = 1ul << node % 64;
        return syscall(SYS_set_mempolicy, mode, mode == MPOL_DEFAULT ? NULL : mask,
                       mode == MPOL_DEFAULT ? 0ul : sizeof mask * 8);
}

static char *map_memory(enum guest_memory kind, uint64_t bytes)
{
        int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
        char *memory;

        if (kind == GUEST_MEMFD) {
                fd = memfd_create("guest", MFD_CLOEXEC);
                flags = MAP_SHARED;
                if (fd < 0 || ftruncate(fd, (off_t) bytes) < 0)
                        return MAP_FAILED;
        } else if (kind == GUEST_HUGETLB) {
                flags |= MAP_HUGETLB;
        }
        /* Aligned, as QEMU aligns what may come to be huge. */
        memory = mmap(NULL, bytes + (kind == GUEST_TRANSPARENT ? 2u << 20 : 0), PROT_READ | PROT_WRITE, flags, fd, 0);
        if (memory == MAP_FAILED || kind != GUEST_TRANSPARENT)
                return memory;
        uint64_t lead = -(uintptr_t) memory % (2u << 20);

        (void) munmap(memory + lead + bytes, (2u << 20) - lead);
        if (lead > 0)
                (void) munmap(memory, lead);
        return memory + lead;
}

/* Page after page in an order that no cache foresees, and how long the longest took.  What the other processes of a
 * busy machine take away is in it: measure without a move as well. */
static void touch_forever(struct guest_shared *shared, volatile char *memory, uint64_t bytes)
{
        uint64_t pages = bytes / PAGE, at = 0, last_us = hn_monotonic_us();

        for (;;) {
                uint64_t now_us;

                memory[at * PAGE]++;
                at = (at + 7919) % pages;
                now_us = hn_monotonic_us();
                if (now_us - last_us > atomic_load_explicit(&shared->longest_us, memory_order_relaxed))
                        atomic_store(&shared->longest_us, now_us - last_us);
                atomic_fetch_add_explicit(&shared->touched, 1, memory_order_relaxed);
                last_us = now_us;
        }
}

static void be_guest(struct guest_shared *shared, enum guest_memory kind, uint64_t bytes, unsigned node, bool busy)
{
        char *memory = map_memory(kind, bytes);

        if (memory == MAP_FAILED || set_policy(MPOL_BIND, node) < 0) {
                atomic_store(&shared->failed, true);
                _exit(1);
        }
        (void) madvise(memory, bytes, kind == GUEST_TRANSPARENT ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        for (uint64_t at = 0; at < bytes; at += PAGE)
                ((volatile char *) memory)[at] = 1;
        (void) set_policy(MPOL_DEFAULT, 0);
        atomic_store(&shared->ready, true);
        if (busy)
                touch_forever(shared, memory, bytes);
        for (;;)
                (void) pause();
}

/* ---- for who measures */

int guest_start(enum guest_memory kind, uint64_t bytes, unsigned node, bool busy, struct guest *ret)
{
        struct guest guest = { .bytes = bytes };

        guest.shared = mmap(NULL, sizeof *guest.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (guest.shared == MAP_FAILED)
                return -errno;
        guest.pid = fork();
        if (guest.pid < 0)
                return -errno;
        if (guest.pid == 0)
                be_guest(guest.shared, kind, bytes, node, busy);
        while (!atomic_load(&guest.shared->ready)) {
                if (atomic_load(&guest.shared->failed) || waitpid(guest.pid, NULL, WNOHANG) != 0) {
                        guest_stop(&guest);
                        return -EIO;
                }
                pause_for_us(10000);
        }
        *ret = guest;
        return 0;
}

void guest_stop(struct guest *guest)
{
        (void) kill(guest->pid, SIGKILL);
        (void) waitpid(guest->pid, NULL, 0);
        (void) munmap(guest->shared, sizeof *guest->shared);
}

static int survey(const struct guest *guest, const struct hn_root *root, unsigned node, struct hn_pages **ret)
{
        const struct hn_pages_cell cell = { .memory_kib = guest->bytes / 1024 };
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
        HN_PAGES struct hn_pages *pages = NULL;
        int r;

        if (!nodes || hwloc_bitmap_set(nodes, node) < 0)
                return -ENOMEM;
        r = hn_pages_survey(root, guest->pid, 0, &cell, 1, NULL, &pages);
        if (r >= 0 && !hn_pages_memory(pages, 0)->found)
                r = -ENOENT;
        if (r >= 0)
                r = hn_pages_target(pages, 0, nodes);
        if (r < 0)
                return r;
        *ret = HN_TAKE(pages);
        return 0;
}

int guest_move(const struct guest *guest, const struct hn_root *root, unsigned to, unsigned pause_us,
               guest_stepped *stepped, void *data, struct hn_pages_progress *ret)
{
        HN_PAGES struct hn_pages *pages = NULL;
        int r = survey(guest, root, to, &pages);

        if (r < 0)
                return r;
        do {
                r = hn_pages_step(pages, ret);
                if (stepped)
                        stepped(data, ret);
                if (pause_us > 0 && r > 0)
                        pause_for_us(pause_us);
        } while (r > 0);
        return r;
}

int run_on_node(const struct hn_root *root, pid_t pid, unsigned node)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL;
        HN_FREE char *text = NULL;
        cpu_set_t set;
        int r = hn_root_read_line(root, &text, "/sys/devices/system/node/node%u/cpulist", node);

        if (r >= 0)
                r = hn_idset_parse(text, CPU_SETSIZE, &cpus);
        if (r < 0)
                return r;
        CPU_ZERO(&set);
        HN_IDSET_FOREACH(cpu, cpus)
                CPU_SET((size_t) cpu, &set);
        return sched_setaffinity(pid, sizeof set, &set) < 0 ? -errno : 0;
}

int guest_percent(const struct guest *guest, const struct hn_root *root, unsigned node)
{
        HN_PAGES struct hn_pages *pages = NULL;
        int r = survey(guest, root, node, &pages);
        const struct hn_pages_memory *memory = r < 0 ? NULL : hn_pages_memory(pages, 0);

        if (r < 0)
                return r;
        return memory->resident_kib ? (int) (memory->there_kib * 100 / memory->resident_kib) : 0;
}
