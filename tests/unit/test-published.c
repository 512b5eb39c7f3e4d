/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the daemon published counts for starts while the daemon lives, and for half a minute after; and it is checked
 * against what the kernel says now.  Two nodes of 8 GiB, one of them in a huge page; node 1 is crowded with vCPUs, so
 * that a guest goes there only where node 0 has no room.
 */
#include "store/published.h"

#include "model/clock.h"
#include "model/json.h"
#include "model/text.h"
#include "store/scene.h"
#include "unit/support/host-tree.h"
#include "unit/support/ledger.h"
#include "unit/support/scene.h"

#define MINUTE_US UINT64_C(60000000)

static int setup(void **state)
{
        (void) tree_setup(state);
        host_tree_put(*state, 2, 4, 1);
        tree_put(*state, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        return 0;
}

static void put_entry(struct tree *tree, const char *uuid, unsigned node, uint64_t memory_kib, unsigned vcpus_milli)
{
        HN_LEDGER struct hn_ledger *ledger = ledger_locked(tree);
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");

        entry->placement->promises[0] = (struct hn_promise) { node, memory_kib, 0, vcpus_milli };
        entry->state = HN_ENTRY_STARTED;
        entry->pid = 4242;
        entry->unit = strdup("web.scope");
        tree_put(tree, "/proc/4242/stat", "4242 (qemu) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 99 0 0\n");
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

/* 4 GiB promised on node 0; how much of it the guest holds is not to be had but from what was published. */
static void put_guests(struct tree *tree)
{
        put_entry(tree, UUID_A, 0, 4 * GIB, 1000);
        put_entry(tree, UUID_B, 1, 64 * MIB, 64000);
}

static void publish_at(struct tree *tree, const char *boot_id, uint64_t written_us, uint64_t free_kib)
{
        HN_FREE char *text = hn_text_print("{\"version\":1,\"boot_id\":\"%s\",\"written_us\":%llu,\"nodes\":"
                                           "[{\"node\":0,\"free_kib\":%llu,\"busy_cpus\":0.5}]}", boot_id,
                                           (unsigned long long) written_us, (unsigned long long) free_kib);

        assert_non_null(text);
        tree_put(tree, HN_PUBLISHED_PATH, text);
}

static bool counts(struct tree *tree)
{
        HN_JSON struct json_object *state = NULL;
        int r = hn_published_read(&tree->root, &state);

        if (r < 0)
                assert_int_equal(r, -ENOENT);
        return r >= 0;
}

static void a_young_state_counts(void **state)
{
        uint64_t now_us = hn_boottime_us();

        assert_false(counts(*state));
        publish_at(*state, BOOT_ID, now_us, GIB);
        assert_true(counts(*state));
        publish_at(*state, "22222222-2222-4333-8444-555555555555", now_us, GIB);
        assert_false(counts(*state));
        publish_at(*state, BOOT_ID, now_us + 60 * MINUTE_US, GIB);
        assert_false(counts(*state));
}

static void an_old_state_counts_as_long_as_its_daemon_lives(void **state)
{
        struct tree *tree = *state;
        uint64_t now_us = hn_boottime_us();
        int held;

        publish_at(tree, BOOT_ID, now_us > MINUTE_US ? now_us - MINUTE_US : 0, GIB);
        assert_false(counts(tree));
        held = hn_published_hold(&tree->root);
        assert_true(held >= 0);
        assert_true(counts(tree));
        assert_true(counts(tree));
        assert_int_equal(hn_published_hold(&tree->root), -EWOULDBLOCK);
        (void) close(held);
        assert_false(counts(tree));
        /* nobody waits for what is no file */
        assert_int_equal(hn_root_remove(&tree->root, HN_PUBLISHED_PATH), 0);
        assert_int_equal(hn_published_hold(&tree->root), -ENOENT);
}

/* Where a new guest of 2 vCPUs comes to lie. */
static void assert_home(struct tree *tree, uint64_t memory_kib, bool measured, const char *home)
{
        const struct hn_scene_source source = { .measured = measured };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_REQUEST struct hn_request *request = vm(1, 2, memory_kib);
        HN_DECISION struct hn_decision *decision = NULL;
        HN_FREE char *fault = NULL;

        assert_int_equal(hn_scene_open(&tree->root, &source, &scene, &fault), 0);
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_scene_add_ledger(scene, &tree->root, ledger, NULL), 0);
        assert_int_equal(hn_scene_decide(scene, &scene->situation, request, &decision), 0);
        assert_int_equal(decision->verdict, HN_PLACED);
        assert_set(decision->placement->home, home);
}

/* 3 GiB are free.  By promises alone the guest has all of its 4, and more than 2 are left; in truth it has touched
 * nothing yet. */
static void what_guests_hold_is_told(void **state)
{
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        put_guests(tree);
        assert_home(tree, 2 * GIB, false, "0");
        publish_at(tree, BOOT_ID, hn_boottime_us(), 3 * GIB);
        assert_home(tree, 2 * GIB, false, "1");
        assert_home(tree, 2 * GIB, true, "0"); /* who looks for themselves goes by what they see */
}

/* Somebody without a placement took 4 GiB since: 3 are free, and 4 promised. */
static void no_more_is_there_than_the_kernel_says(void **state)
{
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 2 * GIB, 0);
        put_guests(tree);
        publish_at(tree, BOOT_ID, hn_boottime_us(), 8 * GIB);
        assert_home(tree, 3 * GIB, false, "1");
}

/* Somebody without a placement has gone since, and no node but this has room. */
static void what_came_since_is_found_where_it_is_needed(void **state)
{
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 7 * GIB, 0);
        host_tree_put_meminfo(tree, 1, 8 * GIB, GIB, 0);
        put_guests(tree);
        tree_put(tree, "/sys/fs/cgroup/machine.slice/web.scope/memory.numa_stat", "anon N0=0 N1=0\n");
        publish_at(tree, BOOT_ID, hn_boottime_us(), 2 * GIB);
        assert_home(tree, 2 * GIB, false, "0");
}

static void an_odd_state_changes_nothing(void **state)
{
        static const char *const odd[] = {
                "", "{", "[]", "{\"version\":1}", "{\"version\":1,\"written_us\":0,\"boot_id\":7}",
                "{\"version\":1,\"written_us\":0,\"boot_id\":\"" BOOT_ID "\",\"nodes\":[{\"node\":0,\"free_kib\":-1}]}",
                "{\"version\":1,\"written_us\":0,\"boot_id\":\"" BOOT_ID "\",\"nodes\":7}",
        };
        struct tree *tree = *state;

        host_tree_put_meminfo(tree, 0, 8 * GIB, 3 * GIB, 0);
        put_guests(tree);
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
                int held;

                tree_put(tree, HN_PUBLISHED_PATH, odd[i]);
                held = hn_published_hold(&tree->root);
                assert_true(held >= 0);
                assert_home(tree, 2 * GIB, false, "0");
                (void) close(held);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_young_state_counts, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(an_old_state_counts_as_long_as_its_daemon_lives, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(what_guests_hold_is_told, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(no_more_is_there_than_the_kernel_says, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(what_came_since_is_found_where_it_is_needed, setup, tree_teardown),
                cmocka_unit_test_setup_teardown(an_odd_state_changes_nothing, setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
