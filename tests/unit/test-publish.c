/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Publishing: what is told, and that an idle host is left in peace.  Readings are made by hand, of two nodes of 8 GiB.
 */
#include "daemon/publish.h"

#include <sys/inotify.h>

#include "model/clock.h"
#include "model/json.h"
#include "store/published.h"
#include "unit/support/entry.h"
#include "unit/support/scene.h"
#include "unit/support/tree.h"

struct scene_of_publishing {
        struct tree tree;
        struct hn_publisher *publisher;
        struct hn_reading reading;
};

static int setup(void **state)
{
        static const struct host_plan plan = { .nodes = 2, .cores = 4, .threads = 1, .memory_kib = 8 * GIB };
        static struct scene_of_publishing s;

        s = (struct scene_of_publishing) { 0 };
        tree_make(&s.tree);
        tree_put(&s.tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(&s.tree, "/run/homenode/lock", "");
        assert_int_equal(hn_publisher_new(&s.tree.root, &s.publisher), 0);
        s.reading.host = host_of(&plan);
        s.reading.host->nodes[0].free_kib = 4 * GIB;
        hwloc_bitmap_zero(s.reading.host->allowed_cpus);
        hwloc_bitmap_set_range(s.reading.host->allowed_cpus, 0, 7);
        hwloc_bitmap_zero(s.reading.host->allowed_nodes);
        hwloc_bitmap_set_range(s.reading.host->allowed_nodes, 0, 1);
        s.reading.load = calloc(1, sizeof *s.reading.load);
        assert_int_equal(hn_load_add_node(s.reading.load, 0, 1.5), 0);
        assert_int_equal(hn_load_add_node(s.reading.load, 1, 0), 0);
        assert_int_equal(hn_load_add_guest(s.reading.load, &(struct hn_guest_load) { .uuid = UUID_A, .run_cpus = 2,
                                                                                     .wait_cpus = 0.5 }), 0);
        *state = &s;
        return 0;
}

static int teardown(void **state)
{
        struct scene_of_publishing *s = *state;

        hn_publisher_free(s->publisher);
        hn_reading_clear(&s->reading);
        tree_remove(&s->tree);
        return 0;
}

/* Publishes; how many files that put into place. */
static unsigned publish(struct scene_of_publishing *s)
{
        union {
                struct inotify_event event;
                char bytes[4096];
        } buffer;
        char path[300];
        unsigned n = 0;
        HN_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        ssize_t length;

        (void) snprintf(path, sizeof path, "%s/run/homenode", s->tree.path);
        assert_true(inotify_add_watch(fd, path, IN_MOVED_TO) >= 0);
        assert_int_equal(hn_publish(s->publisher, &s->reading), 0);
        length = read(fd, buffer.bytes, sizeof buffer.bytes);
        for (ssize_t at = 0; at < length; n++) {
                struct inotify_event event;

                memcpy(&event, buffer.bytes + at, sizeof event);
                at += (ssize_t) (sizeof event + event.len);
        }
        return n;
}

static struct json_object *parsed(struct scene_of_publishing *s, const char *path)
{
        HN_FREE char *text = NULL;
        struct json_object *json = NULL;
        size_t length = 0;

        assert_int_equal(hn_root_read(&s->tree.root, 1u << 20, &text, &length, "%s", path), 0);
        assert_int_equal(hn_json_parse(text, length, 8, &json), 0);
        return json;
}

static void nodes_and_guests_are_told_apart(void **state)
{
        struct scene_of_publishing *s = *state;
        HN_JSON struct json_object *nodes = NULL, *guests = NULL, *read = NULL;
        HN_LOAD struct hn_load *node_load = NULL, *guest_load = NULL;

        assert_int_equal(publish(s), 2);
        nodes = parsed(s, HN_PUBLISHED_PATH);
        guests = parsed(s, HN_PUBLISHED_GUESTS_PATH);
        assert_int_equal(hn_load_from_state(nodes, &node_load), 0);
        assert_int_equal(hn_load_from_state(guests, &guest_load), 0);
        assert_int_equal(node_load->n_guests, 0);
        assert_true(hn_load_busy(node_load, 0) > 1.4);
        assert_int_equal(guest_load->n_nodes, 0);
        assert_string_equal(guest_load->guests[0].uuid, UUID_A);
        assert_int_equal(hn_published_read(&s->tree.root, &read), 0);
}

static void nothing_is_written_of_what_stays_about_the_same(void **state)
{
        struct scene_of_publishing *s = *state;

        assert_int_equal(publish(s), 2);
        for (unsigned i = 0; i < 20; i++) {
                s->reading.host->nodes[0].free_kib = 4 * GIB + (i % 3) * 60 * MIB;
                s->reading.load->nodes[0].busy_cpus = 1.5 + 0.1 * (i % 3);
                s->reading.load->nodes[1].busy_cpus = 0.1 * (i % 3);
                s->reading.load->guests[0].run_cpus = 2 - 0.1 * (i % 3);
                s->reading.load->guests[0].trend_cpus = i;
                assert_int_equal(publish(s), 0);
        }
}

/* By little and little it comes to be told, too. */
static void what_creeps_is_told_in_the_end(void **state)
{
        struct scene_of_publishing *s = *state;
        unsigned written = 0;

        assert_int_equal(publish(s), 2);
        for (unsigned i = 0; i < 40; i++) {
                s->reading.host->nodes[1].free_kib -= 40 * MIB;
                written += publish(s);
        }
        assert_in_range(written, 8, 16); /* 1600 MiB by 160 and a bit: a 50th of 8 GiB */
}

static void each_change_is_told(void **state)
{
        struct scene_of_publishing *s = *state;

        assert_int_equal(publish(s), 2);
        s->reading.host->nodes[1].free_kib -= 200 * MIB;
        assert_int_equal(publish(s), 1);
        s->reading.load->nodes[1].busy_cpus = 0.6;
        assert_int_equal(publish(s), 1);
        host_pool(s->reading.host, 1, 2048, 10);
        assert_int_equal(publish(s), 1);
        s->reading.host->nodes[1].pools[0].free_pages--;
        assert_int_equal(publish(s), 1);
        hwloc_bitmap_clr(s->reading.host->nodes[0].cpus, 0);
        assert_int_equal(publish(s), 1);
        s->reading.load->guests[0].wait_cpus = 1.5;
        assert_int_equal(publish(s), 1);
        s->reading.load->guests[0].io_pressure = 0.5;
        assert_int_equal(publish(s), 1);
        s->reading.load->n_guests = 0;
        assert_int_equal(publish(s), 1);
        assert_int_equal(publish(s), 0);
}

static void a_file_that_was_taken_away_comes_back(void **state)
{
        struct scene_of_publishing *s = *state;

        assert_int_equal(publish(s), 2);
        assert_int_equal(hn_root_remove(&s->tree.root, HN_PUBLISHED_PATH), 0);
        assert_int_equal(publish(s), 1);
}

static void it_is_held_as_long_as_the_daemon_lives(void **state)
{
        struct scene_of_publishing *s = *state;

        assert_int_equal(publish(s), 2);
        assert_int_equal(hn_published_hold(&s->tree.root), -EWOULDBLOCK);
        s->reading.host->nodes[1].free_kib -= 200 * MIB;
        assert_int_equal(publish(s), 1);
        assert_int_equal(hn_published_hold(&s->tree.root), -EWOULDBLOCK);
        hn_publisher_free(s->publisher);
        s->publisher = NULL;
        HN_CLOSE int fd = hn_published_hold(&s->tree.root);
        assert_true(fd >= 0);
}

static void what_cannot_be_written_is_tried_again(void **state)
{
        struct scene_of_publishing *s = *state;

        assert_int_equal(hn_root_remove(&s->tree.root, "/proc/sys/kernel/random/boot_id"), 0);
        assert_int_equal(hn_publish(s->publisher, &s->reading), -ENOENT);
        tree_put(&s->tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        assert_int_equal(hn_root_mkdir(&s->tree.root, 0700, HN_PUBLISHED_PATH "/in/the/way"), 0);
        assert_true(hn_publish(s->publisher, &s->reading) < 0);
        assert_int_equal(hn_root_remove(&s->tree.root, HN_PUBLISHED_PATH "/in/the/way"), 0);
        assert_int_equal(hn_root_remove(&s->tree.root, HN_PUBLISHED_PATH "/in/the"), 0);
        assert_int_equal(hn_root_remove(&s->tree.root, HN_PUBLISHED_PATH "/in"), 0);
        assert_int_equal(hn_root_remove(&s->tree.root, HN_PUBLISHED_PATH), 0);
        assert_int_equal(publish(s), 1); /* the guests were told */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(nodes_and_guests_are_told_apart, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_is_written_of_what_stays_about_the_same, setup, teardown),
                cmocka_unit_test_setup_teardown(what_creeps_is_told_in_the_end, setup, teardown),
                cmocka_unit_test_setup_teardown(each_change_is_told, setup, teardown),
                cmocka_unit_test_setup_teardown(a_file_that_was_taken_away_comes_back, setup, teardown),
                cmocka_unit_test_setup_teardown(it_is_held_as_long_as_the_daemon_lives, setup, teardown),
                cmocka_unit_test_setup_teardown(what_cannot_be_written_is_tried_again, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
