/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode undo: what becomes of one domain.
 */
#include "act/scope.h"
#include "store/copies.h"
#include "unit/support/rewrite.h"
#include "unit/support/undone.h"

#define OFF "<homenode:domain xmlns:homenode='urn:homenode:1' placement='off'/>"

static void a_guest_that_runs_and_its_definition_are_as_they_were(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        HN_FREE char *wide = NULL;
        struct hn_undo_domain *web;

        put_web(scene, "", true, true);
        wide = inactive_of(scene->web);
        assert_has(wide, "<cell id='1'");
        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_DONE);
        assert_int_equal(web->definition, HN_UNDO_DONE);
        assert_null(web->faults);
        assert_open(scene);
        assert_given_back(scene);
        assert_original(scene);
        assert_false(hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID_A ".xml"));
        HN_FREE char *xml = inactive_of(scene->web);
        assert_true(hn_left_is(&scene->tree.root, UUID_A, hn_left_digest(xml)));

        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_DONE);
        assert_int_equal(web->definition, HN_UNDO_NOTHING);
        assert_null(web->faults);
}

static void a_definition_alone(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, "", true, false);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_ABSENT);
        assert_int_equal(web->definition, HN_UNDO_DONE);
        assert_original(scene);
        assert_untouched(scene);
}

static void a_guest_that_the_ledger_lost_is_put_down_as_given_back(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, "", false, true);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_DONE);
        assert_int_equal(web->definition, HN_UNDO_NOTHING);
        assert_null(web->notes);
        assert_given_back(scene);
        assert_list_file(&scene->tree, THREADS "/vcpu0/cpuset.cpus", "0-7");
}

static void what_another_start_left_says_nothing(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, "", false, true);
        put_entry(scene, UUID_A, UNIT, false, "room for none");
        guest_put_process(&scene->tree, UNIT, "web", PID, TICKS + 1);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_DONE);
        assert_given_back(scene);
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);
        assert_int_equal(entry->start_ticks, TICKS + 1);
}

static void who_was_never_ours_is_not_touched(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, OFF, false, true);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_NOTHING);
        assert_untouched(scene);
        assert_false(hn_root_exists(&scene->tree.root, "/run/homenode/ledger/" UUID_A ".json"));
        put_entry(scene, UUID_A, UNIT, false, "room for none");
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_NOTHING);
        assert_untouched(scene);
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);
        assert_string_equal(entry->reason, "room for none");
}

static void nothing_is_opened_before_the_ledger_knows(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        HN_LEDGER struct hn_ledger *other = NULL;
        struct hn_undo_domain *web;

        put_web(scene, "", false, true);
        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        assert_int_equal(hn_ledger_open(&scene->tree.root, NULL, &other), 0);
        assert_int_equal(hn_ledger_lock(other, 0), 0);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_FAILED);
        assert_non_null(strstr(web->faults, "try again"));
        assert_untouched(scene);
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);
        assert_true(entry->managed);
}

static void failures_are_told(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, "", false, true);
        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        assert_int_equal(hn_root_remove(&scene->tree.root, THREADS "/vcpu0/cpuset.cpus"), 0);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_FAILED);
        assert_non_null(strstr(web->faults, "1 of the things"));
        assert_list_file(&scene->tree, THREADS "/vcpu1/cpuset.cpus", "0-7");
        assert_given_back(scene);
}

static void without_libvirt_the_guests_that_run_are_given_back(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        (void) virConnectClose(scene->undo.libvirt);
        scene->undo.libvirt = NULL;
        tree_put(&scene->tree, "/run/libvirt/qemu/web.xml",
                 "<domstatus state='running' reason='booted' pid='4242'><domain type='kvm' id='7'><name>web</name>"
                 "<uuid>" UUID_A "</uuid><memory>1048576</memory><vcpu>2</vcpu>"
                 "<os><type arch='x86_64'>hvm</type></os></domain></domstatus>");
        tree_put(&scene->tree, "/run/libvirt/qemu/half.xml", "<domstatus");
        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_DONE);
        assert_int_equal(web->definition, HN_UNDO_UNSEEN);
        assert_open(scene);
        assert_given_back(scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, undone_set_up, undone_tear_down)

/* As the hook leaves it between prepare and started. */
static void put_reservation(struct scene *scene)
{
        HN_ENTRY struct hn_entry *entry = NULL;

        put_entry(scene, UUID_A, UNIT, true, "fits one node");
        entry = entry_of(scene, UUID_A);
        entry->state = HN_ENTRY_RESERVED;
        entry->pid = 0;
        entry->start_ticks = 0;
        assert_int_equal(hn_ledger_lock(scene->undo.ledger, 0), 0);
        assert_int_equal(hn_ledger_put(scene->undo.ledger, entry, NULL), 0);
        hn_ledger_unlock(scene->undo.ledger);
}

static void one_that_is_being_started_is_given_back(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, "", false, true);
        put_reservation(scene);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_DONE);
        assert_open(scene);
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);
        assert_int_equal(entry->state, HN_ENTRY_RESERVED); /* for `started` to find */
        assert_false(entry->managed);
}

/* Given back in the ledger alone it would come up confined by its scope. */
static void one_without_cgroups_yet_stays_placed(void **state)
{
        struct scene *scene = *state;
        HN_UNDO_DOMAINS struct hn_undo_domains domains = { 0 };
        struct hn_undo_domain *web;

        put_web(scene, "", false, true);
        put_reservation(scene);
        assert_int_equal(hn_root_remove(&scene->tree.root, "/proc/%d/cgroup", PID), 0);
        undo_web(scene, &domains, &web);
        assert_int_equal(web->running, HN_UNDO_FAILED);
        assert_non_null(strstr(web->faults, "just being started, try again"));
        assert_untouched(scene);
        assert_true(hn_dropin_exists(&scene->tree.root, UNIT));
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);
        assert_true(entry->managed);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_guest_that_runs_and_its_definition_are_as_they_were),
                TEST(a_definition_alone),
                TEST(a_guest_that_the_ledger_lost_is_put_down_as_given_back),
                TEST(what_another_start_left_says_nothing),
                TEST(who_was_never_ours_is_not_touched),
                TEST(nothing_is_opened_before_the_ledger_knows),
                TEST(one_that_is_being_started_is_given_back),
                TEST(one_without_cgroups_yet_stays_placed),
                TEST(failures_are_told),
                TEST(without_libvirt_the_guests_that_run_are_given_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
