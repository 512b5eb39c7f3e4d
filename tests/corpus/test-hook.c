/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook before a start and after the end: what it prints, exits with and leaves behind.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "model/clock.h"
#include "model/host.h"
#include "model/text.h"
#include "unit/support/hook.h"
#include "unit/support/test.h"

static void prepares_a_guest(void **state)
{
        struct hook_result result = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));

        assert_int_equal(result.status, 0);
        assert_string_equal(result.err, "");
        assert_non_null(strstr(result.out, "<memory mode=\"restrictive\" nodeset=\"0\"/>"));
        assert_non_null(strstr(result.out, "<vcpupin vcpu=\"1\" cpuset=\"0-3,16-19\"/>"));
        assert_true(tree_file_has(*state, DROPIN(WEB), "\n[Scope]\nAllowedCPUs=0-3,16-19\nAllowedMemoryNodes=0\n"));
        assert_true(tree_file_has(*state, LEDGER UUID ".json", "\"state\":\"reserved\""));

        /* libvirt has taken the id out by then. */
        result = hook_run("web", "release", "end", hook_domain(-1, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_false(hn_root_exists(&((struct tree *) *state)->root, "/run/systemd/system/" WEB ".d"));
        assert_false(hn_root_exists(&((struct tree *) *state)->root, LEDGER UUID ".json"));
        /* It may come twice. */
        assert_int_equal(hook_run("web", "release", "end", hook_domain(7, "web", UUID, "")).status, 0);
}

static void takes_another_node_for_each(void **state)
{
        static const char *const nodes[] = { "nodeset=\"0\"", "nodeset=\"1\"", "nodeset=\"2\"", "nodeset=\"3\"" };
        char uuid[] = UUID, name[] = "web0";
        (void) state;

        for (int i = 0; i < 4; i++) {
                uuid[35] = name[3] = (char) ('0' + i);
                assert_non_null(strstr(hook_run(name, "prepare", "begin", hook_domain(i + 1, name, uuid, "")).out, nodes[i]));
        }
}

static void installed_twice_it_reserves_once(void **state)
{
        struct hook_result first = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        struct hook_result second = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));

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
        struct hook_result result = hook_run("web", "restore", "begin", hook_domain(-1, "web", UUID, ours));

        assert_int_equal(result.status, 0);
        assert_non_null(strstr(result.out, "<memory mode=\"restrictive\" nodeset=\"0\"/>"));
        /* Another guest in between would make node 1 the better one, were it decided anew. */
        (void) hook_run("x", "prepare", "begin", hook_domain(8, "x", "6695eb01-f6a4-8304-79aa-97f2502e1930", WISH("nodes='0'")));
        result = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedMemoryNodes=0\n"));
}

/* A restore that was given up, and the guest made larger before it is started. */
static void a_reservation_that_is_too_small_is_not_kept(void **state)
{
        static const struct { int gib, vcpus; } sizes[] = { { 8, 2 }, { 2, 6 } };

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                HN_FREE char *xml = hn_text_print("<domain type='kvm' id='7'><name>web</name><uuid>" UUID "</uuid>"
                                                  "<memory unit='GiB'>%d</memory><vcpu>%d</vcpu></domain>",
                                                  sizes[i].gib, sizes[i].vcpus);

                (void) hook_run("web", "restore", "begin", hook_domain(-1, "web", UUID, ""));
                assert_true(tree_file_has(*state, LEDGER UUID ".json", "\"home\":\"0\""));
                assert_int_equal(hook_run("web", "prepare", "begin", xml).status, 0);
                assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedMemoryNodes=0-1\n"));
                assert_int_equal(hook_run("web", "release", "end", xml).status, 0);
        }
}

static void restore_prints_only_what_must_change(void **state)
{
        struct hook_result result = hook_run("web", "restore", "begin", hook_domain(-1, "web", UUID, ""));
        (void) state;

        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        result = hook_run("web", "migrate", "begin", hook_domain(-1, "web", UUID, "<vcpus><x/></vcpus>"));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
}

static void leaves_alone_who_opted_out(void **state)
{
        struct tree *tree = *state;

        /* Ids come again: what an earlier guest with this one left would confine it. */
        tree_put(tree, DROPIN(WEB), "[Scope]\nAllowedCPUs=0\n");
        struct hook_result result = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, WISH("placement='off'")));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"managed\":false"));
        assert_true(tree_file_has(tree, "/run/homenode/journal", "prepare web: left to libvirt: it is opted out"));
}

static void refuses_what_the_guest_itself_rules_out(void **state)
{
        static const char *const wishes[] = { WISH("nodes='9'"), WISH("spanning='forbid' nodes='1'") };
        struct hook_result result;

        result = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, wishes[0]));
        assert_int_equal(result.status, 1);
        assert_string_equal(result.out, "");
        assert_string_equal(result.err, "homenode: web: its metadata asks for node 9, which this host has not\n");
        assert_false(hn_root_exists(&((struct tree *) *state)->root, LEDGER UUID ".json"));

        /* It fits: nothing to refuse. */
        assert_int_equal(hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, wishes[1])).status, 0);
        /* Only prepare may refuse. */
        assert_int_equal(hook_run("web", "started", "begin", hook_domain(7, "web", UUID, wishes[0])).status, 0);
        assert_int_equal(hook_run("web", "restore", "begin", hook_domain(7, "web", UUID, wishes[0])).status, 0);
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
                        struct hook_result result = hook_run("web", calls[j][0], calls[j][1], inputs[i]);

                        assert_int_equal(result.status, 0);
                        assert_string_equal(result.out, "");
                }
}

/* What an earlier start of web left, what two others have, and the larger part of what prepare can't make sense of. */
static void what_can_not_be_read_starts_unconfined(void **state)
{
        static char large[(8u << 20) + 4096];
        const char *const inputs[] = { "", "<domain", "<network/>", "<domain type='kvm'><vcpu>0</vcpu></domain>",
                                       "<domain type='lxc'><name>web</name></domain>", large };
        struct tree *tree = *state;

        memset(large, ' ', sizeof large - 1);
        tree_put(tree, "/sys/fs/cgroup/machine.slice/machine-qemu\\x2d4\\x2dweb.scope/cgroup.procs", "1\n");
        (void) hook_run("w_eb", "prepare", "begin", hook_domain(9, "w_eb", "6695eb01-f6a4-8304-79aa-97f2502e1930", ""));
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
                tree_put(tree, DROPIN("machine-qemu\\x2d3\\x2dweb.scope"), "[Scope]\nAllowedCPUs=0\n");
                tree_put(tree, DROPIN("machine-qemu\\x2d4\\x2dweb.scope"), "[Scope]\nAllowedCPUs=0\n");
                tree_put(tree, DROPIN("machine-qemu\\x2d3\\x2dweb2.scope"), "[Scope]\nAllowedCPUs=0\n");
                assert_int_equal(hook_run("web", "started", "begin", inputs[i]).status, 0);
                assert_true(hn_root_exists(&tree->root, DROPIN("machine-qemu\\x2d3\\x2dweb.scope")));
                struct hook_result result = hook_run("web", "prepare", "begin", inputs[i]);
                assert_int_equal(result.status, 0);
                assert_string_equal(result.out, "");
                assert_false(hn_root_exists(&tree->root, DROPIN("machine-qemu\\x2d3\\x2dweb.scope")));
                assert_true(hn_root_exists(&tree->root, DROPIN("machine-qemu\\x2d4\\x2dweb.scope")));
                assert_true(hn_root_exists(&tree->root, DROPIN("machine-qemu\\x2d3\\x2dweb2.scope")));
                assert_true(hn_root_exists(&tree->root, DROPIN("machine-qemu\\x2d9\\x2dweb.scope"))); /* w_eb's */
        }
}

static void reconnect_only_drains_its_input(void **state)
{
        struct tree *tree = *state;
        struct hook_result result = hook_run("web", "reconnect", "begin", hook_domain(7, "web", UUID, WISH("nodes='9'")));

        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_false(hn_root_exists(&tree->root, "/run/homenode/ledger"));
}

static void an_input_that_never_ends_is_given_up(void **state)
{
        (void) state;
        assert_int_equal(hook_run("web", "prepare", "begin", NULL).status, 0);
        assert_int_equal(hook_run("web", "reconnect", "begin", NULL).status, 0);
}

/* As a dispatcher in front of us may call it, in a shell's words.  The call's exit status. */
static int run_in_shell(const struct tree *tree, const char *before, const char *redirections, const char *behind,
                        const char *input)
{
        const char *build = getenv("HOMENODE_BUILD");
        HN_FREE char *command = hn_text_print("{ (%s exec %s/hooks/qemu web prepare begin - %s); echo $? >%s/status; } %s",
                                              before, build ? build : ".", redirections, tree->path, behind);
        FILE *pipe = popen(command, "w");
        uint64_t status = 0;

        assert_non_null(pipe);
        (void) fputs(input, pipe);
        assert_int_not_equal(pclose(pipe), -1);
        assert_int_equal(hn_root_read_u64(&tree->root, &status, "/status"), 0);
        assert_int_equal(hn_root_remove(&tree->root, "/status"), 0);
        return (int) status;
}

static void places_whatever_is_closed(void **state)
{
        static const char *const closed[] = { ">&-", "2>&-", ">&- 2>&-" };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
                assert_int_equal(run_in_shell(tree, "", closed[i], ">/dev/null", hook_domain(7, "web", UUID, "")), 0);
                assert_true(tree_file_has(tree, DROPIN(WEB), "AllowedMemoryNodes=0\n"));
                assert_int_equal(hook_run("web", "release", "end", hook_domain(-1, "web", UUID, "")).status, 0);
        }
        assert_int_equal(run_in_shell(tree, "", "<&-", "", ""), 0);
}

/* The signal for it would end the hook, and the start with it. */
static void is_not_killed_by_a_limit_on_files(void **state)
{
        assert_int_equal(run_in_shell(*state, "ulimit -f 0;", "", ">/dev/null", hook_domain(7, "web", UUID, "")), 0);
}

static void a_slow_reader_is_given_up(void **state)
{
        struct tree *tree = *state;
        HN_FREE char *more = hn_text_print("<description>%*s</description>", 200000, "x");
        HN_FREE char *xml = hn_text_print("<domain type='kvm' id='7'><name>web</name><uuid>" UUID "</uuid>%s"
                                          "<memory unit='GiB'>2</memory><vcpu>2</vcpu></domain>", more);
        HN_FREE char *reader = hn_text_print("| while test ! -e %s/status && head -c 4096 >/dev/null; do sleep 0.3; done",
                                             tree->path);
        uint64_t before_us = hn_monotonic_us();

        assert_int_equal(run_in_shell(tree, "", "", reader, xml), 0);
        assert_true(hn_monotonic_us() - before_us < 5000000);
}

/* Each takes the place of a file, or of its folder; the lock alone can't be done without. */
static void does_not_wait_for_what_is_no_file(void **state)
{
        static const char *const files[] = {
                "etc/homenode/homenode.conf", "run/homenode/state.json", "run/homenode/topology",
                "run/homenode/ledger.index", "run/homenode/ledger/" UUID ".json", "run/homenode/explain",
        };
        struct tree *tree = *state;

        assert_int_equal(hn_root_mkdir(&tree->root, 0700, "/run/homenode/ledger"), 0);
        assert_int_equal(hn_root_mkdir(&tree->root, 0700, "/etc/homenode"), 0);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                (void) unlinkat(tree->root.fd, files[i], 0);
                assert_int_equal(mkfifoat(tree->root.fd, files[i], 0600), 0);
        }
        assert_int_equal(hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, "")).status, 0);
        assert_true(tree_file_has(tree, DROPIN(WEB), "AllowedMemoryNodes=0\n"));
        assert_true(tree_file_has(tree, LEDGER UUID ".json", "\"managed\":true"));
        assert_false(tree_file_has(tree, "/run/homenode/journal", "given up"));

        assert_int_equal(unlinkat(tree->root.fd, "run/homenode/lock", 0), 0);
        assert_int_equal(mkfifoat(tree->root.fd, "run/homenode/lock", 0600), 0);
        assert_int_equal(hook_run("x", "prepare", "begin", hook_domain(8, "x", "6695eb01-f6a4-8304-79aa-97f2502e1930",
                                                                       "")).status, 0);
        assert_true(tree_file_has(tree, "/run/homenode/journal", "not placed: the ledger can't be had"));
        assert_false(tree_file_has(tree, "/run/homenode/journal", "given up"));
}

static void starts_without_a_ledger(void **state)
{
        struct tree *tree = *state;

        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode/systemd-version"), 0);
        assert_int_equal(hn_root_remove(&tree->root, HN_TOPOLOGY_PATH), 0);
        assert_int_equal(hn_root_remove(&tree->root, "/run/homenode"), 0);
        tree_put(tree, "/run/homenode", "no folder");
        struct hook_result result = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_int_equal(hook_run("web", "started", "begin", hook_domain(7, "web", UUID, "")).status, 0);
        assert_int_equal(hook_run("web", "release", "end", hook_domain(7, "web", UUID, "")).status, 0);
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
}

static void does_not_wait_for_a_lock_that_is_held(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/run/homenode/lock", "");
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDWR, 0, "/run/homenode/lock");
        assert_int_equal(flock(fd, LOCK_EX), 0);
        struct hook_result result = hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, "");
        assert_true(result.spent_ms >= 300);
        assert_true(tree_file_has(tree, "/run/homenode/journal", "the ledger can't be had"));
}

static void clears_up_without_the_lock(void **state)
{
        struct tree *tree = *state;

        (void) hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, ""));
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDWR, 0, "/run/homenode/lock");
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(hook_run("web", "release", "end", hook_domain(-1, "web", UUID, "")).status, 0);
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
        assert_false(hn_root_exists(&tree->root, LEDGER UUID ".json"));
}

static void writes_no_dropin_for_an_old_systemd(void **state)
{
        struct tree *tree = *state;

        tree_put(tree, "/run/homenode/systemd-version", BOOT_ID " 251\n");
        assert_non_null(strstr(hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, "")).out, "nodeset=\"0\""));
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/" WEB ".d"));
        assert_true(hn_root_exists(&tree->root, LEDGER UUID ".json"));
}

static void the_dropin_holds_what_the_xml_asks_for(void **state)
{
        const char *more = "<cputune><vcpupin vcpu='0' cpuset='5'/><emulatorpin cpuset='22'/></cputune>";

        assert_int_equal(hook_run("web", "prepare", "begin", hook_domain(7, "web", UUID, more)).status, 0);
        /* The pinned vCPU's node is 1 (CPUs 4-7 and 20-23), so the rest goes there. */
        assert_true(tree_file_has(*state, DROPIN(WEB), "AllowedCPUs=4-7,20-23\nAllowedMemoryNodes=1\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_setup, hook_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(prepares_a_guest),
                TEST(takes_another_node_for_each),
                TEST(installed_twice_it_reserves_once),
                TEST(what_restore_decided_prepare_keeps),
                TEST(a_reservation_that_is_too_small_is_not_kept),
                TEST(restore_prints_only_what_must_change),
                TEST(leaves_alone_who_opted_out),
                TEST(refuses_what_the_guest_itself_rules_out),
                TEST(nothing_on_its_input_makes_it_fail),
                TEST(what_can_not_be_read_starts_unconfined),
                TEST(reconnect_only_drains_its_input),
                TEST(an_input_that_never_ends_is_given_up),
                TEST(places_whatever_is_closed),
                TEST(is_not_killed_by_a_limit_on_files),
                TEST(a_slow_reader_is_given_up),
                TEST(does_not_wait_for_what_is_no_file),
                TEST(starts_without_a_ledger),
                TEST(does_not_wait_for_a_lock_that_is_held),
                TEST(clears_up_without_the_lock),
                TEST(writes_no_dropin_for_an_old_systemd),
                TEST(the_dropin_holds_what_the_xml_asks_for),
        };

        (void) signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
