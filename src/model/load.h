/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Load: what runs on the host now beside what was promised.  The daemon measures and publishes it
 * (`--state`); without it a host counts as idle but for the placements in force.
 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "model/host.h"
#include "model/uuid.h"

struct hn_node_load {
        unsigned node;      /* OS index */
        double busy_cpus;   /* CPUs kept busy there by anything that the ledger has not: host, guests unknown to it */
};

/* A guest that was measured.  Negative: this kernel does not tell. */
struct hn_guest_load {
        char uuid[HN_UUID_LENGTH + 1];
        double run_cpus;         /* CPUs that its threads keep busy */
        double wait_cpus;        /* CPUs that they would, were they to be had */
        double trend_cpus;       /* by how much the two together grow in a minute */
        double cpu_pressure, memory_pressure, io_pressure; /* share of the time in which something of it waits */
};

struct hn_load {
        struct hn_node_load *nodes;
        size_t n_nodes;
        struct hn_guest_load *guests;
        size_t n_guests;
};

/* Appends to nodes or guests; what is no number or out of range is taken for 0, or for not told.  -ENOMEM. */
int hn_load_add_node(struct hn_load *load, unsigned node, double busy_cpus);
int hn_load_add_guest(struct hn_load *load, const struct hn_guest_load *guest);

/* NULL: not measured. */
const struct hn_guest_load *hn_load_guest(const struct hn_load *load, const char *uuid);

/* What the daemon publishes (model/state.h) of a host with its live figures (free_kib with what placed guests hold)
 * and its load.  -ENOMEM. */
int hn_load_to_state(const struct hn_host *host, const struct hn_load *load, const char *boot_id, uint64_t written_us,
                     struct json_object **ret);

/* The guests alone, in the same form.  -ENOMEM. */
int hn_load_guests_to_state(const struct hn_load *load, const char *boot_id, uint64_t written_us,
                            struct json_object **ret);

/* Reads the load out of a published state; absent members: idle.  -EBADMSG. */
int hn_load_from_state(struct json_object *state, struct hn_load **ret);
void hn_load_free(struct hn_load *load);
HN_DEFINE_CLEANUP(struct hn_load *, hn_load_free, hn_cleanup_load)
#define HN_LOAD HN_CLEANUP(hn_cleanup_load)

/* busy_cpus of a node; 0 for NULL and for nodes that are not in it. */
double hn_load_busy(const struct hn_load *load, unsigned node);
