/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host: its nodes, CPUs, memory, huge page pools, distances and devices, as far as guests may use
 * them.  Nodes are named by OS index everywhere; an index into nodes[] is called `at`.
 */
#pragma once

#include <json-c/json.h>

#include "model/idset.h"
#include "model/root.h"

#define HN_DISTANCE_LOCAL 10u
#define HN_DISTANCE_REMOTE 20u /* what the kernel takes where firmware says nothing (REMOTE_DISTANCE) */

/* Why a node is or is not a home. */
enum hn_node_role {
        HN_NODE_HOME,
        HN_NODE_NO_MEMORY, /* CPUs only: they count to the nearest home node */
        HN_NODE_NO_CPUS,   /* memory only: CXL, PMEM, HBM, GPU; or its CPUs belong to a lower node */
        HN_NODE_FORBIDDEN, /* outside what machine.slice or the cgroup allows, or all its CPUs are */
};

enum hn_distance_source {
        HN_DISTANCE_FROM_HOST, /* as the firmware says, at most made symmetric and scaled to 10 */
        HN_DISTANCE_MISSING,   /* none given: 10 and 20 */
        HN_DISTANCE_BROKEN,    /* given, but no use: 10 and 20 */
};

struct hn_pool {
        uint64_t page_kib;
        uint64_t total_pages;
        uint64_t free_pages;
};

/* A core with the threads that guests may use. */
struct hn_core {
        unsigned node;          /* the home node it counts to */
        int kind;               /* efficiency rank, 0 the most thrifty kind; -1: all alike or unknown */
        hwloc_bitmap_t threads;
};

/* A last-level cache and the usable CPUs behind it. */
struct hn_cache {
        uint64_t size_kib; /* 0: unknown */
        hwloc_bitmap_t cpus;
};

/* A PCI function. */
struct hn_device {
        unsigned domain, bus, slot, function;
        unsigned class_id;  /* the upper 16 bits of the PCI class, 0x0108: NVMe */
        int node;           /* -1: the host does not say */
};

struct hn_node {
        unsigned os;
        enum hn_node_role role;
        hwloc_bitmap_t isolated; /* isolated CPUs that count here: users may pin to those; NULL: none known */
        hwloc_bitmap_t cpus;   /* for guests, with those of memory-less nodes that count here; empty if no home */
        uint64_t memory_kib;   /* for ordinary pages: what the huge page pools hold is not in it */
        uint64_t free_kib;     /* free and cheaply reclaimable; equals memory_kib on an idle (recorded) host.
                                  A scene adds what placed guests hold: promises are taken off that sum */
        unsigned n_cores, n_threads; /* of `cpus` */
        struct hn_pool *pools;
        size_t n_pools;
};

struct hn_host {
        char *source;              /* "this host", the file's name, or the synthetic description */
        struct hn_node *nodes;     /* all of them, ascending OS index */
        size_t n_nodes;
        unsigned *distances;       /* n_nodes × n_nodes by `at`; symmetric, 10 to itself, 11…254 to others */
        enum hn_distance_source distance_source;
        struct hn_core *cores;
        size_t n_cores;
        struct hn_cache *caches;
        size_t n_caches;
        struct hn_device *devices;
        size_t n_devices;
        hwloc_bitmap_t isolated;   /* isolcpus, isolated cpuset partitions: never for floating vCPUs */
        hwloc_bitmap_t offline;
        hwloc_bitmap_t allowed_cpus;  /* what machine.slice and the cgroup leave; all where nothing is said */
        hwloc_bitmap_t allowed_nodes;
        struct hn_facts *facts;    /* what it was made of (host-facts.h); NULL in a host made by hand */
};

/* Free and reclaimable memory of a node now, the cheap way.  -ENOENT and others. */
int hn_node_free_now(const struct hn_root *root, unsigned os, uint64_t *ret_kib);

/* The idle host that an hwloc XML file, or else an hwloc synthetic description ("node:4 core:8 pu:2"),
 * tells of.  -ENOENT, -EBADMSG (neither of the two, or a tree without nodes), -ENOMEM. */
int hn_host_from_description(const char *file_or_synthetic, struct hn_host **ret);

/* The running host below `root`, through hwloc and sysfs (and /proc, cgroups), live figures included.
 * Slow (tens of ms on large hosts): see hn_host_from_cache. */
int hn_host_from_root(const struct hn_root *root, struct hn_host **ret);

#define HN_TOPOLOGY_PATH "/run/homenode/topology"

/* The same from /run/homenode/topology, which the first caller of a boot writes; anything odd about the
 * record (boot id, online CPUs and nodes, devices, versions) makes it be written anew.  Live figures are read
 * in any case: memory, isolated and allowed sets, sizes of the huge page pools; the pools' free pages only
 * `with_pools`, they are 0 without. */
int hn_host_from_cache(const struct hn_root *root, bool with_pools, struct hn_host **ret);

/* The whole host as JSON and back: the form of `--state` and of snapshots.
 * from: -EBADMSG where a member is missing, mistyped or out of range. */
int hn_host_to_json(const struct hn_host *host, struct json_object **ret);
int hn_host_from_json(struct json_object *json, struct hn_host **ret);

/* Lays the state that the daemon publishes over a host: free memory, pools, isolated and allowed CPUs.
 * Members that are absent leave the host as it is; nodes the host has not are passed over.
 * The form is written down in src/model/state.h.  -EBADMSG. */
int hn_host_apply_state(struct hn_host *host, struct json_object *state);

/* What a state says is left on each node, by `at`, UINT64_MAX where it says nothing; the caller frees.  -EBADMSG. */
int hn_host_state_free(const struct hn_host *host, struct json_object *state, uint64_t **ret);

/* A node's free memory with what placed guests hold there, and no more than it has. */
void hn_node_set_free(struct hn_node *node, uint64_t measured_kib, uint64_t held_kib);

/* Counts huge pages that a guest has taken already as free: as many as that memory takes, and never more than the pool
 * has. */
void hn_host_credit_pages(struct hn_host *host, unsigned os, uint64_t page_kib, uint64_t memory_kib);

void hn_host_free(struct hn_host *host);
HN_DEFINE_CLEANUP(struct hn_host *, hn_host_free, hn_cleanup_host)
#define HN_HOST HN_CLEANUP(hn_cleanup_host)

/* Index into nodes[] of the node with this OS index, or -1. */
int hn_host_at(const struct hn_host *host, unsigned os);

/* Firmware distance between two nodes by OS index; HN_DISTANCE_REMOTE for nodes the host has not. */
unsigned hn_host_distance(const struct hn_host *host, unsigned os_a, unsigned os_b);

/* The home nodes, by OS index, ascending.  Owned by the caller; NULL without memory. */
hwloc_bitmap_t hn_host_homes(const struct hn_host *host);

/* The pool of that page size on a node; NULL where it has none. */
const struct hn_pool *hn_node_pool(const struct hn_node *node, uint64_t page_kib);

/* Makes any matrix a usable one, in place: n × n by `at`; NULL or zero values mean missing.  The rule:
 *  - missing or all zero: 10 and 20 (MISSING);
 *  - the smallest diagonal value is scaled to 10 where it is not 10 already;
 *  - a pair that differs by direction takes the larger of both;
 *  - a value for another node that is not above the diagonal, or above 254, makes it BROKEN: 10 and 20. */
enum hn_distance_source hn_distances_normalise(unsigned *distances, size_t n);
