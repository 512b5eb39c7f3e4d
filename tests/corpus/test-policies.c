/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode beside the other policies of the benchmark: a small part of what `make bench-policies` replays, so that what has
 * been reached is not lost.  The bounds are what was measured, less a table.
 */
#include "unit/support/test.h"

#include <stdio.h>

#include "bench/peers/peers.h"
#include "simulate/replay.h"
#include "unit/support/recorded.h"
#include "unit/support/scene.h"

#define EPSILON 1e-9

/* Policies that take all that the host has room for. */
static const struct hn_contender *const peers[] = {
        &peer_numad, &peer_numad_reserved,  &peer_xen,       &peer_kubelet,     &peer_kubelet_closest,
        &peer_esxi,  &peer_first_fit,       &peer_kernel_node, &hn_contender_libvirt,
};

/* Hosts: nodes of cores with two threads and memory, those of one group at distance `near`, others at `far`. */
static const struct kind {
        struct host_plan plan;
        unsigned group, near, far;
        size_t n_hosts;
} kinds[] = {
        { { 2, 32, 2, 0, 128 * GIB }, 2, 20, 20, 12 },
        { { 4, 24, 2, 0, 96 * GIB }, 2, 12, 32, 8 },
        { { 8, 16, 2, 0, 64 * GIB }, 8, 20, 20, 6 },
};

struct tally {
        unsigned tables, means, p99s;
        double moved_gib, moved_by_esxi_gib;
};

static char *folder; /* of the traces */

static struct hn_host *host_like(const struct kind *kind)
{
        struct hn_host *host = host_of(&kind->plan);

        for (unsigned a = 0; a < kind->plan.nodes; a++)
                for (unsigned b = 0; b < a; b++)
                        host_distance(host, a, b, a / kind->group == b / kind->group ? kind->near : kind->far);
        return host;
}

static struct hn_trace *read_trace(const char *name)
{
        HN_FREE char *path = NULL, *text = calloc(1, 1 << 20);
        struct hn_trace *trace = NULL;
        size_t length, line = 0;
        FILE *in;

        assert_non_null(text);
        assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
        in = fopen(path, "re");
        assert_non_null(in);
        length = fread(text, 1, 1 << 20, in);
        assert_int_equal(fclose(in), 0);
        assert_int_equal(hn_trace_parse(text, length, &trace, &line), 0);
        return trace;
}

static void compare(const struct hn_replay *replay, const char *name, struct tally *tally)
{
        struct hn_outcome own, peer, best = { .mean_slowdown = 1e9, .p99_slowdown = 1e9 };

        assert_int_equal(hn_replay_run(replay, &hn_contender_homenode, &own), 0);
        assert_int_equal(own.n_refused_with_room, 0);
        assert_int_equal(own.n_split, 0);
        for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
                assert_int_equal(hn_replay_run(replay, peers[i], &peer), 0);
                assert_int_equal(peer.n_placed, own.n_placed);
                if (peer.mean_slowdown < best.mean_slowdown)
                        best.mean_slowdown = peer.mean_slowdown;
                if (peer.p99_slowdown < best.p99_slowdown)
                        best.p99_slowdown = peer.p99_slowdown;
                tally->moved_by_esxi_gib += peers[i] == &peer_esxi ? peer.moved_gib : 0;
        }
        print_message("%zu nodes, %s, %s: mean %.4f (others %.4f), 99th %.4f (%.4f), %.0f GiB moved\n",
                      replay->host->n_nodes, name, replay->to_refusal ? "to the first refusal" : "to the end",
                      own.mean_slowdown, best.mean_slowdown, own.p99_slowdown, best.p99_slowdown, own.moved_gib);
        tally->tables++;
        tally->means += own.mean_slowdown <= best.mean_slowdown + EPSILON;
        tally->p99s += own.p99_slowdown <= best.p99_slowdown + EPSILON;
        tally->moved_gib += own.moved_gib;
}

static struct tally compare_all(double busy)
{
        static const char *const names[] = { "huawei-topology-aware-C1.csv", "huawei-topology-aware-C2.csv",
                                             "huawei-topology-aware-C3.csv" };
        struct tally tally = { 0 };
        struct hn_policy policy;

        hn_policy_defaults(&policy);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
                        HN_HOST struct hn_host *host = host_like(&kinds[i]);
                        HN_TRACE struct hn_trace *trace = read_trace(names[j]);
                        struct hn_replay replay = { .host = host, .policy = &policy, .trace = trace, .busy = busy,
                                                    .n_hosts = kinds[i].n_hosts, .to_refusal = true };

                        compare(&replay, names[j], &tally);
                        replay.to_refusal = false;
                        compare(&replay, names[j], &tally);
                }
        print_message("mean lowest in %u of %u, 99th percentile in %u, %.0f GiB moved (ESXi-like %.0f)\n", tally.means,
                      tally.tables, tally.p99s, tally.moved_gib, tally.moved_by_esxi_gib);
        return tally;
}

static void guests_that_do_all_they_can(void **state)
{
        struct tally tally = compare_all(1);

        (void) state;
        assert_true(tally.means >= 14);
        assert_true(tally.p99s >= 6);
        assert_true(tally.moved_gib < tally.moved_by_esxi_gib);
}

static void guests_that_do_half_of_it(void **state)
{
        struct tally tally = compare_all(0.5);

        (void) state;
        assert_true(tally.means >= 8);
        assert_true(tally.p99s >= 10);
        assert_true(tally.moved_gib < tally.moved_by_esxi_gib / 4);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(guests_that_do_all_they_can),
                cmocka_unit_test(guests_that_do_half_of_it),
        };
        int r = SKIPPED;

        folder = recorded("traces");
        if (folder)
                r = cmocka_run_group_tests(tests, NULL, NULL);
        free(folder);
        return r;
}
