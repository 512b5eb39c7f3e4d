/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/bus.h"

#include <errno.h>

#include "act/libsystemd.h"
#include "model/clock.h"

static uint64_t left_us(uint64_t deadline_us)
{
        uint64_t now_us = hn_monotonic_us();

        return deadline_us > now_us ? deadline_us - now_us : 0;
}

/* Until the bus has said hello, or -ETIMEDOUT. */
static int wait_ready(const struct hn_libsystemd *sd, sd_bus *bus, uint64_t deadline_us)
{
        for (;;) {
                int r = sd->is_ready(bus);
                if (r != 0)
                        return r;
                r = sd->process(bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                uint64_t wait_us = left_us(deadline_us);
                if (wait_us == 0)
                        return -ETIMEDOUT;
                r = sd->wait(bus, wait_us);
                if (r < 0 && r != -EINTR)
                        return r;
        }
}

static int open_directly(const struct hn_libsystemd *sd, const char *address, sd_bus **ret)
{
        HN_BUS sd_bus *bus = NULL;
        int r = sd->new(&bus);

        if (r >= 0)
                r = sd->set_address(bus, address);
        if (r >= 0)
                r = sd->start(bus);
        if (r >= 0)
                *ret = HN_TAKE(bus);
        return r;
}

int hn_bus_open(const char *address, uint64_t deadline_us, sd_bus **ret)
{
        const struct hn_libsystemd *sd = NULL;
        HN_BUS sd_bus *bus = NULL;
        int r = hn_libsystemd_load(&sd);

        if (r < 0)
                return r;
        r = address ? open_directly(sd, address, &bus) : sd->open_system_with_description(&bus, "homenode");
        if (r >= 0)
                r = wait_ready(sd, bus, deadline_us);
        if (r < 0)
                return r;
        uint64_t wait_us = left_us(deadline_us);
        if (wait_us == 0)
                return -ETIMEDOUT;
        r = sd->set_method_call_timeout(bus, wait_us);
        if (r < 0)
                return r;
        *ret = HN_TAKE(bus);
        return 0;
}

void hn_bus_close(sd_bus *bus)
{
        const struct hn_libsystemd *sd = NULL;

        if (bus && hn_libsystemd_load(&sd) >= 0)
                (void) sd->close_unref(bus);
}
