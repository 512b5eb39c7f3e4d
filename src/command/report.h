/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reports for programs: JSON on standard output.
 */
#pragma once

#include <json-c/json.h>

/* Prints `json` and a newline.  Returns one of enum hn_exit. */
int hn_report_json(struct json_object *json);
