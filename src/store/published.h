/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The state that the daemon publishes (model/state.h), for whoever decides meanwhile.  It is written when something has
 * changed, and so may be old and true: as long as the daemon lives it holds a lock (flock) on the file.
 */
#pragma once

#include <json-c/json.h>

#include "model/root.h"

#define HN_PUBLISHED_PATH "/run/homenode/state.json"
#define HN_PUBLISHED_GUESTS_PATH "/run/homenode/guests.json"
#define HN_PUBLISHED_FRESH_US (30u * 1000000u) /* so long it counts without its daemon */

/* The state of this boot's daemon, if that lives or has written it of late.  -ENOENT: there is none that counts;
 * -EBADMSG and others: it can't be read. */
int hn_published_read(const struct hn_root *root, struct json_object **ret);

/* Of the state that was just written: it counts as long as the descriptor is open, and the process lives.  Returns the
 * descriptor, which the caller closes.  -EWOULDBLOCK: somebody is just looking. */
int hn_published_hold(const struct hn_root *root);

/* Does a daemon live that has published?  -EACCES and others: it can't be told. */
int hn_published_lives(const struct hn_root *root, bool *ret);
