/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Opening a connection to libvirt apart from the loop: where a stopped or starting daemon holds the other end of the
 * socket, virConnectOpen waits without a limit, and neither guests nor the watchdog can wait with it.
 */
#pragma once

#include <libvirt/libvirt.h>

#include "daemon/loop.h"

/* Opens or fails with a message (the caller frees; may be NULL).  Called in a thread of its own. */
typedef int hn_open_call(void *data, const char *uri, virConnectPtr *ret, char **ret_message);

/* libvirt's own, which it notices the end of within 20 s; -EIO. */
int hn_open_libvirt(void *data, const char *uri, virConnectPtr *ret, char **ret_message);

struct hn_opening;

/* Starts; `call` is called by the loop when it is done, one way or the other. */
int hn_opening_start(hn_open_call *open, void *open_data, const char *uri, hn_loop_call *call, void *data,
                     struct hn_opening **ret);

/* What came of it: 0 with a connection that is the caller's, or open's error.  -EAGAIN: not done yet. */
int hn_opening_take(struct hn_opening *opening, virConnectPtr *ret, char **ret_message);

/* Gives it up; what it opens yet is closed. */
void hn_opening_free(struct hn_opening *opening);
