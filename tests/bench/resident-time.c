/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What it costs to tell on which nodes a process has its memory, for whoever asks and for the process itself: by
 * memory.numa_stat of its cgroup, and by /proc/PID/numa_maps, for which the kernel walks its page tables under its mmap
 * lock.  A process with so many GiB, all touched, maps and unmaps a page again and again, as a guest's QEMU does by the
 * way; the longest of those is how long the reading held it up.
 *
 *   resident-time [GIB [ROUNDS]]
 *
 * memory.numa_stat takes root and cgroup v2 with the memory controller; without, that line says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "model/clock.h"
#include "model/resident.h"

#define GROUP "/sys/fs/cgroup/homenode-bench"
#define PAGE 4096u
#define PAUSE_US 5000u /* between readings, so that the process gets on */
#define ROUNDS_LIMIT 10000u

/* Between the two processes. */
struct shared {
        atomic_bool ready;
        atomic_ullong longest_us;
};

struct bench {
        struct hn_root root;
        struct shared *shared;
        pid_t pid;
        unsigned rounds;
        bool in_group;
};

typedef int reading(const struct bench *bench);

static int read_maps(const struct bench *bench)
{
        HN_FREE char *text = NULL;

        return hn_root_read(&bench->root, 64u << 20, &text, NULL, "/proc/%d/numa_maps", bench->pid);
}

static int read_stat(const struct bench *bench)
{
        HN_RESIDENT struct hn_resident resident = { 0 };

        return bench->in_group ? hn_resident_read(&bench->root, GROUP, &resident) : -ENOENT;
}

static int read_nothing(const struct bench *bench)
{
        (void) bench;
        return 0;
}

/* ---- the process that is looked at */

static void map_and_unmap(struct shared *shared)
{
        for (;;) {
                uint64_t before_us = hn_monotonic_us(), took_us;
                char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (page == MAP_FAILED)
                        _exit(1);
                *(volatile char *) page = 1;
                (void) munmap(page, PAGE);
                took_us = hn_monotonic_us() - before_us;
                if (took_us > atomic_load(&shared->longest_us))
                        atomic_store(&shared->longest_us, took_us);
                const struct timespec pause = { .tv_nsec = 100000 };
                (void) nanosleep(&pause, NULL);
        }
}

static void be_looked_at(struct shared *shared, size_t bytes, bool huge, int go)
{
        char *memory, byte;

        if (read(go, &byte, 1) != 1) /* it is in its cgroup now */
                _exit(1);
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                _exit(1);
        (void) madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        for (size_t at = 0; at < bytes; at += PAGE)
                ((volatile char *) memory)[at] = 1;
        atomic_store(&shared->ready, true);
        map_and_unmap(shared);
}

/* ---- looking */

static int by_size(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

static void pause_us(unsigned us)
{
        const struct timespec time = { .tv_nsec = (long) us * 1000 };

        (void) nanosleep(&time, NULL);
}

static void measure(const struct bench *bench, const char *name, reading *read_once)
{
        uint64_t times_us[ROUNDS_LIMIT];
        int r = 0;

        atomic_store(&bench->shared->longest_us, 0);
        for (unsigned i = 0; r >= 0 && i < bench->rounds; i++) {
                uint64_t before_us = hn_monotonic_us();

                r = read_once(bench);
                times_us[i] = hn_monotonic_us() - before_us;
                pause_us(PAUSE_US);
        }
        if (r < 0) {
                printf("  %-18s not measured: %s\n", name,
                       read_once == read_stat ? "needs root, and cgroup v2 with the memory controller" : strerror(-r));
                return;
        }
        qsort(times_us, bench->rounds, sizeof *times_us, by_size);
        printf("  %-18s %9.3f ms  (at most %9.3f); the process waited at most %9.3f ms\n", name,
               (double) times_us[bench->rounds / 2] / 1000, (double) times_us[bench->rounds - 1] / 1000,
               (double) atomic_load(&bench->shared->longest_us) / 1000);
}

/* A cgroup of its own for the process; without one there is nothing to read. */
static bool make_group(const struct hn_root *root, pid_t pid)
{
        char text[16];

        (void) snprintf(text, sizeof text, "%d", pid);
        return hn_root_exists(root, "/sys/fs/cgroup/cgroup.controllers") && hn_root_mkdir(root, 0755, GROUP) >= 0 &&
               hn_root_write(root, text, GROUP "/cgroup.procs") >= 0 && hn_root_exists(root, GROUP "/memory.numa_stat");
}

static bool wait_ready(const struct bench *bench)
{
        while (!atomic_load(&bench->shared->ready)) {
                if (waitpid(bench->pid, NULL, WNOHANG) != 0)
                        return false;
                pause_us(PAUSE_US);
        }
        return true;
}

static int run(struct bench *bench, unsigned gib, bool huge)
{
        int go[2];
        bool ready;

        if (pipe2(go, O_CLOEXEC) < 0)
                return -errno;
        (void) fflush(stdout);
        atomic_store(&bench->shared->ready, false);
        bench->pid = fork();
        if (bench->pid == 0)
                be_looked_at(bench->shared, (size_t) gib << 30, huge, go[0]);
        if (bench->pid < 0)
                return -errno;
        bench->in_group = make_group(&bench->root, bench->pid);
        ready = write(go[1], "", 1) == 1 && wait_ready(bench);
        printf("%u GiB in %s, medians of %u:\n", gib, huge ? "transparent huge pages" : "pages of 4 KiB", bench->rounds);
        if (ready) {
                measure(bench, "nothing", read_nothing);
                measure(bench, "memory.numa_stat", read_stat);
                measure(bench, "numa_maps", read_maps);
        } else {
                printf("  not measured: the process could not get its memory\n");
        }
        (void) kill(bench->pid, SIGKILL);
        (void) waitpid(bench->pid, NULL, 0);
        (void) close(go[0]);
        (void) close(go[1]);
        (void) hn_root_remove(&bench->root, GROUP);
        return 0;
}

int main(int argc, char **argv)
{
        unsigned gib = argc > 1 ? (unsigned) strtoul(argv[1], NULL, 10) : 2;
        struct bench bench = { .rounds = argc > 2 ? (unsigned) strtoul(argv[2], NULL, 10) : 50 };

        if (gib == 0 || bench.rounds == 0 || bench.rounds > ROUNDS_LIMIT) {
                fprintf(stderr, "usage: resident-time [GIB [ROUNDS]]\n");
                return 2;
        }
        bench.shared = mmap(NULL, sizeof *bench.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (bench.shared == MAP_FAILED || hn_root_open("/", &bench.root) < 0)
                return 1;
        for (int huge = 0; huge < 2; huge++) {
                int r = run(&bench, gib, huge);

                if (r < 0) {
                        fprintf(stderr, "resident-time: %s\n", strerror(-r));
                        return 1;
                }
        }
        return 0;
}
