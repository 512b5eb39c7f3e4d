/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the administrator wants a guest to be that runs, as a placement.
 */
#pragma once

#include "daemon/guests.h"
#include "daemon/keeper.h"

/* The placement of the guest on exactly these nodes; on those that it has, its own with a memory set no wider than its
 * home.  *ret_why (the caller frees; set on failure, may stay NULL) says for people why not.  -EINVAL: nodes that are no
 * homes, or too many or too few of them for its cells; -EPERM: its owner does not want it there; -ENOSPC: no room;
 * -ENOENT: it is not placed; -ETIME: others have the ledger; -ENOMEM. */
int hn_destination(const struct hn_keeper *keeper, const struct hn_guest *guest, hwloc_const_bitmap_t nodes,
                   struct hn_placement **ret, char **ret_why);
