/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The doctor's checks of libvirt and of what confines it; each with a tree where all is well and one where it is not.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "unit/support/findings.h"

#define HOOK "/etc/libvirt/hooks/qemu"

static void make_executable(struct tree *tree, const char *path, mode_t mode)
{
        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_RDONLY, 0, "%s", path);

        assert_true(fd >= 0);
        assert_int_equal(fchmod(fd, mode), 0);
}

static void put_hook(struct tree *tree, const char *path)
{
        tree_put(tree, path, "\177ELF homenode-hook");
        make_executable(tree, path, 0755);
}

/* A daemon that was started `seconds` before now (negative: after), on a host that booted 1000 s before that. */
static void put_daemon(struct tree *tree, const char *name, long seconds)
{
        char path[64], text[128];

        (void) snprintf(path, sizeof path, "/run/%s.pid", name);
        tree_put(tree, path, "4711\n");
        (void) snprintf(text, sizeof text, "%s\n", name);
        tree_put(tree, "/proc/4711/comm", text);
        tree_put(tree, "/proc/4711/stat", "4711 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 100000 0 0\n");
        (void) snprintf(text, sizeof text, "cpu  1 2 3 4\nbtime %ld\n", (long) time(NULL) - 1000 - seconds);
        tree_put(tree, "/proc/stat", text);
}

static void hook_is_there(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        put_hook(&tree, HOOK);
        assert_level(hn_check_hook, &tree, HN_LEVEL_OK);
        tree_remove(&tree);

        tree_make(&tree);
        tree_put(&tree, HOOK, "#!/bin/sh\n");
        make_executable(&tree, HOOK, 0755);
        put_hook(&tree, HOOK ".d/homenode");
        assert_level(hn_check_hook, &tree, HN_LEVEL_OK);
        put_hook(&tree, HOOK);
        assert_mend(hn_check_hook, &tree, HN_LEVEL_NOTE, "rm /etc/libvirt/hooks/qemu.d/homenode");
        tree_remove(&tree);
}

static void hook_is_not_there(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_mend(hn_check_hook, &tree, HN_LEVEL_PROBLEM, "make install");
        tree_put(&tree, HOOK, "#!/bin/sh\n");
        make_executable(&tree, HOOK, 0755);
        assert_level(hn_check_hook, &tree, HN_LEVEL_PROBLEM); /* somebody else's */
        put_hook(&tree, HOOK);
        make_executable(&tree, HOOK, 0644);
        assert_mend(hn_check_hook, &tree, HN_LEVEL_PROBLEM, "chmod 755 " HOOK);
        assert_int_equal(hn_root_remove(&tree.root, HOOK), 0);
        put_hook(&tree, "/usr/local/qemu");
        assert_int_equal(symlinkat("../../../usr/local/qemu", tree.root.fd, "etc/libvirt/hooks/qemu"), 0);
        assert_mend(hn_check_hook, &tree, HN_LEVEL_PROBLEM, "cp --remove-destination");
        tree_remove(&tree);
}

static void hook_is_noticed(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        put_hook(&tree, HOOK);
        assert_level(hn_check_noticed, &tree, HN_LEVEL_OK); /* none runs */
        put_daemon(&tree, "libvirtd", -100);
        assert_level(hn_check_noticed, &tree, HN_LEVEL_OK);
        put_daemon(&tree, "libvirtd", 100);
        assert_mend(hn_check_noticed, &tree, HN_LEVEL_WARNING, "systemctl reload libvirtd");
        tree_put(&tree, "/proc/stat", "cpu  1 2 3 4\n");
        assert_level(hn_check_noticed, &tree, HN_LEVEL_NOTE);
        tree_remove(&tree);
}

static void hook_is_noticed_by_virtqemud(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        put_hook(&tree, HOOK);
        put_daemon(&tree, "virtqemud", 100);
        tree_put(&tree, "/run/libvirtd.pid", "4712\n"); /* left behind: 4712 is something else now */
        tree_put(&tree, "/proc/4712/comm", "bash\n");
        assert_mend(hn_check_noticed, &tree, HN_LEVEL_WARNING, "systemctl reload virtqemud");

        /* systemd reloaded it since */
        HN_PATIENT struct hn_patient patient = patient_of(&tree);
        HN_FINDINGS struct hn_findings findings = { 0 };
        patient.libvirt_changed_us = (uint64_t) (time(NULL) + 10) * 1000000u;
        assert_int_equal(hn_check_noticed(&patient, &findings), 0);
        assert_int_equal(findings.all[0].level, HN_LEVEL_OK);
        tree_remove(&tree);
}

#define ABSTRACTION "/etc/apparmor.d/abstractions/libvirt-qemu"

static void apparmor_lets_guests_start(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_level(hn_check_apparmor, &tree, HN_LEVEL_OK); /* not in use */
        tree_put(&tree, "/sys/module/apparmor/parameters/enabled", "Y\n");
        put_daemon(&tree, "libvirtd", 0);
        tree_put(&tree, "/proc/4711/attr/current", "libvirtd (enforce)\n");
        tree_put(&tree, ABSTRACTION, "  /sys/devices/system/node/ r,\n   /sys/devices/system/node/*/cpumap r,\n");
        assert_level(hn_check_apparmor, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/proc/4711/attr/apparmor/current", "unconfined\n");
        assert_level(hn_check_apparmor, &tree, HN_LEVEL_NOTE);
        tree_remove(&tree);
}

static void apparmor_keeps_guests_from_starting(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        tree_put(&tree, "/sys/module/apparmor/parameters/enabled", "Y\n");
        tree_put(&tree, ABSTRACTION, "  /sys/devices/system/node/ r,\n # /sys/devices/system/node/*/cpumap r,\n");
        assert_mend(hn_check_apparmor, &tree, HN_LEVEL_PROBLEM, ">>/etc/apparmor.d/local/abstractions/libvirt-qemu");
        tree_put(&tree, "/etc/apparmor.d/local/abstractions/libvirt-qemu",
                 "/sys/devices/system/node/node[0-9]*/cpumap r,\n");
        assert_level(hn_check_apparmor, &tree, HN_LEVEL_NOTE); /* no daemon whose profile could be told */
        tree_remove(&tree);
}

static void selinux_and_hooks(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_level(hn_check_selinux, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/sys/fs/selinux/enforce", "1");
        tree_put(&tree, "/sys/fs/selinux/booleans/virt_hooks_unconfined", "0 0");
        assert_mend(hn_check_selinux, &tree, HN_LEVEL_WARNING, "setsebool -P virt_hooks_unconfined on");
        tree_put(&tree, "/sys/fs/selinux/booleans/virt_hooks_unconfined", "1 1");
        assert_level(hn_check_selinux, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/sys/fs/selinux/booleans/virt_hooks_unconfined", "0 0");
        tree_put(&tree, "/sys/fs/selinux/enforce", "0");
        assert_level(hn_check_selinux, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void daemon_of_ours(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_mend(hn_check_daemon, &tree, HN_LEVEL_WARNING, "systemctl enable --now homenoded");
        tree_put(&tree, "/proc/12/comm", "homenoded\n");
        assert_level(hn_check_daemon, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void configuration(void **state)
{
        HN_FINDINGS struct hn_findings findings = { 0 };
        struct tree tree;
        (void) state;

        tree_make(&tree);
        assert_level(hn_check_configuration, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/etc/homenode/homenode.conf", "[placement]\nsmt_percent=101\nsmt=1\n");
        findings = look(hn_check_configuration, &tree);
        assert_int_equal(findings.n, 2);
        assert_int_equal(findings.all[0].level, HN_LEVEL_WARNING);
        assert_non_null(strstr(findings.all[0].what, "/etc/homenode/homenode.conf"));
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(hook_is_there),
                cmocka_unit_test(hook_is_not_there),
                cmocka_unit_test(hook_is_noticed),
                cmocka_unit_test(hook_is_noticed_by_virtqemud),
                cmocka_unit_test(apparmor_lets_guests_start),
                cmocka_unit_test(apparmor_keeps_guests_from_starting),
                cmocka_unit_test(selinux_and_hooks),
                cmocka_unit_test(daemon_of_ours),
                cmocka_unit_test(configuration),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
