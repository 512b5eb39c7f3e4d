/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/service.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "unit/support/test.h"
#include "unit/support/tree.h"

#define SECOND_US 1000000u
#define CHANGED_US UINT64_C(1700000000123456)

static int on_get(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                  void *data, sd_bus_error *error)
{
        (void) bus; (void) interface; (void) property; (void) data; (void) error;
        return sd_bus_message_append(reply, "t", strstr(path, "libvirtd") ? CHANGED_US : 0);
}

static const sd_bus_vtable unit[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("StateChangeTimestamp", "t", on_get, 0, 0),
        SD_BUS_VTABLE_END
};

/* Answers one client like systemd, with a unit that changed and one that never did. */
static void serve(int listening)
{
        sd_bus *bus = NULL;
        sd_id128_t id = { 0 };
        int fd = accept(listening, NULL, NULL);

        if (fd < 0 || sd_id128_randomize(&id) < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
            sd_bus_set_server(bus, 1, id) < 0 || sd_bus_set_anonymous(bus, 1) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/systemd1/unit/libvirtd_2eservice",
                                     "org.freedesktop.systemd1.Unit", unit, NULL) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/systemd1/unit/virtqemud_2eservice",
                                     "org.freedesktop.systemd1.Unit", unit, NULL) < 0 ||
            sd_bus_start(bus) < 0)
                _exit(2);
        while (sd_bus_process(bus, NULL) >= 0 && sd_bus_wait(bus, UINT64_MAX) >= 0)
                ;
        _exit(0);
}

static int ask(struct tree *tree, const char *name, uint64_t *ret_us)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char text[128];
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;
        pid_t pid;

        (void) snprintf(address.sun_path, sizeof address.sun_path, "%.90s/bus", tree->path);
        (void) snprintf(text, sizeof text, "unix:path=%.90s/bus", tree->path);
        (void) unlink(address.sun_path);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof address), 0);
        assert_int_equal(listen(fd, 1), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                serve(fd);
        r = hn_service_changed(&tree->root, text, name, 5 * SECOND_US, ret_us);
        (void) close(fd);
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, NULL, 0);
        return r;
}

static void tells_when_a_service_changed(void **state)
{
        struct tree tree;
        uint64_t changed_us = 0;
        (void) state;

        tree_make(&tree);
        assert_int_equal(ask(&tree, "libvirtd.service", &changed_us), 0);
        assert_true(changed_us == CHANGED_US);
        assert_int_equal(ask(&tree, "virtqemud.service", &changed_us), -ENODATA);
        assert_true(ask(&tree, "other.service", &changed_us) < 0);
        assert_true(changed_us == CHANGED_US);
        tree_remove(&tree);
}

static void asks_nobody_about_a_recorded_tree(void **state)
{
        struct tree tree;
        uint64_t changed_us = 0;
        (void) state;

        tree_make(&tree);
        assert_int_equal(hn_service_changed(&tree.root, NULL, "libvirtd.service", SECOND_US, &changed_us), -ENXIO);
        assert_true(hn_service_changed(&tree.root, "unix:path=/no/such/socket", "libvirtd.service", SECOND_US,
                                       &changed_us) < 0);
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tells_when_a_service_changed),
                cmocka_unit_test(asks_nobody_about_a_recorded_tree),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
