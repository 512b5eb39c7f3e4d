/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shape at define time, over a libvirt that is played: others who write and undefine at the same time.
 */
#include "unit/support/definitions.h"

static void what_comes_between_the_readings_wins(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        scene->libvirt.edit = NARROW;
        scene->libvirt.edit_after = 1;
        assert_look(scene, 3, 0);
        assert_string_equal(scene->libvirt.xml, NARROW);

        define(scene, WIDE);
        scene->libvirt.edit = DOMAIN("7", "");
        assert_look(scene, 4, 1);
        assert_has(scene->libvirt.xml, "<vcpu>7</vcpu>");
        assert_wide(scene);
        assert_copy(scene, DOMAIN("7", ""));
}

static void one_that_goes_between_the_readings_is_not_brought_back(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        scene->libvirt.reads = 0;
        scene->libvirt.edit = "";
        scene->libvirt.edit_after = 1;
        assert_int_equal(look(scene), 0);
        assert_int_equal(scene->libvirt.writes, 0);
}

/* libvirt says these of our writing, in one turn or in two; is the domain undefined in the end? */
static bool undefined_after(struct scene *scene, unsigned first, unsigned second)
{
        scene->libvirt.now_ms += 3600000;
        scene->libvirt.undefines = 0;
        define(scene, WIDE);
        assert_look(scene, 2, 1);
        for (unsigned i = 0; i < 2; i++) {
                unsigned wait_ms = hn_definitions_look(scene->definitions, &scene->libvirt, UUID,
                                                       HN_LOOK_DEFINITION | (i ? second : first));

                scene->libvirt.now_ms += wait_ms;
        }
        assert_int_equal(look(scene), 0);
        return scene->libvirt.undefines > 0;
}

static void one_that_was_undefined_meanwhile_goes_again(void **state)
{
        struct scene *scene = *state;

        assert_true(undefined_after(scene, HN_LOOK_UNDEFINED | HN_LOOK_ADDED, 0));
        assert_null(scene->libvirt.xml);
        assert_copy(scene, NULL);
        assert_true(undefined_after(scene, HN_LOOK_UNDEFINED, HN_LOOK_ADDED));
        /* Our own writing updates; whatever else comes then is somebody else's. */
        assert_false(undefined_after(scene, HN_LOOK_UPDATED, 0));
        assert_false(undefined_after(scene, HN_LOOK_UPDATED, HN_LOOK_UNDEFINED | HN_LOOK_ADDED));
        assert_false(undefined_after(scene, HN_LOOK_UNDEFINED | HN_LOOK_ADDED, HN_LOOK_UPDATED));
        assert_false(undefined_after(scene, 0, HN_LOOK_UNDEFINED));
        assert_false(undefined_after(scene, 0, HN_LOOK_ADDED));
}

static void what_is_said_much_later_is_of_something_else(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        assert_look(scene, 2, 1);
        scene->libvirt.now_ms += 20000;
        (void) hn_definitions_look(scene->definitions, &scene->libvirt, UUID,
                                   HN_LOOK_DEFINITION | HN_LOOK_UNDEFINED | HN_LOOK_ADDED);
        scene->libvirt.now_ms += 2000;
        assert_look(scene, 1, 0);
        assert_int_equal(scene->libvirt.undefines, 0);
        assert_wide(scene);
}

static void one_that_starts_is_looked_at_later(void **state)
{
        struct scene *scene = *state;

        promise(scene, UUID, 2, GIB);
        define(scene, WIDE);
        scene->libvirt.reads = 0;
        assert_int_equal(look(scene), 1000);
        /* Reading would wait for libvirt, which waits for the hook. */
        assert_int_equal(scene->libvirt.reads, 0);
        assert_copy(scene, NULL);
}

/* The same program's text again: three times at once, three times after a rest, and then no more. */
static void two_writers_come_to_rest(void **state)
{
        struct scene *scene = *state;

        define(scene, WIDE);
        scene->libvirt.other = WIDE;
        for (unsigned i = 0; i < 3; i++)
                assert_look(scene, 2, 1);
        scene->libvirt.now_ms += 20000;
        scene->libvirt.writes = 0;
        for (unsigned i = 0; i < 5; i++)
                assert_int_equal(look(scene), 40000);
        assert_int_equal(scene->libvirt.writes, 0);
        scene->libvirt.now_ms += 40000;
        for (unsigned i = 0; i < 3; i++)
                assert_look(scene, 2, 1);
        for (unsigned i = 0; i < 5; i++)
                assert_look(scene, 1, 0);
        assert_int_equal(said(scene, "left as it is"), 1);
        scene->libvirt.now_ms += 3600000;
        assert_look(scene, 1, 0);
        define(scene, DOMAIN("7", ""));
        assert_look(scene, 2, 1);
}

/* Configuring a guest step by step is no fight. */
static void many_edits_end_with_cells(void **state)
{
        static const char *const texts[] = {
                WIDE, DOMAIN("7", ""), DOMAIN("8", ""), DOMAIN("5", ""), DOMAIN("6", "<title>x</title>"),
        };
        struct scene *scene = *state;

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                define(scene, texts[i]);
                (void) look(scene);
                scene->libvirt.now_ms += 2000;
        }
        assert_string_equal(scene->libvirt.xml, texts[4]);
        scene->libvirt.now_ms += look(scene);
        assert_look(scene, 2, 1);
        assert_wide(scene);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, definitions_set_up, definitions_tear_down)
        const struct CMUnitTest tests[] = {
                T(what_comes_between_the_readings_wins),
                T(one_that_goes_between_the_readings_is_not_brought_back),
                T(one_that_was_undefined_meanwhile_goes_again),
                T(what_is_said_much_later_is_of_something_else),
                T(one_that_starts_is_looked_at_later),
                T(two_writers_come_to_rest),
                T(many_edits_end_with_cells),
        };
#undef T

        return cmocka_run_group_tests(tests, NULL, NULL);
}
