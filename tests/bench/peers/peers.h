/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How others decide, from what is published about them, as contenders of the simulator.  Nothing of theirs is copied, and
 * where they leave something open they get what is best for them: all know what the host really has, memory for which
 * a chosen node has no room comes from the nearest (where they would fail, or have the guest killed), and they are not
 * charged for fitting guests with cells by hand.
 */
#pragma once

#include "simulate/contender.h"
#include "simulate/lay.h"

extern const struct hn_contender peer_esxi;
extern const struct hn_contender peer_first_fit;
extern const struct hn_contender peer_kernel_node;
extern const struct hn_contender peer_kubelet, peer_kubelet_closest;
extern const struct hn_contender peer_nova_pack, peer_nova_spread;
extern const struct hn_contender peer_numad, peer_numad_reserved;
extern const struct hn_contender peer_xen;

/* The home nodes being chosen from; the i-th is nodes[i], by `at`. */
struct peer_nodes {
        size_t nodes[64];
        size_t n;
};

#define PEER_NODES_LIMIT 64u

/* -E2BIG: more than they are made for. */
int peer_find_nodes(const struct hn_world *world, struct peer_nodes *ret);

/* vCPUs that run on a node. */
double peer_vcpus(const struct hn_world *world, size_t at);

unsigned peer_distance(const struct hn_world *world, size_t a, size_t b);

/* The fewest cells into which a guest can be cut evenly so that each has no more vCPUs than a node's CPUs, and no more
 * memory than the largest node; 0: none. */
size_t peer_cells(const struct hn_world *world, const struct peer_nodes *all, const struct hn_trace_guest *guest,
                  bool by_capacity);
