/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Telling the administrator about a guest and the nodes it is on, or goes to.
 */
#pragma once

#include <stdarg.h>

#include "model/idset.h"
#include "model/root.h"

/* One line of the journal, "NAME: text". */
void hn_tell_guest(const struct hn_root *root, const char *name, hwloc_const_bitmap_t nodes, const char *text, ...)
        HN_PRINTF(4, 5);
void hn_vtell_guest(const struct hn_root *root, const char *name, hwloc_const_bitmap_t nodes, const char *text,
                    va_list arguments) HN_PRINTF(4, 0);
