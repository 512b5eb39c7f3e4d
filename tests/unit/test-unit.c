/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/unit.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "model/clock.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"

#define WEB "machine-qemu\\x2d7\\x2dweb.scope"
#define SECOND_US 1000000u

/* The bytes are those of systemd's own test of cpu_set_to_dbus: members 1, 3, 8 and 100 to 200. */
static void sets_have_systemd_s_form(void **state)
{
        static const uint8_t expected[] = { 0x0A, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0xFF, 0xFF, 0xFF, 0xFF,
                                            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01 };
        HN_BITMAP hwloc_bitmap_t set = set_of("1,3,8,100-200"), back = NULL, none = set_of("");
        HN_FREE uint8_t *mask = NULL, *empty = NULL;
        size_t n = 0;

        (void) state;
        assert_int_equal(hn_unit_mask(set, &mask, &n), 0);
        assert_int_equal(n, sizeof expected);
        assert_memory_equal(mask, expected, n);
        assert_int_equal(hn_unit_unmask(mask, n, &back), 0);
        assert_true(hwloc_bitmap_isequal(set, back));
        assert_int_equal(hn_unit_mask(none, &empty, &n), 0);
        assert_int_equal(n, 0);
        hwloc_bitmap_fill(back);
        assert_int_equal(hn_unit_mask(back, &mask, &n), -EINVAL);
        assert_int_equal(hn_unit_unmask(expected, HN_IDSET_LIMIT / 8 + 1, &back), -ERANGE);
}

static void a_recorded_tree_records(void **state)
{
        struct tree *tree = *state;
        HN_SYSTEMD struct hn_systemd *systemd = NULL;
        HN_BITMAP hwloc_bitmap_t cpus = set_of("0-7"), nodes = set_of("2"), none = set_of("");
        HN_FREE char *text = NULL;

        assert_int_equal(hn_systemd_new(&tree->root, NULL, &systemd), 0);
        assert_int_equal(hn_unit_set(systemd, WEB, cpus, nodes, 0), 0);
        assert_int_equal(hn_unit_set(systemd, WEB, NULL, nodes, 0), 0);
        assert_int_equal(hn_unit_set(systemd, WEB, NULL, NULL, 0), 0);
        assert_int_equal(hn_unit_set(systemd, WEB, none, nodes, 0), -EINVAL);
        assert_int_equal(hn_unit_set(systemd, "../x.scope", cpus, nodes, 0), -EINVAL);
        assert_int_equal(hn_root_read(&tree->root, 4096, &text, NULL, HN_UNITS_FILE), 0);
        assert_string_equal(text, WEB " AllowedCPUs=0-7 AllowedMemoryNodes=2\n" WEB " AllowedMemoryNodes=2\n");
}

/* ---- a systemd of our own at the other end of a socket */

struct server { pid_t pid; char address[300]; };

static int on_set(sd_bus_message *message, void *data, sd_bus_error *error)
{
        const char *unit = NULL;
        int runtime = 0;

        (void) data;
        if (sd_bus_message_read(message, "sb", &unit, &runtime) < 0 || !runtime)
                return sd_bus_reply_method_errorf(message, "test.Wrong", "head");
        if (strcmp(unit, WEB) != 0)
                return sd_bus_reply_method_errorf(message, "org.freedesktop.systemd1.NoSuchUnit", "none");
        if (sd_bus_message_enter_container(message, 'a', "(sv)") < 0)
                return sd_bus_reply_method_errorf(message, "test.Wrong", "list");
        for (const char *const *name = (const char *const[]) { "AllowedCPUs", "AllowedMemoryNodes", NULL }; *name; name++) {
                const uint8_t *mask = NULL;
                const char *property = NULL;
                size_t n = 0;

                if (sd_bus_message_enter_container(message, 'r', "sv") < 0 || sd_bus_message_read(message, "s", &property) < 0 ||
                    sd_bus_message_enter_container(message, 'v', "ay") < 0 ||
                    sd_bus_message_read_array(message, 'y', (const void **) &mask, &n) < 0 ||
                    sd_bus_message_exit_container(message) < 0 || sd_bus_message_exit_container(message) < 0)
                        return sd_bus_reply_method_errorf(message, "test.Wrong", "property");
                if (strcmp(property, *name) != 0 || n != 1 || mask[0] != (**name == 'A' && (*name)[7] == 'C' ? 0xF0 : 0x04))
                        return sd_bus_reply_method_errorf(message, "test.Wrong", "value");
        }
        (void) error;
        return sd_bus_reply_method_return(message, "");
}

static int on_get(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                  void *data, sd_bus_error *error)
{
        static const uint8_t cpus[] = { 0xF0, 0x01 };

        (void) bus; (void) path; (void) interface; (void) data; (void) error;
        return strcmp(property, "AllowedCPUs") == 0 ? sd_bus_message_append_array(reply, 'y', cpus, sizeof cpus)
                                                    : sd_bus_message_append_array(reply, 'y', NULL, 0);
}

static const sd_bus_vtable manager[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("SetUnitProperties", "sba(sv)", "", on_set, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};
static const sd_bus_vtable scope[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("AllowedCPUs", "ay", on_get, 0, 0),
        SD_BUS_PROPERTY("AllowedMemoryNodes", "ay", on_get, 0, 0),
        SD_BUS_VTABLE_END
};

static void serve(int listening, bool silent)
{
        for (;;) {
                sd_bus *bus = NULL;
                sd_id128_t id = { 0 };
                int fd = accept(listening, NULL, NULL);

                if (fd < 0 || sd_id128_randomize(&id) < 0)
                        _exit(1);
                if (silent) {
                        (void) pause();
                        _exit(0);
                }
                if (sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 || sd_bus_set_server(bus, 1, id) < 0 ||
                    sd_bus_set_anonymous(bus, 1) < 0 ||
                    sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", manager, NULL) < 0 ||
                    sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/systemd1/unit/machine_2dqemu_5cx2d7_5cx2dweb_2escope",
                                             "org.freedesktop.systemd1.Scope", scope, NULL) < 0 ||
                    sd_bus_start(bus) < 0)
                        _exit(2);
                while (sd_bus_process(bus, NULL) >= 0 && sd_bus_wait(bus, UINT64_MAX) >= 0)
                        ;
                (void) sd_bus_close_unref(bus);
        }
}

static struct server start_server(const struct tree *tree, bool silent)
{
        struct server server = { 0 };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void) snprintf(address.sun_path, sizeof address.sun_path, "%.90s/bus", tree->path);
        (void) snprintf(server.address, sizeof server.address, "unix:path=%.90s/bus", tree->path);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
        assert_int_equal(listen(fd, 4), 0);
        server.pid = fork();
        assert_true(server.pid >= 0);
        if (server.pid == 0)
                serve(fd, silent);
        (void) close(fd);
        return server;
}

static void stop_server(const struct server *server)
{
        (void) kill(server->pid, SIGKILL);
        (void) waitpid(server->pid, NULL, 0);
}

static void systemd_is_asked_in_its_own_words(void **state)
{
        struct tree *tree = *state;
        struct server server = start_server(tree, false);
        HN_SYSTEMD struct hn_systemd *systemd = NULL;
        HN_BITMAP hwloc_bitmap_t cpus = set_of("4-7"), nodes = set_of("2"), got_cpus = NULL, got_nodes = NULL;

        assert_int_equal(hn_systemd_new(&tree->root, server.address, &systemd), 0);
        assert_int_equal(hn_unit_set(systemd, WEB, cpus, nodes, 5 * SECOND_US), 0);
        assert_int_equal(hn_unit_set(systemd, "machine-other.scope", cpus, nodes, 5 * SECOND_US), -ENOENT);
        assert_int_equal(hn_unit_get(systemd, WEB, &got_cpus, &got_nodes, 5 * SECOND_US), 0);
        assert_set(got_cpus, "4-8");
        assert_set(got_nodes, "");
        stop_server(&server);
        assert_true(hn_unit_set(systemd, WEB, cpus, nodes, SECOND_US) < 0);
        assert_false(hn_root_exists(&tree->root, HN_UNITS_FILE));
}

static void a_systemd_that_says_nothing_is_not_waited_for(void **state)
{
        struct tree *tree = *state;
        struct server server = start_server(tree, true);
        HN_SYSTEMD struct hn_systemd *systemd = NULL;
        HN_BITMAP hwloc_bitmap_t cpus = set_of("4-7");
        uint64_t before_us = hn_monotonic_us();

        assert_int_equal(hn_systemd_new(&tree->root, server.address, &systemd), 0);
        assert_int_equal(hn_unit_set(systemd, WEB, cpus, NULL, SECOND_US / 5), -ETIMEDOUT);
        assert_true(hn_monotonic_us() - before_us < 5 * SECOND_US);
        stop_server(&server);
        assert_true(hn_unit_set(systemd, WEB, cpus, NULL, SECOND_US / 5) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(sets_have_systemd_s_form),
                TEST(a_recorded_tree_records),
                TEST(systemd_is_asked_in_its_own_words),
                TEST(a_systemd_that_says_nothing_is_not_waited_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
