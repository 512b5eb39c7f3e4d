/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/array.h"

#include "model/cleanup.h"
#include "unit/support/test.h"

static void grows_by_zeroed_elements(void **state)
{
        HN_FREE unsigned *array = NULL;
        (void) state;

        for (unsigned n = 0; n < 100; n++) {
                unsigned *more = hn_array_grow(array, n, sizeof *more);

                assert_non_null(more);
                array = more;
                assert_int_equal(array[n], 0);
                array[n] = n + 1;
        }
        for (unsigned n = 0; n < 100; n++)
                assert_int_equal(array[n], n + 1);
}

static void copies_an_empty_one(void **state)
{
        HN_FREE void *copy = hn_array_copy(NULL, 0, 8);
        (void) state;

        assert_non_null(copy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(grows_by_zeroed_elements),
                cmocka_unit_test(copies_an_empty_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
