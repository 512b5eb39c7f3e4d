/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an entry has about moves, its members "moving" and "moved".
 */
#pragma once

#include <json-c/json.h>

#include "store/ledger.h"

/* Both members may be absent.  -EBADMSG: they are not well written, or about another guest or other cells than the
 * entry's placement, which has been read; -ENOMEM. */
int hn_moving_read(struct json_object *json, struct hn_entry *entry);

/* Adds the members that there is something to say in.  -ENOMEM. */
int hn_moving_write(const struct hn_entry *entry, struct json_object *json);
