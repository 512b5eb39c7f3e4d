/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t read_clock_us(clockid_t clock)
{
        struct timespec now = { 0 };

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
}

uint64_t hn_monotonic_us(void)
{
        return read_clock_us(CLOCK_MONOTONIC);
}

uint64_t hn_boottime_us(void)
{
        return read_clock_us(CLOCK_BOOTTIME);
}

void hn_sleep_ms(unsigned ms)
{
        struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000 };

        while (nanosleep(&left, &left) < 0 && errno == EINTR)
                ;
}
