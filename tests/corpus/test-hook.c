/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook as libvirt runs it: the built program, on a recorded tree, with what it prints, exits with and leaves behind.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "model/clock.h"
#include "model/host.h"
#include "unit/support/guest.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define BOOT_ID "11111111-2222-3333-4444-555555555555"
#define UUID "6695eb01-f6a4-8304-79aa-97f2502e193f"
#define LEDGER "/run/homenode/ledger/"
#define DROPIN(unit) "/run/systemd/system/" unit ".d/50-homenode.conf"
#define WEB "machine-qemu\\x2d7\\x2dweb.scope"
#define LIMIT_MS 4000 /* the hook's own is 2 s; the machine may be busy */

struct result {
        int status;
        char out[32768], err[4096];
        uint64_t spent_ms;
};

/* Four nodes with 4 cores of 2 threads: node N has CPUs 4N … 4N+3 and 16+4N … 16+4N+3, and 8 GiB. */
static int setup(void **state)
{
        static struct tree tree;

        tree_make(&tree);
        host_tree_put(&tree, 4, 4, 2);
        tree_put(&tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        assert_int_equal(hn_root_mkdir(&tree.root, 0700, "/run/homenode"), 0);
        tree_put(&tree, "/run/homenode/systemd-version", BOOT_ID " 257\n");
        /* Looking at the topology for the first time takes hwloc longer than a busy machine may leave it. */
        HN_HOST struct hn_host *host = NULL;
        assert_int_equal(hn_host_from_cache(&tree.root, false, &host), 0);
        assert_int_equal(setenv("HOMENODE_ROOT", tree.path, 1), 0);
        *state = &tree;
        return 0;
}

static int teardown(void **state)
{
        tree_remove(*state);
        return 0;
}

static void put_input(int fd, const char *input)
{
        FILE *file = fdopen(fd, "w");

        assert_non_null(file);
        (void) fputs(input, file);
        (void) fclose(file);
}

static void get_output(int fd, char *text, size_t size)
{
        size_t length = 0;
        ssize_t n;

        while ((n = read(fd, text + length, size - length - 1)) > 0)
                length += (size_t) n;
        text[length] = '\0';
        (void) close(fd);
}

/* Runs the hook; with `input` NULL its standard input stays open and empty. */
static struct result run(const char *name, const char *operation, const char *sub, const char *input)
{
        static const char *hook;
        struct result result = { .status = -1 };
        int in[2], out[2], err[2], status;
        HN_FREE char *path = NULL;

        hook = getenv("HOMENODE_BUILD");
        assert_true(asprintf(&path, "%s/hooks/qemu", hook ? hook : ".") > 0);
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        uint64_t before_us = hn_monotonic_us();
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) dup2(in[0], 0);
                (void) dup2(out[1], 1);
                (void) dup2(err[1], 2);
                (void) execl(path, "qemu", name, operation, sub, "-", (char *) NULL);
                _exit(127);
        }
        (void) close(in[0]);
        (void) close(out[1]);
        (void) close(err[1]);
        if (input)
                put_input(in[1], input);
        get_output(out[0], result.out, sizeof result.out);
        get_output(err[0], result.err, sizeof result.err);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!input)
                (void) close(in[1]);
        result.spent_ms = (hn_monotonic_us() - before_us) / 1000;
        assert_true(WIFEXITED(status));
        result.status = WEXITSTATUS(status);
        assert_true(result.spent_ms < LIMIT_MS);
        return result;
}

static const char *domain(long id, const char *name, const char *uuid, const char *more)
{
        static char xml[8192];

        (void) snprintf(xml, sizeof xml,
                        "<domain type='kvm' id='%ld'><name>%s</name><uuid>%s</uuid><memory unit='GiB'>2</memory>"
                        "<vcpu>2</vcpu><os><type arch='x86_64' machine='q35'>hvm</type></os>%s</domain>\n",
                        id, name, uuid, more);
        return xml;
}

#define WISH(attributes) "<metadata><h:domain xmlns:h='urn:homenode:1' " attributes "/></metadata>"

static void prepares_a_guest(void **state)
{
        struct result result = run("web", "prepare", "begin", domain(7, "web", UUID, ""));

        assert_int_equal(result.status, 0);
        assert_string_equal(result.err, "");
        assert_non_null(strstr(result.out, "<memory mode=\"restrictive\" nodeset=\"0\"/>"));
        assert_non_null(strstr(result.out, "<vcpupin vcpu=\"1\" cpuset=\"0-3,16-19\"/>"));
        assert_true(tree_file_has(*state, DROPIN(WEB), "\n[Scope]\nAllowedCPUs=0-3,16-19\nAllowedMemoryNodes=0\n"));
        assert_true(tree_file_has(*state, LEDGER UUID ".json", "\"state\":\"reserved\""));

        /* libvirt has taken the id out by then. */
        result = run("web", "release", "end", domain(-1, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_false(hn_root_exists(&((struct tree *) *state)->root, "/run/systemd/system/" WEB ".d"));
        assert_false(hn_root_exists(&((struct tree *) *state)->root, LEDGER UUID ".json"));
        /* It may come twice. */
        assert_int_equal(run("web", "release", "end", domain(7, "web", UUID, "")).status, 0);
}

static void takes_another_node_for_each(void **state)
{
        static const char *const nodes[] = { "nodeset=\"0\"", "nodeset=\"1\"", "nodeset=\"2\"", "nodeset=\"3\"" };
        char uuid[] = UUID, name[] = "web0";
        (void) state;

        for (int i = 0; i < 4; i++) {
                uuid[35] = name[3] = (char) ('0' + i);
                assert_non_null(strstr(run(name, "prepare", "begin", domain(i + 1, name, uuid, "")).out, nodes[i]));
        }
}

static void installed_twice_it_reserves_once(void **state)
{
        struct result first = run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        struct result second = run("web", "prepare", "begin", domain(7, "web", UUID, ""));

        assert_int_equal(first.status, 0);
        assert_int_equal(second.status, 0);
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedMemoryNodes=0\n"));
        assert_true(tree_file_has(*state, LEDGER UUID ".json", "\"home\":\"0\""));
}

static void what_restore_decided_prepare_keeps(void **state)
{
        const char *ours = "<metadata><h:applied xmlns:h='urn:homenode:applied:1'><h:added what='numatune'/>"
                           "<h:added what='memory' value='restrictive:3'/></h:applied></metadata>"
                           "<numatune><memory mode='restrictive' nodeset='3'/></numatune>";
        struct result result = run("web", "restore", "begin", domain(-1, "web", UUID, ours));

        assert_int_equal(result.status, 0);
        assert_non_null(strstr(result.out, "<memory mode=\"restrictive\" nodeset=\"0\"/>"));
        /* Another guest in between would make node 1 the better one, were it decided anew. */
        (void) run("x", "prepare", "begin", domain(8, "x", "6695eb01-f6a4-8304-79aa-97f2502e1930", WISH("nodes='0'")));
        result = run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedMemoryNodes=0\n"));
}

static void restore_prints_only_what_must_change(void **state)
{
        struct result result = run("web", "restore", "begin", domain(-1, "web", UUID, ""));
        (void) state;

        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        result = run("web", "migrate", "begin", domain(-1, "web", UUID, "<vcpus><x/></vcpus>"));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
}

static void leaves_alone_who_opted_out(void **state)
{
        struct tree *tree = *state;

        /* Ids come again: what an earlier guest with this one left would confine it. */
        tree_put(tree, DROPIN(WEB), "[Scope]\nAllowedCPUs=0\n");
        struct result result = run("web", "prepare", "begin", domain(7, "web", UUID, WISH("placement='off'")));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"managed\":false"));
}

static void refuses_what_the_guest_itself_rules_out(void **state)
{
        static const char *const wishes[] = { WISH("nodes='9'"), WISH("spanning='forbid' nodes='1'") };
        struct result result;

        result = run("web", "prepare", "begin", domain(7, "web", UUID, wishes[0]));
        assert_int_equal(result.status, 1);
        assert_string_equal(result.out, "");
        assert_non_null(strstr(result.err, "homenode: web: "));
        assert_non_null(strstr(result.err, "9"));
        assert_false(hn_root_exists(&((struct tree *) *state)->root, LEDGER UUID ".json"));

        /* It fits: nothing to refuse. */
        assert_int_equal(run("web", "prepare", "begin", domain(7, "web", UUID, wishes[1])).status, 0);
        /* Only prepare may refuse. */
        assert_int_equal(run("web", "started", "begin", domain(7, "web", UUID, wishes[0])).status, 0);
        assert_int_equal(run("web", "restore", "begin", domain(7, "web", UUID, wishes[0])).status, 0);
}

static void nothing_on_its_input_makes_it_fail(void **state)
{
        static const char *const inputs[] = {
                "", "\n", "<", "<domain", "<domain type='kvm' id='7'><name>web</name>", "<domain/>", "<pool/>", "\xff\xfe<",
                "<!DOCTYPE d [<!ENTITY a 'b'>]><domain type='kvm'><name>&a;</name></domain>",
                "<domain type='kvm'><name>web</name><memory>9999999999999999999999</memory><vcpu>1</vcpu></domain>",
                "<domain type='kvm' id='7'><name>web</name><memory>1</memory><vcpu>-1</vcpu></domain>",
                "<domain type='lxc' id='7'><name>web</name><memory>1</memory><vcpu>1</vcpu></domain>",
        };
        static const char *const calls[][2] = { { "prepare", "begin" }, { "started", "begin" }, { "release", "end" },
                                                { "reconnect", "begin" }, { "migrate", "begin" }, { "restore", "begin" },
                                                { "stopped", "end" }, { "unheard-of", "begin" }, { "prepare", "end" } };
        (void) state;

        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
                for (size_t j = 0; j < sizeof calls / sizeof *calls; j++) {
                        struct result result = run("web", calls[j][0], calls[j][1], inputs[i]);

                        assert_int_equal(result.status, 0);
                        assert_string_equal(result.out, "");
                }
}

static void reconnect_only_drains_its_input(void **state)
{
        struct tree *tree = *state;
        struct result result = run("web", "reconnect", "begin", domain(7, "web", UUID, WISH("nodes='9'")));

        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_false(hn_root_exists(&tree->root, "/run/homenode/ledger"));
}

static void an_input_that_never_ends_is_given_up(void **state)
{
        (void) state;
        assert_int_equal(run("web", "prepare", "begin", NULL).status, 0);
        assert_int_equal(run("web", "reconnect", "begin", NULL).status, 0);
}

static void starts_without_a_ledger(void **state)
{
        struct tree *tree = *state;

        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode/systemd-version"), 0);
        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode/topology.json"), 0);
        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode"), 0);
        tree_put(tree, "/run/homenode", "no folder");
        struct result result = run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_int_equal(run("web", "started", "begin", domain(7, "web", UUID, "")).status, 0);
        assert_int_equal(run("web", "release", "end", domain(7, "web", UUID, "")).status, 0);
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
}

static void does_not_wait_for_a_lock_that_is_held(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/run/homenode/lock", "");
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDWR, 0, "/run/homenode/lock");
        assert_int_equal(flock(fd, LOCK_EX), 0);
        struct result result = run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_true(result.spent_ms >= 300);
        assert_true(tree_file_has(tree, "/run/homenode/journal", "the ledger can't be had"));
}

static void clears_up_without_the_lock(void **state)
{
        struct tree *tree = *state;

        (void) run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDWR, 0, "/run/homenode/lock");
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(run("web", "release", "end", domain(-1, "web", UUID, "")).status, 0);
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
        assert_false(hn_root_exists(&tree->root, LEDGER UUID ".json"));
}

static void writes_no_dropin_for_an_old_systemd(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/run/homenode/systemd-version", BOOT_ID " 251\n");
        assert_non_null(strstr(run("web", "prepare", "begin", domain(7, "web", UUID, "")).out, "nodeset=\"0\""));
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
        assert_true(hn_root_exists(&tree->root, LEDGER UUID ".json"));
}

static void the_dropin_holds_what_the_xml_asks_for(void **state)
{
        const char *more = "<cputune><vcpupin vcpu='0' cpuset='5'/><emulatorpin cpuset='22'/></cputune>";

        assert_int_equal(run("web", "prepare", "begin", domain(7, "web", UUID, more)).status, 0);
        /* The pinned vCPU's node is 1 (CPUs 4-7 and 20-23), so the rest goes there. */
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedCPUs=4-7,20-23\nAllowedMemoryNodes=1\n"));
}

/* ---- started */

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

        (void) run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        put_running(tree);
        struct result result = run("web", "started", "begin", domain(7, "web", UUID, ""));
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

        (void) run("web", "prepare", "begin", domain(7, "web", UUID, ""));
        put_running(tree);
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDWR, 0, "/run/homenode/lock");
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(run("web", "started", "begin", domain(7, "web", UUID, "")).status, 0);
        assert_true(tree_file_has(tree, THREADS "/vcpu1/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, SCOPE "/cpuset.cpus", "0-31"));
        assert_false(tree_file_has(tree, DROPIN(WEB), "AllowedCPUs"));
}

static void started_places_who_could_not_be_placed_before(void **state)
{
        struct tree *tree = *state;

        put_running(tree);
        assert_int_equal(run("web", "started", "begin", domain(7, "web", UUID, "")).status, 0);
        assert_true(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"state\":\"started\""));
}

static void started_leaves_who_opted_out(void **state)
{
        const char *xml = domain(7, "web", UUID, WISH("placement='off'"));
        struct tree *tree = *state;

        (void) run("web", "prepare", "begin", xml);
        put_running(tree);
        assert_int_equal(run("web", "started", "begin", xml).status, 0);
        assert_false(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0"));
        assert_true(tree_file_has(tree, SCOPE "/cpuset.cpus", "0-3,16-19"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"state\":\"started\""));
}

/* Without cells the guest sees one node, whatever was planned: its vCPUs share both. */
static void a_wide_guest_without_cells_has_its_nodes_as_one(void **state)
{
        const char *xml = "<domain type='kvm' id='7'><name>web</name><uuid>" UUID "</uuid><memory unit='GiB'>4</memory>"
                          "<vcpu>8</vcpu><os><type>hvm</type></os></domain>";
        struct tree *tree = *state;

        /* A node is worth 4 cores and a quarter for each second thread: 5. */
        assert_non_null(strstr(run("web", "prepare", "begin", xml).out, "<cell id=\"1\" cpus=\"4-7\""));
        assert_true(tree_file_has(tree, DROPIN(WEB), "AllowedCPUs=0-7,16-23\nAllowedMemoryNodes=0-1\n"));
        put_running(tree);
        assert_int_equal(run("web", "started", "begin", xml).status, 0);
        assert_true(tree_file_has(tree, THREADS "/vcpu0/cpuset.cpus", "0-7,16-23"));
}

/* libvirt binds its cells to the nodes its definition names, though others are free now; the memory set follows. */
static void a_wide_guest_starts_where_its_definition_binds_it(void **state)
{
        const char *xml = "<domain type='kvm' id='7'><name>web</name><uuid>" UUID "</uuid><memory unit='GiB'>4</memory>"
                          "<vcpu>8</vcpu><os><type>hvm</type></os></domain>";
        struct result defined = run("web", "prepare", "begin", xml);

        assert_int_equal(run("web", "release", "end", xml).status, 0);
        (void) run("x", "prepare", "begin", domain(8, "x", "6695eb01-f6a4-8304-79aa-97f2502e1930", WISH("nodes='0'")));
        assert_int_equal(run("web", "prepare", "begin", defined.out).status, 0);
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedCPUs=0-7,16-23\nAllowedMemoryNodes=0-1\n"));
        assert_true(tree_file_has(*state, LEDGER UUID ".json", "\"memory_nodes\":\"0-1\""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(prepares_a_guest),
                TEST(takes_another_node_for_each),
                TEST(installed_twice_it_reserves_once),
                TEST(what_restore_decided_prepare_keeps),
                TEST(restore_prints_only_what_must_change),
                TEST(leaves_alone_who_opted_out),
                TEST(refuses_what_the_guest_itself_rules_out),
                TEST(nothing_on_its_input_makes_it_fail),
                TEST(reconnect_only_drains_its_input),
                TEST(an_input_that_never_ends_is_given_up),
                TEST(starts_without_a_ledger),
                TEST(does_not_wait_for_a_lock_that_is_held),
                TEST(clears_up_without_the_lock),
                TEST(writes_no_dropin_for_an_old_systemd),
                TEST(the_dropin_holds_what_the_xml_asks_for),
                TEST(started_puts_cpus_into_force),
                TEST(started_needs_no_lock),
                TEST(started_places_who_could_not_be_placed_before),
                TEST(started_leaves_who_opted_out),
                TEST(a_wide_guest_without_cells_has_its_nodes_as_one),
                TEST(a_wide_guest_starts_where_its_definition_binds_it),
        };

        (void) signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
