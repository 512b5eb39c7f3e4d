/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What systemd knows about services of others.
 */
#pragma once

#include <stdint.h>

#include "model/root.h"

/* When the unit last changed its state: was started, or had its configuration reloaded (it is "reloading" meanwhile), by
 * the wall clock.  Waits at most `wait_us`.  `address` as in hn_bus_open.  -ENXIO: a recorded tree, without an address;
 * -ENODATA: it never changed; -EINVAL: no unit's name; others: systemd does not answer. */
int hn_service_changed(const struct hn_root *root, const char *address, const char *unit, uint64_t wait_us,
                       uint64_t *ret_us);
