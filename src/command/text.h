/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Text for people: sizes as they write them, names that are safe on a terminal, and how wide they are there.
 */
#pragma once

#include <stdint.h>

#include "model/idset.h"

/* A copy without control characters: those of ASCII, DEL, the C1 set (U+0080…U+009F, a terminal obeys these
 * as well) and bytes that are not UTF-8 become \xNN.  The caller frees; NULL without memory. */
char *hn_text_escape(const char *text);

/* Columns that a text without control characters takes on a terminal; where the locale can't tell, one per
 * UTF-8 character. */
unsigned hn_text_width(const char *text);

/* "512 MiB", "1.5 GiB": the largest unit that leaves at least 1, rounded to one decimal place. */
#define HN_SIZE_LENGTH 32
const char *hn_text_size(uint64_t size_kib, char text[static HN_SIZE_LENGTH]);

/* A set as a list string, "-" for an empty one and for NULL.  The caller frees; NULL without memory. */
char *hn_text_set(hwloc_const_bitmap_t set);
