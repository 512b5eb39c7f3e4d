/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/bus.h"

#include <errno.h>

#include "model/clock.h"
#include "model/cleanup.h"

/* Closed without a flush: that would wait for the other side. */
HN_DEFINE_CLEANUP(sd_bus *, (void) sd_bus_close_unref, cleanup_bus)

static uint64_t left_us(uint64_t deadline_us)
{
        uint64_t now_us = hn_monotonic_us();

        return deadline_us > now_us ? deadline_us - now_us : 0;
}

/* Until the bus has said hello, or -ETIMEDOUT. */
static int wait_ready(sd_bus *bus, uint64_t deadline_us)
{
        for (;;) {
                int r = sd_bus_is_ready(bus);
                if (r != 0)
                        return r;
                r = sd_bus_process(bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                uint64_t wait_us = left_us(deadline_us);
                if (wait_us == 0)
                        return -ETIMEDOUT;
                r = sd_bus_wait(bus, wait_us);
                if (r < 0 && r != -EINTR)
                        return r;
        }
}

static int open_directly(const char *address, sd_bus **ret)
{
        HN_CLEANUP(cleanup_bus) sd_bus *bus = NULL;
        int r = sd_bus_new(&bus);

        if (r >= 0)
                r = sd_bus_set_address(bus, address);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r >= 0)
                *ret = HN_TAKE(bus);
        return r;
}

int hn_bus_open(const char *address, uint64_t deadline_us, sd_bus **ret)
{
        HN_CLEANUP(cleanup_bus) sd_bus *bus = NULL;
        int r = address ? open_directly(address, &bus) : sd_bus_open_system_with_description(&bus, "homenode");

        if (r >= 0)
                r = wait_ready(bus, deadline_us);
        if (r < 0)
                return r;
        uint64_t wait_us = left_us(deadline_us);
        if (wait_us == 0)
                return -ETIMEDOUT;
        r = sd_bus_set_method_call_timeout(bus, wait_us);
        if (r < 0)
                return r;
        *ret = HN_TAKE(bus);
        return 0;
}
