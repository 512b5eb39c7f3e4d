/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When CPUs come (back) to the home of a guest that runs.  Pure.
 *
 * The rule: a cell has all CPUs of the nodes that it runs on, or all of the one last-level cache that it was put behind (cpus.h).  A set
 * that is less than that was decided while some were offline, or not to be had, and gets the rest.  Nothing is taken
 * from it, and it goes to no other node or cache: so the same host asks for nothing twice.
 */
#pragma once

#include "decide/decide.h"

/* *ret: the placement with what its sets lack (the caller frees); NULL: they lack nothing.  What the user pinned
 * (`request` is of the live XML) stays as it is.  -ENOMEM. */
int hn_home_widen(const struct hn_host *host, const struct hn_request *request, const struct hn_placement *placement,
                  struct hn_placement **ret);
