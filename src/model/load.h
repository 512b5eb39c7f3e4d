/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Load: what runs on the host now beside what was promised.  The daemon measures and publishes it
 * (`--state`); without it a host counts as idle but for the placements in force.
 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "model/host.h"

struct hn_node_load {
        unsigned node;      /* OS index */
        double busy_cpus;   /* CPUs kept busy there by anything that has no placement: host, opted-out guests */
};

struct hn_load {
        struct hn_node_load *nodes;
        size_t n_nodes;
};

/* Reads the load out of a published state (model/state.h); absent members: idle.  -EBADMSG. */
int hn_load_from_state(struct json_object *state, struct hn_load **ret);
void hn_load_free(struct hn_load *load);
HN_DEFINE_CLEANUP(struct hn_load *, hn_load_free, hn_cleanup_load)
#define HN_LOAD HN_CLEANUP(hn_cleanup_load)

/* busy_cpus of a node; 0 for NULL and for nodes that are not in it. */
double hn_load_busy(const struct hn_load *load, unsigned node);
