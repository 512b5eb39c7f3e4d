/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cutting: how many cells a domain needs on the idle host, and how large each is.
 */
#pragma once

#include "decide/shape.h"

/* A cut under way: n cells, counted in guest cores and in granules of memory. */
struct hn_cut {
        const struct hn_host *host;
        const struct hn_policy *policy;
        const struct hn_request *request;
        const size_t *nodes;          /* those it may use, by `at`, ascending */
        size_t n_nodes;
        unsigned threads;             /* of a guest core */
        uint64_t page_kib, granule_kib, overhead_kib;
        uint64_t n_cores, n_granules; /* of the whole domain */
        uint64_t *cores, *granules;   /* of each cell */
};

/* -ENOMEM; to be ended in any case. */
int hn_cut_start(const struct hn_host *host, const struct hn_policy *policy, const struct hn_request *request,
                 struct hn_cut *ret);
void hn_cut_end(struct hn_cut *cut);

/* How many cells, with the cut made; 1: it stays whole.  -ENOMEM. */
int hn_cut_choose(struct hn_cut *cut, size_t *ret_n);

/* Memory of the i-th cell. */
uint64_t hn_cut_memory_kib(const struct hn_cut *cut, size_t i);
