/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Explaining: a decision in words and as JSON, for plan, explain, status and bug reports.
 */
#pragma once

#include <json-c/json.h>

#include "decide/decide.h"

/* One element of `plan --json` (DESIGN chapter 6): name, uuid, managed, reason, cells[] with id, vcpus,
 * memory_kib, nodes, cpus; vcpu_cpus[] with vcpu and cpus where these differ from the cell's; score with its terms and total; runner_up with nodes and score, or null. */
int hn_explain_json(const struct hn_request *request, const struct hn_decision *decision,
                    struct json_object **ret);

/* Which terms decided between a decision and its runner-up, as a sentence: "node 2 rather than node 0: less CPU
 * demand there (expected slowdown 0.02 against 0.31)".  The caller frees. */
int hn_explain_sentence(const struct hn_decision *decision, char **ret);
