/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shape at define time, over a libvirt that is played: users who opt out, edit, undefine and undo.
 */
#include "store/copies.h"
#include "unit/support/definitions.h"

static void opting_out_takes_ours_out(void **state)
{
        static const char *const wishes[] = { "placement='off'", "vnuma='off'" };
        struct scene *scene = *state;

        for (size_t i = 0; i < 2; i++) {
                HN_FREE char *wish = NULL;

                define(scene, WIDE);
                assert_look(scene, 2, 1);
                assert_true(asprintf(&wish, "<homenode:domain xmlns:homenode='urn:homenode:1' %s/><homenode:applied",
                                     wishes[i]) > 0);
                edit(scene, "<homenode:applied", wish);
                assert_look(scene, 2, 1);
                assert_has_not(scene->libvirt.xml, "applied");
                assert_has_not(scene->libvirt.xml, "cell");
                assert_has_not(scene->libvirt.xml, "numatune");
                assert_has(scene->libvirt.xml, "urn:homenode:1");
                assert_has(scene->libvirt.xml, "passwd=\"secret\"");
                assert_copy(scene, NULL);
                assert_look(scene, 1, 0);
        }
}

static void cells_that_the_user_changed_are_theirs(void **state)
{
        struct scene *scene = *state;
        const char *p;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        p = strstr(scene->libvirt.xml, "cpus=\"0-");
        assert_non_null(p);
        HN_FREE char *cpus = strndup(p, strcspn(p + 6, "\"") + 7);
        edit(scene, cpus, "cpus=\"0\"");
        (void) look(scene);
        assert_has(scene->libvirt.xml, "cpus=\"0\"");
        assert_look(scene, 1, 0);
        assert_has(scene->libvirt.xml, "cpus=\"0\"");
}

static void cells_that_the_user_took_out_stay_out(void **state)
{
        struct scene *scene = *state;
        char *from, *to;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        from = strstr(scene->libvirt.xml, "<cpu>");
        to = strstr(scene->libvirt.xml, "</cpu>");
        assert_non_null(from);
        assert_non_null(to);
        memmove(from, to + 6, strlen(to + 6) + 1);
        from = strstr(scene->libvirt.xml, "<numatune>");
        to = strstr(scene->libvirt.xml, "</numatune>");
        memmove(from, to + 11, strlen(to + 11) + 1);
        HN_FREE char *edited_text = strdup(scene->libvirt.xml);
        assert_look(scene, 1, 0);
        assert_string_equal(scene->libvirt.xml, edited_text);
}

static void another_size_gets_other_cells(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        edit(scene, "<vcpu>6</vcpu>", "<vcpu>12</vcpu>");
        assert_look(scene, 2, 1);
        assert_has(scene->libvirt.xml, "<cell id=\"2\"");
        assert_copy(scene, WIDE);
}

static void undefining_removes_the_copy(void **state)
{
        struct scene *scene = *state;
        HN_FREE void *held = NULL;
        char (*uuids)[HN_UUID_LENGTH + 1] = NULL;
        size_t n = 0;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        assert_int_equal(hn_copies_list(&scene->tree.root, &uuids, &n), 0);
        held = uuids;
        assert_int_equal(n, 1);
        assert_string_equal(uuids[0], UUID);
        define(scene, NULL);
        assert_look(scene, 1, 0);
        assert_copy(scene, NULL);
}

static void a_copy_of_what_was_defined_anew_goes(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        define(scene, NARROW);
        assert_look(scene, 1, 0);
        assert_copy(scene, NULL);
        define(scene, WIDE);
        assert_look(scene, 2, 1);
        define(scene, DOMAIN("7", ""));
        assert_look(scene, 2, 1);
        assert_copy(scene, DOMAIN("7", ""));
}

static void undo_is_left_until_somebody_changes_it(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *message = NULL;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), 1);
        assert_has_not(scene->libvirt.xml, "cell");
        assert_copy(scene, NULL);
        assert_look(scene, 1, 0);
        restart(scene);
        assert_look(scene, 1, 0);
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), 0);
        edit(scene, "<vcpu>6</vcpu>", "<vcpu>7</vcpu>");
        assert_look(scene, 2, 1);
        assert_wide(scene);
}

static void undo_wins_whenever_the_daemon_looks(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *message = NULL;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        scene->libvirt.writes = 0;
        scene->libvirt.listener = scene->definitions;
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), 1);
        scene->libvirt.listener = NULL;
        assert_int_equal(scene->libvirt.writes, 1);
        assert_has_not(scene->libvirt.xml, "cell");
        assert_look(scene, 1, 0);
}

static void undo_comes_before_the_first_look_as_well(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *message = NULL;

        define(scene, WIDE);
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), 0);
        assert_look(scene, 1, 0);
        assert_string_equal(scene->libvirt.xml, WIDE);
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), 0);
        edit(scene, "<vcpu>6</vcpu>", "<vcpu>7</vcpu>");
        assert_look(scene, 2, 1);
        define(scene, NULL);
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), -ENOENT);
}

static void undo_gives_way_to_somebody_else(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *message = NULL, *changed = NULL;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        changed = edited(scene->libvirt.xml, "<os>", "<title>another</title><os>");
        scene->libvirt.reads = scene->libvirt.writes = 0;
        scene->libvirt.edit_after = 1;
        scene->libvirt.edit = changed;
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), 1);
        assert_int_equal(scene->libvirt.writes, 1);
        assert_has(scene->libvirt.xml, "another");
        assert_has_not(scene->libvirt.xml, "cell");
        assert_look(scene, 1, 0);
}

static void undo_that_is_refused_leaves_all_as_it_was(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *message = NULL, *before = NULL;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        before = strdup(scene->libvirt.xml);
        scene->libvirt.refusal = "no such machine type";
        assert_int_equal(hn_definition_undo(&scene->tree.root, &scene->door, UUID, &message), -EREMOTEIO);
        assert_string_equal(message, "no such machine type");
        assert_string_equal(scene->libvirt.xml, before);
        assert_copy(scene, WIDE);
        assert_false(hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID ".left"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, definitions_set_up, definitions_tear_down)
        const struct CMUnitTest tests[] = {
                T(opting_out_takes_ours_out),
                T(cells_that_the_user_changed_are_theirs),
                T(cells_that_the_user_took_out_stay_out),
                T(another_size_gets_other_cells),
                T(undefining_removes_the_copy),
                T(a_copy_of_what_was_defined_anew_goes),
                T(undo_is_left_until_somebody_changes_it),
                T(undo_wins_whenever_the_daemon_looks),
                T(undo_comes_before_the_first_look_as_well),
                T(undo_gives_way_to_somebody_else),
                T(undo_that_is_refused_leaves_all_as_it_was),
        };
#undef T

        return cmocka_run_group_tests(tests, NULL, NULL);
}
