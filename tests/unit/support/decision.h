/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Decisions made by hand.
 */
#pragma once

#include "decide/decide.h"

struct cell_spec {
        const char *vcpus;
        uint64_t memory_kib;
        const char *nodes, *cpus;
};

/* A placed decision of n cells with distance 20 between them; the emulator's CPUs are those of all cells, the
 * memory set is that of all nodes.  `given`: the shape's cells stand in the XML. */
struct hn_decision *decision_of(const struct cell_spec *cells, size_t n, bool given);
