/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Traces: guests in the order in which they came to a host, as text:
 *
 *   id,group,arrive_s,lifetime_s,lifetime_hi_s,censored,vcpus,mem_mib,vnuma,note
 *
 * Fields are empty where the source has nothing.  A lifetime is known up to a range (lifetime_s to lifetime_hi_s:
 * its middle is taken); `censored`: it was still running when the recording ended.  `vnuma` and `note` are about
 * the hosts that the guests ran on, and are passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cleanup.h"

struct hn_trace_guest {
        double arrive_s;
        double lifetime_s; /* INFINITY: to the end */
        unsigned vcpus;
        uint64_t memory_kib;
};

struct hn_trace {
        struct hn_trace_guest *guests; /* in the order of arrival */
        size_t n_guests;
        bool timed;                    /* false: no times; arrive_s and lifetime_s say nothing */
};

/* -EBADMSG: not of this form, *ret_line says in which line (from 1); -ENOMEM.  *ret_line is set on -EBADMSG only. */
int hn_trace_parse(const char *text, size_t length, struct hn_trace **ret, size_t *ret_line);

void hn_trace_free(struct hn_trace *trace);
HN_DEFINE_CLEANUP(struct hn_trace *, hn_trace_free, hn_cleanup_trace)
#define HN_TRACE HN_CLEANUP(hn_cleanup_trace)
