/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/rebind.h"

#include "unit/support/test.h"

static void follows_the_kernels_order(void **state)
{
        static const struct {
                const char *from, *to, *bound;
                bool keeps;
        } cases[] = {
                { "2", "2", "2", true },
                { "2", "0-3", "", true },      /* nothing is bound */
                { "2", "0-3", "2", false },    /* the first becomes the first: node 0 */
                { "0-1", "0-3", "0-1", true }, /* first and second stay */
                { "2-3", "0-3", "2-3", false },
                { "2", "2-3", "2", true },
                { "0,2", "0,2-3", "2", true },
                { "0-3", "2", "2", true },     /* the third of one: round and round */
                { "0-3", "2-3", "2-3", true }, /* third and fourth of two */
                { "0-3", "1-2", "1-2", false }, /* second and third of two: swapped */
                { "0-3", "1-2", "3", false },  /* it has to go somewhere */
                { "0,8", "0,4,8", "8", false },
                { "0-1", "0-3", "3", true },   /* outside the old set: as it is */
                { "0-3", "", "1", false },
                { "", "0-3", "1", true },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_BITMAP hwloc_bitmap_t from = set_of(cases[i].from), to = set_of(cases[i].to);
                HN_BITMAP hwloc_bitmap_t bound = set_of(cases[i].bound);

                assert_int_equal(hn_rebind_keeps(from, to, bound), cases[i].keeps);
        }
}

static void tells_what_a_policy_names_then(void **state)
{
        static const struct { const char *from, *to, *bound, *then; } cases[] = {
                { "0-1", "0-2", "1", "1" },     /* as tried: {0,1} to {1,2} by way of {0-2} */
                { "0-2", "1-2", "1", "2" },
                { "0-2", "1-2", "0", "1" },
                { "2-3", "0,2-3", "2", "0" },   /* {2,3} to {0,3} by way of {0,2,3} */
                { "2-3", "0,2-3", "3", "2" },
                { "0,2-3", "0,3", "2", "3" },
                { "0-3", "1-2", "0,2", "1" },   /* both are one then */
                { "0-1", "2-3", "0-1", "2-3" },
                { "0-1", "2-3", "3", "3" },
                { "0-1", "", "1", "1" },
                { "0-1", "2-3", "", "" },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_BITMAP hwloc_bitmap_t from = set_of(cases[i].from), to = set_of(cases[i].to);
                HN_BITMAP hwloc_bitmap_t bound = set_of(cases[i].bound), then = NULL;

                assert_int_equal(hn_rebind(from, to, bound, &then), 0);
                assert_set(then, cases[i].then);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(follows_the_kernels_order),
                cmocka_unit_test(tells_what_a_policy_names_then),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
