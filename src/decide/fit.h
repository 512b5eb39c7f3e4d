/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Fitting: what a node can carry by its build, what a domain needs, and which nodes it may use.
 */
#pragma once

#include "model/domain.h"
#include "model/host.h"
#include "model/policy.h"

#define HN_MIB_KIB UINT64_C(1024)
#define HN_GIB_KIB (UINT64_C(1024) * HN_MIB_KIB)

/* What <hugepages/> without a size means where the host shows no pool: the default of x86. */
#define HN_PAGE_DEFAULT_KIB UINT64_C(2048)

/* a + b and a - b that stop at the ends of the range: sizes come from XML and state files. */
static inline uint64_t hn_add(uint64_t a, uint64_t b)
{
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t hn_subtract(uint64_t a, uint64_t b)
{
        return a > b ? a - b : 0;
}

/* A part (0 to 1) of an amount: not more than there is, however doubles round. */
static inline uint64_t hn_part_of(uint64_t amount, double part)
{
        double share = (double) amount * part;

        return share >= (double) amount ? amount : (uint64_t) share;
}

static inline uint64_t hn_multiply(uint64_t a, uint64_t b)
{
        return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* QEMU's own memory for a guest of that size; ordinary memory, also where the guest has huge pages. */
uint64_t hn_overhead_kib(const struct hn_policy *policy, uint64_t memory_kib);

/* vCPUs × 1000 that a node carries without sharing: cores, and a part for every further SMT thread.
 * 0 for nodes that are no home. */
uint64_t hn_capacity_milli(const struct hn_policy *policy, const struct hn_node *node);

/* Memory of a node that is never promised. */
uint64_t hn_reserve_kib(const struct hn_policy *policy, const struct hn_node *node);

/* Memory of that page size (0: ordinary) that may be promised on the node when the host is idle: without
 * the reserve, or the whole pool.  Also for nodes that are no home. */
uint64_t hn_usable_kib(const struct hn_policy *policy, const struct hn_node *node, uint64_t page_kib);

/* Would it fit on this node of the idle host?  overhead_kib is ordinary memory. */
bool hn_fits_idle(const struct hn_policy *policy, const struct hn_node *node, unsigned vcpus,
                  uint64_t memory_kib, uint64_t page_kib, uint64_t overhead_kib);

/* The page size of one cell (cell_page_kib as in the request, 0: none of its own); 0: ordinary pages. */
uint64_t hn_page_kib(const struct hn_host *host, const struct hn_request *request, uint64_t cell_page_kib);

/* The page size of a memory device that names its nodes: its own, or its cell's. */
uint64_t hn_plugged_page_kib(const struct hn_host *host, const struct hn_request *request,
                             const struct hn_plugged *plugged);

/* What may be plugged in later, beyond what the guest has at its start. */
uint64_t hn_growth_kib(const struct hn_request *request);

/* Rounded up to whole pages of that size (0: ordinary, as it is). */
uint64_t hn_whole_pages_kib(uint64_t kib, uint64_t page_kib);

/* Threads of each core, 1 where cores differ. */
unsigned hn_host_threads(const struct hn_host *host);

/* The home nodes that the domain may use: within its wishes and the user's numatune.  Where the two
 * contradict each other numatune wins, for libvirt obeys it in any case.  May come out empty.  -ENOMEM. */
int hn_candidates(const struct hn_host *host, const struct hn_request *request, hwloc_bitmap_t *ret);

/* Cuts `total` into shares in proportion to weights[], in whole granules where that is possible, none
 * above caps[] (NULL: no caps).  The shares add up to `total`.  False: the caps do not hold it. */
bool hn_split(uint64_t total, uint64_t granule, const uint64_t *weights, const uint64_t *caps, size_t n,
              uint64_t *ret_shares);
