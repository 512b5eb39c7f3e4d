/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tests of placing share: a host, domains started from the body of their XML, and what they were promised.
 */
#pragma once

#include "unit/support/scene.h"
#include "unit/support/xml.h"

#define UUID "<uuid>11111111-1111-1111-1111-111111111111</uuid>"

/* Nodes 0-3 with 8 CPUs and 32 GiB each. */
extern const struct host_plan four;

/* Starts what a domain's body asks for. */
const struct hn_decision *start_body(struct scene *scene, const char *body);

/* Starts a domain of one vCPU that takes memory of these nodes. */
void occupy(struct scene *scene, unsigned number, uint64_t memory_kib, const char *nodes);

/* What was promised there; nothing: all 0. */
const struct hn_promise *promise_on(const struct hn_placement *placement, unsigned node, uint64_t page_kib);
