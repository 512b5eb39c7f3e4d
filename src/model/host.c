/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/host.h"

#include "model/host-facts.h"

void hn_host_free(struct hn_host *host)
{
        if (!host)
                return;
        for (size_t i = 0; i < host->n_nodes; i++) {
                hwloc_bitmap_free(host->nodes[i].cpus);
                hwloc_bitmap_free(host->nodes[i].isolated);
                free(host->nodes[i].pools);
        }
        for (size_t i = 0; i < host->n_cores; i++)
                hwloc_bitmap_free(host->cores[i].threads);
        for (size_t i = 0; i < host->n_caches; i++)
                hwloc_bitmap_free(host->caches[i].cpus);
        free(host->source);
        free(host->nodes);
        free(host->distances);
        free(host->cores);
        free(host->caches);
        free(host->devices);
        hwloc_bitmap_free(host->isolated);
        hwloc_bitmap_free(host->offline);
        hwloc_bitmap_free(host->allowed_cpus);
        hwloc_bitmap_free(host->allowed_nodes);
        hn_facts_free(host->facts);
        free(host);
}

int hn_host_at(const struct hn_host *host, unsigned os)
{
        /* Ascending numbers without a gap, as nearly everywhere: asked for every promise of every guest. */
        if (os < host->n_nodes && host->nodes[os].os == os)
                return (int) os;
        for (size_t at = 0; at < host->n_nodes; at++)
                if (host->nodes[at].os == os)
                        return (int) at;
        return -1;
}

unsigned hn_host_distance(const struct hn_host *host, unsigned os_a, unsigned os_b)
{
        int a = hn_host_at(host, os_a), b = hn_host_at(host, os_b);

        return a < 0 || b < 0 ? HN_DISTANCE_REMOTE : host->distances[(size_t) a * host->n_nodes + (size_t) b];
}

hwloc_bitmap_t hn_host_homes(const struct hn_host *host)
{
        HN_BITMAP hwloc_bitmap_t homes = hwloc_bitmap_alloc();

        if (!homes)
                return NULL;
        for (size_t at = 0; at < host->n_nodes; at++)
                if (host->nodes[at].role == HN_NODE_HOME && hwloc_bitmap_set(homes, host->nodes[at].os) < 0)
                        return NULL;
        return HN_TAKE(homes);
}

const struct hn_pool *hn_node_pool(const struct hn_node *node, uint64_t page_kib)
{
        for (size_t i = 0; i < node->n_pools; i++)
                if (node->pools[i].page_kib == page_kib)
                        return &node->pools[i];
        return NULL;
}

void hn_node_set_free(struct hn_node *node, uint64_t measured_kib, uint64_t held_kib)
{
        uint64_t used_kib = node->memory_kib > measured_kib ? node->memory_kib - measured_kib : 0;

        node->free_kib = measured_kib + (held_kib < used_kib ? held_kib : used_kib);
}

void hn_host_credit_pages(struct hn_host *host, unsigned os, uint64_t page_kib, uint64_t memory_kib)
{
        int at = hn_host_at(host, os);

        for (size_t i = 0; at >= 0 && i < host->nodes[at].n_pools; i++) {
                struct hn_pool *pool = &host->nodes[at].pools[i];
                uint64_t taken = pool->total_pages - pool->free_pages, pages = memory_kib / pool->page_kib;

                if (pool->page_kib == page_kib)
                        pool->free_pages += pages < taken ? pages : taken;
        }
}
