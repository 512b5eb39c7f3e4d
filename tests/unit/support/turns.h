/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A loop for tests: it turns until something stops it, or for a while.
 */
#pragma once

#include "daemon/loop.h"

struct turns {
        struct hn_loop *loop;
        struct hn_timer *end; /* stops it */
};

/* Opens it, if it is not yet: a process has one. */
void turns_open(struct turns *turns);
void turns_close(struct turns *turns);

/* Turns until somebody stops the loop, or `wait_ms` are over. */
void turns_run(struct turns *turns, unsigned wait_ms);
