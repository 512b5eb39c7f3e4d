/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Why a domain is where it is, as people read it: the same as `explain --json` says.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

/* -ENOMEM. */
int hn_explain_text(struct json_object *explained, FILE *out);
