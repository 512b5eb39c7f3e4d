/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory that is plugged into a guest while it runs, and out of it: its node has it promised from then on, or no longer.
 * Pure.
 */
#pragma once

#include "decide/decide.h"

/* Promises what the live XML has in memory devices now, in the pages of the cells they are in and on the nodes that
 * these are bound to or else placed on, QEMU's own memory for them included.  There may be no room for it: libvirt has plugged it in all the same.
 * 1: something has changed; 0: nothing has, or the guest is not placed by its cells; -ENOMEM. */
int hn_plug_follow(const struct hn_host *host, const struct hn_policy *policy, const struct hn_request *request,
                   struct hn_placement *placement);
