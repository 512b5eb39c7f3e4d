/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every unit test needs: cmocka with its prerequisites in the right order, and short forms.
 */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after those four */
#include <cmocka.h>

#include "model/idset.h"

/* Asserts that a set reads as this list. */
#define assert_set(set, list) \
        do { \
                HN_FREE char *text_ = NULL; \
                assert_int_equal(hn_idset_format((set), &text_), 0); \
                assert_string_equal(text_, (list)); \
        } while (0)

/* The set of a list; the test frees it. */
static inline hwloc_bitmap_t set_of(const char *list)
{
        hwloc_bitmap_t set = NULL;

        assert_int_equal(hn_idset_parse(list, HN_IDSET_LIMIT, &set), 0);
        return set;
}
