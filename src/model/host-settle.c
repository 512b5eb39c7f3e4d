/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From facts to the host that guests may use: roles, CPUs, cores.
 */
#include "model/host-facts.h"

#include <errno.h>
#include <string.h>

struct settling {
        const struct hn_facts *facts;
        struct hn_host *host;
        hwloc_bitmap_t usable; /* allowed, online, not isolated */
        hwloc_bitmap_t isolated; /* allowed, online, isolated */
        int *home_of;          /* index of the home node by CPU, -1: not for guests */
};

static uint64_t pools_kib(const struct hn_fact_node *node)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < node->n_pools; i++)
                sum += node->pools[i].total_pages * node->pools[i].page_kib;
        return sum;
}

static enum hn_node_role role_of(const struct settling *s, const struct hn_fact_node *node)
{
        if (hwloc_bitmap_iszero(node->cpus))
                return HN_NODE_NO_CPUS;
        if (!node->memory_kib)
                return HN_NODE_NO_MEMORY;
        if (!hwloc_bitmap_isset(s->facts->allowed_nodes, node->os) ||
            !hwloc_bitmap_intersects(node->cpus, s->usable))
                return HN_NODE_FORBIDDEN;
        return HN_NODE_HOME;
}

static int settle_node(const struct settling *s, const struct hn_fact_node *from, struct hn_node *to)
{
        uint64_t in_pools = pools_kib(from);

        to->os = from->os;
        to->role = role_of(s, from);
        to->memory_kib = from->memory_kib > in_pools ? from->memory_kib - in_pools : 0;
        to->free_kib = from->free_kib < to->memory_kib ? from->free_kib : to->memory_kib;
        to->n_pools = from->n_pools;
        to->pools = hn_array_copy(from->pools, from->n_pools, sizeof *from->pools);
        to->cpus = hwloc_bitmap_alloc();
        to->isolated = hwloc_bitmap_alloc();
        if (!to->pools || !to->cpus || !to->isolated ||
            hwloc_bitmap_and(to->isolated, from->cpus, s->isolated) < 0)
                return -ENOMEM;
        if (to->role != HN_NODE_HOME)
                return 0;
        return hwloc_bitmap_and(to->cpus, from->cpus, s->usable) < 0 ? -ENOMEM : 0;
}

static struct hn_node *nearest_home(const struct hn_host *host, size_t from)
{
        struct hn_node *best = NULL;
        unsigned best_distance = 0;

        for (size_t at = 0; at < host->n_nodes; at++) {
                unsigned distance = host->distances[from * host->n_nodes + at];

                if (host->nodes[at].role == HN_NODE_HOME && (!best || distance < best_distance)) {
                        best = &host->nodes[at];
                        best_distance = distance;
                }
        }
        return best;
}

/* CPUs of memory-less nodes count to the nearest home. */
static int settle_memoryless(const struct settling *s)
{
        HN_BITMAP hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

        if (!cpus)
                return -ENOMEM;
        for (size_t at = 0; at < s->host->n_nodes; at++) {
                struct hn_node *home;

                if (s->host->nodes[at].role != HN_NODE_NO_MEMORY)
                        continue;
                home = nearest_home(s->host, at);
                if (!home)
                        continue;
                if (hwloc_bitmap_and(cpus, s->facts->nodes[at].cpus, s->usable) < 0 ||
                    hwloc_bitmap_or(home->cpus, home->cpus, cpus) < 0 ||
                    hwloc_bitmap_or(home->isolated, home->isolated, s->host->nodes[at].isolated) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int settle_nodes(struct settling *s)
{
        struct hn_host *host = s->host;
        int r;

        host->nodes = calloc(s->facts->n_nodes, sizeof *host->nodes);
        if (!host->nodes)
                return -ENOMEM;
        for (size_t at = 0; at < s->facts->n_nodes; at++) {
                host->n_nodes = at + 1;
                r = settle_node(s, &s->facts->nodes[at], &host->nodes[at]);
                if (r < 0)
                        return r;
        }
        r = settle_memoryless(s);
        if (r < 0)
                return r;

        for (size_t at = 0; at < host->n_nodes; at++) {
                host->nodes[at].n_threads = hn_idset_count(host->nodes[at].cpus);
                HN_IDSET_FOREACH(cpu, host->nodes[at].cpus)
                        s->home_of[cpu] = (int) at;
        }
        return 0;
}

/* The core among those from `first` on that counts to this node, made if it is not there. */
static struct hn_core *core_on(struct hn_host *host, size_t first, int at, int kind)
{
        HN_BITMAP hwloc_bitmap_t threads = NULL;
        struct hn_core *cores;
        unsigned os = host->nodes[at].os;

        for (size_t i = first; i < host->n_cores; i++)
                if (host->cores[i].node == os)
                        return &host->cores[i];
        threads = hwloc_bitmap_alloc();
        if (!threads)
                return NULL;
        cores = hn_array_grow(host->cores, host->n_cores, sizeof *cores);
        if (!cores)
                return NULL;
        host->cores = cores;
        cores[host->n_cores] = (struct hn_core) { .node = os, .kind = kind, .threads = HN_TAKE(threads) };
        host->nodes[at].n_cores++;
        return &cores[host->n_cores++];
}

/* A core whose threads belong to two nodes (numa=fake, some hypervisors) is taken as two. */
static int settle_cores(const struct settling *s)
{
        for (size_t i = 0; i < s->facts->n_cores; i++) {
                const struct hn_fact_core *from = &s->facts->cores[i];
                size_t first = s->host->n_cores;

                HN_IDSET_FOREACH(cpu, from->threads) {
                        struct hn_core *core;

                        if (s->home_of[cpu] < 0)
                                continue;
                        core = core_on(s->host, first, s->home_of[cpu], from->kind);
                        if (!core || hwloc_bitmap_set(core->threads, (unsigned) cpu) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

static int settle_caches(const struct settling *s)
{
        struct hn_host *host = s->host;

        host->caches = calloc(s->facts->n_caches + 1, sizeof *host->caches);
        if (!host->caches)
                return -ENOMEM;
        for (size_t i = 0; i < s->facts->n_caches; i++) {
                HN_BITMAP hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

                if (!cpus)
                        return -ENOMEM;
                HN_IDSET_FOREACH(cpu, s->facts->caches[i].cpus)
                        if (s->home_of[cpu] >= 0 && hwloc_bitmap_set(cpus, (unsigned) cpu) < 0)
                                return -ENOMEM;
                if (!hwloc_bitmap_iszero(cpus))
                        host->caches[host->n_caches++] = (struct hn_cache) {
                                .size_kib = s->facts->caches[i].size_kib, .cpus = HN_TAKE(cpus) };
        }
        return 0;
}

static int copy_plain(const struct hn_facts *facts, struct hn_host *host)
{
        host->source = strdup(facts->source ? facts->source : "");
        host->distances =
                hn_array_copy(facts->distances, facts->n_nodes * facts->n_nodes, sizeof *facts->distances);
        host->distance_source = facts->distance_source;
        host->devices = hn_array_copy(facts->devices, facts->n_devices, sizeof *facts->devices);
        host->n_devices = facts->n_devices;
        host->isolated = hwloc_bitmap_dup(facts->isolated);
        host->offline = hwloc_bitmap_dup(facts->offline);
        host->allowed_cpus = hwloc_bitmap_dup(facts->allowed_cpus);
        host->allowed_nodes = hwloc_bitmap_dup(facts->allowed_nodes);
        return host->source && host->distances && host->devices && host->isolated && host->offline &&
               host->allowed_cpus && host->allowed_nodes ? 0 : -ENOMEM;
}

static int find_usable(const struct hn_facts *facts, hwloc_bitmap_t *ret_usable, hwloc_bitmap_t *ret_isolated)
{
        HN_BITMAP hwloc_bitmap_t usable = hwloc_bitmap_alloc(), isolated = hwloc_bitmap_alloc();

        if (!usable || !isolated || hwloc_bitmap_andnot(usable, facts->allowed_cpus, facts->offline) < 0 ||
            hwloc_bitmap_and(isolated, usable, facts->isolated) < 0 ||
            hwloc_bitmap_andnot(usable, usable, facts->isolated) < 0)
                return -ENOMEM;
        *ret_usable = HN_TAKE(usable);
        *ret_isolated = HN_TAKE(isolated);
        return 0;
}

int hn_host_settle(struct hn_facts *facts, struct hn_host **ret)
{
        HN_HOST struct hn_host *host = calloc(1, sizeof *host);
        HN_BITMAP hwloc_bitmap_t usable = NULL, isolated = NULL;
        HN_FREE int *home_of = calloc(HN_IDSET_LIMIT, sizeof *home_of);
        struct settling s;
        int r;

        if (!facts->n_nodes)
                return -EBADMSG;
        if (!host || !home_of)
                return -ENOMEM;
        memset(home_of, -1, HN_IDSET_LIMIT * sizeof *home_of);
        r = copy_plain(facts, host);
        if (r >= 0)
                r = find_usable(facts, &usable, &isolated);
        if (r < 0)
                return r;

        s = (struct settling) { .facts = facts, .host = host, .usable = usable, .isolated = isolated, .home_of = home_of };
        r = settle_nodes(&s);
        if (r >= 0)
                r = settle_cores(&s);
        if (r >= 0)
                r = settle_caches(&s);
        if (r < 0)
                return r;
        host->facts = facts;
        *ret = HN_TAKE(host);
        return 0;
}
