/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Telling the administrator: the systemd journal on a host, a file in a recorded tree.
 */
#pragma once

#include <syslog.h>

#include "model/root.h"

#define HN_JOURNAL_FILE "/run/homenode/journal" /* in a recorded tree only */

/* One entry of this priority (LOG_INFO, …) under `identifier`; `domain` and `nodes` (a list) become the fields
 * HOMENODE_DOMAIN and HOMENODE_NODE, NULL leaves them out.  What can't be told is lost: nothing depends on it. */
void hn_journal(const struct hn_root *root, int priority, const char *identifier, const char *domain,
                const char *nodes, const char *text, ...) HN_PRINTF(6, 7);
