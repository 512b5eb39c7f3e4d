/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/array.h"

#include <stdlib.h>
#include <string.h>

void *hn_array_grow(void *array, size_t n, size_t size)
{
        char *grown = array;

        if ((n & (n - 1)) == 0) {
                grown = reallocarray(array, n ? n * 2 : 1, size);
                if (!grown)
                        return NULL;
        }
        memset(grown + n * size, 0, size);
        return grown;
}

void *hn_array_copy(const void *array, size_t n, size_t size)
{
        void *copy = calloc(n ? n : 1, size);

        if (copy && n)
                memcpy(copy, array, n * size);
        return copy;
}
