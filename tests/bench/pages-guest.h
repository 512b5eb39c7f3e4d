/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A process that stands for a guest: memory of one kind, on one node, that it may keep touching.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "act/pages.h"

enum guest_memory { GUEST_ORDINARY, GUEST_TRANSPARENT, GUEST_MEMFD, GUEST_HUGETLB, GUEST_KINDS };

/* Between the guest and whoever measures. */
struct guest_shared {
        atomic_bool ready, failed;
        atomic_ullong longest_us; /* between two looks at its clock */
        atomic_ullong touched;
};

struct guest {
        struct guest_shared *shared;
        pid_t pid;
        uint64_t bytes;
};

const char *guest_memory_name(enum guest_memory kind);

/* A process with so much memory on a node.  `busy`: it touches one page after another, and looks at its clock between.
 * -EIO: it could not get its memory. */
int guest_start(enum guest_memory kind, uint64_t bytes, unsigned node, bool busy, struct guest *ret);
void guest_stop(struct guest *guest);

/* Moves it by act/pages, with so long a pause between steps; NULL: nobody wants to know of each step. */
typedef void guest_stepped(void *data, const struct hn_pages_progress *progress);
int guest_move(const struct guest *guest, const struct hn_root *root, unsigned to, unsigned pause_us,
               guest_stepped *stepped, void *data, struct hn_pages_progress *ret);

/* CPUs first, as homenode moves a guest, and the thread that moves its memory (0: the caller) as well: pages that automatic
 * NUMA balancing hides go to the node of whoever touches them. */
int run_on_node(const struct hn_root *root, pid_t pid, unsigned node);

/* What of it is on a node, in percent. */
int guest_percent(const struct guest *guest, const struct hn_root *root, unsigned node);

void pause_for_us(uint64_t us);
