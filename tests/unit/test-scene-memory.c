/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whose memory is it: promises, what guests hold of them, and what the kernel says is free, in one decision.  Two
 * nodes of 8 GiB, one of them in a huge page; node 1 is crowded with vCPUs, so that a guest goes there only where node 0 has no room.
 */
#include "store/scene.h"

#include "unit/support/host-tree.h"
#include "unit/support/ledger.h"
#include "unit/support/scene.h"

#define SCOPE "/sys/fs/cgroup/machine.slice/web.scope/memory.numa_stat"
#define UUID_NEW "0a1b2c3d-4e5f-4a6b-8c7d-0000000000ff"

static int setup(void **state)
{
        (void) tree_setup(state);
        host_tree_put(*state, 2, 4, 1);
        return 0;
}

static void put_guest(struct tree *tree, const char *uuid, unsigned node, uint64_t memory_kib, unsigned vcpus_milli,
                      const char *unit)
{
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");

        entry->placement->promises[0] = (struct hn_promise) { node, memory_kib, 0, vcpus_milli };
        entry->state = HN_ENTRY_STARTED;
        entry->unit = unit ? strdup(unit) : NULL;
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

/* 4 GiB promised on node 0 to a guest that holds so much there and on node 1. */
static void put_web(struct tree *tree, uint64_t held_0_kib, uint64_t held_1_kib)
{
        char text[128];

        put_guest(tree, UUID_A, 0, 4 * GIB, 1000, "web.scope");
        put_guest(tree, UUID_B, 1, 64 * MIB, 64000, NULL);
        (void) snprintf(text, sizeof text, "anon N0=%llu N1=%llu\n", (unsigned long long) held_0_kib * 1024,
                        (unsigned long long) held_1_kib * 1024);
        tree_put(tree, SCOPE, text);
}

/* The decision on a domain of 2 vCPUs; the caller frees. */
static struct hn_decision *decide(struct tree *tree, const char *uuid, uint64_t memory_kib, struct hn_scene **ret_scene)
{
        const struct hn_scene_source source = { 0 };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_REQUEST struct hn_request *request = vm(1, 2, memory_kib);
        HN_FREE char *fault = NULL;
        struct hn_decision *decision = NULL;

        (void) snprintf(request->uuid, sizeof request->uuid, "%s", uuid);
        assert_int_equal(hn_scene_open(&tree->root, &source, ret_scene, &fault), 0);
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_scene_add_ledger(*ret_scene, &tree->root, ledger, uuid), 0);
        assert_int_equal(hn_scene_decide(*ret_scene, &(*ret_scene)->situation, request, &decision), 0);
        return decision;
}

static void assert_home(struct tree *tree, uint64_t memory_kib, const char *home)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = decide(tree, UUID_NEW, memory_kib, &scene);

        assert_int_equal(decision->verdict, HN_PLACED);
        assert_set(decision->placement->home, home);
}

/* 3 GiB are free, the guest has all of its 4. */
static void counts_what_a_guest_holds_once(void **state)
{
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        put_web(tree, 4 * GIB, 0);
        assert_home(tree, 2 * GIB, "0");
        put_web(tree, 7 * GIB, 0); /* more than it was promised: the kernel's figure is the limit */
        assert_home(tree, 2 * GIB, "0");
}

/* 3 GiB are free, and still to be touched by the guest: promises alone would leave more than 2. */
static void keeps_what_a_guest_has_not_touched(void **state)
{
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        put_web(tree, 0, 0);
        assert_home(tree, 2 * GIB, "1");
        put_web(tree, 3 * GIB, 0); /* 1 GiB to come: 2 are left */
        assert_home(tree, GIB, "0");
        assert_home(tree, 2 * GIB, "1"); /* with the overhead it is more than 2 */
}

/* What it holds on a node where nobody promised it anything comes back to no node. */
static void counts_no_memory_that_was_not_promised(void **state)
{
        struct tree *tree = *state;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        host_tree_put_meminfo(tree, 1, 8 * GIB, 3 * GIB, 0);
        put_web(tree, 0, 4 * GIB);
        decision = decide(tree, UUID_NEW, 4 * GIB, &scene);
        assert_int_equal(decision->verdict, HN_LEFT);
}

static void takes_a_silent_guest_to_hold_its_promise(void **state)
{
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        put_web(tree, 0, 0);
        tree_put(tree, SCOPE, "anon N0\n");
        assert_home(tree, 2 * GIB, "0");
}

/* One that is decided on again has nothing to give while its memory is still in use. */
static void counts_nothing_for_the_domain_itself(void **state)
{
        struct tree *tree = *state;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        put_web(tree, 4 * GIB, 0);
        decision = decide(tree, UUID_A, 4 * GIB, &scene);
        assert_int_equal(decision->verdict, HN_PLACED);
        assert_set(decision->placement->home, "1");
}

/* Whatever is held and asked for: what is free covers all that is still to be touched, the new guest included. */
static void never_gives_memory_twice(void **state)
{
        struct tree *tree = *state;
        unsigned placed[2] = { 0 };

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        for (uint64_t held = 0; held <= 4 * GIB; held += 512 * MIB) {
                put_web(tree, held, 0);
                for (uint64_t size = 256 * MIB; size <= 6 * GIB; size += 256 * MIB) {
                        HN_SCENE struct hn_scene *scene = NULL;
                        HN_DECISION struct hn_decision *decision = decide(tree, UUID_NEW, size, &scene);
                        uint64_t to_come = 4 * GIB - held;

                        if (decision->verdict != HN_PLACED)
                                continue;
                        for (size_t i = 0; i < decision->placement->n_promises; i++) {
                                const struct hn_promise *promise = &decision->placement->promises[i];

                                assert_true(promise->memory_kib + (promise->node ? 0 : to_come)
                                            <= (promise->node ? 6 : 3) * GIB);
                                placed[promise->node]++;
                        }
                }
        }
        assert_true(placed[0] > 20 && placed[1] > 20);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(counts_what_a_guest_holds_once, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(keeps_what_a_guest_has_not_touched, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(counts_no_memory_that_was_not_promised, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(takes_a_silent_guest_to_hold_its_promise, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(counts_nothing_for_the_domain_itself, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(never_gives_memory_twice, setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
