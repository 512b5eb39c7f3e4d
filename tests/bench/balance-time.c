/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What deciding on moves costs: CPU time of one period, the median of several, for 100, 1,000 and 10,000 guests on 16
 * nodes.  Quiet: a host that needs no move (most of the time); crowded: half of the guests were put on a quarter of the
 * nodes, so that there is always something to move, two groups per period, and their placements are made as well.
 * Fails where 1,000 guests take more than 5 ms in either.
 */
#include <stdio.h>
#include <time.h>

#include "unit/support/test.h"
#include "unit/support/yard.h"

#define NODES 16u
#define ROUNDS 31u
#define MOST_MS 5.0

static uint64_t drawn = 1;

static unsigned draw(unsigned limit)
{
        drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned) (drawn >> 33) % limit;
}

static double cpu_ms(void)
{
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Putting them one by one costs the square of their number: each but the first on a node is made after the first. */
static void put_like(struct yard *yard, size_t like, unsigned number, double busy)
{
        size_t i = yard->n;

        yard->requests[i] = vm(number, yard->requests[like]->vcpus_max, yard->requests[like]->memory_kib);
        yard->placements[i] = hn_placement_copy(yard->placements[like]);
        assert_non_null(yard->placements[i]);
        (void) snprintf(yard->placements[i]->uuid, sizeof yard->placements[i]->uuid, "%s", yard->requests[i]->uuid);
        yard->guests[i] = (struct hn_balance_guest) { .request = yard->requests[i], .shape = yard->guests[like].shape,
                                                      .placement = yard->placements[i], .busy_cpus = busy };
        yard->input.n_guests = ++yard->n;
}

static struct yard *make(unsigned guests, bool crowded)
{
        const struct host_plan plan = { .nodes = NODES, .cores = 64, .threads = 2,
                                        .memory_kib = (uint64_t) guests * 2 * GIB };
        struct yard *yard = yard_of(host_of(&plan));
        double busy = 1000.0 / guests; /* together they are as busy, however many */

        for (unsigned node = 0; node < NODES; node++) {
                char text[16];

                (void) snprintf(text, sizeof text, "%u", node);
                assert_true(yard_put(yard, vm(node, 4, 4 * GIB), text, busy));
        }
        for (unsigned i = NODES; i < guests; i++)
                put_like(yard, crowded && i % 2 ? i % (NODES / 4) : i % NODES, i,
                         crowded ? busy * draw(400) / 100 : busy);
        return yard;
}

static int ascending(const void *a, const void *b)
{
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

static double measure(unsigned guests, bool crowded)
{
        struct yard *yard = make(guests, crowded);
        double times[ROUNDS];
        size_t moves = 0, scored = 0;

        for (unsigned i = 0; i < ROUNDS; i++) {
                HN_MOVES struct hn_moves found = { 0 };
                double begun = cpu_ms();

                assert_int_equal(hn_balance(&yard->input, &found), 0);
                times[i] = cpu_ms() - begun;
                yard_apply(yard, &found);
                yard->input.now_us += 10 * SECOND_US;
                moves += found.n;
                scored += found.scored;
        }
        qsort(times, ROUNDS, sizeof *times, ascending);
        (void) printf("%6u guests, %-8s %8.2f ms, at most %8.2f ms; %5.1f moves and %7.0f layouts scored per period\n",
                      guests, crowded ? "crowded:" : "quiet:", times[ROUNDS / 2], times[ROUNDS - 1],
                      (double) moves / ROUNDS, (double) scored / ROUNDS);
        yard_free(yard);
        return times[ROUNDS / 2];
}

int main(void)
{
        static const unsigned sizes[] = { 100, 1000, 10000 };
        bool slow = false;

        (void) printf("Deciding on moves, %u nodes, median of %u periods\n", NODES, ROUNDS);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                for (unsigned crowded = 0; crowded < 2; crowded++) {
                        double ms = measure(sizes[i], crowded);

                        slow |= sizes[i] == 1000 && ms > MOST_MS;
                }
        if (slow)
                (void) printf("1,000 guests take more than %.0f ms\n", MOST_MS);
        return slow ? 1 : 0;
}
