/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Facts: what firmware and kernel say about a host, before anybody decides what guests may use of it.
 * They come from hwloc (host-hwloc.c), sysfs (host-live.c) or JSON (host-json.c); hn_host_settle makes
 * the host of them, so that a set that changes at run time (machine.slice, isolated CPUs) changes roles,
 * CPUs and cores alike.  Only the files of the host include this.
 */
#pragma once

#include "model/array.h"
#include "model/host.h"
#include "model/words.h"

#define HN_HOST_CPU_LIMIT 8192u          /* kernels are built for at most so many */
#define HN_HOST_NODE_LIMIT 1024u
#define HN_HOST_DEVICE_LIMIT 65536u
#define HN_HOST_KIND_LIMIT 64u
#define HN_HOST_KIB_LIMIT (UINT64_C(1) << 52) /* of a node: sums over all nodes stay within 64 bits */
#define HN_HOST_PAGE_KIB_LIMIT (UINT64_C(1) << 30)
#define HN_HOST_POOL_LIMIT 16u           /* architectures have at most a handful of page sizes */
#define HN_HOST_FORMAT 2u                /* of the JSON */

struct hn_fact_node {
        unsigned os;
        hwloc_bitmap_t cpus; /* offline and forbidden ones included; of one node only */
        uint64_t memory_kib; /* huge pages included */
        uint64_t free_kib;
        struct hn_pool *pools; /* NULL: not looked for yet */
        size_t n_pools;
};

struct hn_fact_core {
        hwloc_bitmap_t threads;
        int kind;
};

struct hn_facts {
        char *source;
        struct hn_fact_node *nodes; /* ascending OS index */
        size_t n_nodes;
        unsigned *distances;        /* usable, see hn_distances_normalise */
        enum hn_distance_source distance_source;
        struct hn_fact_core *cores; /* disjoint */
        size_t n_cores;
        struct hn_cache *caches;
        size_t n_caches;
        struct hn_device *devices;
        size_t n_devices;
        hwloc_bitmap_t isolated, offline, allowed_cpus, allowed_nodes;
};

/* Facts without nodes, their sets empty; NULL without memory. */
struct hn_facts *hn_facts_new(void);
void hn_facts_free(struct hn_facts *facts);
HN_DEFINE_CLEANUP(struct hn_facts *, hn_facts_free, hn_cleanup_facts)
#define HN_FACTS HN_CLEANUP(hn_cleanup_facts)

void hn_facts_free_nodes(struct hn_fact_node *nodes, size_t n_nodes);

/* Index into facts->nodes, or -1. */
int hn_facts_at(const struct hn_facts *facts, unsigned os);

/* The facts that last, without memory, numbers of huge pages, and the sets of kernel and cgroups.  Their limits are those
 * of the JSON.  to: -ENOMEM; -EINVAL: an infinite set.  from exactly `n` words: -EBADMSG, -ENOMEM. */
int hn_facts_to_words(const struct hn_facts *facts, struct hn_words *words);
int hn_facts_from_words(const uint64_t *words, size_t n, struct hn_facts **ret);

/* Gives every CPU that no core has a core of its own.  -ENOMEM. */
int hn_facts_lone_cores(struct hn_facts *facts, hwloc_const_bitmap_t cpus);

/* Makes a host of facts.  Takes the facts over on success only.  -EBADMSG: no nodes; -ENOMEM. */
int hn_host_settle(struct hn_facts *facts, struct hn_host **ret);

/* Reads all that hwloc knows. */
struct hn_topology_source {
        const char *xml;             /* one of the three */
        const char *synthetic;
        const struct hn_root *root;
};
int hn_topology_load(const struct hn_topology_source *source, hwloc_topology_t *ret);
HN_DEFINE_CLEANUP(hwloc_topology_t, hwloc_topology_destroy, hn_cleanup_hwloc)
#define HN_HWLOC HN_CLEANUP(hn_cleanup_hwloc)

int hn_facts_from_hwloc(hwloc_topology_t topology, struct hn_facts **ret);

/* The latencies between the facts' nodes.  -ENOMEM. */
int hn_facts_distances(hwloc_topology_t topology, struct hn_facts *facts);

/* Nodes with their CPUs and distances as sysfs below `root` has them, in place of hwloc's. */
int hn_facts_live_nodes(const struct hn_root *root, struct hn_facts *facts);

/* What changes while a host runs: memory, pools (free pages if `with_pools`), isolated, offline and allowed
 * sets. */
int hn_facts_live_figures(const struct hn_root *root, bool with_pools, struct hn_facts *facts);

int hn_facts_from_root(const struct hn_root *root, struct hn_facts **ret);

int hn_facts_to_json(const struct hn_facts *facts, struct json_object **ret);
int hn_facts_from_json(struct json_object *json, struct hn_facts **ret);

/* "0000:81:00.0 0108 1": address, class, node */
#define HN_DEVICE_LENGTH 64u
void hn_device_format(const struct hn_device *device, char ret[static HN_DEVICE_LENGTH]);

/* Reads `pools` of a node in JSON, each by `read`; -ENOENT where there are none. */
typedef int hn_pool_reader(struct json_object *value, struct hn_pool *ret);
int hn_pools_from_json(struct json_object *node, hn_pool_reader *read, struct hn_pool **ret, size_t *ret_n);
