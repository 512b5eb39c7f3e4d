/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A herd: guests of known habits on a recorded host, kept by a keeper, while time passes.
 */
#pragma once

#include "daemon/keeper.h"
#include "unit/support/entry.h"
#include "unit/support/tree.h"

#define HERD_GUESTS 64u
#define HERD_NODES 8u

struct herd_guest {
        bool runs;
        unsigned vcpus, node;   /* where its CPUs and memory are */
        uint64_t memory_kib;    /* all of it is resident */
        double busy_cpus;       /* of its own, whatever others do */
        double ran_s;           /* up to now, all vCPUs together */
        const char *elements;   /* more of its XML */
};

struct herd {
        struct tree tree;
        struct hn_keeper *keeper;
        unsigned nodes, cores;
        struct herd_guest guests[HERD_GUESTS];
        unsigned n;
        double host_cpus[HERD_NODES]; /* that the host itself keeps busy on each node */
        double node_s[HERD_NODES];      /* CPU time used there up to now, by whomever */
        uint64_t free_kib[HERD_NODES];
        unsigned now_s;
};

/* Nodes 0… of so many cores, with 7 GiB each, all of it free. */
void herd_make(struct herd *herd, unsigned nodes, unsigned cores);
void herd_end(struct herd *herd);

/* A guest starts on a node, and is looked at; its number. */
unsigned herd_start(struct herd *herd, unsigned vcpus, uint64_t memory_kib, unsigned node, double busy_cpus);

/* It goes to where this placement says, all at once, and is looked at. */
void herd_move(struct herd *herd, unsigned guest, const struct hn_placement *to);

/* It ends. */
void herd_stop(struct herd *herd, unsigned guest);

/* Time passes. */
void herd_pass(struct herd *herd, unsigned seconds);

/* Its UUID, in a buffer that the next call uses again. */
const char *herd_uuid(unsigned guest);
/* The guest of a UUID. */
unsigned herd_find(const char *uuid);
