/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook's operations: reserve and write the drop-in before a guest starts, put its CPU sets into force after,
 * clear up in the end.  They touch files only.  Whatever fails leaves the guest to libvirt and is told in the text.
 */
#pragma once

#include "act/rewrite.h"
#include "model/root.h"
#include "model/text.h"

#define HN_LOCK_WAIT_US 300000u

/* What libvirt tells about a guest. */
struct hn_guest {
        const struct hn_root *root;
        const char *name;
        xmlDoc *doc;
        struct hn_request *request;
};

/* What an operation came to. */
struct hn_report {
        bool refused;  /* the domain's own metadata demands what can't be had: the start is to fail */
        char *text;    /* a line for people; never NULL after success */
        char *nodes;   /* the home as a list; NULL: none */
        char *xml;     /* the rewritten XML; NULL: nothing to print */
};
void hn_report_clear(struct hn_report *report);
#define HN_REPORT HN_CLEANUP(hn_report_clear)

/* Adds a part to the report's line, printf-like; what does not fit into memory is left out. */
#define hn_report_tell(report, ...) ((void) hn_text_add(&(report)->text, __VA_ARGS__))

typedef int hn_operation(const struct hn_guest *guest, struct hn_report *ret);

/* prepare: clears a stale drop-in, decides under the lock (or keeps what migrate or restore just decided), writes
 * ledger and drop-in, hands out the rewritten XML. */
hn_operation hn_operation_prepare;

/* migrate, restore: decides for this host; XML only where it differs from what came. */
hn_operation hn_operation_filter;

/* started: CPU sets into the thread cgroups, the scope's CPUs opened; from now on the entry is in force. */
hn_operation hn_operation_started;

/* release: clears drop-in and ledger. */
hn_operation hn_operation_release;
