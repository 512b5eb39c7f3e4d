/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Traces of guests for the simulator's tests.
 */
#pragma once

#include "simulate/trace.h"

#define TRACE_HEAD "id,group,arrive_s,lifetime_s,lifetime_hi_s,censored,vcpus,mem_mib,vnuma,note\n"

/* The trace of these lines; the caller frees. */
struct hn_trace *trace_of(const char *lines);
