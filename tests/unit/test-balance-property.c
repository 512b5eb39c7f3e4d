/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What must hold of balancing whatever the host and the load: the sum over all guests never rises by a move, and on
 * constant load it goes quiet.  Hosts, guests and loads are drawn by a generator of our own, the same in every run;
 * $HOMENODE_ROUNDS: how many of them.
 */
#include <math.h>

#include "unit/support/test.h"

#include "unit/support/yard.h"

#define ROUNDS 80u

static uint64_t drawn;

static unsigned draw(unsigned limit)
{
        drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned) (drawn >> 33) % limit;
}

/* Up to 24 nodes, some without CPUs, without memory or forbidden, of unlike size, at odd distances. */
static struct hn_host *any_host(void)
{
        static const unsigned sizes[] = { 1, 2, 2, 3, 4, 4, 8, 24 };
        const struct host_plan plan = { .nodes = sizes[draw(8)], .cores = 2 + draw(15), .threads = 1 + draw(2),
                                        .cores_per_cache = draw(2) * 4, .memory_kib = (16 + draw(240)) * GIB };
        struct hn_host *host = host_of(&plan);

        for (unsigned a = 0; a < plan.nodes; a++)
                for (unsigned b = 0; b < a; b++)
                        host_distance(host, a, b, draw(3) ? 20 : 11 + draw(200));
        for (unsigned node = 1; node < plan.nodes; node++)
                switch (draw(10)) {
                case 0:
                        host_no_cpus(host, node);
                        break;
                case 1:
                        host_memory(host, node, 0);
                        host->nodes[node].role = HN_NODE_NO_MEMORY;
                        break;
                case 2:
                        host->nodes[node].role = HN_NODE_FORBIDDEN;
                        break;
                case 3:
                        host_memory(host, node, (1 + draw(64)) * GIB);
                        break;
                default:
                        host_pool(host, node, 2048, draw(2) * 8192);
                }
        return host;
}

static void any_nodes(const struct yard *yard, unsigned k, char *ret, size_t size)
{
        *ret = '\0';
        for (unsigned i = 0; i < k; i++) {
                size_t length = strlen(ret);

                (void) snprintf(ret + length, size - length, "%s%u", i ? "," : "",
                                draw((unsigned) yard->host->n_nodes));
        }
}

static struct hn_request *any_request(unsigned number)
{
        static const unsigned vcpus[] = { 1, 1, 2, 2, 4, 4, 8, 16, 32 };
        unsigned n = vcpus[draw(9)], n_cells = n >= 4 && !draw(4) ? 2 + draw(3) : 1;
        struct hn_request *request = n_cells > 1 ? yard_cells(number, n_cells, n, (1 + draw(16)) * n_cells * GIB)
                                                 : vm(number, n, (1 + draw(48)) * GIB);

        if (!draw(8))
                request->page_kib = 2048;
        request->wishes.priority = (enum hn_priority) draw(3);
        request->memory_locked = !draw(12);
        return request;
}

static void fill(struct yard *yard)
{
        unsigned tries = 4 + draw(40);
        char nodes[128];

        for (unsigned i = 0; i < tries; i++) {
                struct hn_request *request = any_request(i);
                double busy = draw(5) ? request->vcpus_max * (double) draw(101) / 100 : -1;
                unsigned k = request->n_cells > 1 ? (unsigned) request->n_cells : draw(6) ? 1 : 2;

                /* many on the low nodes, as if nobody had balanced */
                any_nodes(yard, k, nodes, sizeof nodes);
                if (k == 1 && draw(2))
                        (void) snprintf(nodes, sizeof nodes, "0");
                if (!yard_put(yard, request, nodes, busy))
                        continue;
                if (!draw(6) && yard->requests[yard->n - 1]->n_cells < 2)
                        yard_resident(yard, yard->n - 1, yard->host->nodes[draw((unsigned) yard->host->n_nodes)].os);
                yard->guests[yard->n - 1].held = !draw(10);
        }
        for (unsigned node = 0; node < yard->host->n_nodes; node++)
                if (!draw(4))
                        yard->load.nodes[yard->load.n_nodes++] =
                                (struct hn_node_load) { .node = node, .busy_cpus = draw(8) };
}

static struct yard *any_yard(unsigned seed)
{
        struct yard *yard;

        drawn = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        yard = yard_of(any_host());
        yard->policy.balance.moves = 1 + draw(4);
        yard->policy.balance.threshold_percent = draw(10);
        fill(yard);
        return yard;
}

static unsigned rounds(void)
{
        const char *text = getenv("HOMENODE_ROUNDS");

        return text ? (unsigned) strtoul(text, NULL, 10) : ROUNDS;
}

static void constant_load_goes_quiet_and_the_total_never_rises(void **state)
{
        size_t moved[HN_MOVE_SPILL] = { 0 };

        (void) state;
        for (unsigned seed = 0; seed < rounds(); seed++) {
                struct yard *yard = any_yard(seed);
                double threshold = (yard->policy.balance.threshold_percent + 0.1) / 100;
                /* each group brings the sum down by the threshold at least; then there is memory that comes home */
                double most = 4 * yard_total(yard) / threshold + (double) yard->n;
                HN_FREE uint64_t *free_kib = calloc(yard->host->n_nodes + 1, sizeof *free_kib);
                size_t moves;

                /* every other time guests have not touched all they were promised: there is memory for one that goes first */
                assert_non_null(free_kib);
                for (size_t at = 0; at < yard->host->n_nodes; at++)
                        free_kib[at] = yard->host->nodes[at].memory_kib / 2;
                yard->input.free_kib = seed % 2 ? free_kib : NULL;
                moves = yard_settle(yard, 2000);

                if ((double) moves > most)
                        fail_msg("seed %u: %zu moves, %.0f at most", seed, moves, most);
                for (unsigned kind = 0; kind < HN_MOVE_SPILL; kind++)
                        moved[kind] += yard->moved[kind];
                yard_free(yard);
        }
        /* or the rest means nothing */
        for (unsigned kind = 0; kind < HN_MOVE_SPILL; kind++) {
                print_message("%s: %zu\n", hn_move_kind_name((enum hn_move_kind) kind), moved[kind]);
                assert_true(moved[kind] > 0);
        }
}

/* The kernel's figures say that some nodes run short, and go on to say so whatever is done. */
static void nodes_that_stay_short_end_quiet(void **state)
{
        size_t spilled = 0;

        (void) state;
        for (unsigned seed = 0; seed < rounds(); seed++) {
                struct yard *yard = any_yard(seed);
                uint64_t *free_kib = calloc(yard->host->n_nodes + 1, sizeof *free_kib);

                assert_non_null(free_kib);
                for (size_t at = 0; at < yard->host->n_nodes; at++)
                        free_kib[at] = draw(3) ? yard->host->nodes[at].memory_kib / (1 + draw(4)) : draw(64) * MIB;
                yard->input.free_kib = free_kib;
                (void) yard_settle(yard, 2000);
                spilled += yard->moved[HN_MOVE_SPILL];
                free(free_kib);
                yard_free(yard);
        }
        assert_true(spilled > 0);
}

/* Measurements are never the same twice: guests must not go back and forth for that. */
static void noise_moves_nobody_back_and_forth(void **state)
{
        (void) state;
        for (unsigned seed = 0; seed < rounds() / 4; seed++) {
                struct yard *yard = any_yard(seed);
                double *busy;
                size_t n = 0;

                yard->policy.balance.threshold_percent = 10;
                (void) yard_settle(yard, 2000);
                busy = calloc(yard->n + 1, sizeof *busy);
                assert_non_null(busy);
                for (size_t i = 0; i < yard->n; i++)
                        busy[i] = yard->guests[i].busy_cpus;
                for (unsigned period = 0; period < 360; period++) { /* an hour */
                        HN_MOVES struct hn_moves moves = { 0 };

                        for (size_t i = 0; i < yard->n; i++)
                                if (busy[i] >= 0)
                                        yard->guests[i].busy_cpus = busy[i] * (0.95 + 0.001 * draw(101));
                        yard_balance(yard, &moves);
                        yard_apply(yard, &moves);
                        n += moves.n;
                        yard->input.now_us += 10 * SECOND_US;
                }
                if (n > yard->n / 2 + 2)
                        fail_msg("seed %u: %zu moves of %zu guests", seed, n, yard->n);
                free(busy);
                yard_free(yard);
        }
}

/* Figures come from files that somebody else may have written. */
static void absurd_figures_do_no_harm(void **state)
{
        static const double busy[] = { -1, 0, 1e-300, 1e300, INFINITY, -INFINITY, NAN };
        static const uint64_t sizes[] = { 0, 1, GIB, UINT64_MAX / 2, UINT64_MAX };

        (void) state;
        for (unsigned seed = 0; seed < rounds(); seed++) {
                struct yard *yard = any_yard(seed);
                uint64_t *free_kib = calloc(yard->host->n_nodes + 1, sizeof *free_kib);
                HN_MOVES struct hn_moves moves = { 0 };
                struct hn_score total;

                assert_non_null(free_kib);
                for (size_t at = 0; at < yard->host->n_nodes; at++) {
                        free_kib[at] = sizes[draw(5)];
                        yard->host->nodes[at].free_kib = sizes[draw(5)];
                }
                yard->input.free_kib = free_kib;
                yard->input.copy_kib_per_second = sizes[draw(5)];
                yard->input.now_us = sizes[draw(5)];
                for (size_t i = 0; i < yard->load.n_nodes; i++)
                        yard->load.nodes[i].busy_cpus = busy[draw(7)];
                for (size_t i = 0; i < yard->n; i++) {
                        yard->guests[i].busy_cpus = busy[draw(7)];
                        yard_resident(yard, i, 0);
                        for (size_t at = 0; at < yard->host->n_nodes; at++)
                                yard->resident[i][at] = sizes[draw(5)];
                        for (size_t j = 0; !draw(4) && j < yard->placements[i]->n_promises; j++)
                                yard->placements[i]->promises[j] = (struct hn_promise) {
                                        .node = draw(2) ? 0 : draw(2000), .memory_kib = sizes[draw(3)] << draw(30),
                                        .vcpus_milli = draw(2) * HN_PLACEMENT_MILLI_LIMIT,
                                };
                }
                assert_int_equal(hn_balance(&yard->input, &moves), 0);
                assert_int_equal(hn_balance_total(&yard->input, &total), 0);
                assert_true(isfinite(total.total));
                free(free_kib);
                yard_free(yard);
        }
}

/* One scoring function: where placing has just put a guest, balancing leaves it. */
static void what_placing_chose_stays(void **state)
{
        (void) state;
        for (unsigned seed = 0; seed < rounds(); seed++) {
                struct yard *yard = any_yard(seed);

                for (unsigned i = 0; i < 8; i++) {
                        struct hn_situation situation = {
                                .host = yard->host, .policy = &yard->policy, .load = &yard->load,
                                .placements = (const struct hn_placement *const *) yard->placements,
                                .n_placements = yard->n,
                        };
                        struct hn_request *request = vm(1000 + i, 1 + draw(8), (1 + draw(16)) * GIB);
                        HN_DECISION struct hn_decision *decision = NULL;
                        HN_MOVES struct hn_moves moves = { 0 };
                        HN_FREE char *nodes = NULL;

                        for (size_t j = 0; j < yard->n; j++) {
                                yard->guests[j].held = true;
                                yard->guests[j].busy_cpus = -1;
                        }
                        assert_int_equal(hn_decide(&situation, request, &decision), 0);
                        assert_int_equal(hn_idset_format(decision->placement->home, &nodes), 0);
                        if (decision->verdict != HN_PLACED) {
                                hn_request_free(request);
                                continue;
                        }
                        assert_true(yard_put(yard, request, nodes, -1));
                        yard_balance(yard, &moves);
                        if (moves.n)
                                fail_msg("seed %u: %s", seed, moves.list[0].reason);
                }
                yard_free(yard);
        }
}

/* The same input gives the same answer. */
static void says_the_same_twice(void **state)
{
        (void) state;
        for (unsigned seed = 0; seed < rounds(); seed++) {
                struct yard *yard = any_yard(seed);
                HN_MOVES struct hn_moves a = { 0 }, b = { 0 };

                yard_balance(yard, &a);
                yard_balance(yard, &b);
                assert_int_equal(a.n, b.n);
                for (size_t i = 0; i < a.n; i++)
                        assert_string_equal(a.list[i].reason, b.list[i].reason);
                yard_free(yard);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(constant_load_goes_quiet_and_the_total_never_rises),
                cmocka_unit_test(nodes_that_stay_short_end_quiet),
                cmocka_unit_test(noise_moves_nobody_back_and_forth),
                cmocka_unit_test(absurd_figures_do_no_harm),
                cmocka_unit_test(what_placing_chose_stays),
                cmocka_unit_test(says_the_same_twice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
