/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch.h"

#include "unit/support/entry.h"
#include "unit/support/guest.h"

#define WEB "machine-qemu\\x2d7\\x2dweb.scope"
#define DB "machine-qemu\\x2d8\\x2ddb.scope"

struct heard { unsigned changed, new, lost; char uuid[HN_UUID_LENGTH + 1]; };

static void hear(void *data, const char *uuid, enum hn_watch_news news)
{
        struct heard *heard = data;

        heard->changed += news == HN_WATCH_CHANGED;
        heard->new += news == HN_WATCH_NEW;
        heard->lost += news == HN_WATCH_LOST;
        (void) snprintf(heard->uuid, sizeof heard->uuid, "%s", uuid ? uuid : "");
}

static int setup(void **state)
{
        static struct tree tree;

        tree_make(&tree);
        guest_put_cgroups(&tree, &(struct guest_plan) { .unit = WEB, .confined = "4-5", .all = "0-7", .nodes = "2" });
        guest_put_cgroups(&tree, &(struct guest_plan) { .unit = DB, .confined = "0-1", .all = "0-7", .nodes = "0" });
        *state = &tree;
        return 0;
}

static int teardown(void **state)
{
        tree_remove(*state);
        return 0;
}

static void watch_guest(struct hn_watch *watch, struct tree *tree, const char *uuid, const char *scope, const char *threads)
{
        HN_GROUPS struct hn_groups *groups = NULL;

        assert_int_equal(hn_groups_read(&tree->root, scope, threads, &groups), 0);
        assert_int_equal(hn_watch_guest(watch, uuid, scope, threads, groups), 0);
}

static void tells_whose_cgroup_changed_and_how(void **state)
{
        struct tree *tree = *state;
        HN_WATCH struct hn_watch *watch = NULL;
        struct heard heard = { 0 };

        assert_int_equal(hn_watch_new(&tree->root, &watch), 0);
        watch_guest(watch, tree, UUID_A, GUEST_SCOPE(WEB), GUEST_THREADS(WEB));
        watch_guest(watch, tree, UUID_B, GUEST_SCOPE(DB), GUEST_THREADS(DB));
        assert_int_equal(hn_watch_count(watch), 2 * 5); /* scope, level, emulator, two vCPUs */
        watch_guest(watch, tree, UUID_A, GUEST_SCOPE(WEB), GUEST_THREADS(WEB));
        assert_int_equal(hn_watch_count(watch), 2 * 5);
        hn_watch_read(watch, hear, &heard);
        assert_int_equal(heard.changed + heard.new + heard.lost, 0);

        tree_put(tree, GUEST_THREADS(WEB) "/vcpu1/cpuset.mems", "0\n");
        hn_watch_read(watch, hear, &heard);
        assert_true(heard.changed > 0);
        assert_string_equal(heard.uuid, UUID_A);
        heard = (struct heard) { 0 };
        tree_put(tree, GUEST_SCOPE(DB) "/memory.high", "max\n"); /* a balloon is no news */
        hn_watch_read(watch, hear, &heard);
        assert_int_equal(heard.changed + heard.new + heard.lost, 0);
        tree_put(tree, GUEST_THREADS(DB) "/iothread1/cgroup.threads", "");
        hn_watch_read(watch, hear, &heard);
        assert_int_equal(heard.new, 1);
        assert_string_equal(heard.uuid, UUID_B);
}

static void what_went_is_watched_no_more(void **state)
{
        struct tree *tree = *state;
        HN_WATCH struct hn_watch *watch = NULL;
        struct heard heard = { 0 };
        static const char *const files[] = { "cpuset.cpus", "cpuset.cpus.effective", "cpuset.mems.effective", "cgroup.threads", "" };

        assert_int_equal(hn_watch_new(&tree->root, &watch), 0);
        watch_guest(watch, tree, UUID_A, GUEST_SCOPE(WEB), GUEST_THREADS(WEB));
        watch_guest(watch, tree, UUID_B, GUEST_SCOPE(DB), GUEST_THREADS(DB));
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                assert_int_equal(hn_root_remove(&tree->root, GUEST_THREADS(WEB) "/vcpu1/%s", files[i]), 0);
        hn_watch_read(watch, hear, &heard);
        assert_int_equal(heard.lost, 1);
        assert_int_equal(hn_watch_count(watch), 9);
        hn_watch_forget(watch, UUID_A);
        assert_int_equal(hn_watch_count(watch), 5);
        heard = (struct heard) { 0 };
        tree_put(tree, GUEST_THREADS(WEB) "/vcpu0/cpuset.cpus", "0\n");
        hn_watch_read(watch, hear, &heard);
        assert_int_equal(heard.changed + heard.new + heard.lost, 0);
        hn_watch_forget(watch, UUID_C);
        assert_int_equal(hn_watch_count(watch), 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(tells_whose_cgroup_changed_and_how),
                TEST(what_went_is_watched_no_more),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
