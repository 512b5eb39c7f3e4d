/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The task: what has to be placed on which ground.  Cells that the user bound, or whose vCPUs the user
 * pinned, are fixed: they are accounted for where they are.  The others are open.
 */
#pragma once

#include "decide/score.h"

/* What one cell needs. */
struct hn_need {
        unsigned n_vcpus;
        uint64_t memory_kib;    /* whole pages, memory devices included; overhead too for ordinary pages */
        uint64_t overhead_kib;  /* ordinary memory beside huge pages */
        size_t kind;            /* page size: index into the ground's pages[] */
        size_t n_cores;         /* host cores for pinning="core", 0: floats */
        hwloc_bitmap_t fixed;   /* nodes by the user, by OS index; NULL: open */
};

struct hn_task {
        const struct hn_request *request;
        const struct hn_shape *shape;
        struct hn_ground *ground;    /* after fixed cells: its rooms are what is left for the open ones */
        struct hn_need *needs;       /* one per cell */
        size_t n_needs;
        hwloc_const_bitmap_t *user_cpus; /* by vCPU: the CPUs that the user gave it, as written; NULL: none */
        size_t *open;                /* the cells to be placed, ascending */
        size_t n_open;
        struct hn_seat *seats;       /* of the fixed cells */
        size_t n_seats;
        struct hn_promise *plugged;  /* of memory devices that name their nodes; off the ground's rooms */
        size_t n_plugged;
        hwloc_bitmap_t candidates;   /* for the open cells, by OS index */
        size_t *nodes;               /* the same, by `at`, ascending */
        size_t n_nodes;
        unsigned guest_threads;      /* vCPUs of a guest core */
        hwloc_bitmap_t memory_nodes; /* where memory of fixed cells may have to come from, by OS index */
        bool numatune_binds;         /* the nodes of the user's numatune are the cells', room or not */
        bool memory_open;            /* may homenode say where the memory is? */
        char *obstacle;              /* the user's XML asks for what this host has not; NULL: it does not */
        char *note;                  /* what people should know; NULL: nothing */
};

/* numatune_binds: all cells are fixed to the nodes of the user's numatune, room or not.  -ENOMEM. */
int hn_task_new(const struct hn_situation *situation, const struct hn_request *request,
                const struct hn_shape *shape, bool numatune_binds, struct hn_task **ret);

void hn_task_free(struct hn_task *task);
HN_DEFINE_CLEANUP(struct hn_task *, hn_task_free, hn_cleanup_task)
#define HN_TASK HN_CLEANUP(hn_cleanup_task)

/* What is plugged into a cell at the start. */
uint64_t hn_task_plugged_kib(const struct hn_task *task, size_t cell);

/* What the open cells want together: vCPUs × 1000, and memory of a page size (index into the ground's pages[]). */
uint64_t hn_task_wanted_milli(const struct hn_task *task);
uint64_t hn_task_wanted_kib(const struct hn_task *task, size_t kind);

/* Index of the home node that a CPU counts to, -1: none that guests may use. */
int hn_task_home(const struct hn_task *task, int cpu);

/* Lays fixed cells: fills seats, takes their memory off the ground, or sets the obstacle (fixed.c). */
int hn_task_fix(struct hn_task *task);
