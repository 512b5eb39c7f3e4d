/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When the host changes under a guest that runs: can it stay where it is, and should it?  Pure.
 *
 * The rule: a guest whose home lost all of the CPUs it runs on, or is no longer to be had for memory, leaves.  One that
 * lost some of its CPUs leaves only where that is better at once, by the one scoring function (score.h): its memory
 * stays behind until it is moved, so leaving costs it an access over the distance each time, and staying costs it, and
 * those that are there too, the crowding.  Between nodes at distance 20 that is half of its speed: it leaves where
 * crowding takes more than that.  One that has left is where nothing was lost, and so has no reason to come back.
 */
#pragma once

#include "decide/decide.h"

enum hn_standing {
        HN_STANDS,
        HN_NARROWED, /* some of its CPUs are gone */
        HN_HOMELESS, /* something of it has no CPU any more, or its home may not have its memory */
};

/* How a placement stands on this host.  What the user pinned is the user's.  `request`: of the live XML. */
enum hn_standing hn_home_standing(const struct hn_host *host, const struct hn_request *request,
                                  const struct hn_placement *placement);

/* Are all nodes of this set homes? */
bool hn_home_remains(const struct hn_host *host, hwloc_const_bitmap_t nodes);

/* Is a guest better off with its CPUs where `to` has them and its memory still where `from` has it, than with both as
 * `from` has them?  Where the two are cut into different cells the answer is no.  -ENOMEM. */
int hn_home_leaves(const struct hn_situation *situation, const struct hn_request *request, const struct hn_shape *shape,
                   const struct hn_placement *from, const struct hn_placement *to, bool *ret);
