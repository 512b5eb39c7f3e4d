/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a start costs: the hook's `prepare` on a host of 64 nodes and 512 CPUs with 500 guests in the ledger, against
 * an empty program's fork and exec, alternating in one run; first without what the daemon publishes, then with it.  The tree is made in /dev/shm (or $TMPDIR): the real
 * /run, /proc and /sys are in memory, too.
 *
 *   hook-time HOOK EMPTY [ROUNDS]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "model/clock.h"
#include "model/json.h"
#include "model/load.h"
#include "store/ledger.h"
#include "store/published.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define NODES 64u
#define CORES 4u
#define THREADS 2u
#define GUESTS 500u
#define HUGEPAGES "/sys/kernel/mm/hugepages"
#define BOOT_ID "11111111-2222-3333-4444-555555555555"

static void put_guest(struct tree *tree, struct hn_ledger *ledger, unsigned i)
{
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);
        unsigned node = i % NODES;
        char path[128], stat[256];

        assert_non_null(entry);
        entry->placement = hn_placement_new();
        (void) snprintf(entry->placement->uuid, sizeof entry->placement->uuid, "00000000-0000-4000-8000-%012x", i);
        assert_true(asprintf(&entry->placement->name, "guest-%u", i) > 0);
        entry->placement->cells = calloc(1, sizeof *entry->placement->cells);
        entry->placement->n_cells = 1;
        entry->placement->cells[0] = (struct hn_placed_cell) { .vcpus = set_of("0-1"), .nodes = hwloc_bitmap_alloc(),
                                                               .cpus = hwloc_bitmap_alloc(), .memory_kib = 524288 };
        hwloc_bitmap_only(entry->placement->cells[0].nodes, node);
        hwloc_bitmap_set_range(entry->placement->cells[0].cpus, node * CORES, (int) (node * CORES + CORES - 1));
        hwloc_bitmap_copy(entry->placement->emulator_cpus, entry->placement->cells[0].cpus);
        hwloc_bitmap_only(entry->placement->home, node);
        hwloc_bitmap_only(entry->placement->memory_nodes, node);
        const struct hn_promise promise = { node, 557056, 0, 2000 };
        assert_int_equal(hn_placement_promise(entry->placement, &promise), 0);
        entry->state = HN_ENTRY_STARTED;
        memcpy(entry->boot_id, BOOT_ID, sizeof BOOT_ID);
        entry->written_us = hn_boottime_us();
        entry->domain_id = (long) i + 1;
        entry->pid = (int) i + 1000;
        entry->start_ticks = i;
        entry->managed = true;
        assert_true(asprintf(&entry->unit, "machine-qemu\\x2d%u\\x2dguest\\x2d%u.scope", i + 1, i) > 0);
        entry->reason = strdup("fits one node");
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);

        (void) snprintf(path, sizeof path, "/proc/%d/stat", entry->pid);
        (void) snprintf(stat, sizeof stat, "%d (qemu-system-x86) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 %u 0 0\n",
                        entry->pid, i);
        tree_put(tree, path, stat);
        (void) snprintf(path, sizeof path, "/sys/fs/cgroup/machine.slice/%s/memory.numa_stat", entry->unit);
        (void) snprintf(stat, sizeof stat, "anon N%u=536870912\nfile N%u=0\nshmem N%u=0\n", node, node, node);
        tree_put(tree, path, stat);
}

static void put_host(struct tree *tree)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;

        host_tree_put(tree, NODES, CORES, THREADS); /* a page of 1 GiB on each node, none of 2 MiB */
        tree_put(tree, HUGEPAGES "/hugepages-2048kB/nr_hugepages", "0\n");
        tree_put(tree, HUGEPAGES "/hugepages-1048576kB/nr_hugepages", "64\n");
        tree_put(tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(tree, "/run/homenode/systemd-version", BOOT_ID " 257\n");
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 1000000), 0);
        for (unsigned i = 0; i < GUESTS; i++)
                put_guest(tree, ledger, i);
}

/* What a daemon that lives has published; it is held until the descriptor is closed. */
static int publish(struct tree *tree)
{
        HN_HOST struct hn_host *host = NULL;
        HN_LOAD struct hn_load *load = calloc(1, sizeof *load);
        HN_JSON struct json_object *state = NULL;
        int held;

        assert_int_equal(hn_host_from_cache(&tree->root, true, &host), 0);
        for (unsigned node = 0; node < NODES; node++)
                assert_int_equal(hn_load_add_node(load, node, 1.25), 0);
        assert_int_equal(hn_load_to_state(host, load, BOOT_ID, 1, &state), 0);
        tree_put(tree, HN_PUBLISHED_PATH, json_object_to_json_string_ext(state, JSON_C_TO_STRING_PLAIN));
        held = hn_published_hold(&tree->root);
        assert_true(held >= 0);
        return held;
}

static void put_domain(struct tree *tree, unsigned round)
{
        char xml[1024];

        (void) snprintf(xml, sizeof xml,
                        "<domain type='kvm' id='%u'><name>new-%u</name>"
                        "<uuid>00000000-0000-4000-8000-ffff%08x</uuid><memory unit='MiB'>2048</memory>"
                        "<vcpu>4</vcpu><os><type arch='x86_64' machine='q35'>hvm</type></os></domain>\n",
                        round + 1000, round, round);
        tree_put(tree, "/domain.xml", xml);
}

static uint64_t cpu_us(const struct rusage *usage)
{
        return (uint64_t) (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
               (uint64_t) (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

struct cost {
        uint64_t wall_us, cpu_us;
};

/* What a program takes from before the fork until it is gone, its children included. */
static struct cost run(struct tree *tree, char *const arguments[])
{
        struct rusage before, after;
        posix_spawn_file_actions_t actions;
        char path[300];
        pid_t pid;
        int status;

        (void) snprintf(path, sizeof path, "%s/domain.xml", tree->path);
        assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
        assert_int_equal(posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0), 0);
        assert_int_equal(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0), 0);
        (void) getrusage(RUSAGE_CHILDREN, &before);
        uint64_t before_us = hn_monotonic_us();
        assert_int_equal(posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        struct cost cost = { .wall_us = hn_monotonic_us() - before_us };
        (void) getrusage(RUSAGE_CHILDREN, &after);
        cost.cpu_us = cpu_us(&after) - cpu_us(&before);
        assert_int_equal(status, 0);
        (void) posix_spawn_file_actions_destroy(&actions);
        return cost;
}

static int by_size(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

static double median_ms(uint64_t *times_us, unsigned n)
{
        qsort(times_us, n, sizeof *times_us, by_size);
        return (double) times_us[n / 2] / 1000;
}

/* Medians of wall and CPU time over the rounds. */
static void report(const char *name, const struct cost *costs, unsigned n, double ret_ms[2])
{
        HN_FREE uint64_t *times_us = calloc(n, sizeof *times_us);

        assert_non_null(times_us);
        for (unsigned i = 0; i < n; i++)
                times_us[i] = costs[i].wall_us;
        ret_ms[0] = median_ms(times_us, n);
        for (unsigned i = 0; i < n; i++)
                times_us[i] = costs[i].cpu_us;
        ret_ms[1] = median_ms(times_us, n);
        printf("%-24s %8.2f ms %8.2f ms CPU\n", name, ret_ms[0], ret_ms[1]);
}

static void time_starts(struct tree *tree, char *program, char *empty_program, unsigned rounds, const char *how)
{
        char *empty[] = { empty_program, NULL };
        HN_FREE struct cost *hook = calloc(rounds, sizeof *hook), *nothing = calloc(rounds, sizeof *nothing);
        double hook_ms[2], nothing_ms[2];

        assert_true(hook && nothing);
        /* The first prepare of a boot also makes the record of the topology. */
        for (unsigned i = 0; i < rounds + 1; i++) {
                char name[32];
                char *prepare[] = { program, name, (char *) "prepare", (char *) "begin", (char *) "-", NULL };
                char *release[] = { program, name, (char *) "release", (char *) "end", (char *) "-", NULL };

                (void) snprintf(name, sizeof name, "new-%u", i);
                put_domain(tree, i);
                hook[i % rounds] = run(tree, prepare);
                nothing[i % rounds] = run(tree, empty);
                (void) run(tree, release);
        }
        printf("%u nodes, %u CPUs, %u guests in %s; medians of %u starts%s:\n", NODES, NODES * CORES * THREADS, GUESTS,
               getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", rounds, how);
        report("prepare", hook, rounds, hook_ms);
        report("an empty program", nothing, rounds, nothing_ms);
        printf("%-24s %8.2f ms %8.2f ms CPU\n", "more by", hook_ms[0] - nothing_ms[0], hook_ms[1] - nothing_ms[1]);
}

int main(int argc, char **argv)
{
        unsigned rounds = argc > 3 ? (unsigned) strtoul(argv[3], NULL, 10) : 200;
        struct tree tree;

        if (argc < 3 || rounds == 0 || rounds > 100000) {
                fprintf(stderr, "usage: hook-time HOOK EMPTY [ROUNDS]\n");
                return 2;
        }
        if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0)
                assert_int_equal(setenv("TMPDIR", "/dev/shm", 1), 0);
        tree_make(&tree);
        put_host(&tree);
        assert_int_equal(setenv("HOMENODE_ROOT", tree.path, 1), 0);
        time_starts(&tree, argv[1], argv[2], rounds, "");
        HN_CLOSE int held = publish(&tree);
        time_starts(&tree, argv[1], argv[2], rounds, " with what is published");
        tree_remove(&tree);
        return 0;
}
