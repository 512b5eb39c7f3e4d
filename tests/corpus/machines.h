/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The recorded machines, and what there is to be found in them.
 */
#pragma once

#include "model/host.h"

#define HOMES 24 /* at most, on one machine */

struct expected_home { unsigned os; const char *cpus; uint64_t memory_kib; };

struct expected {
        const char *file;
        enum hn_distance_source distances;
        size_t nodes, cores, threads, caches, devices; /* homes' cores and threads */
        struct expected_home homes[HOMES];             /* up to the first without CPUs */
};

extern const struct expected machines[];
extern const size_t n_machines;
