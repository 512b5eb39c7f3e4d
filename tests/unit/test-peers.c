/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The other policies of the benchmark, against cases small enough to be decided by hand after what is published about
 * them.  Nodes have 4 CPUs and 31 GiB for guests.
 */
#include "unit/support/test.h"

#include <errno.h>
#include <math.h>

#include "bench/peers/peers.h"
#include "unit/support/scene.h"

static const struct host_plan two = { 2, 4, 1, 0, 32 * GIB }, four = { 4, 4, 1, 0, 32 * GIB };

struct bench {
        struct hn_host *host;
        struct hn_policy policy;
        struct hn_world *world;
        struct hn_trace_guest guests[16];
        size_t n;
};

static void bench_open(struct bench *bench, struct hn_host *host)
{
        *bench = (struct bench) { .host = host };
        hn_policy_defaults(&bench->policy);
        assert_int_equal(hn_world_new(host, &bench->policy, 1, &bench->world), 0);
}

static void bench_close(struct bench *bench)
{
        hn_world_free(bench->world);
        hn_host_free(bench->host);
}

static const struct hn_trace_guest *guest_of(struct bench *bench, unsigned vcpus, unsigned gib)
{
        struct hn_trace_guest *guest = &bench->guests[bench->n++];

        *guest = (struct hn_trace_guest) { .vcpus = vcpus, .memory_kib = gib * GIB, .lifetime_s = (double) INFINITY };
        return guest;
}

/* A guest that runs on these nodes ("0", "01"), its memory on them by the room there. */
static void runs(struct bench *bench, unsigned vcpus, unsigned gib, const char *on)
{
        const struct hn_trace_guest *guest = guest_of(bench, vcpus, gib);
        struct hn_spot *spot = NULL;
        size_t nodes[4], k = strlen(on);

        for (size_t i = 0; i < k; i++)
                nodes[i] = (size_t) (on[i] - '0');
        assert_int_equal(hn_lay_whole(bench->world, guest, nodes, k, HN_LAY_BY_ROOM, &spot), 0);
        assert_int_equal(hn_world_start(bench->world, guest, bench->n - 1, spot), 0);
        hn_world_settle(bench->world);
}

static void assert_nodes(const struct hn_spot *spot, const char *nodes, size_t n_cells)
{
        char is[5] = "";
        size_t n = 0;

        for (size_t at = 0; at < spot->n_nodes; at++)
                for (size_t cell = 0, seen = 0; !seen && cell < spot->n_cells; cell++)
                        if (spot->runs[cell * spot->n_nodes + at]) {
                                is[n++] = (char) ('0' + at);
                                seen = 1;
                        }
        assert_string_equal(is, nodes);
        assert_int_equal(spot->n_cells, n_cells);
}

/* Where a policy puts a guest; it is not started. */
static void assert_placed(struct bench *bench, const struct hn_contender *peer, unsigned vcpus, unsigned gib,
                          const char *nodes, size_t n_cells)
{
        HN_SPOT struct hn_spot *spot = NULL;

        assert_int_equal(peer->place(NULL, bench->world, guest_of(bench, vcpus, gib), 0, &spot), 0);
        assert_nodes(spot, nodes, n_cells);
        bench->n--;
}

/* The first node has 31 GiB left, the second 29.  Of the 8 GiB that a guest was promised it has touched a tenth as it
 * starts, and its CPUs show later: numad as it is puts the next one on the same node. */
static void numad_sees_what_was_touched(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        host_memory(bench.host, 1, 30 * GIB);
        hn_world_free(bench.world);
        assert_int_equal(hn_world_new(bench.host, &bench.policy, 1, &bench.world), 0);
        assert_placed(&bench, &peer_numad, 2, 8, "0", 1);
        runs(&bench, 2, 8, "0");
        assert_placed(&bench, &peer_numad, 2, 8, "0", 1);
        assert_placed(&bench, &peer_numad_reserved, 2, 8, "1", 1);
        bench.world->now_s = 600; /* by then it has touched all */
        assert_placed(&bench, &peer_numad, 2, 8, "1", 1);
        bench_close(&bench);
}

/* Six vCPUs want two nodes.  Magnitudes over squared distance: around 2 and 3, near to each other and both idle, it is
 * more than around 0, of which half is used. */
static void numad_takes_neighbours(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&four));
        for (unsigned a = 0; a < 2; a++)
                for (unsigned b = 2; b < 4; b++)
                        host_distance(bench.host, a, b, 32);
        host_distance(bench.host, 0, 1, 12);
        host_distance(bench.host, 2, 3, 12);
        runs(&bench, 2, 16, "0");
        assert_placed(&bench, &peer_numad_reserved, 6, 8, "23", 1);
        bench_close(&bench);
}

/* A guest that fits the second node gets both: the first has 2 CPUs, so two nodes it takes. */
static void numad_counts_by_its_first_node(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        bench.host->nodes[0].n_cores = bench.host->nodes[0].n_threads = 2;
        assert_placed(&bench, &peer_numad_reserved, 4, 8, "01", 1);
        bench_close(&bench);
}

/* Without node 1, where something runs, three pairs have no load and as much memory: the first wins, far apart or not. */
static void xen_takes_the_first_pair_whatever_its_distance(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&four));
        host_distance(bench.host, 0, 2, 32);
        runs(&bench, 1, 1, "1");
        assert_placed(&bench, &peer_xen, 6, 8, "02", 1);
        assert_placed(&bench, &peer_xen, 4, 8, "0", 1);
        bench_close(&bench);
}

/* The 4 vCPUs of a guest over nodes 0 and 1 count on both: 3 on node 2 are fewer.  Of nodes as loaded the one with more
 * memory left wins. */
static void xen_counts_vcpus_that_may_run_there(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&four));
        runs(&bench, 4, 8, "01");
        runs(&bench, 3, 8, "2");
        runs(&bench, 5, 4, "3");
        assert_placed(&bench, &peer_xen, 2, 2, "2", 1);
        runs(&bench, 1, 8, "2"); /* 4, 4, 4 and 5 now; 27, 27, 15 and 27 GiB */
        assert_placed(&bench, &peer_xen, 2, 2, "0", 1);
        runs(&bench, 0, 2, "0");
        assert_placed(&bench, &peer_xen, 2, 2, "1", 1);
        bench_close(&bench);
}

/* Sums suffice: 20 GiB are wanted where no node has more than 15, and two nodes have 30. */
static void xen_fits_by_sums(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        runs(&bench, 1, 16, "0");
        runs(&bench, 1, 16, "1");
        assert_placed(&bench, &peer_xen, 2, 20, "01", 1);
        bench_close(&bench);
}

static void nova_spreads_or_packs(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        runs(&bench, 1, 1, "1");
        assert_placed(&bench, &peer_nova_spread, 2, 2, "0", 1);
        assert_placed(&bench, &peer_nova_pack, 2, 2, "1", 1);
        assert_placed(&bench, &peer_nova_pack, 2, 31 - 1, "0", 1); /* 29 GiB and something are left on node 1 */
        bench_close(&bench);
}

/* Cells are equal or not at all, and what fits no host cell is refused whatever there is in all. */
static void nova_cuts_evenly_or_refuses(void **state)
{
        struct bench bench;
        struct hn_spot *spot = NULL;

        (void) state;
        bench_open(&bench, host_of(&two));
        assert_placed(&bench, &peer_nova_spread, 6, 8, "01", 2);
        assert_int_equal(peer_nova_spread.place(NULL, bench.world, guest_of(&bench, 5, 8), 0, &spot), -ENOSPC);
        runs(&bench, 1, 16, "0");
        runs(&bench, 1, 16, "1");
        assert_int_equal(peer_nova_spread.place(NULL, bench.world, guest_of(&bench, 2, 20), 0, &spot), -ENOSPC);
        assert_null(spot);
        bench_close(&bench);
}

/* One node suffices: the lowest number, until its CPUs are given out. */
static void kubelet_fills_low_numbers_first(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        assert_placed(&bench, &peer_kubelet, 2, 2, "0", 1);
        runs(&bench, 3, 2, "0");
        assert_placed(&bench, &peer_kubelet, 1, 2, "0", 1);
        assert_placed(&bench, &peer_kubelet, 2, 2, "1", 1);
        bench_close(&bench);
}

/* A CPU is left on each of two nodes: for two vCPUs the CPU manager knows both nodes only, which is not preferred as one
 * would do were it empty; the merged set comes as near to these two as it can. */
static void kubelet_spans_where_cpus_are_given_out(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        runs(&bench, 3, 2, "0");
        runs(&bench, 3, 2, "1");
        assert_placed(&bench, &peer_kubelet, 2, 2, "01", 1);
        bench_close(&bench);
}

static void kubelet_knows_distances_if_told_so(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&four));
        host_distance(bench.host, 0, 1, 32);
        host_distance(bench.host, 0, 2, 12);
        assert_placed(&bench, &peer_kubelet, 6, 2, "01", 1);
        assert_placed(&bench, &peer_kubelet_closest, 6, 2, "02", 1);
        bench_close(&bench);
}

static void esxi_takes_the_least_loaded_node(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&four));
        host_distance(bench.host, 2, 3, 12);
        runs(&bench, 2, 2, "0");
        runs(&bench, 1, 2, "1");
        assert_placed(&bench, &peer_esxi, 2, 2, "2", 1);
        assert_placed(&bench, &peer_esxi, 6, 2, "23", 2);
        bench_close(&bench);
}

/* 2 + 1 + 1 vCPUs on a node, nothing on the other: the guest of 2 makes them equal.  Then, or with a single guest that
 * would only take its load along, nothing moves. */
static void esxi_levels_out(void **state)
{
        struct hn_world_move moves[4];
        struct bench bench;
        uint64_t kib = 0;

        (void) state;
        bench_open(&bench, host_of(&two));
        runs(&bench, 1, 2, "0");
        runs(&bench, 2, 4, "0");
        runs(&bench, 1, 2, "0");
        assert_int_equal(peer_esxi.balance(NULL, bench.world, moves, 4), 1);
        assert_int_equal(moves[0].resident, 1);
        assert_nodes(moves[0].spot, "1", 1);
        assert_int_equal(hn_world_move(bench.world, 1, moves[0].spot, &kib), 0);
        assert_int_equal(kib, hn_world_wanted_kib(bench.world, &bench.guests[1]));
        hn_world_settle(bench.world);
        assert_int_equal(peer_esxi.balance(NULL, bench.world, moves, 4), 0);
        bench_close(&bench);

        bench_open(&bench, host_of(&two));
        runs(&bench, 4, 4, "0");
        assert_int_equal(peer_esxi.balance(NULL, bench.world, moves, 4), 0);
        bench_close(&bench);
}

/* With CPUs for it; else with memory for it; else node after node is filled. */
static void first_fit_fits_first(void **state)
{
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        assert_placed(&bench, &peer_first_fit, 2, 2, "0", 1);
        runs(&bench, 3, 16, "0");
        assert_placed(&bench, &peer_first_fit, 2, 2, "1", 1);
        runs(&bench, 3, 16, "1");
        assert_placed(&bench, &peer_first_fit, 2, 2, "0", 1);
        assert_placed(&bench, &peer_first_fit, 2, 20, "01", 1);
        bench_close(&bench);
}

/* Chance is the same each time, and comes to all nodes. */
static void the_kernel_starts_anywhere(void **state)
{
        bool seen[2] = { false };
        struct bench bench;

        (void) state;
        bench_open(&bench, host_of(&two));
        for (size_t number = 0; number < 32; number++) {
                HN_SPOT struct hn_spot *spot = NULL, *again = NULL;
                const struct hn_trace_guest *guest = guest_of(&bench, 2, 2);

                assert_int_equal(peer_kernel_node.place(NULL, bench.world, guest, number, &spot), 0);
                assert_int_equal(peer_kernel_node.place(NULL, bench.world, guest, number, &again), 0);
                assert_int_equal(hn_spot_width(spot), 1);
                assert_int_equal(spot->runs[1], again->runs[1]);
                seen[spot->runs[1]] = true;
                bench.n--;
        }
        assert_true(seen[0] && seen[1]);
        assert_placed(&bench, &peer_kernel_node, 6, 2, "01", 1);
        bench_close(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(numad_sees_what_was_touched),
                cmocka_unit_test(numad_takes_neighbours),
                cmocka_unit_test(numad_counts_by_its_first_node),
                cmocka_unit_test(xen_takes_the_first_pair_whatever_its_distance),
                cmocka_unit_test(xen_counts_vcpus_that_may_run_there),
                cmocka_unit_test(xen_fits_by_sums),
                cmocka_unit_test(nova_spreads_or_packs),
                cmocka_unit_test(nova_cuts_evenly_or_refuses),
                cmocka_unit_test(kubelet_fills_low_numbers_first),
                cmocka_unit_test(kubelet_spans_where_cpus_are_given_out),
                cmocka_unit_test(kubelet_knows_distances_if_told_so),
                cmocka_unit_test(esxi_takes_the_least_loaded_node),
                cmocka_unit_test(esxi_levels_out),
                cmocka_unit_test(first_fit_fits_first),
                cmocka_unit_test(the_kernel_starts_anywhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
