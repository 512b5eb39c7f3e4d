/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook once a guest runs: CPU sets in force, the entry a running guest's.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "model/clock.h"
#include "store/ledger.h"
#include "unit/support/hook.h"
#include "unit/support/test.h"

#define SCOPE GUEST_SCOPE(WEB)
#define THREADS GUEST_THREADS(WEB)

static void put_running(struct tree *tree)
{
        const struct guest_plan plan = { .unit = WEB, .confined = "0-3,16-19", .all = "0-31", .nodes = "0" };

        guest_put_cgroups(tree, &plan);
        guest_put_process(tree, WEB, "web", 4242, 987654);
}

static void started_puts_cpus_into_force(void **state)
{
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        put_running(tree);
        struct hook_result result = hook_run("web", "started", "begin", hook_domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_true(tree_file_has(tree, THREADS "/vcpu1/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, THREADS "/emulator/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, SCOPE "/cpuset.cpus", "0-31"));
        assert_false(tree_file_has(tree, DROPIN(WEB), "AllowedCPUs"));
        assert_true(tree_file_has(tree, DROPIN(WEB), "AllowedMemoryNodes=0\n"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"state\":\"started\""));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"pid\":4242,\"start_ticks\":987654"));
}

/* A stopped holder of the lock keeps nothing from coming into force: CPUs confined by the scope would stay so. */
static void started_needs_no_lock(void **state)
{
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        put_running(tree);
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDWR, 0, "/run/homenode/lock");
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(hook_run("web", "started", "begin", hook_domain(7, "web", UUID, "")).status, 0);
        assert_true(tree_file_has(tree, THREADS "/vcpu1/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, SCOPE "/cpuset.cpus", "0-31"));
        assert_false(tree_file_has(tree, DROPIN(WEB), "AllowedCPUs"));
}

static void started_places_who_could_not_be_placed_before(void **state)
{
        struct tree *tree = *state;

        put_running(tree);
        assert_int_equal(hook_run("web", "started", "begin", hook_domain(7, "web", UUID, "")).status, 0);
        assert_true(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"state\":\"started\""));
}

static void started_leaves_who_opted_out(void **state)
{
        const char *xml = hook_domain(7, "web", UUID, WISH("placement='off'"));
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", xml);
        put_running(tree);
        assert_int_equal(hook_run("web", "started", "begin", xml).status, 0);
        assert_false(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0"));
        assert_true(tree_file_has(tree, SCOPE "/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"state\":\"started\""));
}

/* ---- `homenode undo` beside a start */

static void give_back(struct hn_ledger *ledger)
{
        assert_int_equal(hn_ledger_give_back(ledger, UUID, HN_REASON_GIVEN_BACK), 0);
}

static struct hn_ledger *lock_ledger(struct tree *tree)
{
        struct hn_ledger *ledger = NULL;

        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 2000000), 0);
        return ledger;
}

static void assert_undone(struct tree *tree)
{
        assert_false(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0-3,16-19"));
        assert_false(tree_file_has(tree, THREADS "/vcpu1/cpuset.cpus", "0-3,16-19"));
        assert_false(tree_file_has(tree, THREADS "/emulator/cpuset.cpus", "0-3,16-19"));
        assert_false(hn_root_exists(&tree->root, DROPIN(WEB)));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"managed\":false"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", HN_REASON_GIVEN_BACK));
}

static void one_given_back_before_started_stays_so(void **state)
{
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        put_running(tree);
        HN_LEDGER struct hn_ledger *ledger = lock_ledger(tree);
        give_back(ledger);
        hn_ledger_unlock(ledger);
        assert_int_equal(hook_run("web", "started", "begin", hook_domain(7, "web", UUID, "")).status, 0);
        assert_undone(tree);
        assert_true(tree_file_has(tree, SCOPE "/cpuset.cpus", "0-31"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"state\":\"started\""));
}

/* Gives it back some time after it has the lock, and keeps that for some time more.  False: a busy computer came to that
 * when the hook had ended, who can know nothing of it. */
static bool give_back_beside(struct tree *tree, unsigned before_us, unsigned after_us)
{
        struct hook_result result;
        int ready[2], given[2], status;
        uint64_t given_us = 0, ended_us;
        char byte;
        pid_t pid;

        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        assert_int_equal(pipe2(given, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct hn_ledger *ledger = lock_ledger(tree);

                (void) close(ready[1]);
                (void) usleep(before_us);
                give_back(ledger);
                given_us = hn_monotonic_us();
                (void) write(given[1], &given_us, sizeof given_us);
                (void) usleep(after_us);
                _exit(0);
        }
        (void) close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 0); /* it has the lock */
        (void) close(ready[0]);
        result = hook_run("web", "started", "begin", hook_domain(7, "web", UUID, ""));
        ended_us = hn_monotonic_us();
        assert_int_equal(result.status, 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(read(given[0], &given_us, sizeof given_us), sizeof given_us);
        (void) close(given[0]);
        (void) close(given[1]);
        return given_us < ended_us;
}

static void one_given_back_while_started_waits_stays_so(void **state)
{
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        put_running(tree);
        if (give_back_beside(tree, 120000, 0))
                assert_undone(tree);
}

/* started goes on without the lock, and finds it given back only when it has confined it. */
static void one_given_back_while_started_confines_is_let_go(void **state)
{
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        put_running(tree);
        if (!give_back_beside(tree, 120000, 1000000) || tree_file_has(tree, "/run/homenode/journal", "given up"))
                return; /* a busy machine: the hook's time was over before */
        assert_undone(tree);
        assert_true(tree_file_has(tree, "/run/homenode/journal", HN_REASON_GIVEN_BACK));
}

/* Without cells the guest sees one node, whatever was planned: its vCPUs share both. */
static void a_wide_guest_without_cells_has_its_nodes_as_one(void **state)
{
        const char *xml = "<domain type='kvm' id='7'><name>web</name><uuid>" UUID "</uuid><memory unit='GiB'>4</memory>"
                          "<vcpu>8</vcpu><os><type>hvm</type></os></domain>";
        struct tree *tree = *state;

        /* A node is worth 4 cores and a quarter for each second thread: 5. */
        assert_non_null(strstr(hook_run("web", "prepare", "begin", xml).out, "<cell id=\"1\" cpus=\"4-7\""));
        assert_true(tree_file_has(tree, DROPIN(WEB), "AllowedCPUs=0-7,16-23\nAllowedMemoryNodes=0-1\n"));
        put_running(tree);
        assert_int_equal(hook_run("web", "started", "begin", xml).status, 0);
        assert_true(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0-7,16-23"));
}

/* libvirt binds its cells to the nodes its definition names, though others are free now; the memory set follows. */
static void a_wide_guest_starts_where_its_definition_binds_it(void **state)
{
        const char *xml = "<domain type='kvm' id='7'><name>web</name><uuid>" UUID "</uuid><memory unit='GiB'>4</memory>"
                          "<vcpu>8</vcpu><os><type>hvm</type></os></domain>";
        struct hook_result defined = hook_run("web", "prepare", "begin", xml);

        assert_int_equal(hook_run("web", "release", "end", xml).status, 0);
        (void) hook_run("x", "prepare", "begin", hook_domain(8, "x", "6695eb01-f6a4-8304-79aa-97f2502e1930", WISH("nodes='0'")));
        assert_int_equal(hook_run("web", "prepare", "begin", defined.out).status, 0);
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedCPUs=0-7,16-23\nAllowedMemoryNodes=0-1\n"));
        assert_true(tree_file_has(*state, LEDGER UUID ".json", "\"memory_nodes\":\"0-1\""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_setup, hook_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(started_puts_cpus_into_force),
                TEST(started_needs_no_lock),
                TEST(started_places_who_could_not_be_placed_before),
                TEST(started_leaves_who_opted_out),
                TEST(one_given_back_before_started_stays_so),
                TEST(one_given_back_while_started_waits_stays_so),
                TEST(one_given_back_while_started_confines_is_let_go),
                TEST(a_wide_guest_without_cells_has_its_nodes_as_one),
                TEST(a_wide_guest_starts_where_its_definition_binds_it),
        };

        (void) signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
