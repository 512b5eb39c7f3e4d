/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The connection to libvirt, come what may: opened with back-off (1, 2, 4 … 60 s), opened again when it breaks.  Its
 * events become marks in the queue of work; on each connecting every domain, and the host, is marked.  The loop itself
 * asks nothing of it that could take long.
 */
#pragma once

#include "act/libvirt.h"
#include "daemon/asking.h"
#include "daemon/backoff.h"
#include "daemon/opening.h"
#include "daemon/work.h"
#include "model/root.h"

#define HN_DAEMON_IDENTIFIER "homenoded" /* in the journal */

struct hn_connection_source {
        const char *uri;         /* NULL: $HOMENODE_URI, or libvirt's own system instance */
        hn_open_call *open;      /* NULL: libvirt's */
        void *open_data;
        struct hn_backoff backoff; /* all 0: from 1 s to 60 s */
};

struct hn_connection;

/* Begins to connect.  `root`, `work` and `asking` must outlive it. */
int hn_connection_new(const struct hn_root *root, struct hn_work *work, struct hn_asking *asking,
                      const struct hn_connection_source *source, struct hn_connection **ret);

/* Hangs up apart from the loop: that may turn again when `asking` is closed. */
void hn_connection_free(struct hn_connection *connection);
HN_DEFINE_CLEANUP(struct hn_connection *, hn_connection_free, hn_cleanup_connection)
#define HN_CONNECTION HN_CLEANUP(hn_cleanup_connection)

/* The connection for the present handler, or NULL while there is none; not the caller's.  Whoever finds it broken
 * just goes on: all is marked again when it is back. */
virConnectPtr hn_connection_get(const struct hn_connection *connection);

/* Marks the host and every domain when libvirt has told which there are: while somebody holds one, it does not, and
 * what happens to the others is heard all the same.  Nothing while there is no connection. */
void hn_connection_mark_all(struct hn_connection *connection);
