/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keeper on the daemon's loop: fed by the queue of work and by its watch, swept every half minute.
 */
#pragma once

#include "act/cgroup-io.h"
#include "daemon/connection.h"

struct hn_keeping;

/* All of these must outlive it. */
int hn_keeping_new(const struct hn_cgroup_io *io, struct hn_work *work, struct hn_connection *connection,
                   struct hn_keeping **ret);
void hn_keeping_free(struct hn_keeping *keeping);
HN_DEFINE_CLEANUP(struct hn_keeping *, hn_keeping_free, hn_cleanup_keeping)
#define HN_KEEPING HN_CLEANUP(hn_cleanup_keeping)
