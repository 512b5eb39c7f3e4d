/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The running host: nodes from sysfs, and the figures that change from one start to the next.
 */
#include "model/host-facts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"
#define CGROUP "/sys/fs/cgroup"
#define TEXT_LIMIT (64u << 10)

static int read_set(const struct hn_root *root, const char *path, unsigned limit, hwloc_bitmap_t *ret)
{
        HN_FREE char *line = NULL;
        int r = hn_root_read_line(root, &line, "%s", path);

        return r < 0 ? r : hn_idset_parse(line, limit, ret);
}

/* ---- nodes */

static int read_cpulist(const struct hn_root *root, unsigned os, hwloc_bitmap_t *ret)
{
        char path[128];

        (void) snprintf(path, sizeof path, NODE "/node%u/cpulist", os);
        return read_set(root, path, HN_HOST_CPU_LIMIT, ret);
}

static int make_nodes(const struct hn_root *root, hwloc_const_bitmap_t online, struct hn_fact_node *nodes)
{
        size_t n = 0;

        HN_IDSET_FOREACH(os, online) {
                int r;

                nodes[n].os = (unsigned) os;
                r = read_cpulist(root, (unsigned) os, &nodes[n].cpus);
                if (r < 0)
                        return r;
                n++;
        }
        return 0;
}

/* "10 21 31": as many numbers as there are online nodes; what is not like that leaves the row zero. */
static void read_distance_row(const struct hn_root *root, const struct hn_facts *facts, size_t at)
{
        HN_FREE char *line = NULL;
        unsigned *row = facts->distances + at * facts->n_nodes;
        char *p;

        if (hn_root_read_line(root, &line, NODE "/node%u/distance", facts->nodes[at].os) < 0)
                return;
        p = line;
        for (size_t i = 0; i < facts->n_nodes; i++) {
                unsigned long value;

                errno = 0;
                value = strtoul(p, &p, 10);
                row[i] = errno || value > UINT16_MAX ? UINT16_MAX : (unsigned) value;
        }
}

/* CPUs that run but stand in no node's list (their node went off line) count to the first home. */
static int adopt_orphans(struct hn_facts *facts, hwloc_const_bitmap_t online)
{
        HN_BITMAP hwloc_bitmap_t orphans = hwloc_bitmap_dup(online);
        struct hn_fact_node *home = NULL;

        if (!orphans)
                return -ENOMEM;
        for (size_t i = facts->n_nodes; i-- > 0;) {
                if (hwloc_bitmap_andnot(orphans, orphans, facts->nodes[i].cpus) < 0)
                        return -ENOMEM;
                if (!hwloc_bitmap_iszero(facts->nodes[i].cpus))
                        home = &facts->nodes[i];
        }
        return home && hwloc_bitmap_or(home->cpus, home->cpus, orphans) < 0 ? -ENOMEM : 0;
}

static int take_cpus(struct hn_facts *facts, hwloc_const_bitmap_t online)
{
        for (size_t i = 0; i < facts->n_cores; i++)
                if (hwloc_bitmap_and(facts->cores[i].threads, facts->cores[i].threads, online) < 0)
                        return -ENOMEM;
        return hn_facts_lone_cores(facts, online);
}

int hn_facts_live_nodes(const struct hn_root *root, struct hn_facts *facts)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL, nodes = NULL;
        size_t n;
        int r = read_set(root, CPU "/online", HN_HOST_CPU_LIMIT, &cpus);

        if (r >= 0)
                r = read_set(root, NODE "/online", HN_HOST_NODE_LIMIT, &nodes);
        if (r < 0)
                return r;
        n = hn_idset_count(nodes);
        if (!n || hwloc_bitmap_iszero(cpus))
                return -ENOENT;

        hn_facts_free_nodes(facts->nodes, facts->n_nodes);
        facts->n_nodes = 0;
        free(facts->distances);
        facts->distances = calloc(n * n, sizeof *facts->distances);
        facts->nodes = calloc(n, sizeof *facts->nodes);
        if (!facts->nodes || !facts->distances)
                return -ENOMEM;
        facts->n_nodes = n;
        r = make_nodes(root, nodes, facts->nodes);
        if (r >= 0)
                r = adopt_orphans(facts, cpus);
        if (r >= 0)
                r = take_cpus(facts, cpus);
        if (r < 0)
                return r;
        for (size_t at = 0; at < n; at++)
                read_distance_row(root, facts, at);
        facts->distance_source = hn_distances_normalise(facts->distances, n);
        for (size_t i = 0; i < facts->n_devices; i++)
                if (facts->devices[i].node >= 0 && hn_facts_at(facts, (unsigned) facts->devices[i].node) < 0)
                        facts->devices[i].node = -1;
        return 0;
}

/* ---- figures */

/* A value of "Node 0 MemFree:  123 kB"; 0 where the kernel has no such line. */
static uint64_t meminfo_kib(const char *text, const char *name)
{
        size_t length = strlen(name);

        for (const char *p = text; (p = strstr(p, name)); p += length)
                if (p > text && p[-1] == ' ' && p[length] == ':') {
                        uint64_t value = strtoull(p + length + 1, NULL, 10);

                        return value < HN_HOST_KIB_LIMIT ? value : HN_HOST_KIB_LIMIT;
                }
        return 0;
}

/* Besides free pages, the page cache that nobody has used for long and slab that can shrink count as
 * free: the kernel gives them up before it goes to another node.  Active cache is somebody's working set. */
static int read_memory(const struct hn_root *root, struct hn_fact_node *node)
{
        HN_FREE char *text = NULL;
        int r = hn_root_read(root, TEXT_LIMIT, &text, NULL, NODE "/node%u/meminfo", node->os);

        if (r < 0)
                return r;
        node->memory_kib = meminfo_kib(text, "MemTotal");
        node->free_kib = meminfo_kib(text, "MemFree") + meminfo_kib(text, "Inactive(file)") +
                         meminfo_kib(text, "SReclaimable");
        if (node->free_kib > node->memory_kib)
                node->free_kib = node->memory_kib;
        return 0;
}

int hn_node_free_now(const struct hn_root *root, unsigned os, uint64_t *ret_kib)
{
        struct hn_fact_node node = { .os = os };
        int r = read_memory(root, &node);

        if (r >= 0)
                *ret_kib = node.free_kib;
        return r;
}

static int find_pools(const struct hn_root *root, struct hn_fact_node *node)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        int r = hn_root_open_dir(root, &dir, NODE "/node%u/hugepages", node->os);

        node->pools = calloc(1, sizeof *node->pools);
        if (!node->pools)
                return -ENOMEM;
        if (r < 0) /* a kernel without huge pages has no such folder */
                return r == -ENOENT ? 0 : r;
        while (node->n_pools < HN_HOST_POOL_LIMIT && (entry = readdir(dir))) {
                struct hn_pool *pools;
                uint64_t page_kib;
                int end = -1;

                if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB%n", &page_kib, &end) != 1 || end < 0 ||
                    entry->d_name[end] || !page_kib || page_kib > HN_HOST_PAGE_KIB_LIMIT)
                        continue;
                pools = hn_array_grow(node->pools, node->n_pools, sizeof *pools);
                if (!pools)
                        return -ENOMEM;
                node->pools = pools;
                pools[node->n_pools++].page_kib = page_kib;
        }
        return 0;
}

static uint64_t read_pages(const struct hn_root *root, unsigned os, const struct hn_pool *pool,
                           const char *what)
{
        uint64_t pages = 0, limit = HN_HOST_KIB_LIMIT / pool->page_kib;

        if (hn_root_read_u64(root, &pages, NODE "/node%u/hugepages/hugepages-%" PRIu64 "kB/%s", os,
                             pool->page_kib, what) < 0)
                return 0; /* the size is gone */
        return pages < limit ? pages : limit;
}

/* Page sizes of which the host as a whole has no page: no node has to be asked for those. */
struct no_pages {
        uint64_t page_kib[HN_HOST_POOL_LIMIT];
        size_t n;
};

static bool has_none(const struct no_pages *none, uint64_t page_kib)
{
        for (size_t i = 0; i < none->n; i++)
                if (none->page_kib[i] == page_kib)
                        return true;
        return false;
}

static void find_no_pages(const struct hn_root *root, const struct hn_fact_node *node, struct no_pages *ret)
{
        for (size_t i = 0; i < node->n_pools && ret->n < HN_HOST_POOL_LIMIT; i++) {
                uint64_t page_kib = node->pools[i].page_kib, pages = 0;

                if (hn_root_read_u64(root, &pages, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages",
                                     page_kib) >= 0 && !pages)
                        ret->page_kib[ret->n++] = page_kib;
        }
}

/* Page sizes stay the same for a whole boot, so a node from the cache has them already. */
static void read_pools(const struct hn_root *root, bool with_free, const struct no_pages *none,
                       struct hn_fact_node *node)
{
        for (size_t i = 0; i < node->n_pools; i++) {
                struct hn_pool *pool = &node->pools[i];

                pool->total_pages = has_none(none, pool->page_kib)
                                            ? 0 : read_pages(root, node->os, pool, "nr_hugepages");
                pool->free_pages = 0;
                if (with_free && pool->total_pages)
                        pool->free_pages = read_pages(root, node->os, pool, "free_hugepages");
                if (pool->free_pages > pool->total_pages)
                        pool->free_pages = pool->total_pages;
        }
}

/* Puts the set a file holds into *set; one that is not there, empty or odd leaves `otherwise`. */
static int read_or(const struct hn_root *root, const char *path, unsigned limit,
                   hwloc_const_bitmap_t otherwise, hwloc_bitmap_t set)
{
        HN_BITMAP hwloc_bitmap_t found = NULL;
        int r = read_set(root, path, limit, &found);

        if (r == -ENOMEM)
                return r;
        if (r < 0 || hwloc_bitmap_iszero(found))
                return hwloc_bitmap_copy(set, otherwise) < 0 ? -ENOMEM : 0;
        return hwloc_bitmap_copy(set, found) < 0 ? -ENOMEM : 0;
}

/* Guests run below machine.slice; its file is missing where nobody has turned the controller on for it.
 * Without any, all is allowed. */
static int read_allowed(const struct hn_root *root, const char *file, unsigned limit,
                        hwloc_const_bitmap_t all, hwloc_bitmap_t set)
{
        char path[128];
        int r;

        (void) snprintf(path, sizeof path, CGROUP "/%s", file);
        r = read_or(root, path, limit, all, set);
        if (r < 0)
                return r;
        (void) snprintf(path, sizeof path, CGROUP "/machine.slice/%s", file);
        return read_or(root, path, limit, set, set);
}

static int all_of(const struct hn_facts *facts, hwloc_bitmap_t cpus, hwloc_bitmap_t nodes)
{
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (hwloc_bitmap_set(nodes, facts->nodes[i].os) < 0 ||
                    hwloc_bitmap_or(cpus, cpus, facts->nodes[i].cpus) < 0)
                        return -ENOMEM;
        return 0;
}

static int read_sets(const struct hn_root *root, struct hn_facts *facts)
{
        HN_BITMAP hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();
        HN_BITMAP hwloc_bitmap_t none = hwloc_bitmap_alloc(), partitions = hwloc_bitmap_alloc();
        int r;

        if (!cpus || !nodes || !none || !partitions)
                return -ENOMEM;
        r = all_of(facts, cpus, nodes);
        if (r >= 0)
                r = read_allowed(root, "cpuset.cpus.effective", HN_HOST_CPU_LIMIT, cpus, facts->allowed_cpus);
        if (r >= 0)
                r = read_allowed(root, "cpuset.mems.effective", HN_HOST_NODE_LIMIT, nodes,
                                 facts->allowed_nodes);
        if (r >= 0)
                r = read_or(root, CPU "/offline", HN_HOST_CPU_LIMIT, none, facts->offline);
        if (r >= 0)
                r = read_or(root, CPU "/isolated", HN_HOST_CPU_LIMIT, none, facts->isolated);
        if (r >= 0) /* kernel 6.7 and later: CPUs of isolated partitions */
                r = read_or(root, CGROUP "/cpuset.cpus.isolated", HN_HOST_CPU_LIMIT, none, partitions);
        if (r < 0)
                return r;
        return hwloc_bitmap_or(facts->isolated, facts->isolated, partitions) < 0 ? -ENOMEM : 0;
}

int hn_facts_live_figures(const struct hn_root *root, bool with_pools, struct hn_facts *facts)
{
        struct no_pages none = { .n = 0 };

        for (size_t i = 0; i < facts->n_nodes; i++) {
                struct hn_fact_node *node = &facts->nodes[i];
                int r = read_memory(root, node);

                if (r >= 0 && !node->pools)
                        r = find_pools(root, node);
                if (r < 0)
                        return r;
                if (i == 0) /* all nodes with memory have the same sizes */
                        find_no_pages(root, node, &none);
                read_pools(root, with_pools, &none, node);
        }
        return read_sets(root, facts);
}

int hn_facts_from_root(const struct hn_root *root, struct hn_facts **ret)
{
        HN_HWLOC hwloc_topology_t topology = NULL;
        HN_FACTS struct hn_facts *facts = NULL;
        int r;

        /* hwloc takes a root without sysfs for a machine with one node. */
        if (!hn_root_exists(root, CPU "/online") || !hn_root_exists(root, NODE "/online"))
                return -ENOENT;
        r = hn_topology_load(&(struct hn_topology_source) { .root = root }, &topology);
        if (r >= 0)
                r = hn_facts_from_hwloc(topology, &facts);
        if (r == -EBADMSG) {
                /* No topology folders (some containers): the lists do, without cores and caches. */
                facts = hn_facts_new();
                r = facts ? 0 : -ENOMEM;
        }
        if (r >= 0)
                r = hn_facts_live_nodes(root, facts);
        if (r < 0)
                return r;
        facts->source = strdup("this host");
        if (!facts->source)
                return -ENOMEM;
        *ret = HN_TAKE(facts);
        return 0;
}

int hn_host_from_root(const struct hn_root *root, struct hn_host **ret)
{
        HN_FACTS struct hn_facts *facts = NULL;
        int r = hn_facts_from_root(root, &facts);

        if (r >= 0)
                r = hn_facts_live_figures(root, true, facts);
        if (r < 0)
                return r;
        r = hn_host_settle(facts, ret);
        if (r >= 0)
                facts = NULL;
        return r;
}
