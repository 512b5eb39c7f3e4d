/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A guest of a trace as src/decide takes it: vCPUs and memory, and nothing else said.
 */
#pragma once

#include "model/domain.h"
#include "simulate/trace.h"

/* NULL without memory; to be filled in before use. */
struct hn_request *hn_trace_request_new(void);
void hn_trace_request_fill(struct hn_request *request, const struct hn_trace_guest *guest);
