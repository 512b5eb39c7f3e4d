/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The connection to libvirt, by its driver for tests that lives in the process: back-off while it is away, marks
 * for what there is and for what happens.
 */
#include "daemon/connection.h"

#include <unistd.h>

#include "daemon/loop.h"
#include "model/clock.h"
#include "unit/support/test.h"
#include "unit/support/tree.h"
#include "unit/support/turns.h"

#define GUEST "<domain type='kvm'><name>web</name><uuid>0a1b2c3d-4e5f-4a6b-8c7d-00000000000a</uuid>" \
        "<memory unit='GiB'>1</memory><vcpu>1</vcpu><os><type arch='x86_64'>hvm</type></os></domain>"
#define GUEST_UUID "0a1b2c3d-4e5f-4a6b-8c7d-00000000000a"

/* A libvirt that can't be had for so many times. */
struct away {
        unsigned times, hang_ms;
        _Atomic unsigned opened;
        uint64_t at_us[16];
};

struct scene {
        struct tree tree;
        struct turns turns;
        struct hn_work *work;
        struct hn_asking *asking;
        struct away away;
        char text[1024];
        const char *expected; /* NULL: whatever comes */
        bool late;
};

static struct scene scene;

static int open_after(void *data, const char *uri, virConnectPtr *ret, char **ret_message)
{
        struct away *away = data;

        if (away->hang_ms > 0)
                (void) usleep(away->hang_ms * 1000);
        away->at_us[away->opened++ % 16] = hn_monotonic_us();
        if (away->opened > away->times)
                return hn_open_libvirt(NULL, uri, ret, ret_message);
        *ret_message = strdup("Failed to connect socket");
        return -EIO;
}

static bool note(void *data, const char *uuid, unsigned matters)
{
        size_t length = strlen(scene.text);
        (void) data;

        (void) snprintf(scene.text + length, sizeof scene.text - length, "%s:%u ",
                        *uuid ? uuid : "host", matters);
        if (!scene.expected || strcmp(scene.text, scene.expected) == 0)
                hn_timer_once(scene.turns.end, 20);
        return false;
}

static int set_up(void **state)
{
        (void) state;
        tree_make(&scene.tree);
        tree_put(&scene.tree, "/run/homenode/empty", "");
        turns_open(&scene.turns);
        scene.away = (struct away) { 0 };
        *scene.text = '\0';
        assert_int_equal(hn_work_new(&scene.work), 0);
        assert_int_equal(hn_asking_new(&scene.tree.root, HN_ASKING_SLOW_MS, &scene.asking), 0);
        assert_int_equal(hn_work_subscribe(scene.work, 15, note, NULL), 0);
        return 0;
}

static int tear_down(void **state)
{
        (void) state;
        assert_true(hn_asking_close(scene.asking));
        hn_work_free(scene.work);
        tree_remove(&scene.tree);
        return 0;
}

/* Until nothing has come for 20 ms, or `wait_ms` are over. */
static const char *run(unsigned wait_ms)
{
        *scene.text = '\0';
        turns_run(&scene.turns, wait_ms);
        return scene.text;
}

/* Nothing else, and nothing after it, however busy the computer is. */
static void assert_marks(const char *expected)
{
        scene.expected = expected;
        assert_string_equal(run(20000), expected);
        scene.expected = NULL;
}

static struct hn_connection *connect_to(unsigned times_away)
{
        const struct hn_connection_source source = {
                .uri = "test:///default", .open = open_after, .open_data = &scene.away,
                .backoff = { .first_ms = 20, .most_ms = 80 },
        };
        struct hn_connection *connection = NULL;

        scene.away.times = times_away;
        assert_int_equal(hn_connection_new(&scene.tree.root, scene.work, scene.asking, &source, &connection), 0);
        return connection;
}

static void assert_journal_says_it_once(void)
{
        HN_FREE char *text = NULL;
        char *first;

        assert_int_equal(hn_root_read(&scene.tree.root, 65536, &text, NULL, "/run/homenode/journal"), 0);
        first = strstr(text, "is away: Failed to connect socket");
        assert_non_null(first);
        assert_null(strstr(first + 1, "is away"));
        assert_non_null(strstr(first, "connected to libvirt (test:///default)"));
}

static void tries_again_with_back_off_and_says_it_once(void **state)
{
        HN_CONNECTION struct hn_connection *connection = connect_to(5);
        static const unsigned waits_ms[] = { 20, 40, 80, 80, 80 };
        (void) state;

        (void) run(5000);
        assert_non_null(hn_connection_get(connection));
        assert_int_equal(scene.away.opened, 6);
        for (size_t i = 0; i < 5; i++)
                assert_true(scene.away.at_us[i + 1] - scene.away.at_us[i] >= waits_ms[i] * 1000 - 1000);
        assert_journal_says_it_once();
}

static void marks_all_there_is_when_it_connects(void **state)
{
        HN_CONNECTION struct hn_connection *connection = connect_to(0);
        (void) state;

        /* The driver's own guest "test". */
        assert_marks("host:8 6695eb01-f6a4-8304-79aa-97f2502e193f:3 ");
        hn_connection_mark_all(connection);
        assert_marks("host:8 6695eb01-f6a4-8304-79aa-97f2502e193f:3 ");
}

static void events_become_marks(void **state)
{
        HN_CONNECTION struct hn_connection *connection = connect_to(0);
        HN_VIRDOMAIN virDomainPtr domain = NULL;
        (void) state;

        assert_marks("host:8 6695eb01-f6a4-8304-79aa-97f2502e193f:3 ");
        domain = virDomainDefineXML(hn_connection_get(connection), GUEST);
        assert_non_null(domain);
        assert_marks(GUEST_UUID ":1 ");
        assert_int_equal(virDomainCreate(domain), 0);
        assert_marks(GUEST_UUID ":2 ");
        assert_int_equal(virDomainSuspend(domain), 0);
        assert_marks(GUEST_UUID ":2 ");
        assert_int_equal(virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, "<domain placement='off'/>",
                                              "homenode", "urn:homenode:1", VIR_DOMAIN_AFFECT_LIVE), 0);
        assert_marks(GUEST_UUID ":3 ");
        assert_int_equal(virDomainDestroy(domain), 0);
        assert_marks(GUEST_UUID ":5 ");
        assert_int_equal(virDomainUndefine(domain), 0);
        assert_marks(GUEST_UUID ":1 ");
}

static void nothing_waits_for_a_libvirt_that_hangs(void **state)
{
        struct hn_connection *connection;
        uint64_t start_us = hn_monotonic_us();
        (void) state;

        scene.away.hang_ms = 400;
        connection = connect_to(0);
        assert_string_equal(run(50), "");
        assert_null(hn_connection_get(connection));
        hn_connection_mark_all(connection);
        assert_int_equal(hn_work_count(scene.work), 0);
        hn_connection_free(connection);
        assert_true(hn_monotonic_us() - start_us < 350000);
        /* The thread still opens, and closes what nobody wants. */
        for (unsigned i = 0; scene.away.opened == 0 && i < 2000; i++)
                (void) usleep(10000);
        assert_int_equal(scene.away.opened, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(tries_again_with_back_off_and_says_it_once, set_up, tear_down),
                cmocka_unit_test_setup_teardown(marks_all_there_is_when_it_connects, set_up, tear_down),
                cmocka_unit_test_setup_teardown(events_become_marks, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nothing_waits_for_a_libvirt_that_hangs, set_up, tear_down),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        turns_close(&scene.turns);
        return r;
}
