/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keeper on the daemon's loop: fed by the queue of work and by its watch, swept every half minute; and the mover,
 * which has its turn after each look.  A guest's live XML is asked for apart from the loop, and the keeper looks when it
 * is there.
 */
#pragma once

#include "act/cgroup-io.h"
#include "daemon/connection.h"
#include "daemon/mover.h"

struct hn_keeping;

/* All of these must outlive it. */
int hn_keeping_new(const struct hn_cgroup_io *io, struct hn_work *work, struct hn_connection *connection,
                   struct hn_asking *asking, struct hn_keeping **ret);
void hn_keeping_free(struct hn_keeping *keeping);

/* Whoever gives it orders may listen to it (hn_mover_listen).  NULL: it could not be had, no guest is moved. */
struct hn_mover *hn_keeping_mover(const struct hn_keeping *keeping);

HN_DEFINE_CLEANUP(struct hn_keeping *, hn_keeping_free, hn_cleanup_keeping)
#define HN_KEEPING HN_CLEANUP(hn_cleanup_keeping)

/* Its keeper, which ends with it. */
struct hn_keeper *hn_keeping_keeper(const struct hn_keeping *keeping);
