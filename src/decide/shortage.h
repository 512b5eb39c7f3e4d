/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Naming what is short where no set of nodes holds a domain, or no node one of its cells: CPUs, memory, or huge
 * pages of a size.
 */
#pragma once

#include "decide/task.h"

/* Adds the sentence ("no room: 33 vCPUs are wanted, …") to *reason.  -ENOMEM. */
int hn_shortage_say(const struct hn_task *task, char **reason);

/* Why the open cells had to be spread ("16 vCPUs are wanted, no node it may use carries more than 12"); the caller
 * frees.  -ENOMEM. */
int hn_shortage_say_spread(const struct hn_task *task, char **ret);
