/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Telling the administrator: the systemd journal on a host, a file in a recorded tree.  The journal is spoken to in
 * its native protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL, which systemd promises to keep) and not through
 * libsystemd: loading that takes longer than all the rest of a line of the hook (act/libsystemd.h).
 */
#pragma once

#include <syslog.h>

#include "model/root.h"

#define HN_JOURNAL_FILE "/run/homenode/journal" /* in a recorded tree only */

/* One entry of this priority (LOG_INFO, …) under `identifier`; `domain` and `nodes` (a list) become the fields
 * HOMENODE_DOMAIN and HOMENODE_NODE, NULL leaves them out.  What can't be told is lost: nothing depends on it. */
void hn_journal(const struct hn_root *root, int priority, const char *identifier, const char *domain,
                const char *nodes, const char *text, ...) HN_PRINTF(6, 7);

struct hn_journal_field {
        const char *name, *value; /* a NULL value leaves the field out */
};

/* One entry as it goes to journald; the caller frees.  -ENOMEM. */
int hn_journal_datagram(const struct hn_journal_field *fields, size_t n, char **ret, size_t *ret_length);
