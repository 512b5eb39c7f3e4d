/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernel makes of a bind policy when a cpuset's memory set changes: it rebinds by order (DESIGN fact 10), the
 * n-th node of the old set becomes the n-th of the new one, counted round and round; a bound node outside the old set
 * stays.
 */
#pragma once

#include <stdbool.h>

#include "model/idset.h"

/* Does memory that is bound to each of these nodes stay bound to that very node when the memory set changes from
 * `from` to `to`? */
bool hn_rebind_keeps(hwloc_const_bitmap_t from, hwloc_const_bitmap_t to, hwloc_const_bitmap_t bound);

/* What a policy that names these nodes names then; the caller frees.  An empty `to` changes nothing.  -ENOMEM. */
int hn_rebind(hwloc_const_bitmap_t from, hwloc_const_bitmap_t to, hwloc_const_bitmap_t bound, hwloc_bitmap_t *ret);
