/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Of a domain that does not run: what would be decided if it were started now, by its definition as libvirt has it.
 */
#pragma once

#include <stdbool.h>

/* Prints it: as JSON what `explain --json` says of a guest, with state "shut off", and `saved` where it has a managed
 * save; without what only a start brings about.  Returns an enum hn_exit, having complained. */
int hn_explain_next(const char *domain, bool as_json);
