/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Connecting to systemd in bounded time: libsystemd's own limits are 90 s to log in and 25 s a call.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "model/cleanup.h"

/* Connects to the system bus (`address` NULL) or directly to what listens at an address, and waits until it has said
 * hello; calls that name no time of their own get what is left until `deadline_us` (hn_monotonic_us).
 * -ETIMEDOUT and others. */
int hn_bus_open(const char *address, uint64_t deadline_us, sd_bus **ret);

/* Without a flush: that would wait for the other side. */
void hn_bus_close(sd_bus *bus);
HN_DEFINE_CLEANUP(sd_bus *, hn_bus_close, hn_cleanup_bus)
#define HN_BUS HN_CLEANUP(hn_cleanup_bus)
