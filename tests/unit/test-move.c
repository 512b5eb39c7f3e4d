/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a guest's placement is while it moves, where its bound cells end, and where it stays that got only half-way.
 */
#include "decide/move.h"

#include "unit/support/test.h"

/* A guest with one cell for each of these nodes, 1 GiB and 2 vCPUs each. */
static struct hn_placement *placed(const char *nodes)
{
        struct hn_placement *placement = hn_placement_new();
        HN_BITMAP hwloc_bitmap_t home = set_of(nodes);

        assert_non_null(placement);
        placement->cells = calloc(hn_idset_count(home), sizeof *placement->cells);
        assert_non_null(placement->cells);
        HN_IDSET_FOREACH(node, home) {
                const struct hn_promise promise = { .node = (unsigned) node, .memory_kib = 1048576, .vcpus_milli = 2000 };
                struct hn_placed_cell *cell = &placement->cells[placement->n_cells];

                *cell = (struct hn_placed_cell) { .id = (unsigned) placement->n_cells++, .memory_kib = 1048576,
                                                  .vcpus = hwloc_bitmap_alloc(), .nodes = hwloc_bitmap_alloc(),
                                                  .cpus = hwloc_bitmap_alloc() };
                assert_int_equal(hwloc_bitmap_only(cell->nodes, (unsigned) node), 0);
                assert_int_equal(hn_placement_promise(placement, &promise), 0);
        }
        assert_int_equal(hwloc_bitmap_copy(placement->home, home), 0);
        assert_int_equal(hwloc_bitmap_copy(placement->memory_nodes, home), 0);
        return placement;
}

static uint64_t promised_gib(const struct hn_placement *placement, unsigned node)
{
        for (size_t i = 0; i < placement->n_promises; i++)
                if (placement->promises[i].node == node)
                        return placement->promises[i].memory_kib >> 20;
        return 0;
}

static void meanwhile_it_is_promised_both_and_may_have_memory_on_both(void **state)
{
        HN_PLACEMENT struct hn_placement *from = placed("0-1"), *to = placed("1-2"), *under_way = NULL;
        HN_BITMAP hwloc_bitmap_t in_force = set_of("0-1,5");

        (void) state;
        assert_int_equal(hn_move_under_way(from, to, in_force, &under_way), 0);
        assert_set(under_way->home, "1-2");
        assert_set(under_way->memory_nodes, "0-2,5");
        assert_set(to->memory_nodes, "1-2");
        /* what leaves node 1 makes room for what comes there */
        assert_int_equal(promised_gib(under_way, 0), 1);
        assert_int_equal(promised_gib(under_way, 1), 1);
        assert_int_equal(promised_gib(under_way, 2), 1);
        assert_int_equal(hn_placement_milli(under_way, 0), 0);
        assert_int_equal(hn_placement_milli(under_way, 1), 2000);
}

static void promises_of_one_page_size_are_not_those_of_another(void **state)
{
        const struct hn_promise huge = { .node = 0, .memory_kib = 2097152, .page_kib = 2048 };
        HN_PLACEMENT struct hn_placement *from = placed("0"), *to = placed("0"), *under_way = NULL;

        (void) state;
        from->promises[0].memory_kib = 3145728;
        assert_int_equal(hn_placement_promise(from, &huge), 0);
        assert_int_equal(hn_move_under_way(from, to, NULL, &under_way), 0);
        assert_int_equal(under_way->n_promises, 2);
        assert_int_equal(under_way->promises[0].memory_kib, 3145728);
        assert_int_equal(under_way->promises[1].memory_kib, 2097152);
}

/* memory="soft": it has no set, and needs none where it is open. */
static void an_open_set_stays_so(void **state)
{
        static const struct { const char *in_force, *wide; } cases[] = { { "0-3", "" }, { NULL, "" }, { "0", "0,2" } };
        HN_PLACEMENT struct hn_placement *from = placed("0"), *to = placed("2");

        (void) state;
        hwloc_bitmap_zero(from->memory_nodes);
        hwloc_bitmap_zero(to->memory_nodes);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_PLACEMENT struct hn_placement *under_way = NULL;
                HN_BITMAP hwloc_bitmap_t in_force = cases[i].in_force ? set_of(cases[i].in_force) : NULL;

                assert_int_equal(hn_move_under_way(from, to, in_force, &under_way), 0);
                assert_set(under_way->memory_nodes, cases[i].wide);
        }
}

static void bound_cells_end_where_they_should_or_are_not_moved(void **state)
{
        static const struct {
                const char *bound[2], *in_force, *wide, *to;
                bool right;
        } cases[] = {
                { { "0", "1" }, "0-1", "0-2", "1-2", true },
                { { "1", "2" }, "1-2", "1-3", "2-3", true },
                { { "2", "3" }, "2-3", "0,2-3", "0,3", true },
                { { "0", "1" }, "0-3", "0-3", "2-3", true },   /* opened since the start, then home */
                { { "0", "2" }, "0-2", "0-3", "1,3", false },  /* both would come to one node */
                { { "1", "2" }, "0-3", "0-3", "2-3", false },  /* the wrong way round */
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_BITMAP hwloc_bitmap_t first = set_of(cases[i].bound[0]), second = set_of(cases[i].bound[1]);
                HN_BITMAP hwloc_bitmap_t in_force = set_of(cases[i].in_force), wide = set_of(cases[i].wide);
                HN_PLACEMENT struct hn_placement *to = placed(cases[i].to);
                struct hn_request_cell cells[] = { { .ours = first }, { .ours = second } };
                const struct hn_request request = { .cells = cells, .n_cells = 2 }, free_one = { 0 };

                assert_int_equal(hn_move_binds(&request, to, in_force, wide, to->memory_nodes), cases[i].right);
                assert_true(hn_move_binds(&free_one, to, in_force, wide, to->memory_nodes));
        }
}

static void the_nth_cell_is_bound_to_the_nth_node(void **state)
{
        HN_BITMAP hwloc_bitmap_t in_force = set_of("0,3,8");
        hwloc_bitmap_t bound[4] = { 0 };

        (void) state;
        assert_int_equal(hn_move_bound(in_force, 2, bound), 0);
        assert_set(bound[0], "0");
        assert_set(bound[1], "3");
        hwloc_bitmap_free(bound[0]);
        hwloc_bitmap_free(bound[1]);
        assert_int_equal(hn_move_bound(in_force, 4, bound), -ERANGE);
}

static void it_stays_where_more_of_it_is(void **state)
{
        static const struct { const char *from, *to; uint64_t kib[4]; bool there; } cases[] = {
                { "0", "2", { 100, 0, 99, 0 }, false }, { "0", "2", { 100, 0, 101, 0 }, true },
                { "0", "2", { 50, 60, 100, 0 }, false },          /* node 1 is no home of it either */
                { "0-1", "1-2", { 10, 1000, 11, 0 }, true },      /* the node in both says nothing */
                { "0", "2", { UINT64_MAX, UINT64_MAX, 5, 0 }, false },
                { "0", "0", { 100, 100, 0, 0 }, false },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_PLACEMENT struct hn_placement *from = placed(cases[i].from), *to = placed(cases[i].to);

                assert_int_equal(hn_move_stays_there(from, to, cases[i].kib, 4), cases[i].there);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(meanwhile_it_is_promised_both_and_may_have_memory_on_both),
                cmocka_unit_test(promises_of_one_page_size_are_not_those_of_another),
                cmocka_unit_test(an_open_set_stays_so),
                cmocka_unit_test(bound_cells_end_where_they_should_or_are_not_moved),
                cmocka_unit_test(the_nth_cell_is_bound_to_the_nth_node),
                cmocka_unit_test(it_stays_where_more_of_it_is),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
