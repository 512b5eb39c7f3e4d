/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/scope.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "model/clock.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define UNIT "machine-qemu\\x2d7\\x2dweb.scope"
#define DROPIN "/run/systemd/system/" UNIT ".d/50-homenode.conf"
#define BOOT_ID "0f3b1c2d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"

#define N10 "nnnnnnnnnn"
#define N50 N10 N10 N10 N10 N10

static void names_the_unit_as_libvirt_and_machined_do(void **state)
{
        static const struct {
                long id;
                const char *name, *unit;
        } cases[] = {
                { 7, "web", "machine-qemu\\x2d7\\x2dweb.scope" },
                { 0, "web", "machine-qemu\\x2d0\\x2dweb.scope" },
                { 2147483647, "web", "machine-qemu\\x2d2147483647\\x2dweb.scope" },
                { 7, "a.b-c_d", "machine-qemu\\x2d7\\x2da.b\\x2dcd.scope" },
                { 7, "--x..y", "machine-qemu\\x2d7\\x2dx.y.scope" },
                { 7, "x.-.-y", "machine-qemu\\x2d7\\x2dx.y.scope" },
                { 7, "x-.-.y", "machine-qemu\\x2d7\\x2dx\\x2dy.scope" },
                /* what is dropped does not part a run */
                { 7, "x-_-y", "machine-qemu\\x2d7\\x2dx\\x2dy.scope" },
                { 7, "_-x", "machine-qemu\\x2d7\\x2dx.scope" },
                { 7, "x-", "machine-qemu\\x2d7\\x2dx.scope" },
                { 7, "x._", "machine-qemu\\x2d7\\x2dx.scope" },
                { 7, "guest with space", "machine-qemu\\x2d7\\x2dguestwithspace.scope" },
                /* both bytes of a two-byte letter go */
                { 7, "g\xc3\xa4st-\xc3\xbc", "machine-qemu\\x2d7\\x2dgst.scope" },
                { 7, ".hidden", "machine-qemu\\x2d7\\x2dhidden.scope" },
                { 7, "UPPER_case-1.2", "machine-qemu\\x2d7\\x2dUPPERcase\\x2d1.2.scope" },
                /* nothing left: the dash behind the id goes as well */
                { 7, "_ _", "machine-qemu\\x2d7.scope" },
                { 7, "\xe5\xae\xa2\xe6\x9c\xba", "machine-qemu\\x2d7.scope" },
                /* 64 with the prefix "qemu-7-": 57 of the name's own */
                { 7, N50 N50 N50 N50 N50, "machine-qemu\\x2d7\\x2d" N50 "nnnnnnn.scope" },
                { 12345, N50 N50, "machine-qemu\\x2d12345\\x2d" N50 "nnn.scope" },
                /* the cut falls behind a dash, which then is the last and goes */
                { 7, N50 "nnnnnn-rest", "machine-qemu\\x2d7\\x2d" N50 "nnnnnn.scope" },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                HN_FREE char *unit = NULL;

                assert_int_equal(hn_scope_unit(cases[i].id, cases[i].name, &unit), 0);
                assert_string_equal(unit, cases[i].unit);
                assert_true(hn_scope_unit_valid(unit));
        }
}

static void tells_whose_scope_it_is_whatever_the_id(void **state)
{
        (void) state;
        assert_true(hn_scope_unit_is_of("machine-qemu\\x2d7\\x2dweb.scope", "web"));
        assert_true(hn_scope_unit_is_of("machine-qemu\\x2d2147483647\\x2dweb.scope", "web"));
        assert_true(hn_scope_unit_is_of("machine-qemu\\x2d7\\x2dweb1.scope", "web_1")); /* '_' is dropped */
        static const char *const others[] = {
                "machine-qemu\\x2d7\\x2dweb1.scope", "machine-qemu\\x2d7\\x2dwe.scope", "machine-qemu\\x2d07\\x2dweb.scope",
                "machine-qemu\\x2d-7\\x2dweb.scope", "machine-qemu\\x2d\\x2dweb.scope", "machine-qemu\\x2d7\\x2dweb.service",
                "machine-qemu\\x2d99999999999999999999\\x2dweb.scope", "machine-lxc\\x2d7\\x2dweb.scope", "web", "",
        };
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                assert_false(hn_scope_unit_is_of(others[i], "web"));
        assert_false(hn_scope_unit_is_of("machine-qemu\\x2d7\\x2dweb.scope", ""));
}

static void foresees_no_name_without_an_id(void **state)
{
        char *unit = NULL;

        (void) state;
        assert_int_equal(hn_scope_unit(-1, "web", &unit), -EINVAL);
        assert_int_equal(hn_scope_unit(7, "", &unit), -EINVAL);
#if LONG_MAX > INT_MAX
        assert_int_equal(hn_scope_unit((long) INT_MAX + 1, "web", &unit), -EINVAL);
#endif
        assert_null(unit);
}

static void writes_what_systemd_reads(void **state)
{
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t cpus = set_of("0-3,8"), nodes = set_of("1"), none = set_of("");
        HN_FREE char *both = NULL, *memory = NULL, *only_cpus = NULL;
        struct stat st;

        assert_int_equal(hn_dropin_write(&tree->root, UNIT, cpus, nodes), 0);
        assert_int_equal(hn_root_read(&tree->root, 4096, &both, NULL, "%s", DROPIN), 0);
        assert_string_equal(both, "# Written by homenode for this start of the guest, and removed with it.\n"
                                  "[Scope]\nAllowedCPUs=0-3,8\nAllowedMemoryNodes=1\n");
        assert_int_equal(fstatat(tree->root.fd, &(DROPIN)[1], &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0644);
        assert_int_equal(fstatat(tree->root.fd, "run/systemd/system/" UNIT ".d", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0755);

        assert_int_equal(hn_dropin_write(&tree->root, UNIT, NULL, nodes), 0);
        assert_int_equal(hn_root_read(&tree->root, 4096, &memory, NULL, "%s", DROPIN), 0);
        assert_null(strstr(memory, "AllowedCPUs"));
        assert_non_null(strstr(memory, "[Scope]\nAllowedMemoryNodes=1\n"));

        assert_int_equal(hn_dropin_write(&tree->root, UNIT, cpus, none), 0);
        assert_int_equal(hn_root_read(&tree->root, 4096, &only_cpus, NULL, "%s", DROPIN), 0);
        assert_non_null(strstr(only_cpus, "[Scope]\nAllowedCPUs=0-3,8\n"));
        assert_null(strstr(only_cpus, "AllowedMemoryNodes"));

        assert_int_equal(hn_dropin_write(&tree->root, UNIT, NULL, none), 0);
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/%s.d", UNIT));
}

static void removes_its_own_file_alone(void **state)
{
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t nodes = set_of("0,8");

        assert_int_equal(hn_dropin_remove(&tree->root, UNIT), 0);
        assert_int_equal(hn_dropin_write(&tree->root, UNIT, NULL, nodes), 0);
        assert_int_equal(hn_dropin_remove(&tree->root, UNIT), 0);
        assert_true(hn_root_exists(&tree->root, "/run/systemd/system"));
        assert_false(hn_root_exists(&tree->root, "/run/systemd/system/%s.d", UNIT));

        assert_int_equal(hn_dropin_write(&tree->root, UNIT, NULL, nodes), 0);
        tree_put(tree, "/run/systemd/system/" UNIT ".d/10-mine.conf", "[Scope]\n");
        assert_int_equal(hn_dropin_remove(&tree->root, UNIT), 0);
        assert_false(hn_root_exists(&tree->root, "%s", DROPIN));
        assert_true(hn_root_exists(&tree->root, "/run/systemd/system/%s.d/10-mine.conf", UNIT));
}

static void takes_no_name_that_leads_elsewhere(void **state)
{
        static const char *const units[] = {
                "", ".scope", "machine-.scope", "web.scope", "machine-qemu.service",
                "machine-../../etc.scope", "machine-a/b.scope", "/machine-a.scope", "machine-a b.scope",
                "machine-a\n.scope",
        };
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t nodes = set_of("0");

        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
                assert_int_equal(hn_dropin_write(&tree->root, units[i], NULL, nodes), -EINVAL);
                assert_int_equal(hn_dropin_remove(&tree->root, units[i]), -EINVAL);
        }
        assert_false(hn_root_exists(&tree->root, "/run"));
}

static void makes_no_sign_of_systemd_where_none_is(void **state)
{
        struct tree *tree = *state;
        struct hn_root host = { .fd = tree->root.fd, .host = true };
        HN_BITMAP hwloc_bitmap_t nodes = set_of("0");

        assert_int_equal(hn_dropin_write(&host, UNIT, NULL, nodes), -ENOENT);
        assert_false(hn_root_exists(&tree->root, "/run"));
}

static void fails_cleanly_where_the_folder_is_a_file(void **state)
{
        struct tree *tree = *state;
        HN_BITMAP hwloc_bitmap_t nodes = set_of("0");

        tree_put(tree, "/run/systemd/system/" UNIT ".d", "");
        assert_int_equal(hn_dropin_write(&tree->root, UNIT, NULL, nodes), -ENOTDIR);
        assert_int_equal(hn_dropin_remove(&tree->root, UNIT), 0);
}

static void reads_version_texts(void **state)
{
        static const struct {
                const char *text;
                unsigned version; /* 0: refused */
        } cases[] = {
                { "257.8-1~deb13u2", 257 }, { "252.38-1~deb12u1", 252 }, { "v258~rc1", 258 }, { "249", 249 },
                { "255 (255.4-1ubuntu8)", 255 }, { "250-rc1", 250 }, { "254^20230801", 254 }, { "", 0 },
                { "v", 0 }, { "-1", 0 }, { "0252", 0 }, { "systemd 252", 0 }, { "252x", 0 },
                { "4294967552", 0 },
        };

        (void) state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                unsigned version = 0;
                int r = hn_systemd_version_parse(cases[i].text, &version);

                assert_int_equal(r, cases[i].version ? 0 : -EBADMSG);
                assert_int_equal(version, cases[i].version);
        }
}

static void keeps_the_version_for_one_boot(void **state)
{
        struct tree *tree = *state;
        unsigned version = 0;

        assert_int_equal(hn_systemd_version(&tree->root, 1000, &version), -ENXIO);
        tree_put(tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        assert_int_equal(hn_systemd_version(&tree->root, 1000, &version), -ENXIO);
        tree_put(tree, "/run/homenode/systemd-version", BOOT_ID " 257\n");
        assert_int_equal(hn_systemd_version(&tree->root, 1000, &version), 0);
        assert_int_equal(version, 257);

        tree_put(tree, "/run/homenode/systemd-version", "1" BOOT_ID " 257\n");
        assert_int_equal(hn_systemd_version(&tree->root, 1000, &version), -ENXIO);
        tree_put(tree, "/run/homenode/systemd-version", BOOT_ID "257\n");
        assert_int_equal(hn_systemd_version(&tree->root, 1000, &version), -ENXIO);
        tree_put(tree, "/run/homenode/systemd-version", "");
        assert_int_equal(hn_systemd_version(&tree->root, 1000, &version), -ENXIO);
}

/* A bus that takes the connection and then says nothing, as a stopped dbus-daemon does. */
static void waits_no_longer_than_told(void **state)
{
        struct tree *tree = *state;
        struct hn_root host = { .fd = tree->root.fd, .host = true };
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        HN_FREE char *address = NULL;
        unsigned version = 0;

        tree_put(tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(tree, "/run/systemd/system/x.mount", "");
        (void) snprintf(name.sun_path, sizeof name.sun_path, "%.80s/bus", tree->path);
        assert_true(asprintf(&address, "unix:path=%s", name.sun_path) > 0);
        HN_CLOSE int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (const struct sockaddr *) &name, sizeof name), 0);
        assert_int_equal(listen(listener, 4), 0);
        assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1), 0);

        uint64_t began_us = hn_monotonic_us();
        assert_int_equal(hn_systemd_version(&host, 50000, &version), -ENXIO);
        uint64_t waited_us = hn_monotonic_us() - began_us;
        assert_int_equal(unsetenv("DBUS_SYSTEM_BUS_ADDRESS"), 0);

        assert_true(waited_us >= 50000 && waited_us < 1000000);
        assert_false(hn_root_exists(&tree->root, "/run/homenode/systemd-version"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_the_unit_as_libvirt_and_machined_do),
                cmocka_unit_test(tells_whose_scope_it_is_whatever_the_id),
                cmocka_unit_test(foresees_no_name_without_an_id),
                cmocka_unit_test_setup_teardown(writes_what_systemd_reads, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(removes_its_own_file_alone, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(takes_no_name_that_leads_elsewhere, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(makes_no_sign_of_systemd_where_none_is, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(fails_cleanly_where_the_folder_is_a_file, tree_setup, tree_teardown),
                cmocka_unit_test(reads_version_texts),
                cmocka_unit_test_setup_teardown(keeps_the_version_for_one_boot, tree_setup, tree_teardown),
                cmocka_unit_test_setup_teardown(waits_no_longer_than_told, tree_setup, tree_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
