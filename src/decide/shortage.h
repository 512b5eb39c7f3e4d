/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Naming what is short where no set of nodes holds a domain: CPUs, memory, or huge pages of a size.
 */
#pragma once

#include "decide/task.h"

/* Adds the sentence ("no room: 33 vCPUs are wanted, …") to *reason.  -ENOMEM. */
int hn_shortage_say(const struct hn_task *task, char **reason);
