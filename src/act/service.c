/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/service.h"

#include <errno.h>
#include <systemd/sd-bus.h>

#include "act/bus.h"
#include "model/clock.h"

#define UNIT_PATH "/org/freedesktop/systemd1/unit"

int hn_service_changed(const struct hn_root *root, const char *address, const char *unit, uint64_t wait_us,
                       uint64_t *ret_us)
{
        HN_BUS sd_bus *bus = NULL;
        HN_FREE char *path = NULL;
        uint64_t changed_us = 0;
        int r;

        if (!root->host && !address)
                return -ENXIO;
        r = sd_bus_path_encode(UNIT_PATH, unit, &path);
        if (r >= 0)
                r = hn_bus_open(address, hn_monotonic_us() + wait_us, &bus);
        if (r >= 0)
                r = sd_bus_get_property_trivial(bus, "org.freedesktop.systemd1", path, "org.freedesktop.systemd1.Unit",
                                                "StateChangeTimestamp", NULL, 't', &changed_us);
        if (r < 0)
                return r;
        if (changed_us == 0)
                return -ENODATA;
        *ret_us = changed_us;
        return 0;
}
