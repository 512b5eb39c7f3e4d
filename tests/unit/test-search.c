/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The search against all sets of nodes, decisions on random hosts against their invariants, and its time.
 */
#include "unit/support/test.h"

#include <time.h>

#include "decide/explain.h"
#include "decide/place.h"
#include "unit/support/scene.h"

/* xorshift64: the same numbers on every machine. */
struct dice {
        uint64_t state;
};

static unsigned roll(struct dice *dice, unsigned n)
{
        dice->state ^= dice->state << 13;
        dice->state ^= dice->state >> 7;
        dice->state ^= dice->state << 17;
        return (unsigned) (dice->state % n);
}

/* Nodes of unlike memory, some without CPUs, some nearer to each other, some with huge pages or less free. */
static struct hn_host *random_host(struct dice *dice, unsigned max_nodes)
{
        struct hn_host *host = host_of(&(struct host_plan) {
                .nodes = 1 + roll(dice, max_nodes), .cores = 1 + roll(dice, 12), .threads = 1 + roll(dice, 2),
                .cores_per_cache = roll(dice, 5), .memory_kib = 8 * GIB + roll(dice, 32) * GIB });
        bool unlike = roll(dice, 2);

        for (unsigned a = 0; a < host->n_nodes; a++) {
                for (unsigned b = 0; b < a; b++)
                        host_distance(host, a, b, 11 + roll(dice, unlike ? 30 : 1));
                if (unlike && roll(dice, 2))
                        host_memory(host, a, roll(dice, 48) * GIB);
                if (roll(dice, 8) == 0)
                        host_no_cpus(host, a);
                if (roll(dice, 3) == 0)
                        host_pool(host, a, 2048, roll(dice, 4096));
                if (roll(dice, 6) == 0)
                        host->nodes[a].free_kib = host->nodes[a].memory_kib / 2;
                if (!host->nodes[a].memory_kib && host->nodes[a].role == HN_NODE_HOME)
                        host_memory(host, a, GIB);
        }
        return host;
}

static void random_cells(struct dice *dice, struct hn_request *request)
{
        size_t n = 1 + roll(dice, 4);

        request->cells = calloc(n, sizeof *request->cells);
        assert_non_null(request->cells);
        request->n_cells = n;
        request->memory_kib = 0;
        for (unsigned i = 0; i < n; i++) {
                struct hn_request_cell *cell = &request->cells[i];

                cell->vcpus = hwloc_bitmap_alloc();
                for (unsigned v = i; v < request->vcpus_max; v += (unsigned) n)
                        hwloc_bitmap_set(cell->vcpus, v);
                cell->memory_kib = (1 + roll(dice, 8192)) * MIB;
                request->memory_kib += cell->memory_kib;
                if (roll(dice, 6) == 0)
                        cell->page_kib = 2048;
                if (roll(dice, 5) == 0) {
                        cell->bound = hwloc_bitmap_alloc();
                        hwloc_bitmap_set(cell->bound, roll(dice, 4));
                        cell->mode = HN_NUMA_STRICT;
                }
        }
}

static void random_user_rules(struct dice *dice, struct hn_request *request)
{
        if (roll(dice, 4) == 0) {
                request->vcpu_cpuset = hwloc_bitmap_alloc();
                hwloc_bitmap_set_range(request->vcpu_cpuset, roll(dice, 40), (int) (40 + roll(dice, 20)));
        }
        if (roll(dice, 4) == 0) {
                request->vcpu_pins = calloc(1, sizeof *request->vcpu_pins);
                request->n_vcpu_pins = 1;
                request->vcpu_pins[0] = (struct hn_pin) { roll(dice, 4), hwloc_bitmap_alloc() };
                hwloc_bitmap_set(request->vcpu_pins[0].cpus, roll(dice, 32));
        }
        if (roll(dice, 4) == 0) {
                request->numatune_nodes = hwloc_bitmap_alloc();
                hwloc_bitmap_set(request->numatune_nodes, roll(dice, 3));
                hwloc_bitmap_set(request->numatune_nodes, roll(dice, 5));
                request->numatune_mode = roll(dice, 2) ? HN_NUMA_INTERLEAVE : HN_NUMA_STRICT;
                request->numatune_user = true;
        }
}

static struct hn_request *random_request(struct dice *dice, unsigned number, bool user_rules)
{
        struct hn_request *request = vm(number, 1 + roll(dice, roll(dice, 4) ? 8 : 60),
                                        (64 + roll(dice, roll(dice, 3) ? 8192 : 120000)) * MIB);
        struct hn_wishes *wishes = &request->wishes;

        wishes->priority = (enum hn_priority) roll(dice, 3);
        wishes->vnuma = roll(dice, 4) ? -1 : (int) roll(dice, 5);
        wishes->pin_cores = roll(dice, 4) == 0;
        wishes->spanning_forbidden = roll(dice, 8) == 0;
        wishes->memory = (enum hn_memory_rule) roll(dice, 3);
        request->page_kib = roll(dice, 5) ? 0 : 2048;
        request->page_default = roll(dice, 8) == 0;
        if (roll(dice, 3) == 0 && request->vcpus_max % 2 == 0)
                request->topology = (struct hn_topology) { 1, 1, 1, request->vcpus_max / 2, 2 };
        if (roll(dice, 6) == 0) {
                wishes->nodes = hwloc_bitmap_alloc();
                hwloc_bitmap_set(wishes->nodes, roll(dice, 3));
                hwloc_bitmap_set(wishes->nodes, roll(dice, 6));
        }
        if (user_rules && roll(dice, 3) == 0)
                random_cells(dice, request);
        if (user_rules)
                random_user_rules(dice, request);
        return request;
}

/* Sequences on random hosts; check_decision() has the invariants. */
static void random_domains_on_random_hosts(void **state)
{
        struct dice dice = { 0x5eed };
        unsigned verdicts[3] = { 0 };

        (void) state;
        for (unsigned round = 0; round < 400; round++) {
                struct scene *scene = scene_of(random_host(&dice, 9));

                for (unsigned i = 0; i < 12; i++) {
                        struct hn_request *request = random_request(&dice, i, round % 2);

                        verdicts[scene_start(scene, request)->verdict]++;
                        hn_request_free(request);
                }
                scene_free(scene);
        }
        print_message("%u placed, %u left, %u refused\n", verdicts[0], verdicts[1], verdicts[2]);
        assert_true(verdicts[0] > 1000 && verdicts[1] > 100 && verdicts[2] > 100);
}

static void the_order_of_placements_does_not_matter(void **state)
{
        struct dice dice = { 77 };

        (void) state;
        for (unsigned round = 0; round < 60; round++) {
                struct scene *scene = scene_of(random_host(&dice, 9));
                struct hn_request *request = random_request(&dice, 999, false);
                HN_DECISION struct hn_decision *before = NULL, *after = NULL;
                struct json_object *a = NULL, *b = NULL;
                size_t n;

                for (unsigned i = 0; i < 30; i++) {
                        struct hn_request *other = random_request(&dice, i, false);

                        (void) scene_start(scene, other);
                        hn_request_free(other);
                }
                before = scene_ask(scene, request);
                n = scene->situation.n_placements;
                for (size_t i = n - 1; i > 0; i--) {
                        size_t j = roll(&dice, (unsigned) i + 1);
                        const struct hn_placement *placement = scene->placements[i];

                        scene->placements[i] = scene->placements[j];
                        scene->placements[j] = placement;
                }
                after = scene_ask(scene, request);
                assert_int_equal(hn_explain_json(request, before, &a), 0);
                assert_int_equal(hn_explain_json(request, after, &b), 0);
                assert_string_equal(json_object_to_json_string(a), json_object_to_json_string(b));
                json_object_put(a);
                json_object_put(b);
                hn_request_free(request);
                scene_free(scene);
        }
}

/* Best and second best of all sets of homes, one kind of layout and one size after the other. */
struct rivals {
        double best, second;
        size_t n;
};

static bool is_spread(const struct hn_placement *placement)
{
        for (size_t i = 0; i < placement->n_cells; i++)
                if (hn_idset_count(placement->cells[i].nodes) > 1)
                        return true;
        return false;
}

static void weigh_set(const struct scene *scene, const struct hn_request *request,
                      const struct hn_shape *shape, uint64_t mask, bool spread, bool pinned, struct rivals *rivals)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
        HN_PLACEMENT struct hn_placement *placement = NULL;
        struct hn_score score;

        for (unsigned i = 0; i < 64; i++)
                if (mask >> i & 1)
                        hwloc_bitmap_set(nodes, i);
        if (request->wishes.nodes && !hwloc_bitmap_isincluded(nodes, request->wishes.nodes))
                return;
        if (hn_place_on(&scene->situation, request, shape, nodes, &placement, &score) < 0
            || is_spread(placement) != spread || (pinned && !placement->n_vcpu_cpus))
                return;
        rivals->n++;
        if (rivals->n == 1 || score.total < rivals->best) {
                rivals->second = rivals->n == 1 ? score.total : rivals->best;
                rivals->best = score.total;
        } else if (rivals->n == 2 || score.total < rivals->second)
                rivals->second = score.total;
}

static struct rivals all_sets(const struct scene *scene, const struct hn_request *request,
                              const struct hn_shape *shape, unsigned k, bool spread, bool pinned)
{
        struct rivals rivals = { 0 };
        uint64_t end = UINT64_C(1) << scene->host->n_nodes;

        /* the next number with as many bits set (Gosper) */
        for (uint64_t mask = (UINT64_C(1) << k) - 1, low, next; mask < end;
             low = mask & -mask, next = mask + low, mask = (((next ^ mask) >> 2) / low) | next)
                weigh_set(scene, request, shape, mask, spread, pinned, &rivals);
        return rivals;
}

static void compare_with_all(const struct scene *scene, const struct hn_request *request, unsigned max_k)
{
        HN_DECISION struct hn_decision *d = scene_ask(scene, request);
        unsigned k;
        bool spread;
        struct rivals rivals;

        if (d->verdict != HN_PLACED)
                return;
        k = hn_idset_count(d->placement->home);
        spread = is_spread(d->placement);
        if (k > max_k)
                return;
        rivals = all_sets(scene, request, d->shape, k, spread, d->placement->n_vcpu_cpus > 0);
        assert_true(rivals.n > 0);
        assert_float_equal(d->score.total, rivals.best, 1e-8);
        assert_true((rivals.n > 1) == (d->runner_up && hn_idset_count(d->runner_up) == k));
        if (rivals.n > 1)
                assert_float_equal(d->runner_up_score.total, rivals.second, 1e-8);
        if (request->wishes.vnuma > 1)
                return;
        /* and nothing smaller would have done */
        for (unsigned less = 1; less < k; less++) {
                assert_int_equal(all_sets(scene, request, d->shape, less, false, false).n, 0);
                if (spread)
                        assert_int_equal(all_sets(scene, request, d->shape, less, true, false).n, 0);
        }
}

static void compare_rounds(uint64_t seed, unsigned rounds, unsigned min_nodes, unsigned max_nodes,
                           unsigned max_k)
{
        struct dice dice = { seed };

        for (unsigned round = 0; round < rounds; round++) {
                struct hn_host *host = random_host(&dice, max_nodes);
                struct scene *scene;

                if (host->n_nodes < min_nodes) {
                        hn_host_free(host);
                        continue;
                }
                scene = scene_of(host);
                for (unsigned i = 0; i < 10; i++) {
                        struct hn_request *request = random_request(&dice, i, false);

                        compare_with_all(scene, request, max_k);
                        (void) scene_start(scene, request);
                        hn_request_free(request);
                }
                scene_free(scene);
        }
}

static void no_set_of_twelve_nodes_is_better(void **state)
{
        (void) state;
        compare_rounds(1234, 60, 1, 12, 12);
}

static void no_small_set_of_24_nodes_is_better(void **state)
{
        (void) state;
        compare_rounds(4321, 20, 17, 24, 3);
}

static double now_ms(void)
{
        struct timespec now;

        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
        return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Time of one decision for a domain of so many vCPUs, which must be placed on k nodes. */
static double time_decision(const struct scene *scene, const char *what, unsigned vcpus, unsigned k)
{
        struct hn_request *request = vm(9999, vcpus, 8 * GIB);
        HN_DECISION struct hn_decision *d = NULL;
        double best = 1e9;

        for (int i = 0; i < 3; i++) {
                double start = now_ms();

                hn_decision_free(d);
                assert_int_equal(hn_decide(&scene->situation, request, &d), 0);
                best = now_ms() - start < best ? now_ms() - start : best;
        }
        assert_int_equal(d->verdict, HN_PLACED);
        assert_int_equal(hn_idset_count(d->placement->home), k);
        print_message("%s: %zu sets in %.2f ms\n", what, d->candidates, best);
        hn_request_free(request);
        return best;
}

/* The limits are ten times what is wanted: machines under test are slow and busy. */
static void decisions_take_milliseconds(void **state)
{
        struct dice dice = { 99 };
        struct scene *sixteen = scene_of(host_of(&(struct host_plan) { 16, 4, 1, 0, 64 * GIB }));
        struct scene *large = scene_of(host_of(&(struct host_plan) { 64, 8, 1, 4, 64 * GIB }));

        (void) state;
        for (unsigned a = 0; a < 64; a++)
                for (unsigned b = 0; b < a; b++) {
                        unsigned distance = a / 8 == b / 8 ? 12 : 20 + roll(&dice, 20);

                        host_distance(large->host, a, b, distance);
                        if (a < 16)
                                host_distance(sixteen->host, a, b, distance);
                }
        assert_true(time_decision(sixteen, "8 of 16 nodes", 32, 8) < 100);
        assert_true(time_decision(large, "1 of 64 nodes", 8, 1) < 100);
        assert_true(time_decision(large, "3 of 64 nodes", 24, 3) < 100);
        assert_true(time_decision(large, "8 of 64 nodes", 64, 8) < 100);
        assert_true(time_decision(large, "32 of 64 nodes", 256, 32) < 100);
        assert_true(time_decision(large, "64 of 64 nodes", 512, 64) < 100);
        for (unsigned i = 0; i < 500; i++) {
                struct hn_request *request = vm(i, 1 + roll(&dice, 4), GIB);
                struct hn_decision *d = NULL;

                request->wishes.pin_cores = i % 2;
                assert_int_equal(hn_decide(&large->situation, request, &d), 0);
                large->decisions[i] = d;
                large->placements[i] = d->placement;
                large->situation.n_placements++;
                hn_request_free(request);
        }
        assert_true(time_decision(large, "1 of 64 nodes with 500 domains", 8, 1) < 100);
        assert_true(time_decision(large, "8 of 64 nodes with 500 domains", 64, 8) < 100);
        scene_free(sixteen);
        scene_free(large);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(random_domains_on_random_hosts),
                cmocka_unit_test(the_order_of_placements_does_not_matter),
                cmocka_unit_test(no_set_of_twelve_nodes_is_better),
                cmocka_unit_test(no_small_set_of_24_nodes_is_better),
                cmocka_unit_test(decisions_take_milliseconds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
