/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Deciding: from host, load, placements in force and request to a placement with its reasons.  Pure: no
 * I/O, no clock, no libvirt; the same input gives the same answer everywhere.
 */
#pragma once

#include "model/domain.h"
#include "model/host.h"
#include "model/load.h"
#include "model/placement.h"
#include "model/policy.h"

/* All that a decision looks at but the request.  Nothing is owned.  Of the placements it looks at no more than UUID,
 * priority, promises and which vCPUs have which CPUs: a scene has read no more of them (store/ledger.h). */
struct hn_situation {
        const struct hn_host *host;
        const struct hn_policy *policy;
        const struct hn_load *load;                   /* NULL: idle */
        const struct hn_placement *const *placements; /* planned or in force, any order */
        size_t n_placements;
};

/* The terms of the score, all in expected slowdown of all domains weighted by priority (0.1 is 10 % slower);
 * the lowest total wins. */
enum hn_term {
        HN_TERM_REMOTE,  /* accesses to other nodes, by distance */
        HN_TERM_CPU,     /* CPU demand over a node's capacity, of this domain and of those that are there */
        HN_TERM_MEMORY,  /* memory shortage: less left than the headroom */
        HN_TERM_CACHE,   /* vCPUs split over last-level caches */
        HN_TERM_DEVICE,  /* distance to the domain's devices and services */
        HN_TERM_HOLE,    /* the hole left for domains still to come */
        HN_TERM_MOVE,    /* the move itself; 0 at start */
        HN_TERMS
};

struct hn_score {
        double terms[HN_TERMS];
        double total;
};

const char *hn_term_name(enum hn_term term);

struct hn_shape_cell {
        hwloc_bitmap_t vcpus;
        uint64_t memory_kib;
        uint64_t page_kib;
};

/* How a domain is cut into cells.  Depends on the host's build and the domain's size, not on load. */
struct hn_shape {
        struct hn_shape_cell *cells; /* at least one */
        size_t n_cells;
        unsigned *distances;         /* n_cells × n_cells, frozen with the shape; NULL for one cell */
        struct hn_topology topology; /* CPU topology to write; all 0: leave the user's (or none) */
        bool given;                  /* the XML has these cells already */
};

enum hn_verdict {
        HN_PLACED,
        HN_LEFT,     /* left to libvirt: opted out, not ours, or no room; counted as far as known */
        HN_REFUSED,  /* its own metadata demands what can't be had */
};

struct hn_decision {
        enum hn_verdict verdict;
        char *reason;                   /* one sentence for people */
        struct hn_shape *shape;         /* NULL unless PLACED */
        struct hn_placement *placement; /* never NULL; without cells unless PLACED */
        struct hn_score score;
        hwloc_bitmap_t runner_up;       /* home of the second best, NULL: there was none */
        struct hn_score runner_up_score;
        size_t candidates;              /* how many sets of nodes were scored */
};

/* -ENOMEM; every other difficulty is a verdict. */
int hn_decide(const struct hn_situation *situation, const struct hn_request *request,
              struct hn_decision **ret);

void hn_decision_free(struct hn_decision *decision);
HN_DEFINE_CLEANUP(struct hn_decision *, hn_decision_free, hn_cleanup_decision)
#define HN_DECISION HN_CLEANUP(hn_cleanup_decision)

void hn_shape_free(struct hn_shape *shape);
HN_DEFINE_CLEANUP(struct hn_shape *, hn_shape_free, hn_cleanup_shape)
#define HN_SHAPE HN_CLEANUP(hn_cleanup_shape)
