/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A placement: where each cell of one domain lives, and what it was promised there.
 */
#pragma once

#include <json-c/json.h>

#include "model/domain.h"

/* What is beyond these is no placement of ours.  An exabyte: sums of any number of these can't overflow. */
#define HN_PLACEMENT_PROMISE_LIMIT 4096u
#define HN_PLACEMENT_KIB_LIMIT (UINT64_C(1) << 50)
#define HN_PLACEMENT_MILLI_LIMIT (HN_DOMAIN_VCPU_LIMIT * 1000u)

/* Memory and CPU demand that a domain has on one node. */
struct hn_promise {
        unsigned node;        /* OS index */
        uint64_t memory_kib;  /* overhead included for ordinary pages */
        uint64_t page_kib;    /* 0: ordinary pages */
        unsigned vcpus_milli; /* vCPUs × 1000 */
};

struct hn_placed_cell {
        unsigned id;
        hwloc_bitmap_t vcpus;
        uint64_t memory_kib;   /* the guest's, without overhead */
        uint64_t devices_kib;  /* plugged into it besides: DIMMs, virtio-mem as far as requested */
        hwloc_bitmap_t nodes;  /* nearly always one */
        hwloc_bitmap_t cpus;
};

struct hn_placement {
        char uuid[HN_UUID_LENGTH + 1];
        char *name;
        enum hn_priority priority;
        struct hn_placed_cell *cells; /* empty: counted only */
        size_t n_cells;
        struct hn_pin *vcpu_cpus;     /* vCPUs whose CPUs differ from their cell's: pinning="core", pinned by the user */
        size_t n_vcpu_cpus;
        hwloc_bitmap_t emulator_cpus; /* never NULL */
        hwloc_bitmap_t home;          /* union of the cells' nodes */
        hwloc_bitmap_t memory_nodes;  /* the memory set for the scope; empty: none (memory="soft", user's numatune decides) */
        struct hn_promise *promises;
        size_t n_promises;
};

/* An empty placement with its sets allocated, or NULL. */
struct hn_placement *hn_placement_new(void);
struct hn_placement *hn_placement_copy(const struct hn_placement *placement);

/* Puts a copy of `by` in place of *placement.  -ENOMEM: it is as it was. */
int hn_placement_replace(struct hn_placement **placement, const struct hn_placement *by);

void hn_placement_free(struct hn_placement *placement);
HN_DEFINE_CLEANUP(struct hn_placement *, hn_placement_free, hn_cleanup_placement)
#define HN_PLACEMENT HN_CLEANUP(hn_cleanup_placement)

/* Appends one promise; those of the same node and page size are added up, to the limits at most: what is beyond
 * could not be read back.  -ENOMEM. */
int hn_placement_promise(struct hn_placement *placement, const struct hn_promise *promise);

/* The same for readers: nobody writes two of one node and page size.  -EBADMSG: there is one already; -ENOMEM. */
int hn_placement_promise_once(struct hn_placement *placement, const struct hn_promise *promise);

/* Takes a promise back, as far as so much was promised. */
void hn_placement_withdraw(struct hn_placement *placement, const struct hn_promise *promise);

/* Memory that it was promised on a node in pages of that size (0: ordinary ones). */
uint64_t hn_placement_memory_kib(const struct hn_placement *placement, unsigned node, uint64_t page_kib);

/* vCPUs × 1000 that it was promised on a node.  0 on a node of its home: it only has memory there. */
uint64_t hn_placement_milli(const struct hn_placement *placement, unsigned node);

/* Makes one cell of all: a guest that runs without the cells that were planned for it sees one node, and its vCPUs
 * share the whole home.  -ENOMEM: the placement is of no use any more. */
int hn_placement_fold(struct hn_placement *placement);

/* The CPUs of one vCPU: its own entry, or its cell's; NULL if it has none. */
hwloc_const_bitmap_t hn_placement_vcpu(const struct hn_placement *placement, unsigned vcpu);

/* All CPUs of all cells, vCPU entries and the emulator; the caller frees; NULL without memory. */
hwloc_bitmap_t hn_placement_cpus(const struct hn_placement *placement);

/* "low", "normal", "high" */
const char *hn_priority_name(enum hn_priority priority);

/* JSON and back (ledger, plan).  from: -EBADMSG. */
int hn_placement_to_json(const struct hn_placement *placement, struct json_object **ret);
int hn_placement_from_json(struct json_object *json, struct hn_placement **ret);
