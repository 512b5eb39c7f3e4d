/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode undo: which domains it finds, what it tells of them, and what is left of those that are gone.
 */
#include "act/scope.h"
#include "store/copies.h"
#include "unit/support/undone.h"

#define GONE_UNIT "machine-qemu\\x2d3\\x2dgone.scope"
#define COMING_UNIT "machine-qemu\\x2d8\\x2dcoming.scope"

/* ---- which */

static void a_domain_goes_by_id_uuid_and_name(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        HN_FREE char *id = NULL;

        put_web(scene, "", false, true);
        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        assert_int_equal(hn_undo_list(&scene->undo, &domains), 0);
        assert_int_equal(domains.n, 2); /* the driver has one of its own, "test" */
        assert_true(asprintf(&id, "%u", virDomainGetID(scene->web)) > 0);
        struct hn_undo_domain *web = hn_undo_find(&domains, "web");
        assert_non_null(web);
        assert_ptr_equal(hn_undo_find(&domains, id), web);
        assert_ptr_equal(hn_undo_find(&domains, "0A1B2C3D-4E5F-4A6B-8C7D-00000000000A"), web);
        assert_null(hn_undo_find(&domains, "we"));
        assert_null(hn_undo_find(&domains, ""));
        assert_null(hn_undo_find(&domains, "-1"));
        assert_null(hn_undo_find(&domains, "99999999999999999999"));
}

static void what_is_told_to_programs(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        const struct hn_undo_rest rest = { .dropins = 2, .records = 3, .copies = 1 };
        struct hn_undo_domain *web;
        struct json_object *json = NULL, *array, *first, *removed;

        put_web(scene, "", true, false);
        undo_web(scene, &domains, &web);
        assert_int_equal(hn_undo_to_json(&scene->undo, &domains, &rest, &json), 0);
        array = json_object_object_get(json, "domains");
        assert_int_equal(json_object_array_length(array), 1);
        first = json_object_array_get_idx(array, 0);
        assert_string_equal(json_object_get_string(json_object_object_get(first, "uuid")), UUID_A);
        assert_string_equal(json_object_get_string(json_object_object_get(first, "running")), "absent");
        assert_string_equal(json_object_get_string(json_object_object_get(first, "definition")), "done");
        removed = json_object_object_get(json, "removed");
        assert_int_equal(json_object_get_int(json_object_object_get(removed, "drop_ins")), 2);
        assert_int_equal(json_object_get_int(json_object_object_get(removed, "records")), 3);
        json_object_put(json);
}

/* ---- the rest */

static void what_is_left_of_guests_that_are_gone_goes(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        HN_BITMAP hwloc_bitmap_t nodes = set_of("1");
        struct hn_undo_rest rest = { 0 };

        put_web(scene, "", true, true);
        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        put_entry(scene, UUID_B, COMING_UNIT, true, "is being started");
        assert_int_equal(hn_dropin_write(&scene->tree.root, GONE_UNIT, NULL, nodes), 0);
        tree_put(&scene->tree, "/run/systemd/system/machine-qemu\\x2d5\\x2dusers.scope.d/10-user.conf", "[Scope]\n");
        tree_put(&scene->tree, "/run/homenode/ledger/" UUID_C ".json", "{");
        tree_put(&scene->tree, "/run/homenode/ledger/." UUID_C ".json.17.tmp", "{");
        tree_put(&scene->tree, "/run/homenode/explain/" UUID_C ".json", "{}");
        assert_int_equal(hn_copy_put(&scene->tree.root, UUID_C, "<domain/>"), 0);
        assert_int_equal(hn_left_put(&scene->tree.root, UUID_C, 1), 0);
        assert_int_equal(hn_undo_list(&scene->undo, &domains), 0);
        hn_undo_rest(&scene->undo, &domains, &rest);
        assert_null(rest.faults);
        assert_int_equal(rest.dropins, 1);
        assert_int_equal(rest.records, 3);
        assert_int_equal(rest.copies, 1);
        assert_false(hn_dropin_exists(&scene->tree.root, GONE_UNIT));
        assert_true(hn_dropin_exists(&scene->tree.root, UNIT));
        assert_true(hn_dropin_exists(&scene->tree.root, COMING_UNIT));
        assert_true(hn_root_exists(&scene->tree.root,
                                   "/run/systemd/system/machine-qemu\\x2d5\\x2dusers.scope.d/10-user.conf"));
        assert_false(hn_root_exists(&scene->tree.root, "/run/homenode/explain/" UUID_C ".json"));
        assert_true(hn_root_exists(&scene->tree.root, "/run/homenode/explain/" UUID_A ".json"));
        assert_false(hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID_C ".xml"));
        assert_true(hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID_A ".xml"));
        HN_ENTRY struct hn_entry *coming = entry_of(scene, UUID_B);
        assert_int_equal(coming->state, HN_ENTRY_RESERVED);
}

static void without_libvirt_no_copy_goes(void **state)
{
        struct scene *scene = *state;
        const struct hn_undo_domains domains = { 0 };
        struct hn_undo_rest rest = { 0 };

        (void) virConnectClose(scene->undo.libvirt);
        scene->undo.libvirt = NULL;
        assert_int_equal(hn_copy_put(&scene->tree.root, UUID_C, "<domain/>"), 0);
        hn_undo_rest(&scene->undo, &domains, &rest);
        assert_int_equal(rest.copies, 0);
        assert_true(hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID_C ".xml"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, undone_set_up, undone_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_domain_goes_by_id_uuid_and_name),
                TEST(what_is_told_to_programs),
                TEST(what_is_left_of_guests_that_are_gone_goes),
                TEST(without_libvirt_no_copy_goes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
