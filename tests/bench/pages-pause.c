/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What stands still while memory is moved: a guest that touches its pages and looks at its clock, and somebody who puts
 * an unrelated task into another cgroup again and again.  Beside moving in batches: nothing, and one direct change of
 * the memory set of the guest's cgroup, for which the kernel moves everything at once (DESIGN fact 11).  The guest's CPUs
 * are those of the new node before, as homenode has it.
 *
 *   pages-pause [MIB [FROM TO]]
 *
 * Takes root, two nodes, and cgroup v2 with the cpuset controller.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench/pages-guest.h"
#include "model/clock.h"

#define GROUPS "/sys/fs/cgroup/homenode-bench"
#define ATTACH_PAUSE_US 2000u
#define NOTHING_US 5000000u

struct attacher {
        pid_t pid, task;
        struct attached { atomic_ullong longest_us, times; } *shared;
};

struct bench {
        struct hn_root root;
        unsigned from, to;
        uint64_t bytes;
        struct guest guest;
        struct attacher attacher;
        uint64_t longest_batch_us, longest_batch_kib, batches;
};

/* ---- cgroups */

static int write_number(const struct bench *bench, unsigned number, const char *path)
{
        char text[16];

        (void) snprintf(text, sizeof text, "%u", number);
        return hn_root_write(&bench->root, text, "%s", path);
}

static int make_groups(const struct bench *bench)
{
        static const char *const groups[] = { GROUPS, GROUPS "/guest", GROUPS "/a", GROUPS "/b" };
        int r = 0;

        (void) hn_root_write(&bench->root, "+cpuset", "/sys/fs/cgroup/cgroup.subtree_control");
        for (size_t i = 0; r >= 0 && i < sizeof groups / sizeof *groups; i++) {
                r = hn_root_mkdir(&bench->root, 0755, "%s", groups[i]);
                if (r >= 0 && i == 0)
                        r = hn_root_write(&bench->root, "+cpuset", GROUPS "/cgroup.subtree_control");
        }
        return r;
}

static void remove_groups(const struct bench *bench)
{
        (void) hn_root_remove(&bench->root, GROUPS "/guest");
        (void) hn_root_remove(&bench->root, GROUPS "/a");
        (void) hn_root_remove(&bench->root, GROUPS "/b");
        (void) hn_root_remove(&bench->root, GROUPS);
}

static int set_nodes(const struct bench *bench, unsigned one, unsigned other)
{
        char text[32];

        (void) snprintf(text, sizeof text, "%u,%u", one, other);
        return hn_root_write(&bench->root, text, GROUPS "/guest/cpuset.mems");
}

/* ---- somebody else, who works with cgroups */

static void attach_forever(const struct bench *bench)
{
        for (unsigned turn = 0;; turn++) {
                struct attached *shared = bench->attacher.shared;
                uint64_t began_us = hn_monotonic_us(), took_us;

                (void) write_number(bench, (unsigned) bench->attacher.task,
                                    turn % 2 ? GROUPS "/a/cgroup.procs" : GROUPS "/b/cgroup.procs");
                took_us = hn_monotonic_us() - began_us;
                if (took_us > atomic_load(&shared->longest_us))
                        atomic_store(&shared->longest_us, took_us);
                atomic_fetch_add(&shared->times, 1);
                pause_for_us(ATTACH_PAUSE_US);
        }
}

static int attacher_start(struct bench *bench)
{
        struct attacher *attacher = &bench->attacher;

        attacher->shared = mmap(NULL, sizeof *attacher->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (attacher->shared == MAP_FAILED)
                return -errno;
        attacher->task = fork();
        if (attacher->task == 0)
                for (;;)
                        (void) pause();
        attacher->pid = attacher->task < 0 ? -1 : fork();
        if (attacher->pid == 0)
                attach_forever(bench);
        return attacher->pid < 0 ? -errno : 0;
}

static void end(pid_t pid)
{
        if (pid <= 0)
                return;
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
}

/* ---- what is measured */

typedef int measured(struct bench *bench);

static int do_nothing(struct bench *bench)
{
        (void) bench;
        pause_for_us(NOTHING_US);
        return 0;
}

static void stepped(void *data, const struct hn_pages_progress *progress)
{
        struct bench *bench = data;

        bench->batches++;
        if (progress->batch_us <= bench->longest_batch_us)
                return;
        bench->longest_batch_us = progress->batch_us;
        bench->longest_batch_kib = progress->batch_kib;
}

/* As a guest is moved: wide, in batches with pauses, narrow. */
static int move_in_batches(struct bench *bench)
{
        struct hn_pages_progress progress;
        int r = set_nodes(bench, bench->from, bench->to);

        if (r >= 0)
                r = guest_move(&bench->guest, &bench->root, bench->to, HN_PAGES_BATCH_US, stepped, bench, &progress);
        return r < 0 ? r : set_nodes(bench, bench->to, bench->to);
}

static int move_at_once(struct bench *bench)
{
        return set_nodes(bench, bench->to, bench->to);
}

/* Whoever waits still is to be counted. */
static void wait_attached(const struct bench *bench)
{
        unsigned long long before = atomic_load(&bench->attacher.shared->times);

        while (atomic_load(&bench->attacher.shared->times) < before + 2)
                pause_for_us(10000);
}

static int measure(struct bench *bench, const char *name, measured *what)
{
        struct guest_shared *guest = bench->guest.shared;
        struct attached *attached = bench->attacher.shared;
        uint64_t began_us, took_us;
        int r = set_nodes(bench, bench->from, bench->from);

        if (r >= 0)
                r = run_on_node(&bench->root, bench->guest.pid, bench->to);
        if (r >= 0)
                r = run_on_node(&bench->root, 0, bench->to);
        if (r < 0)
                return r;
        pause_for_us(1000000);
        wait_attached(bench);
        bench->batches = bench->longest_batch_us = 0;
        atomic_store(&guest->longest_us, 0);
        atomic_store(&attached->longest_us, 0);
        atomic_store(&guest->touched, 0);
        began_us = hn_monotonic_us();
        r = what(bench);
        took_us = hn_monotonic_us() - began_us;
        uint64_t guest_us = atomic_load(&guest->longest_us), touched = atomic_load(&guest->touched);
        wait_attached(bench);
        uint64_t attach_us = atomic_load(&attached->longest_us);
        if (r < 0)
                return r;
        printf("%s: %.2f s; the guest stood still for at most %.1f ms, and touched %.0f pages a ms; attaching took at most %.1f ms",
               name, (double) took_us / 1e6, (double) guest_us / 1000, (double) touched / ((double) took_us / 1000),
               (double) attach_us / 1000);
        if (bench->batches > 0)
                printf("; %llu batches, at most %.1f ms, for %.1f MiB", (unsigned long long) bench->batches,
                       (double) bench->longest_batch_us / 1000, (double) bench->longest_batch_kib / 1024);
        printf("; %d %% on node %u\n", guest_percent(&bench->guest, &bench->root, bench->to), bench->to);
        (void) fflush(stdout);
        return 0;
}

static int run(struct bench *bench, enum guest_memory kind)
{
        int r = make_groups(bench);

        if (r >= 0)
                r = guest_start(kind, bench->bytes, bench->from, true, &bench->guest);
        if (r < 0)
                return r;
        r = write_number(bench, (unsigned) bench->guest.pid, GROUPS "/guest/cgroup.procs");
        if (r >= 0)
                r = attacher_start(bench);
        printf("%s:\n", guest_memory_name(kind));
        if (r >= 0)
                r = measure(bench, "  nothing", do_nothing);
        if (r >= 0)
                r = measure(bench, "  in batches", move_in_batches);
        if (r >= 0)
                r = measure(bench, "  by cpuset.mems", move_at_once);
        end(bench->attacher.pid);
        end(bench->attacher.task);
        guest_stop(&bench->guest);
        pause_for_us(100000);
        remove_groups(bench);
        return r;
}

int main(int argc, char **argv)
{
        uint64_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
        struct bench bench = { .bytes = mib << 20, .from = 0, .to = 1 };
        int r = 0;

        if (argc == 4) {
                bench.from = (unsigned) strtoul(argv[2], NULL, 10);
                bench.to = (unsigned) strtoul(argv[3], NULL, 10);
        }
        if (mib == 0 || (argc > 2 && argc != 4)) {
                fprintf(stderr, "usage: pages-pause [MIB [FROM TO]]\n");
                return 2;
        }
        if (hn_root_open("/", &bench.root) < 0)
                return 1;
        for (enum guest_memory kind = GUEST_ORDINARY; r >= 0 && kind <= GUEST_TRANSPARENT; kind++)
                r = run(&bench, kind);
        if (r < 0)
                fprintf(stderr, "pages-pause: %s\n", strerror(-r));
        return r < 0;
}
