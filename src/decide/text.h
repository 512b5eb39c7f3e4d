/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Building reasons: sentences for people, piece by piece.
 */
#pragma once

#include <stdint.h>

#include "model/idset.h"

/* Appends to *text (NULL: starts it), with "; " between pieces.  -ENOMEM. */
int hn_text_add(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "512 MiB", "12.5 GiB".  Into a buffer of HN_TEXT_SIZE. */
#define HN_TEXT_SIZE 32
const char *hn_text_size(uint64_t kib, char *buffer);

/* "node 2" or "nodes 0-1".  The caller frees; NULL without memory. */
char *hn_text_nodes(hwloc_const_bitmap_t nodes);
