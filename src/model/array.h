/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays that grow.
 */
#pragma once

#include <stddef.h>

/* Appends a zeroed element to an array of `n` elements of `size` bytes: the array, perhaps elsewhere, or NULL
 * (the old one is then still there).  Arrays grow at powers of two. */
void *hn_array_grow(void *array, size_t n, size_t size);

/* A copy of an array, or NULL without memory; an empty one copies to something that can be freed. */
void *hn_array_copy(const void *array, size_t n, size_t size);
