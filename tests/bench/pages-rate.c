/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How fast memory is moved in batches, beside one call of migrate_pages(2) that moves the same memory at once and so
 * stalls a guest for as long.  In each round the memory goes to and fro by the one way and by the other; which is first
 * alternates.  One way to go may be slower than the other, and where the machine is emulated all is slow that is touched
 * for the first time, so there is a round before that does not count.
 *
 *   pages-rate [MIB [ROUNDS [FROM TO]]]
 *
 * Prints medians, survey and looking again included, and what the rate comes to in percent of the other's, with the
 * quartiles of the rounds: so far apart is what is measured.  Takes root and two nodes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "bench/pages-guest.h"
#include "model/clock.h"

#define ROUNDS_LIMIT 100u
#define BATCHES_LIMIT 10000u

struct batches { uint64_t us[BATCHES_LIMIT], kib[BATCHES_LIMIT]; size_t n; };

struct bench {
        struct hn_root root;
        unsigned rounds, nodes[2];
        double ours[ROUNDS_LIMIT], kernels[ROUNDS_LIMIT]; /* MiB/s */
        double percent[ROUNDS_LIMIT]; /* of a round: what both were disturbed by is in it once */
        struct batches batches;
};

static void stepped(void *data, const struct hn_pages_progress *progress)
{
        struct batches *batches = data;

        if (progress->batch_kib == 0 || batches->n == BATCHES_LIMIT)
                return;
        batches->kib[batches->n] = progress->batch_kib;
        batches->us[batches->n++] = progress->batch_us;
}

static int move_at_once(const struct guest *guest, unsigned from, unsigned to)
{
        unsigned long old[16] = { 0 }, new[16] = { 0 };
        long r;

        old[from / 64] = 1ul << from % 64;
        new[to / 64] = 1ul << to % 64;
        r = syscall(SYS_migrate_pages, (long) guest->pid, sizeof old * 8, old, new);
        return r < 0 ? -errno : 0;
}

static int move_once(struct bench *bench, const struct guest *guest, bool ours, unsigned way, uint64_t *took_us)
{
        unsigned from = bench->nodes[way], to = bench->nodes[!way];
        struct hn_pages_progress progress;
        uint64_t began_us;
        int r = run_on_node(&bench->root, 0, to);

        if (r < 0)
                return r;
        began_us = hn_monotonic_us();
        r = ours ? guest_move(guest, &bench->root, to, 0, stepped, &bench->batches, &progress)
                 : move_at_once(guest, from, to);
        if (r < 0)
                return r;
        *took_us += hn_monotonic_us() - began_us;
        r = guest_percent(guest, &bench->root, to);
        if (r >= 0 && r < 99)
                fprintf(stderr, "pages-rate: only %d %% went (%s)\n", r, ours ? "act/pages" : "migrate_pages");
        return r;
}

static int move_to_and_fro(struct bench *bench, const struct guest *guest, bool ours, double *ret_mib_per_s)
{
        uint64_t took_us = 0;
        int r = move_once(bench, guest, ours, 0, &took_us);

        if (r >= 0)
                r = move_once(bench, guest, ours, 1, &took_us);
        if (r >= 0)
                *ret_mib_per_s = 2 * (double) guest->bytes / (1u << 20) / ((double) took_us / 1e6);
        return r;
}

static int move_round(struct bench *bench, const struct guest *guest, unsigned round)
{
        bool first = round % 2 == 0;
        int r = move_to_and_fro(bench, guest, first, first ? &bench->ours[round] : &bench->kernels[round]);

        if (r >= 0)
                r = move_to_and_fro(bench, guest, !first, first ? &bench->kernels[round] : &bench->ours[round]);
        return r;
}

static int by_size(const void *a, const void *b)
{
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
        qsort(values, n, sizeof *values, by_size);
        return values[n / 2];
}

static void report(struct bench *bench, enum guest_memory kind)
{
        struct batches *batches = &bench->batches;
        double ours, kernels, percent;

        for (unsigned round = 0; round < bench->rounds; round++)
                bench->percent[round] = bench->ours[round] * 100 / bench->kernels[round];
        ours = median(bench->ours, bench->rounds);
        kernels = median(bench->kernels, bench->rounds);
        percent = median(bench->percent, bench->rounds);
        qsort(batches->us, batches->n, sizeof *batches->us, by_number);
        qsort(batches->kib, batches->n, sizeof *batches->kib, by_number);
        printf("%s: %.0f MiB/s in batches, %.0f MiB/s at once: %.0f %%, and %.0f %% by rounds (half of them %.0f to %.0f)",
               guest_memory_name(kind), ours, kernels, ours * 100 / kernels, percent, bench->percent[bench->rounds / 4],
               bench->percent[bench->rounds * 3 / 4]);
        if (batches->n > 0)
                printf("; %zu batches of %.1f MiB take %.1f ms, at most %.1f", batches->n,
                       (double) batches->kib[batches->n / 2] / 1024, (double) batches->us[batches->n / 2] / 1000,
                       (double) batches->us[batches->n - 1] / 1000);
        printf("\n");
        (void) fflush(stdout);
}

static int run(struct bench *bench, enum guest_memory kind, uint64_t bytes)
{
        struct guest guest;
        int r = guest_start(kind, bytes, bench->nodes[0], false, &guest);

        if (r == -EIO) {
                printf("%s: not measured: it could not get its memory\n", guest_memory_name(kind));
                return 0;
        }
        if (r >= 0)
                r = move_round(bench, &guest, 0);
        bench->batches.n = 0;
        for (unsigned round = 0; r >= 0 && round < bench->rounds; round++)
                r = move_round(bench, &guest, round);
        guest_stop(&guest);
        if (r >= 0)
                report(bench, kind);
        return r;
}

int main(int argc, char **argv)
{
        uint64_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
        static struct bench bench = { .nodes = { 0, 1 } };

        bench.rounds = argc > 2 ? (unsigned) strtoul(argv[2], NULL, 10) : 5;
        if (argc == 5) {
                bench.nodes[0] = (unsigned) strtoul(argv[3], NULL, 10);
                bench.nodes[1] = (unsigned) strtoul(argv[4], NULL, 10);
        }
        if (mib == 0 || bench.rounds == 0 || bench.rounds > ROUNDS_LIMIT || bench.nodes[0] > 1023 || bench.nodes[1] > 1023) {
                fprintf(stderr, "usage: pages-rate [MIB [ROUNDS [FROM TO]]]\n");
                return 2;
        }
        if (hn_root_open("/", &bench.root) < 0)
                return 1;
        for (enum guest_memory kind = 0; kind < GUEST_KINDS; kind++) {
                int r = run(&bench, kind, mib << 20);

                if (r < 0) {
                        fprintf(stderr, "pages-rate: %s: %s\n", guest_memory_name(kind), strerror(-r));
                        return 1;
                }
        }
        return 0;
}
