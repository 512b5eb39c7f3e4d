/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Spots: where a guest is on a simulated host, in the same terms for all policies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cleanup.h"

/* By cell and node: [cell * n_nodes + at]. */
struct hn_spot {
        size_t n_cells, n_nodes;
        bool cells_seen;      /* the guest sees its cells and keeps to them; else all vCPUs use all memory alike */
        unsigned *vcpus;      /* of each cell */
        bool *runs;           /* nodes whose CPUs the cell's vCPUs may use */
        uint64_t *memory_kib; /* where the cell's memory is, QEMU's own included */
        double *share;        /* vCPUs of the cell that run there now; the simulator's */
};

/* -ENOMEM: NULL */
struct hn_spot *hn_spot_new(size_t n_cells, size_t n_nodes);
struct hn_spot *hn_spot_copy(const struct hn_spot *spot);
void hn_spot_free(struct hn_spot *spot);
HN_DEFINE_CLEANUP(struct hn_spot *, hn_spot_free, hn_cleanup_spot)
#define HN_SPOT HN_CLEANUP(hn_cleanup_spot)

/* Memory of all its cells on a node. */
uint64_t hn_spot_memory_kib(const struct hn_spot *spot, size_t at);

/* On how many nodes it has memory or may run. */
size_t hn_spot_width(const struct hn_spot *spot);
