/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether libvirt has something to do with a guest's memory that moving it would get in the way of.
 */
#pragma once

#include "daemon/asking.h"
#include "daemon/connection.h"

/* *ret_why: what that is, a sentence that needs no freeing; NULL: nothing.  Waits a little for libvirt; -EBUSY: it does not
 * tell just now. */
int hn_occupied(struct hn_asking *asking, const struct hn_connection *connection, const char *uuid, const char **ret_why);
