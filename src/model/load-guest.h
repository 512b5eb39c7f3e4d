/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Metering a guest: from one reading of its counters (usage.h) to the next, what it and each of its thread groups use
 * and wait for, smoothed, with a trend.
 */
#pragma once

#include "model/gauge.h"
#include "model/load.h"
#include "model/placement.h"
#include "model/usage.h"

/* Two periods of the balancer: a guest that turns busy counts with 40 % of that after the first, 63 % after both. */
#define HN_LOAD_WINDOW_US (20u * 1000000u)

struct hn_metered_group {
        enum hn_group_kind kind;
        unsigned number;
        struct hn_gauge run, wait; /* CPUs */
        struct hn_gauge pressure;  /* share of the time */
};

/* Zeroed: nothing was read yet. */
struct hn_guest_meter {
        struct hn_metered_group *groups; /* as in the usage */
        size_t n_groups;
        struct hn_gauge run, wait;       /* of all together */
        struct hn_gauge cpu_pressure, memory_pressure, io_pressure;
        struct hn_guest_usage last;
        uint64_t last_us;
        bool started;
};

/* Takes the reading over on success (*usage is empty then).  now_us: any clock that does not go back.  -ENOMEM: the
 * meter is as it was. */
int hn_guest_meter_add(struct hn_guest_meter *meter, struct hn_guest_usage *usage, uint64_t now_us,
                       uint64_t window_us);

void hn_guest_meter_clear(struct hn_guest_meter *meter);
#define HN_GUEST_METER HN_CLEANUP(hn_guest_meter_clear)

/* CPUs that it uses and waits for; negative: two readings have not been made yet. */
double hn_guest_meter_busy(const struct hn_guest_meter *meter);

/* CPU time in µs between two readings (from NULL: all that there is) on those CPUs of a node that guests may use, where
 * threads run as the placement says; a guest without cells runs where it was promised CPUs. */
double hn_usage_on_node(const struct hn_guest_usage *from, const struct hn_guest_usage *to,
                        const struct hn_placement *placement, const struct hn_node *node);

/* What is published of it; false: two readings have not been made yet. */
bool hn_guest_meter_load(const struct hn_guest_meter *meter, const char *uuid, struct hn_guest_load *ret);
