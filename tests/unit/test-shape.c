/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a domain is cut into cells, and what a node holds.
 */
#include "unit/support/test.h"

#include "decide/fit.h"
#include "decide/shape.h"
#include "decide/subsets.h"
#include "unit/support/scene.h"

/* Four nodes of 8 cores and 32 GiB: 8 vCPUs and 31 GiB fit (the reserve is 1 GiB there). */
static const struct host_plan four = { .nodes = 4, .cores = 8, .threads = 1, .memory_kib = 32 * GIB };

static struct hn_shape *shape_on(const struct hn_host *host, const struct hn_request *request,
                                 char **ret_note)
{
        struct hn_policy policy;
        struct hn_shape *shape = NULL;
        char *note = NULL;

        hn_policy_defaults(&policy);
        assert_int_equal(hn_shape_new(host, &policy, request, &shape, &note), 0);
        if (ret_note)
                *ret_note = note;
        else
                free(note);
        return shape;
}

/* Shape of a plain domain; the request stays the caller's. */
static struct hn_shape *shape_of(const struct host_plan *plan, const struct hn_request *request)
{
        HN_HOST struct hn_host *host = host_of(plan);

        return shape_on(host, request, NULL);
}

static void overhead_grows_with_every_gib_begun(void **state)
{
        struct hn_policy policy;

        (void) state;
        hn_policy_defaults(&policy);
        assert_int_equal(hn_overhead_kib(&policy, 64 * MIB), 32 * MIB);
        assert_int_equal(hn_overhead_kib(&policy, GIB), 32 * MIB);
        assert_int_equal(hn_overhead_kib(&policy, GIB + 1), 40 * MIB);
        assert_int_equal(hn_overhead_kib(&policy, GIB + GIB / 2), 40 * MIB);
        assert_int_equal(hn_overhead_kib(&policy, 16 * GIB), 32 * MIB + 15 * 8 * MIB);
        assert_true(hn_overhead_kib(&policy, UINT64_MAX) > UINT64_MAX / 256);
        policy.overhead_per_gib_kib = UINT64_MAX;
        assert_int_equal(hn_overhead_kib(&policy, UINT64_MAX), UINT64_MAX);
}

static void capacity_counts_further_threads_as_a_quarter(void **state)
{
        HN_HOST struct hn_host *host = host_of(&(struct host_plan) { 1, 3, 2, 0, GIB });
        struct hn_policy policy;

        (void) state;
        hn_policy_defaults(&policy);
        assert_int_equal(hn_capacity_milli(&policy, &host->nodes[0]), 3750);
        policy.smt_percent = 0;
        assert_int_equal(hn_capacity_milli(&policy, &host->nodes[0]), 3000);
        host->nodes[0].role = HN_NODE_FORBIDDEN;
        assert_int_equal(hn_capacity_milli(&policy, &host->nodes[0]), 0);
}

static void reserve_is_five_percent_and_at_most_a_gib(void **state)
{
        HN_HOST struct hn_host *host = host_of(&(struct host_plan) { 1, 1, 1, 0, 10 * GIB });
        struct hn_policy policy;

        (void) state;
        hn_policy_defaults(&policy);
        assert_int_equal(hn_usable_kib(&policy, &host->nodes[0], 0), 10 * GIB - GIB / 2);
        host_memory(host, 0, 100 * GIB);
        assert_int_equal(hn_usable_kib(&policy, &host->nodes[0], 0), 99 * GIB);
        host_pool(host, 0, 2048, 100);
        assert_int_equal(hn_usable_kib(&policy, &host->nodes[0], 2048), 200 * MIB);
        assert_int_equal(hn_usable_kib(&policy, &host->nodes[0], GIB), 0);
}

static void split_adds_up_and_keeps_to_caps(void **state)
{
        uint64_t weights[] = { 10, 30, 0, 5 }, shares[4];

        (void) state;
        assert_true(hn_split(45, 1, weights, weights, 4, shares));
        for (int i = 0; i < 4; i++)
                assert_int_equal(shares[i], weights[i]);
        assert_false(hn_split(46, 1, weights, weights, 4, shares));
        assert_true(hn_split(20, 10, weights, weights, 4, shares));
        assert_int_equal(shares[0] + shares[1] + shares[3], 20);
        assert_int_equal(shares[2], 0);
        assert_true(hn_split(UINT64_MAX, 1024, weights, NULL, 4, shares));
        assert_true(shares[0] + shares[1] + shares[3] == UINT64_MAX);
}

static void one_node_holds_it_then_one_cell(void **state)
{
        struct hn_request *request = vm(1, 8, 30 * GIB);
        HN_SHAPE struct hn_shape *shape = shape_of(&four, request);

        (void) state;
        assert_int_equal(shape->n_cells, 1);
        assert_set(shape->cells[0].vcpus, "0-7");
        assert_int_equal(shape->cells[0].memory_kib, 30 * GIB);
        assert_null(shape->distances);
        assert_int_equal(shape->topology.sockets, 0);
        hn_request_free(request);
}

static void too_many_vcpus_or_too_much_memory_is_cut_evenly(void **state)
{
        struct hn_request *wide = vm(1, 16, 4 * GIB), *large = vm(2, 4, 60 * GIB), *odd = vm(3, 9, GIB + MIB);
        HN_SHAPE struct hn_shape *a = shape_of(&four, wide), *b = shape_of(&four, large);
        HN_SHAPE struct hn_shape *c = shape_of(&four, odd);

        (void) state;
        assert_int_equal(a->n_cells, 2);
        assert_set(a->cells[0].vcpus, "0-7");
        assert_set(a->cells[1].vcpus, "8-15");
        assert_int_equal(a->cells[1].memory_kib, 2 * GIB);
        assert_int_equal(a->topology.sockets, 2);
        assert_int_equal(a->topology.dies, 1);
        assert_int_equal(a->topology.clusters, 0);
        assert_int_equal(a->topology.cores, 8);
        assert_int_equal(a->topology.threads, 1);

        assert_int_equal(b->n_cells, 2);
        assert_set(b->cells[0].vcpus, "0-1");
        assert_int_equal(b->cells[0].memory_kib, 30 * GIB);
        assert_int_equal(b->topology.sockets, 2);

        /* 5 + 4 have no common socket but a single core */
        assert_int_equal(c->n_cells, 2);
        assert_set(c->cells[0].vcpus, "0-4");
        assert_int_equal(c->cells[0].memory_kib, GIB / 2 + MIB);
        assert_int_equal(c->cells[1].memory_kib, GIB / 2);
        assert_int_equal(c->topology.sockets, 9);
        assert_int_equal(c->topology.cores, 1);
        hn_request_free(wide);
        hn_request_free(large);
        hn_request_free(odd);
}

static void guest_cores_are_not_cut(void **state)
{
        struct hn_request *request = vm(1, 12, GIB);
        HN_HOST struct hn_host *host = host_of(&four);
        HN_SHAPE struct hn_shape *shape = NULL;
        HN_FREE char *note = NULL;

        (void) state;
        request->topology = (struct hn_topology) { 1, 1, 1, 3, 4 };
        shape = shape_on(host, request, &note);
        assert_int_equal(shape->n_cells, 2);
        assert_set(shape->cells[0].vcpus, "0-7");
        assert_set(shape->cells[1].vcpus, "8-11");
        assert_int_equal(shape->topology.sockets, 0); /* the user's stays */
        assert_non_null(strstr(note, "socket"));
        hn_request_free(request);
}

static void smt_host_gives_threads_to_core_pinned_cells(void **state)
{
        struct hn_request *request = vm(1, 12, GIB);
        HN_SHAPE struct hn_shape *shape = NULL;

        (void) state;
        request->wishes.pin_cores = true;
        /* 5 capacity per node: three nodes */
        shape = shape_of(&(struct host_plan) { 4, 4, 2, 0, 8 * GIB }, request);
        assert_int_equal(shape->n_cells, 3);
        assert_set(shape->cells[0].vcpus, "0-3");
        assert_int_equal(shape->topology.sockets, 3);
        assert_int_equal(shape->topology.cores, 2);
        assert_int_equal(shape->topology.threads, 2);
        hn_request_free(request);
}

static void vnuma_wish_counts(void **state)
{
        struct hn_request *request = vm(1, 4, 4 * GIB);
        HN_HOST struct hn_host *host = host_of(&four);
        HN_FREE char *note = NULL;
        HN_SHAPE struct hn_shape *two = NULL, *most = NULL, *none = NULL;

        (void) state;
        request->wishes.vnuma = 2;
        two = shape_on(host, request, NULL);
        assert_int_equal(two->n_cells, 2);
        request->wishes.vnuma = 7;
        most = shape_on(host, request, &note);
        assert_int_equal(most->n_cells, 4);
        assert_non_null(strstr(note, "7 cells"));
        request->vcpus_max = 16;
        request->wishes.vnuma = 0;
        none = shape_on(host, request, NULL);
        assert_int_equal(none->n_cells, 1);
        hn_request_free(request);
}

static void one_vcpu_is_never_cut(void **state)
{
        struct hn_request *request = vm(1, 1, 60 * GIB);
        HN_SHAPE struct hn_shape *shape = shape_of(&four, request);

        (void) state;
        assert_int_equal(shape->n_cells, 1);
        hn_request_free(request);
}

static void unequal_nodes_get_unequal_cells_where_even_ones_do_not_fit(void **state)
{
        HN_HOST struct hn_host *host = host_of(&(struct host_plan) { 2, 8, 1, 0, 61 * GIB });
        struct hn_request *request = vm(1, 8, 80 * GIB);
        HN_SHAPE struct hn_shape *shape = NULL;

        (void) state;
        host_memory(host, 1, 31 * GIB); /* 60 and 30 GiB usable */
        shape = shape_on(host, request, NULL);
        assert_int_equal(shape->n_cells, 2);
        assert_set(shape->cells[0].vcpus, "0-3");
        assert_true(shape->cells[1].memory_kib < 30 * GIB);
        assert_true(shape->cells[1].memory_kib > 29 * GIB);
        assert_int_equal(shape->cells[0].memory_kib + shape->cells[1].memory_kib, 80 * GIB);
        hn_request_free(request);
}

static void huge_pages_are_not_cut(void **state)
{
        HN_HOST struct hn_host *host = host_of(&four);
        struct hn_request *request = vm(1, 4, 7 * GIB);
        HN_SHAPE struct hn_shape *shape = NULL;

        (void) state;
        for (unsigned node = 0; node < 4; node++)
                host_pool(host, node, GIB, 4);
        request->page_kib = GIB;
        shape = shape_on(host, request, NULL);
        assert_int_equal(shape->n_cells, 2);
        assert_int_equal(shape->cells[0].memory_kib, 4 * GIB);
        assert_int_equal(shape->cells[1].memory_kib, 3 * GIB);
        assert_int_equal(shape->cells[1].page_kib, GIB);
        hn_request_free(request);
}

static void page_default_is_the_usual_or_the_smallest_pool(void **state)
{
        HN_HOST struct hn_host *host = host_of(&four);
        struct hn_request *request = vm(1, 1, GIB);

        (void) state;
        request->page_default = true;
        assert_int_equal(hn_page_kib(host, request, 0), 2048);
        host_pool(host, 1, GIB, 1);
        host_pool(host, 1, 65536, 1);
        assert_int_equal(hn_page_kib(host, request, 0), 65536);
        host_pool(host, 2, 2048, 1);
        assert_int_equal(hn_page_kib(host, request, 0), 2048);
        assert_int_equal(hn_page_kib(host, request, GIB), GIB);
        hn_request_free(request);
}

/* Nodes 1 and 3 are the nearest pair: 12, all others 21 and above. */
static void distances_are_those_of_the_nearest_nodes(void **state)
{
        HN_HOST struct hn_host *host = host_of(&four);
        struct hn_request *request = vm(1, 16, 4 * GIB);
        HN_SHAPE struct hn_shape *shape = NULL;

        (void) state;
        host_distance(host, 0, 1, 21);
        host_distance(host, 1, 3, 12);
        shape = shape_on(host, request, NULL);
        assert_int_equal(shape->distances[0], 10);
        assert_int_equal(shape->distances[1], 12);
        assert_int_equal(shape->distances[2], 12);
        assert_int_equal(shape->distances[3], 10);
        hn_request_free(request);
}

static void more_cells_than_nodes_have_legal_distances(void **state)
{
        struct hn_request *request = vm(1, 8, 4 * GIB);
        HN_SHAPE struct hn_shape *shape = NULL;

        (void) state;
        request->wishes.vnuma = 8;
        shape = shape_of(&four, request);
        assert_int_equal(shape->n_cells, 8);
        assert_int_equal(shape->distances[0 * 8 + 1], 11); /* on one node */
        assert_int_equal(shape->distances[0 * 8 + 2], 20);
        hn_request_free(request);
}

static void given_cells_stay_and_take_in_forgotten_vcpus(void **state)
{
        struct hn_request *request = vm(1, 8, 4 * GIB);
        HN_SHAPE struct hn_shape *shape = NULL;

        (void) state;
        request->cells = calloc(2, sizeof *request->cells);
        request->n_cells = 2;
        request->cells[0] = (struct hn_request_cell) { .vcpus = set_of("0-1"), .memory_kib = GIB };
        request->cells[1] = (struct hn_request_cell) { .vcpus = set_of("2-3,100"), .memory_kib = 3 * GIB };
        shape = shape_of(&four, request);
        assert_true(shape->given);
        assert_set(shape->cells[0].vcpus, "0-1,4-7");
        assert_set(shape->cells[1].vcpus, "2-3");
        assert_int_equal(shape->cells[1].memory_kib, 3 * GIB);
        hn_request_free(request);
}

static void subsets_are_counted(void **state)
{
        (void) state;
        assert_int_equal(hn_subsets_count(16, 8), 12870);
        assert_int_equal(hn_subsets_count(24, 3), 2024);
        assert_int_equal(hn_subsets_count(3, 4), 0);
        assert_true(hn_subsets_count(1024, 512) > HN_SUBSETS_LIMIT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(overhead_grows_with_every_gib_begun),
                cmocka_unit_test(capacity_counts_further_threads_as_a_quarter),
                cmocka_unit_test(reserve_is_five_percent_and_at_most_a_gib),
                cmocka_unit_test(split_adds_up_and_keeps_to_caps),
                cmocka_unit_test(one_node_holds_it_then_one_cell),
                cmocka_unit_test(too_many_vcpus_or_too_much_memory_is_cut_evenly),
                cmocka_unit_test(guest_cores_are_not_cut),
                cmocka_unit_test(smt_host_gives_threads_to_core_pinned_cells),
                cmocka_unit_test(vnuma_wish_counts),
                cmocka_unit_test(one_vcpu_is_never_cut),
                cmocka_unit_test(unequal_nodes_get_unequal_cells_where_even_ones_do_not_fit),
                cmocka_unit_test(huge_pages_are_not_cut),
                cmocka_unit_test(page_default_is_the_usual_or_the_smallest_pool),
                cmocka_unit_test(distances_are_those_of_the_nearest_nodes),
                cmocka_unit_test(more_cells_than_nodes_have_legal_distances),
                cmocka_unit_test(given_cells_stay_and_take_in_forgotten_vcpus),
                cmocka_unit_test(subsets_are_counted),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
