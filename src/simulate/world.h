/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A simulated host with the guests that run on it, and what their work costs there.  The model, on purpose not the
 * scoring function of src/decide:
 *
 *  - Memory.  An access to the own node takes 100 ns, one to a node at distance d 100 + 5 (d - 10) ns: 150 ns at the
 *    usual 20.  A guest waits for memory all the time, so its slowdown is its mean access over 100 ns.  A guest that
 *    sees cells keeps 70 % of its accesses in the own cell, the rest goes to its other cells alike; one that sees
 *    none uses all its memory from all its vCPUs alike.
 *  - CPUs.  Each vCPU wants the same share of a CPU (`busy`).  A node carries as many as it has cores, and a quarter of one
 *    for each further thread (the host's policy says how much).  Demand above that is shared fairly: at twice the
 *    capacity all that runs there takes twice as long.  vCPUs that may run on several nodes run where the demand
 *    is lowest for the capacity.
 *  - Memory of a node is used once, all but the reserve that is the host's own.  Each guest takes QEMU's overhead.
 *  - Moved memory is copied at 1 GiB/s, one guest after the other; until then half of it counts as moved.
 */
#pragma once

#include "model/host.h"
#include "model/policy.h"
#include "simulate/spot.h"
#include "simulate/trace.h"

#define HN_WORLD_LOCAL_NS 100.0
#define HN_WORLD_NS_PER_DISTANCE 5.0
#define HN_WORLD_CROSS_SHARE 0.3
#define HN_WORLD_COPY_KIB_PER_S 1048576.0

struct hn_world_node {
        double capacity;      /* CPUs; 0: no home */
        uint64_t usable_kib;  /* 0: no home */
        uint64_t used_kib;
        double demand;        /* CPUs */
};

/* A guest that runs. */
struct hn_resident {
        const struct hn_trace_guest *guest;
        size_t number;        /* in the trace: its name */
        double since_s, until_s;
        struct hn_spot *spot;
        struct hn_spot *from; /* memory is being copied from there until copied_s; NULL: none is */
        double copied_s;
        double work, local;   /* slowdown × seconds, local share × seconds */
};

struct hn_world {
        const struct hn_host *host;
        const struct hn_policy *policy;
        double busy;          /* CPUs that each vCPU wants: above 0, at most 1 */
        double now_s, copied_s;
        struct hn_world_node *nodes;  /* by `at` */
        struct hn_resident *residents; /* in no particular order */
        size_t n_residents;
        double overloaded_s;  /* node-seconds in which a node carried more than its capacity */
};

/* Host and policy are not copied.  -ENOMEM. */
int hn_world_new(const struct hn_host *host, const struct hn_policy *policy, double busy, struct hn_world **ret);
void hn_world_free(struct hn_world *world);
HN_DEFINE_CLEANUP(struct hn_world *, hn_world_free, hn_cleanup_world)
#define HN_WORLD HN_CLEANUP(hn_cleanup_world)

/* The memory that a guest takes, QEMU's included. */
uint64_t hn_world_wanted_kib(const struct hn_world *world, const struct hn_trace_guest *guest);

uint64_t hn_world_room_kib(const struct hn_world *world, size_t at);
uint64_t hn_world_total_room_kib(const struct hn_world *world);

/* Could the guest be whole on one node as things are: with the memory there, and no more vCPUs than its capacity? */
bool hn_world_fits_node(const struct hn_world *world, const struct hn_trace_guest *guest);

/* Takes the spot over on success.  -EINVAL: it has not the guest's memory and vCPUs, or nodes have no room for it: a
 * fault of the policy; -ENOMEM. */
int hn_world_start(struct hn_world *world, const struct hn_trace_guest *guest, size_t number, struct hn_spot *spot);

/* Gives a resident another spot, taken over on success.  *ret_kib: memory to be copied.  Errors as above. */
int hn_world_move(struct hn_world *world, size_t resident, struct hn_spot *spot, uint64_t *ret_kib);

/* Takes a resident out; the last one stands in its place then. */
void hn_world_stop(struct hn_world *world, size_t resident);

/* Where vCPUs that may choose run, and the nodes' demand: to be called after changes. */
void hn_world_settle(struct hn_world *world);

/* Slowdown of a resident's work as it is now, at least 1; *ret_local: share of its accesses that are local. */
double hn_world_slowdown(const struct hn_world *world, const struct hn_resident *resident, double *ret_local);

/* Lets time pass: all work until then. */
void hn_world_pass(struct hn_world *world, double until_s);
