/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/fit.h"

#include <errno.h>
#include <string.h>

uint64_t hn_overhead_kib(const struct hn_policy *policy, uint64_t memory_kib)
{
        uint64_t begun = memory_kib / HN_GIB_KIB + (memory_kib % HN_GIB_KIB ? 1 : 0);

        return hn_add(policy->overhead_first_kib,
                      hn_multiply(policy->overhead_per_gib_kib, hn_subtract(begun, 1)));
}

uint64_t hn_capacity_milli(const struct hn_policy *policy, const struct hn_node *node)
{
        uint64_t further = hn_subtract(node->n_threads, node->n_cores);

        if (node->role != HN_NODE_HOME)
                return 0;
        return node->n_cores * UINT64_C(1000) + further * policy->smt_percent * 10;
}

uint64_t hn_reserve_kib(const struct hn_policy *policy, const struct hn_node *node)
{
        uint64_t share = node->memory_kib / 100 * policy->reserve_percent
                         + node->memory_kib % 100 * policy->reserve_percent / 100;

        return share < policy->reserve_max_kib ? share : policy->reserve_max_kib;
}

uint64_t hn_usable_kib(const struct hn_policy *policy, const struct hn_node *node, uint64_t page_kib)
{
        const struct hn_pool *pool;

        if (!page_kib)
                return hn_subtract(node->memory_kib, hn_reserve_kib(policy, node));
        pool = hn_node_pool(node, page_kib);
        return pool ? hn_multiply(pool->total_pages, page_kib) : 0;
}

bool hn_fits_idle(const struct hn_policy *policy, const struct hn_node *node, unsigned vcpus,
                  uint64_t memory_kib, uint64_t page_kib, uint64_t overhead_kib)
{
        if (vcpus * UINT64_C(1000) > hn_capacity_milli(policy, node))
                return false;
        if (!page_kib)
                return hn_add(memory_kib, overhead_kib) <= hn_usable_kib(policy, node, 0);
        return memory_kib <= hn_usable_kib(policy, node, page_kib)
               && overhead_kib <= hn_usable_kib(policy, node, 0);
}

/* The host's default size is not recorded: the usual one where such a pool exists, else the smallest. */
static uint64_t default_page_kib(const struct hn_host *host)
{
        uint64_t smallest = 0;

        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_node *node = &host->nodes[at];

                for (size_t i = 0; node->role == HN_NODE_HOME && i < node->n_pools; i++) {
                        uint64_t page = node->pools[i].page_kib;

                        if (!node->pools[i].total_pages || !page)
                                continue;
                        if (page == HN_PAGE_DEFAULT_KIB)
                                return page;
                        if (!smallest || page < smallest)
                                smallest = page;
                }
        }
        return smallest ? smallest : HN_PAGE_DEFAULT_KIB;
}

uint64_t hn_page_kib(const struct hn_host *host, const struct hn_request *request, uint64_t cell_page_kib)
{
        if (cell_page_kib)
                return cell_page_kib;
        if (request->page_kib)
                return request->page_kib;
        return request->page_default ? default_page_kib(host) : 0;
}

uint64_t hn_plugged_page_kib(const struct hn_host *host, const struct hn_request *request,
                             const struct hn_plugged *plugged)
{
        uint64_t cell_page_kib = plugged->cell < request->n_cells ? request->cells[plugged->cell].page_kib : 0;

        return plugged->page_given ? plugged->page_kib : hn_page_kib(host, request, cell_page_kib);
}

uint64_t hn_growth_kib(const struct hn_request *request)
{
        uint64_t now_kib = request->memory_kib;

        for (size_t i = 0; i < request->n_cells; i++)
                now_kib = hn_add(now_kib, request->cells[i].devices_kib);
        for (size_t i = 0; i < request->n_plugged; i++)
                now_kib = hn_add(now_kib, request->plugged[i].memory_kib);
        return hn_subtract(request->memory_max_kib, now_kib);
}

uint64_t hn_whole_pages_kib(uint64_t kib, uint64_t page_kib)
{
        return page_kib && kib % page_kib ? hn_add(kib, page_kib - kib % page_kib) : kib;
}

unsigned hn_host_threads(const struct hn_host *host)
{
        unsigned threads = 0;

        for (size_t i = 0; i < host->n_cores; i++) {
                unsigned n = hn_idset_count(host->cores[i].threads);

                if (threads && n != threads)
                        return 1;
                threads = n;
        }
        return threads ? threads : 1;
}

int hn_candidates(const struct hn_host *host, const struct hn_request *request, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = hn_host_homes(host);
        HN_BITMAP hwloc_bitmap_t both = hwloc_bitmap_alloc();

        if (!nodes || !both)
                return -ENOMEM;
        if (request->numatune_nodes && hwloc_bitmap_and(nodes, nodes, request->numatune_nodes) < 0)
                return -ENOMEM;
        if (request->wishes.nodes) {
                if (hwloc_bitmap_and(both, nodes, request->wishes.nodes) < 0)
                        return -ENOMEM;
                if (!request->numatune_nodes || !hwloc_bitmap_iszero(both)) {
                        *ret = HN_TAKE(both);
                        return 0;
                }
        }
        *ret = HN_TAKE(nodes);
        return 0;
}

/* The first cut, rounded down: never more than the share, the cap or what is left. */
static uint64_t split_down(uint64_t total, uint64_t granule, const uint64_t *weights, const uint64_t *caps,
                           size_t n, uint64_t *shares)
{
        uint64_t left = total;
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += (double) weights[i];
        for (size_t i = 0; i < n; i++) {
                double exact = sum > 0 ? (double) total * ((double) weights[i] / sum) : 0;
                uint64_t share = exact >= (double) left ? left : (uint64_t) exact;

                if (caps && share > caps[i])
                        share = caps[i];
                share -= share % granule;
                shares[i] = share;
                left -= share;
        }
        return left;
}

/* Hands out what rounding left over, `step` at a time and in order, where weight and cap allow it. */
static uint64_t split_rest(uint64_t left, uint64_t step, const uint64_t *weights, const uint64_t *caps,
                           size_t n, uint64_t *shares)
{
        bool given = true;

        while (left >= step && given) {
                given = false;
                for (size_t i = 0; i < n && left >= step; i++) {
                        if (!weights[i] || (caps && caps[i] - shares[i] < step))
                                continue;
                        shares[i] += step;
                        left -= step;
                        given = true;
                }
        }
        return left;
}

bool hn_split(uint64_t total, uint64_t granule, const uint64_t *weights, const uint64_t *caps, size_t n,
              uint64_t *ret_shares)
{
        uint64_t left = split_down(total, granule, weights, caps, n, ret_shares);

        left = split_rest(left, granule, weights, caps, n, ret_shares);
        for (size_t i = 0; i < n && left; i++) {
                uint64_t part = caps && caps[i] - ret_shares[i] < left ? caps[i] - ret_shares[i] : left;

                if (!weights[i])
                        continue;
                ret_shares[i] += part;
                left -= part;
        }
        return left == 0;
}
