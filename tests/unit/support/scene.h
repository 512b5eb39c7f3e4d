/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Hosts and requests in tests of deciding, made by hand: regular to begin with, and then changed by the test.
 */
#pragma once

#include "decide/decide.h"

#define GIB (UINT64_C(1) << 20) /* in KiB */
#define MIB (UINT64_C(1) << 10)

/* A regular host: nodes 0…n-1 with cores of so many threads, CPUs numbered node by node and core by core, one
 * last-level cache per `cores_per_cache` cores (0: one per node), distances 10 and 20, all memory free. */
struct host_plan {
        unsigned nodes, cores, threads, cores_per_cache;
        uint64_t memory_kib; /* of each node */
};

struct hn_host *host_of(const struct host_plan *plan);

/* Sets both directions. */
void host_distance(struct hn_host *host, unsigned a, unsigned b, unsigned distance);
void host_memory(struct hn_host *host, unsigned node, uint64_t memory_kib);
void host_pool(struct hn_host *host, unsigned node, uint64_t page_kib, uint64_t pages);
/* Takes all CPUs of a node away: memory only. */
void host_no_cpus(struct hn_host *host, unsigned node);

/* A domain of nothing but vCPUs and memory; its uuid is made of `number`. */
struct hn_request *vm(unsigned number, unsigned vcpus, uint64_t memory_kib);

/* A host, the default policy and a list of placements that grows. */
struct scene {
        struct hn_host *host;
        struct hn_policy policy;
        const struct hn_placement *placements[1024];
        struct hn_decision *decisions[1024]; /* those that own them */
        struct hn_situation situation;
};

struct scene *scene_of(struct hn_host *host);
void scene_free(struct scene *scene);

/* Decides; the placement counts from then on.  Owned by the scene. */
const struct hn_decision *scene_start(struct scene *scene, const struct hn_request *request);

/* Decides without leaving a trace; the caller frees. */
struct hn_decision *scene_ask(const struct scene *scene, const struct hn_request *request);

/* Starts a domain that is made and freed here; asserts that it is placed. */
const struct hn_decision *scene_start_vm(struct scene *scene, unsigned number, unsigned vcpus,
                                         uint64_t memory_kib);

/* Asserts the invariants of any decision, whatever the request. */
void check_decision(const struct scene *scene, const struct hn_request *request,
                    const struct hn_decision *decision);
