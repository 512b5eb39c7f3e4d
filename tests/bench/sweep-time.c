/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a sweep over 50 guests in steady state costs, against a loop that merely opens and reads the same files; CPU
 * time, alternating in one run, and the memory that knowing those guests takes.  The tree is made in /dev/shm (or
 * $TMPDIR), where the kernel's own files are not dearer to read.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "daemon/keeper.h"
#include "model/text.h"
#include "unit/support/entry.h"
#include "unit/support/guest.h"
#include "unit/support/host-tree.h"

#define GUESTS 50u
#define ROUNDS 40u
#define MOST_TIMES 3.0

static const char *const groups[] = { "emulator", "vcpu0", "vcpu1", "vcpu2", "vcpu3", "iothread1" };
#define N_GROUPS (sizeof groups / sizeof *groups)

/* What the loop reads: everything that a look at cgroups and threads reads. */
struct paths { char *list[GUESTS * (N_GROUPS * 4 + 8)]; size_t n; };

static void put(struct tree *tree, struct paths *paths, const char *text, char *path)
{
        assert_non_null(path);
        tree_put(tree, path, text);
        paths->list[paths->n++] = hn_text_print("%s%s", tree->path, path);
        free(path);
}

static void put_guest(struct tree *tree, struct paths *paths, struct hn_ledger *ledger, unsigned i)
{
        HN_FREE char *unit = hn_text_print("machine-qemu\\x2d%u\\x2dguest%u.scope", i + 1, i);
        HN_FREE char *scope = hn_text_print(GUEST_SCOPE("%s"), unit), *name = hn_text_print("guest%u", i);
        HN_FREE char *uuid = hn_text_print("00000000-0000-4000-8000-%012x", i);
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, name);
        int pid = (int) (1000 + 10 * i);

        guest_put_process(tree, unit, name, pid, 99);
        paths->list[paths->n++] = hn_text_print("%s/proc/%d/stat", tree->path, pid);
        put(tree, paths, "\n", hn_text_print("%s/cpuset.cpus", scope));
        put(tree, paths, "2\n", hn_text_print("%s/cpuset.mems.effective", scope));
        put(tree, paths, "0-31\n", hn_text_print("%s/libvirt/cpuset.cpus.effective", scope));
        for (size_t g = 0; g < N_GROUPS; g++) {
                HN_FREE char *tid = hn_text_print("%zu\n", (size_t) pid + g + 1);

                put(tree, paths, "8-15\n", hn_text_print("%s/libvirt/%s/cpuset.cpus", scope, groups[g]));
                put(tree, paths, "8-15\n", hn_text_print("%s/libvirt/%s/cpuset.cpus.effective", scope, groups[g]));
                put(tree, paths, tid, hn_text_print("%s/libvirt/%s/cgroup.threads", scope, groups[g]));
                put(tree, paths, "Name:\tCPU\nUmask:\t0027\nState:\tS\nVmPeak:\t  999 kB\nCpus_allowed:\tff00\n"
                    "Cpus_allowed_list:\t8-15\nMems_allowed_list:\t2\n", hn_text_print("/proc/%zu/status", (size_t) pid + g + 1));
        }
        hwloc_bitmap_copy(entry->placement->emulator_cpus, entry->placement->cells[0].cpus);
        hwloc_bitmap_set(entry->placement->memory_nodes, 2);
        entry->state = HN_ENTRY_STARTED;
        entry->pid = pid;
        entry->start_ticks = 99;
        entry->unit = strdup(unit);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

static unsigned marked;

static int live_xml(void *data, const char *uuid, char **ret)
{
        unsigned i = (unsigned) strtoul(uuid + 24, NULL, 16);
        (void) data;

        *ret = hn_text_print("<domain type='kvm' id='%u'><name>guest%u</name><uuid>%s</uuid><memory>1048576</memory>"
                             "<vcpu>4</vcpu><iothreads>1</iothreads><os><type>hvm</type></os></domain>", i + 1, i, uuid);
        return *ret ? 0 : -ENOMEM;
}

static void again(void *data, const char *uuid, unsigned wait_ms)
{
        (void) data;
        (void) uuid;
        (void) wait_ms;
        marked++;
}

static void merely_read(const struct paths *paths)
{
        char buffer[4096];

        for (size_t i = 0; i < paths->n; i++) {
                int fd = open(paths->list[i], O_RDONLY | O_CLOEXEC);

                while (fd >= 0 && read(fd, buffer, sizeof buffer) > 0)
                        ;
                (void) close(fd);
        }
}

static double cpu_us(void)
{
        struct timespec now = { 0 };

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static void put_host(struct tree *tree, struct paths *paths)
{
        host_tree_put(tree, 4, 4, 2);
        tree_put(tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "0-31\n");
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", "0-3\n");
        for (unsigned i = 0; i < GUESTS; i++) {
                paths->list[paths->n++] = hn_text_print("%s/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", tree->path);
                paths->list[paths->n++] = hn_text_print("%s/sys/fs/cgroup/machine.slice/cpuset.mems.effective", tree->path);
        }
}

/* *ret_least: the least of the rounds, in µs. */
static void measure(struct hn_keeper *keeper, const struct paths *paths, double ret_least[2])
{
        ret_least[0] = ret_least[1] = 1e18;
        for (unsigned round = 0; round < ROUNDS; round++) {
                double before_us = cpu_us(), between_us, after_us;

                hn_keeper_sweep(keeper);
                between_us = cpu_us();
                merely_read(paths);
                after_us = cpu_us();
                if (between_us - before_us < ret_least[0])
                        ret_least[0] = between_us - before_us;
                if (after_us - between_us < ret_least[1])
                        ret_least[1] = after_us - between_us;
        }
}

int main(void)
{
        const struct hn_running_door door = { .live_xml = live_xml, .again = again };
        static struct paths paths;
        struct tree tree;
        HN_KEEPER struct hn_keeper *keeper = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct rusage usage = { 0 };
        double least_us[2];

        (void) setenv("TMPDIR", "/dev/shm", 0);
        tree_make(&tree);
        put_host(&tree, &paths);
        assert_int_equal(hn_ledger_open(&tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        for (unsigned i = 0; i < GUESTS; i++)
                put_guest(&tree, &paths, ledger, i);
        hn_ledger_unlock(ledger);
        assert_int_equal(hn_keeper_new(&tree.files, &door, NULL, &keeper), 0);
        for (unsigned i = 0; i < GUESTS; i++) {
                char uuid[64];

                (void) snprintf(uuid, sizeof uuid, "00000000-0000-4000-8000-%012x", i);
                hn_keeper_look(keeper, uuid);
        }
        assert_int_equal(hn_keeper_guests(keeper)->n, GUESTS);
        marked = 0;
        measure(keeper, &paths, least_us);
        assert_int_equal(marked, 0);
        (void) getrusage(RUSAGE_SELF, &usage);
        (void) printf("sweep over %u guests, %zu files: %.0f us of CPU; merely reading them: %.0f us; %.2f times (at most %.0f); "
                      "%ld KiB resident at most\n", GUESTS, paths.n, least_us[0], least_us[1], least_us[0] / least_us[1],
                      MOST_TIMES, usage.ru_maxrss);
        for (size_t i = 0; i < paths.n; i++)
                free(paths.list[i]);
        tree_remove(&tree);
        return least_us[0] <= MOST_TIMES * least_us[1] ? 0 : 1;
}
