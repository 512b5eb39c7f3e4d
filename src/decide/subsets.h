/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Walking through all ways to choose k of n things, in lexicographic order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* As many sets are looked at one by one, all halves of 16 nodes among them: 16 choose 8 is 12,870. */
#define HN_SUBSETS_LIMIT 13000u

struct hn_subsets {
        size_t n, k;
        bool (*may)(void *context, size_t position, size_t i); /* prunes: may i stand there?  NULL: any may */
        void (*visit)(void *context, const size_t *chosen);    /* k ascending indexes */
        void *context;
};

/* `chosen` is scratch for k indexes. */
void hn_subsets_walk(const struct hn_subsets *subsets, size_t *chosen);

/* n choose k, or anything above HN_SUBSETS_LIMIT where it is more than that. */
size_t hn_subsets_count(size_t n, size_t k);
