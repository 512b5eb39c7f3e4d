/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Text for people: names that are safe on a terminal, how wide they are there, and sets.
 */
#pragma once

#include "model/idset.h"

/* A copy without control characters: those of ASCII, DEL, the C1 set (U+0080…U+009F, a terminal obeys these
 * as well) and bytes that are not UTF-8 become \xNN.  The caller frees; NULL without memory. */
char *hn_display_escape(const char *text);

/* Columns that a text without control characters takes on a terminal; where the locale can't tell, one per
 * UTF-8 character. */
unsigned hn_display_width(const char *text);

/* A copy that takes `width` columns (above 0) at most: a longer text is cut and gets a "+" in the last of them.  The
 * caller frees; NULL without memory. */
char *hn_display_cut(const char *text, unsigned width);

/* A set as a list string, "-" for an empty one and for NULL.  The caller frees; NULL without memory. */
char *hn_display_set(hwloc_const_bitmap_t set);
