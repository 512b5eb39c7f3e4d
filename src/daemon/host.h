/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the host looks like now, and whether that is another host than before: CPUs and nodes online, memory, huge
 * page pools, what machine.slice leaves, devices.
 *
 * It is looked at by the sweep, and when somebody writes to machine.slice's cpuset.  Of CPUs and memory blocks the
 * kernel tells by uevents only, through netlink sockets, which the daemon is not allowed to have (and libsystemd 252's
 * monitor of them wants sd-event): half a minute is soon enough, as threads without a CPU of theirs run on any others
 * meanwhile.
 */
#pragma once

#include "model/host.h"

struct hn_outlook {
        struct hn_host *host; /* as of the last look; NULL: none has succeeded */
        char *stamp;          /* tells it from another */
        unsigned generation;  /* so many have been seen */
};

/* Looks; puts the topology's record into /run where it is missing or of another host, so that the hook finds it.
 * 1: it has changed (the first look included); 0: it is as before.  Errors leave what is known, as while something is
 * just going: the next look tells. */
int hn_outlook_renew(const struct hn_root *root, struct hn_outlook *outlook);
void hn_outlook_clear(struct hn_outlook *outlook);

/* Everything of a host that guests depend on and that does not change with what they do, as a text; the caller frees.
 * -ENOMEM. */
int hn_outlook_stamp(const struct hn_host *host, char **ret);
