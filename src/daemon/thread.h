/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads beside the daemon's loop, and waiting for what they say.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef void *hn_thread_call(void *data);

/* Starts a thread that takes no signals: those are the loop's.  `stack_bytes` 0: the usual size.  Nobody waits for its
 * end, but where `ret` is not NULL: then it is to be joined.  -EAGAIN and others: there is no thread. */
int hn_thread_start(hn_thread_call *call, void *data, size_t stack_bytes, pthread_t *ret);

/* A condition that is waited for by hn_thread_until: the time of day may be set while somebody waits. */
void hn_thread_condition(pthread_cond_t *condition);
struct timespec hn_thread_until(uint64_t wait_us);
