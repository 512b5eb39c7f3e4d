/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is promised for memory that is plugged into a guest that runs.  QEMU's own memory: 32 MiB for the first GiB begun
 * of a guest, 8 MiB for each further one.
 */
#include "decide/plug.h"

#include "unit/support/place.h"
#include "unit/support/test.h"

#define CELLS \
        UUID "<memory unit='GiB'>8</memory><vcpu>4</vcpu><cpu><numa>" \
        "<cell id='0' cpus='0-1' memory='4' unit='GiB'/>" \
        "<cell id='1' cpus='2-3' memory='4' unit='GiB'/></numa></cpu>"
#define DIMM(cell, gib) \
        "<memory model='dimm'><target><size unit='GiB'>" #gib "</size><node>" #cell "</node></target></memory>"
#define BOUND "<numatune><memnode cellid='0' mode='strict' nodeset='2'/><memnode cellid='1' mode='strict' nodeset='3'/></numatune>"
#define HUGE_PAGES "<memoryBacking><hugepages><page size='1' unit='GiB'/></hugepages></memoryBacking>"

static struct scene *scene;

static int setup(void **state)
{
        (void) state;
        scene = scene_of(host_of(&four));
        for (unsigned node = 0; node < 4; node++)
                host_pool(scene->host, node, GIB, 8);
        return 0;
}

static int teardown(void **state)
{
        (void) state;
        scene_free(scene);
        return 0;
}

/* Follows to what this body has; what hn_plug_follow says. */
static int follow(struct hn_placement *placement, const char *body)
{
        HN_REQUEST struct hn_request *request = request_of(body);

        return hn_plug_follow(scene->host, &scene->policy, request, placement);
}

static struct hn_placement *placed(const char *body)
{
        const struct hn_decision *decision = start_body(scene, body);
        struct hn_placement *copy;

        assert_int_equal(decision->verdict, HN_PLACED);
        copy = hn_placement_copy(decision->placement);
        assert_non_null(copy);
        return copy;
}

static uint64_t kib_on(const struct hn_placement *placement, unsigned node, uint64_t page_kib)
{
        return promise_on(placement, node, page_kib)->memory_kib;
}

static void a_dimm_is_promised_where_its_cell_is(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = placed(CELLS BOUND);
        (void) state;

        assert_int_equal(kib_on(placement, 2, 0), 4 * GIB + 44 * MIB); /* half of 32 + 7 * 8 MiB */
        assert_int_equal(follow(placement, CELLS BOUND), 0);
        assert_int_equal(follow(placement, CELLS BOUND "<devices>" DIMM(1, 2) "</devices>"), 1);
        assert_int_equal(kib_on(placement, 2, 0), 4 * GIB + 44 * MIB);
        assert_int_equal(kib_on(placement, 3, 0), 6 * GIB + 44 * MIB + 16 * MIB);
        assert_int_equal(placement->cells[1].devices_kib, 2 * GIB);
        assert_int_equal(placement->cells[1].memory_kib, 4 * GIB);
        assert_int_equal(follow(placement, CELLS BOUND "<devices>" DIMM(1, 2) "</devices>"), 0);
}

static void what_is_plugged_out_is_promised_no_longer(void **state)
{
        static const char with[] = CELLS BOUND "<devices>" DIMM(0, 3) DIMM(1, 2) "</devices>";
        HN_PLACEMENT struct hn_placement *placement = placed(with);
        uint64_t two, three;
        (void) state;

        two = kib_on(placement, 2, 0);
        three = kib_on(placement, 3, 0);
        assert_int_equal(placement->cells[0].devices_kib, 3 * GIB);
        assert_int_equal(follow(placement, with), 0); /* known from the start */
        assert_int_equal(follow(placement, CELLS BOUND "<devices>" DIMM(1, 2) "</devices>"), 1);
        assert_int_equal(kib_on(placement, 2, 0), two - 3 * GIB - 24 * MIB);
        assert_int_equal(kib_on(placement, 3, 0), three);
        assert_int_equal(follow(placement, with), 1);
        assert_int_equal(kib_on(placement, 2, 0), two);
}

/* As one whose CPUs went: its cells' memory stays bound where it was. */
static void a_bound_cell_that_runs_elsewhere_has_its_dimms_where_it_is_bound(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = placed(CELLS BOUND);
        uint64_t zero = kib_on(placement, 0, 0), three = kib_on(placement, 3, 0);
        (void) state;

        assert_int_equal(hwloc_bitmap_only(placement->cells[1].nodes, 0), 0);
        assert_int_equal(follow(placement, CELLS BOUND "<devices>" DIMM(1, 2) "</devices>"), 1);
        assert_int_equal(kib_on(placement, 0, 0), zero);
        assert_int_equal(kib_on(placement, 3, 0), three + 2 * GIB + 16 * MIB);
}

static void what_was_cut_to_the_limit_is_not_taken_back_twice(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = placed(CELLS BOUND);
        HN_REQUEST struct hn_request *request = request_of(CELLS BOUND);
        (void) state;

        request->cells[0].devices_kib = UINT64_MAX;
        assert_int_equal(hn_plug_follow(scene->host, &scene->policy, request, placement), 1);
        assert_int_equal(kib_on(placement, 2, 0), HN_PLACEMENT_KIB_LIMIT);
        assert_int_equal(hn_plug_follow(scene->host, &scene->policy, request, placement), 0);
        request->cells[0].devices_kib = 0;
        assert_int_equal(hn_plug_follow(scene->host, &scene->policy, request, placement), 1);
        assert_in_range(kib_on(placement, 2, 0), 0, HN_PLACEMENT_KIB_LIMIT);
}

static void huge_pages_are_promised_in_huge_pages(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = placed(CELLS BOUND HUGE_PAGES);
        (void) state;

        assert_int_equal(kib_on(placement, 2, GIB), 4 * GIB);
        assert_int_equal(follow(placement, CELLS BOUND HUGE_PAGES "<devices>" DIMM(0, 1) "</devices>"), 1);
        assert_int_equal(kib_on(placement, 2, GIB), 5 * GIB);
        assert_int_equal(kib_on(placement, 2, 0), 44 * MIB + 8 * MIB);
}

/* 40 GiB fit no node of 32: one cell over two. */
static void a_spread_cell_shares_it_out(void **state)
{
        static const char wide[] = UUID "<memory unit='GiB'>40</memory><vcpu>4</vcpu>"
                                   "<cpu><numa><cell id='0' cpus='0-3' memory='40' unit='GiB'/></numa></cpu>";
        HN_PLACEMENT struct hn_placement *placement = placed(wide);
        HN_REQUEST struct hn_request *request = request_of(wide);
        uint64_t all = 0, now = 0;
        (void) state;

        assert_int_equal(hn_idset_count(placement->cells[0].nodes), 2);
        for (unsigned node = 0; node < 4; node++)
                all += kib_on(placement, node, 0);
        request->cells[0].devices_kib = 3 * MIB;
        assert_int_equal(hn_plug_follow(scene->host, &scene->policy, request, placement), 1);
        for (unsigned node = 0; node < 4; node++)
                now += kib_on(placement, node, 0);
        assert_int_equal(now - all, 3 * MIB + 8 * MIB); /* another GiB begun */
}

/* One that runs without the cells that were planned for it. */
static void other_cells_than_those_placed_change_nothing(void **state)
{
        HN_PLACEMENT struct hn_placement *placement = placed(CELLS BOUND);
        uint64_t two = kib_on(placement, 2, 0);
        (void) state;

        assert_int_equal(follow(placement, UUID "<memory unit='GiB'>8</memory><vcpu>4</vcpu><devices>" DIMM(0, 2) "</devices>"), 0);
        assert_int_equal(kib_on(placement, 2, 0), two);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_dimm_is_promised_where_its_cell_is, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_plugged_out_is_promised_no_longer, setup, teardown),
                cmocka_unit_test_setup_teardown(a_bound_cell_that_runs_elsewhere_has_its_dimms_where_it_is_bound, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(what_was_cut_to_the_limit_is_not_taken_back_twice, setup, teardown),
                cmocka_unit_test_setup_teardown(huge_pages_are_promised_in_huge_pages, setup, teardown),
                cmocka_unit_test_setup_teardown(a_spread_cell_shares_it_out, setup, teardown),
                cmocka_unit_test_setup_teardown(other_cells_than_those_placed_change_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
