/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The daemon's one event loop: libvirt's own, on which everything else hangs as well: timers, descriptors,
 * signals, the service manager's watchdog.  One thread: no call here or from a callback may come from another, and
 * each callback has the turn (turn.h).
 */
#pragma once

#include <stdbool.h>

#include "model/cleanup.h"

struct hn_loop;

/* What a signal asks for. */
enum hn_signal { HN_SIGNAL_RELOAD /* SIGHUP */, HN_SIGNAL_STOP /* SIGTERM, SIGINT */ };
typedef void hn_signal_call(void *data, enum hn_signal signal);

/* Makes the loop, of which a process has one: blocks the signals above and hears them (call before any thread is
 * made), starts the watchdog's timer where the service manager wants one.  Makes libvirt silent on stderr. */
int hn_loop_open(hn_signal_call *call, void *data, struct hn_loop **ret);
void hn_loop_close(struct hn_loop *loop);
HN_DEFINE_CLEANUP(struct hn_loop *, hn_loop_close, hn_cleanup_loop)
#define HN_LOOP HN_CLEANUP(hn_cleanup_loop)

/* Until hn_loop_stop.  -EIO: the loop itself failed. */
int hn_loop_run(struct hn_loop *loop);
void hn_loop_stop(struct hn_loop *loop);

/* A timer, not set when it is made. */
struct hn_timer;
typedef void hn_loop_call(void *data);
int hn_timer_new(hn_loop_call *call, void *data, struct hn_timer **ret);
void hn_timer_once(struct hn_timer *timer, unsigned wait_ms);  /* 0: at the loop's next turn */
void hn_timer_every(struct hn_timer *timer, unsigned wait_ms);
void hn_timer_clear(struct hn_timer *timer);
void hn_timer_free(struct hn_timer *timer);
HN_DEFINE_CLEANUP(struct hn_timer *, hn_timer_free, hn_cleanup_timer)
#define HN_TIMER HN_CLEANUP(hn_cleanup_timer)

/* Calls as long as the descriptor, which stays the caller's, is readable or broken.  Free it before closing. */
struct hn_readable;
int hn_readable_new(int fd, hn_loop_call *call, void *data, struct hn_readable **ret);
void hn_readable_free(struct hn_readable *readable);
HN_DEFINE_CLEANUP(struct hn_readable *, hn_readable_free, hn_cleanup_readable)
#define HN_READABLE HN_CLEANUP(hn_cleanup_readable)
