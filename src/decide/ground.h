/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ground: a situation summed up once per decision, so that scoring a set of nodes costs the same with
 * one placement in force as with a thousand.  Sums are integers: their order must not matter.
 */
#pragma once

#include "decide/decide.h"

/* Of the vCPUs that a guest was promised so many count at least where guests are placed, however idle it is: a placement is
 * to last. */
#define HN_PLACE_DEMAND_FLOOR 0.25

/* The part of a last-level cache that belongs to one node. */
struct hn_cache_part {
        size_t cache;            /* into host->caches */
        unsigned first_cpu;
        uint64_t n_cores;
        uint64_t capacity_milli;
        uint64_t crowd_milli;    /* vCPUs × 1000 of other domains that run behind it */
};

/* What a CPU counts to, by its number. */
struct hn_ground_cpu {
        int at;    /* node; isolated CPUs count as well: users pin to them.  -1: none */
        int core;  /* into host->cores, -1: none that floating vCPUs may use */
};

struct hn_ground_node {
        const struct hn_node *node;
        uint64_t capacity_milli;  /* vCPUs × 1000; 0: no home */
        uint64_t demand_milli;    /* of other domains and the host */
        uint64_t fixed_milli;     /* of the domain's own cells that the user fixed there */
        double crowd_cpu;         /* other domains there: Σ weight × share of their vCPUs */
        double crowd_memory;      /* the same by their ordinary memory */
        uint64_t left_kib;        /* ordinary memory that nobody was promised, reserve included */
        uint64_t headroom_kib;
        size_t free_cores;        /* cores with threads enough for a guest core, nobody's own */
        double device;            /* slowdown of the domain's devices as seen from here */
        struct hn_cache_part *parts;
        size_t n_parts;
};

struct hn_ground {
        const struct hn_situation *situation;
        const struct hn_host *host;
        const struct hn_policy *policy;
        double weight;               /* of the domain itself */
        struct hn_ground_node *nodes; /* by `at` */
        struct hn_ground_cpu *cpus;
        size_t n_cpus;
        double *slow;                /* n × n: slowdown of an access between two nodes */
        uint64_t *pages;             /* the page sizes that matter; pages[0] is 0: ordinary memory */
        size_t n_pages;
        uint64_t *totals, *rooms;    /* n × n_pages, KiB: could be promised when idle, can be promised now */
        double *fill;                /* n_pages: promised share of all home nodes together */
        hwloc_bitmap_t taken;        /* CPUs of cores that a vCPU of another domain has for itself */
};

/* Sums up.  A placement of the request's own uuid is not counted: it is being replaced.  The shape says
 * which page sizes matter.  -ENOMEM. */
int hn_ground_new(const struct hn_situation *situation, const struct hn_request *request,
                  const struct hn_shape *shape, struct hn_ground **ret);

void hn_ground_free(struct hn_ground *ground);
HN_DEFINE_CLEANUP(struct hn_ground *, hn_ground_free, hn_cleanup_ground)
#define HN_GROUND HN_CLEANUP(hn_cleanup_ground)

/* The part of its vCPUs that a guest demands, `floor` at least: by the CPUs that it uses and waits for (busy_cpus; negative or no
 * number: not measured, all). */
double hn_demand_part(double busy_cpus, uint64_t vcpus_milli, double floor);

/* Fills in how far each node is from a domain's devices. */
void hn_ground_devices(struct hn_ground *ground, const struct hn_request *request);

/* Index into pages[] of a page size; 0 where it is not there. */
size_t hn_ground_kind(const struct hn_ground *ground, uint64_t page_kib);

/* Index of the node that a CPU counts to, -1: guests may not use it. */
int hn_ground_at(const struct hn_ground *ground, int cpu);

/* The core that holds all of these CPUs, NULL: none does. */
const struct hn_core *hn_ground_core(const struct hn_ground *ground, hwloc_const_bitmap_t cpus);

/* Splits the caches over the nodes and counts who runs behind them (caches.c).  -ENOMEM. */
int hn_ground_caches(struct hn_ground *ground, const struct hn_request *request);

/* Is it a placement that counts, and not the request's own? */
bool hn_ground_counts(const struct hn_placement *placement, const struct hn_request *request);
