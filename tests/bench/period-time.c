/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a period of balancing costs: 50 guests of 4 vCPUs on 4 nodes are measured, told of where that has changed, and
 * balanced, on constant load.  CPU time, the median of many periods.  The tree is made in /dev/shm (or $TMPDIR): what the
 * kernel takes to make up its own files comes besides.
 */
#include <stdio.h>
#include <time.h>

#include "daemon/balancing.h"
#include "daemon/guard.h"
#include "unit/support/herd.h"

#define GUESTS 50u
#define PERIODS 60u

static struct herd herd;

static uint64_t now_us(void *data)
{
        (void) data;
        return herd.now_s * UINT64_C(1000000);
}

static int begin(void *data, const struct hn_move *moves, size_t n)
{
        (void) data;
        (void) moves;
        (void) n;
        return -EBUSY;
}

static const char *none(void *data)
{
        (void) data;
        return "";
}

static bool is_moving(void *data, const char *uuid)
{
        (void) data;
        (void) uuid;
        return false;
}

static uint64_t no_rate(void *data)
{
        (void) data;
        return 0;
}

static int occupied(void *data, const char *uuid, const char **ret_why)
{
        (void) data;
        (void) uuid;
        (void) ret_why;
        return 0;
}

static double cpu_us(void)
{
        struct timespec now = { 0 };

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

int main(void)
{
        const struct hn_balancing_door door = { NULL, now_us, begin, none, is_moving, no_rate, occupied };
        HN_BALANCING struct hn_balancing *balancing = NULL;
        double turn_us[PERIODS], watch_us[PERIODS];

        (void) setenv("TMPDIR", "/dev/shm", 0);
        herd_make(&herd, 4, 16);
        for (unsigned i = 0; i < GUESTS; i++)
                (void) herd_start(&herd, 4, 128u << 10, i % 4, 0.1 * (i % 5));
        assert_int_equal(hn_balancing_new(herd.keeper, &door, &balancing), 0);
        for (unsigned i = 0; i < PERIODS; i++) {
                double before_us;

                herd_pass(&herd, 10);
                before_us = cpu_us();
                hn_balancing_turn(balancing);
                turn_us[i] = cpu_us() - before_us;
                herd_pass(&herd, 1);
                before_us = cpu_us();
                (void) hn_balancing_watch(balancing);
                watch_us[i] = cpu_us() - before_us;
        }
        qsort(turn_us, PERIODS, sizeof *turn_us, by_size);
        qsort(watch_us, PERIODS, sizeof *watch_us, by_size);
        (void) printf("a period over %u guests: %.0f us of CPU; a look at the nodes' free memory: %.0f us\n", GUESTS,
                      turn_us[PERIODS / 2], watch_us[PERIODS / 2]);
        hn_balancing_free(balancing);
        balancing = NULL;
        herd_end(&herd);
        return 0;
}
