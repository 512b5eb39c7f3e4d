/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "model/host.h"
#include "unit/support/test.h"

/* What a matrix of up to 3 × 3 becomes. */
static const struct {
        const char *what;
        size_t n;
        unsigned given[9];
        enum hn_distance_source source;
        unsigned made[9];
} cases[] = {
        { "good as it is", 2, { 10, 21, 21, 10 }, HN_DISTANCE_FROM_HOST, { 10, 21, 21, 10 } },
        { "one node", 1, { 10 }, HN_DISTANCE_FROM_HOST, { 10 } },
        { "one node, nothing said", 1, { 0 }, HN_DISTANCE_MISSING, { 10 } },
        { "nothing said", 2, { 0 }, HN_DISTANCE_MISSING, { 10, 20, 20, 10 } },
        { "the most libvirt takes", 2, { 10, 254, 254, 10 }, HN_DISTANCE_FROM_HOST, { 10, 254, 254, 10 } },
        { "the least libvirt takes", 2, { 10, 11, 11, 10 }, HN_DISTANCE_FROM_HOST, { 10, 11, 11, 10 } },
        { "255 is unreachable", 2, { 10, 255, 255, 10 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "flat", 2, { 10, 10, 10, 10 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "remote nearer than local", 2, { 20, 10, 10, 20 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "asymmetric: the larger", 2, { 10, 17, 28, 10 }, HN_DISTANCE_FROM_HOST, { 10, 28, 28, 10 } },
        { "one direction only", 2, { 10, 0, 28, 10 }, HN_DISTANCE_FROM_HOST, { 10, 28, 28, 10 } },
        { "no word on a pair", 2, { 10, 0, 0, 10 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "hops from 1", 3, { 1, 2, 3, 2, 1, 2, 3, 2, 1 }, HN_DISTANCE_FROM_HOST,
          { 10, 20, 30, 20, 10, 20, 30, 20, 10 } },
        { "hops from 0 can't be scaled", 3, { 0, 1, 2, 1, 0, 1, 2, 1, 0 }, HN_DISTANCE_BROKEN,
          { 10, 20, 20, 20, 10, 20, 20, 20, 10 } },
        { "scaled down", 2, { 20, 40, 40, 20 }, HN_DISTANCE_FROM_HOST, { 10, 20, 20, 10 } },
        { "nanoseconds, to the nearest", 2, { 90, 139, 139, 90 }, HN_DISTANCE_FROM_HOST, { 10, 15, 15, 10 } },
        { "farther stays farther", 2, { 100, 101, 101, 100 }, HN_DISTANCE_FROM_HOST, { 10, 11, 11, 10 } },
        { "unequal diagonal", 2, { 10, 30, 30, 12 }, HN_DISTANCE_FROM_HOST, { 10, 30, 30, 10 } },
        { "within the worse diagonal", 2, { 10, 12, 12, 15 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "a zero on the diagonal", 2, { 10, 20, 20, 0 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "huge", 2, { 1, UINT_MAX, UINT_MAX, 1 }, HN_DISTANCE_BROKEN, { 10, 20, 20, 10 } },
        { "huge all over", 2, { UINT_MAX - 1, UINT_MAX, UINT_MAX, UINT_MAX - 1 }, HN_DISTANCE_FROM_HOST,
          { 10, 11, 11, 10 } },
        { "one bad pair spoils all", 3, { 10, 20, 255, 20, 10, 20, 255, 20, 10 }, HN_DISTANCE_BROKEN,
          { 10, 20, 20, 20, 10, 20, 20, 20, 10 } },
};

static void makes_any_matrix_usable(void **state)
{
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                unsigned matrix[9];

                print_message("%s\n", cases[i].what);
                memcpy(matrix, cases[i].given, sizeof matrix);
                assert_int_equal(hn_distances_normalise(matrix, cases[i].n), cases[i].source);
                assert_memory_equal(matrix, cases[i].made, cases[i].n * cases[i].n * sizeof *matrix);
        }
}

static void usable_matrices_stay_as_they_are(void **state)
{
        (void) state;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                unsigned matrix[9];

                memcpy(matrix, cases[i].made, sizeof matrix);
                assert_int_equal(hn_distances_normalise(matrix, cases[i].n), HN_DISTANCE_FROM_HOST);
                assert_memory_equal(matrix, cases[i].made, sizeof matrix);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(makes_any_matrix_usable),
                cmocka_unit_test(usable_matrices_stay_as_they_are),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
