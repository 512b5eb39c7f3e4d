/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shape at define time, over a libvirt that is played: what is written, when, and what is left alone.
 */
#include "store/copies.h"
#include "unit/support/definitions.h"

static void a_wide_one_gets_its_cells(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        assert_wide(scene);
        assert_has(scene->libvirt.xml, "passwd=\"secret\"");
        assert_copy(scene, WIDE);
        assert_int_equal(said(scene, "wide: cells written into its definition"), 1);
        /* The event of our own writing. */
        assert_look(scene, 1, 0);
        restart(scene);
        assert_look(scene, 1, 0);
}

static void a_narrow_one_is_read_once(void **state)
{
        struct scene *scene = *state;

        define(scene, NARROW);
        assert_look(scene, 1, 0);
        assert_string_equal(scene->libvirt.xml, NARROW);
        assert_copy(scene, NULL);
}

/* Cells are guest ABI and must not depend on what runs just now. */
static void load_makes_no_cells(void **state)
{
        static const char *const uuids[] = { UUID_A, UUID_B, UUID_C, "0a1b2c3d-4e5f-4a6b-8c7d-00000000000d" };
        struct scene *scene = *state;

        for (unsigned node = 0; node < 4; node++)
                promise(scene, uuids[node], node, 4 * GIB);
        define(scene, NARROW);
        assert_look(scene, 1, 0);
        define(scene, WIDE);
        assert_look(scene, 2, 1);
        assert_wide(scene);
}

static void a_transient_or_missing_one_is_left(void **state)
{
        struct scene *scene = *state;

        assert_look(scene, 1, 0);
        scene->libvirt.read_error = -ENOTCONN; /* this connection broke; there may be others */
        assert_int_equal(look(scene), 1000);
}

static void others_are_left_alone(void **state)
{
        static const char *const texts[] = {
                DOMAIN("6", WISH("placement='off'")),
                DOMAIN("6", WISH("vnuma='off'")),
                "<domain type='lxc'><name>box</name><uuid>" UUID "</uuid><memory>9999999</memory><vcpu>9</vcpu>"
                "<os><type>exe</type></os></domain>",
                "<domain type='kvm'><name>auto</name><uuid>" UUID "</uuid><memory unit='GiB'>4</memory>"
                "<vcpu placement='auto'>6</vcpu><os><type>hvm</type></os></domain>",
                "<domain type='kvm'><name>own</name><uuid>" UUID "</uuid><memory unit='GiB'>4</memory>"
                "<vcpu>6</vcpu><os><type>hvm</type></os><cpu><numa><cell id='0' cpus='0-1' memory='1048576'/>"
                "<cell id='1' cpus='2-5' memory='3145728'/></numa></cpu></domain>",
                "<domain type='kvm'><name>giant</name><uuid>" UUID "</uuid><memory unit='TiB'>4</memory>"
                "<vcpu>6</vcpu><os><type>hvm</type></os></domain>",
        };
        struct scene *scene = *state;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                define(scene, texts[i]);
                assert_look(scene, 1, 0);
                assert_copy(scene, NULL);
        }
}

static void the_policy_is_followed(void **state)
{
        struct scene *scene = *state;

        tree_put(&scene->tree, "/etc/homenode/homenode.conf", "definition=never\n");
        define(scene, WIDE);
        assert_look(scene, 1, 0);
        tree_put(&scene->tree, "/etc/homenode/homenode.conf", "definition=minimal\n");
        assert_look(scene, 2, 1);
        assert_has(scene->libvirt.xml, "<cell id=\"1\"");
        assert_has_not(scene->libvirt.xml, "memnode");
}

/* ---- nodes */

static char *nodeset_of(const char *xml, unsigned cell)
{
        char pattern[64];
        const char *p;

        (void) snprintf(pattern, sizeof pattern, "<memnode cellid=\"%u\" mode=\"strict\" nodeset=\"", cell);
        p = strstr(xml, pattern);
        assert_non_null(p);
        p += strlen(pattern);
        return strndup(p, strcspn(p, "\""));
}

static void nodes_follow_the_plan_but_not_often(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        HN_FREE char *first = nodeset_of(scene->libvirt.xml, 0);
        promise(scene, UUID_A, (unsigned) atoi(first), 5 * GIB);
        scene->libvirt.active = true;
        assert_look(scene, 1, 0);
        scene->libvirt.active = false;
        scene->libvirt.writes = 0;
        /* It was written just now. */
        scene->libvirt.now_ms += 1000;
        assert_int_equal(look(scene), 299000);
        tree_put(&scene->tree, "/etc/homenode/homenode.conf", "[daemon]\nrenew_seconds=20\n");
        assert_int_equal(look(scene), 19000);
        assert_int_equal(scene->libvirt.writes, 0);
        scene->libvirt.now_ms += 19000;
        assert_look(scene, 2, 1);
        HN_FREE char *then = nodeset_of(scene->libvirt.xml, 0);
        assert_string_not_equal(first, then);
        assert_copy(scene, WIDE);
        assert_int_equal(said(scene, "its cells' nodes renewed"), 1);
        assert_look(scene, 1, 0);
}

static void nodes_stay_where_others_are_no_better(void **state)
{
        struct scene *scene = *state;
        unsigned node = 0;

        tree_put(&scene->tree, "/etc/homenode/homenode.conf", "[daemon]\nrenew_seconds=0\n");
        define(scene, WIDE);
        assert_look(scene, 2, 1);
        HN_FREE char *first = nodeset_of(scene->libvirt.xml, 0), *second = nodeset_of(scene->libvirt.xml, 1);
        while (node == (unsigned) atoi(first) || node == (unsigned) atoi(second))
                node++;
        promise(scene, UUID_A, node, 5 * GIB);
        assert_look(scene, 1, 0);
}

/* ---- failures */

static void a_refused_one_stays_and_is_not_tried_again(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        scene->libvirt.refusal = "unsupported configuration: no NUMA here";
        assert_look(scene, 2, 1);
        assert_string_equal(scene->libvirt.xml, WIDE);
        assert_copy(scene, NULL);
        assert_int_equal(said(scene, "unsupported configuration: no NUMA here"), 1);
        assert_look(scene, 1, 0);
        assert_look(scene, 1, 0);
        scene->libvirt.refusal = NULL;
        assert_look(scene, 1, 0);
        define(scene, DOMAIN("7", ""));
        assert_look(scene, 2, 1);
        assert_wide(scene);
}

static void without_a_copy_nothing_is_written(void **state)
{
        struct scene *scene = *state;

        tree_put(&scene->tree, HN_COPIES_FOLDER, "what can't be written to");
        define(scene, WIDE);
        assert_int_equal(look(scene), 60000);
        assert_int_equal(look(scene), 60000);
        assert_int_equal(scene->libvirt.writes, 0);
        assert_string_equal(scene->libvirt.xml, WIDE);
        assert_int_equal(said(scene, "no copy of its definition can be kept"), 1);
        assert_int_equal(hn_root_remove(&scene->tree.root, HN_COPIES_FOLDER), 0);
        assert_look(scene, 2, 1);
        assert_copy(scene, WIDE);
}

static void killed_before_the_writing_the_old_one_is_whole(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        scene->libvirt.dies = true;
        assert_int_equal(look(scene), 1000);
        assert_int_equal(scene->libvirt.writes, 0);
        assert_string_equal(scene->libvirt.xml, WIDE);
        assert_copy(scene, WIDE);
        scene->libvirt.dies = false;
        restart(scene);
        assert_look(scene, 2, 1);
        assert_wide(scene);
        assert_copy(scene, WIDE);
}

static void what_is_no_domain_is_left(void **state)
{
        static const char *const texts[] = {
                "<domain", "<network/>", "<!DOCTYPE domain><domain type='kvm'/>",
                "<domain type='kvm'><name>x</name><memory>1048576</memory><vcpu>0</vcpu></domain>",
        };
        struct scene *scene = *state;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                define(scene, texts[i]);
                assert_look(scene, 1, 0);
                assert_look(scene, 1, 0);
                assert_int_equal(said(scene, "can't be read"), i + 1);
        }
}

static void a_host_that_cannot_be_looked_at_is_said_once(void **state)
{
        struct scene *scene = *state;

        assert_int_equal(hn_root_remove(&scene->tree.root, HN_TOPOLOGY_PATH), 0);
        assert_int_equal(hn_root_remove(&scene->tree.root, "/proc/sys/kernel/random/boot_id"), 0);
        tree_put(&scene->tree, "/run/homenode/ledger", "a file");
        define(scene, WIDE);
        assert_int_equal(look(scene), 60000);
        assert_int_equal(look(scene), 60000);
        assert_string_equal(scene->libvirt.xml, WIDE);
        assert_int_equal(scene->libvirt.writes, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, definitions_set_up, definitions_tear_down)
        const struct CMUnitTest tests[] = {
                T(a_wide_one_gets_its_cells),
                T(a_narrow_one_is_read_once),
                T(load_makes_no_cells),
                T(a_transient_or_missing_one_is_left),
                T(others_are_left_alone),
                T(the_policy_is_followed),
                T(nodes_follow_the_plan_but_not_often),
                T(nodes_stay_where_others_are_no_better),
                T(a_refused_one_stays_and_is_not_tried_again),
                T(without_a_copy_nothing_is_written),
                T(killed_before_the_writing_the_old_one_is_whole),
                T(what_is_no_domain_is_left),
                T(a_host_that_cannot_be_looked_at_is_said_once),
        };
#undef T

        return cmocka_run_group_tests(tests, NULL, NULL);
}
