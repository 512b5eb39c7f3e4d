/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/subsets.h"

static void walk(const struct hn_subsets *subsets, size_t *chosen, size_t position, size_t first)
{
        if (position == subsets->k) {
                subsets->visit(subsets->context, chosen);
                return;
        }
        for (size_t i = first; i + (subsets->k - position) <= subsets->n; i++) {
                if (subsets->may && !subsets->may(subsets->context, position, i))
                        continue;
                chosen[position] = i;
                walk(subsets, chosen, position + 1, i + 1);
        }
}

void hn_subsets_walk(const struct hn_subsets *subsets, size_t *chosen)
{
        if (subsets->k && subsets->k <= subsets->n)
                walk(subsets, chosen, 0, 0);
}

size_t hn_subsets_count(size_t n, size_t k)
{
        size_t count = 1;

        if (k > n)
                return 0;
        if (k > n - k)
                k = n - k;
        for (size_t i = 1; i <= k && count <= HN_SUBSETS_LIMIT; i++)
                count = count * (n - k + i) / i;
        return count;
}
