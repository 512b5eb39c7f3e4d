/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sets of CPU or node numbers in hwloc bitmaps, and libvirt's and the kernel's way to write them.
 */
#pragma once

#include <stdbool.h>

#include <hwloc.h>

#include "model/cleanup.h"

/* Numbers beyond this are refused: kernels are built for at most 8,192 CPUs and 1,024 nodes. */
#define HN_IDSET_LIMIT 16384u

HN_DEFINE_CLEANUP(hwloc_bitmap_t, hwloc_bitmap_free, hn_cleanup_bitmap)
#define HN_BITMAP HN_CLEANUP(hn_cleanup_bitmap)

/* Reads "0-3,^2,8" as libvirt does (a `^n` takes out what was named before it) and as the kernel
 * writes it.  White space around numbers is allowed, the empty text is the empty set.
 * `limit` is the first number that is refused (at most HN_IDSET_LIMIT).  The caller frees *ret.
 * -EINVAL: not such a list; -ERANGE: a number too large; -ENOMEM. */
int hn_idset_parse(const char *text, unsigned limit, hwloc_bitmap_t *ret);

/* The same for lists in libvirt's XML, with what its virBitmapParse takes besides: a comma at the end ("0-3,"), and a
 * sign before the end of a range ("0-+3").  Errors as above; what libvirt refuses is refused, but for the empty text. */
int hn_idset_parse_libvirt(const char *text, unsigned limit, hwloc_bitmap_t *ret);

/* Writes a set ascending, with ranges: "0-1,3".  The empty set is "".  The caller frees *ret.
 * -EINVAL for an infinite set, -ENOMEM. */
int hn_idset_format(hwloc_const_bitmap_t set, char **ret);

/* How many numbers are in the set (0 for NULL). */
unsigned hn_idset_count(hwloc_const_bitmap_t set);

/* for (int id = …) over a set, ascending. */
#define HN_IDSET_FOREACH(id, set) \
        for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id))
