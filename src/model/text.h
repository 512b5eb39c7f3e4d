/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Texts for people: printed into memory, and reasons built piece by piece.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/idset.h"
#include "model/root.h"

/* A new text; the caller frees; NULL without memory. */
char *hn_text_print(const char *format, ...) HN_PRINTF(1, 2);
char *hn_text_vprint(const char *format, va_list arguments) HN_PRINTF(1, 0);

/* Appends to *text (NULL: starts it), with "; " between pieces.  -ENOMEM. */
int hn_text_add(char **text, const char *format, ...) HN_PRINTF(2, 3);

/* "512 MiB", "12.5 GiB".  Into a buffer of HN_TEXT_SIZE. */
#define HN_TEXT_SIZE 32
const char *hn_text_size(uint64_t kib, char *buffer);

/* Two different numbers with as many digits as it takes to tell them apart, two at least.  Into buffers of HN_TEXT_SIZE. */
void hn_text_apart(double a, double b, char *a_text, char *b_text);

/* "node 2" or "nodes 0-1".  The caller frees; NULL without memory. */
char *hn_text_nodes(hwloc_const_bitmap_t nodes);

/* Is the word in a list with single blanks between ("cpu io memory")? */
bool hn_text_has_word(const char *list, const char *word);
