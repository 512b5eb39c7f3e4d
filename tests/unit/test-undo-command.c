/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode undo over a recorded tree and libvirt's driver for tests: "web" runs on node 2, with cells of homenode's in
 * its definition.
 */
#include "command/undo.h"

#include "act/scope.h"
#include "store/copies.h"
#include "unit/support/entry.h"
#include "unit/support/guest.h"
#include "unit/support/host-tree.h"
#include "unit/support/rewrite.h"

#define UNIT "machine-qemu\\x2d7\\x2dweb.scope"
#define GONE_UNIT "machine-qemu\\x2d3\\x2dgone.scope"
#define COMING_UNIT "machine-qemu\\x2d8\\x2dcoming.scope"
#define THREADS GUEST_THREADS(UNIT)
#define PID 4242
#define TICKS 99u

#define WEB "<domain type='kvm'><name>web</name><uuid>" UUID_A "</uuid>" \
        "<metadata><other:thing xmlns:other='urn:other' kept='yes'/>%s</metadata>" \
        "<memory unit='GiB'>4</memory><vcpu>4</vcpu>" \
        "<os><type arch='x86_64'>hvm</type></os>" \
        "<devices><graphics type='vnc' port='5907' passwd='secret'/></devices></domain>"
#define OFF "<homenode:domain xmlns:homenode='urn:homenode:1' placement='off'/>"

static const struct guest_plan plan = { .unit = UNIT, .confined = "0-7", .all = "0-7", .nodes = "2" };

struct scene {
        struct tree tree;
        struct hn_undo undo;
        virDomainPtr web;
        char *original; /* its definition before homenode's part */
};

static void put_running(struct tree *tree)
{
        guest_put_cgroups(tree, &plan);
        guest_put_process(tree, UNIT, "web", PID, TICKS);
        tree_put(tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", "0-3\n");
        tree_put(tree, THREADS "/emulator/cpuset.cpus", "4-5\n");
        tree_put(tree, THREADS "/vcpu0/cpuset.cpus", "4-5\n");
        tree_put(tree, THREADS "/vcpu1/cpuset.cpus", "4-5\n");
        tree_put(tree, "/sys/devices/system/cpu/possible", "0-7\n");
        tree_put(tree, "/sys/devices/system/node/possible", "0-3\n");
        tree_put(tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
}

static char *inactive_of(virDomainPtr domain)
{
        char *xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);

        assert_non_null(xml);
        return xml;
}

static void define(struct scene *scene, const char *xml)
{
        if (scene->web)
                (void) virDomainFree(scene->web);
        scene->web = virDomainDefineXML(scene->undo.libvirt, xml);
        assert_non_null(scene->web);
}

/* Defines web, with cells of ours where `cells`, and starts it where `start`. */
static void put_web(struct scene *scene, const char *metadata, bool cells, bool start)
{
        HN_FREE char *plain = NULL, *wide = NULL;

        assert_true(asprintf(&plain, WEB, metadata) > 0);
        define(scene, plain);
        scene->original = inactive_of(scene->web);
        if (cells) {
                wide = applied(scene->original, HN_REWRITE_DEFINITION, on_nodes_1_9, 2);
                define(scene, wide);
                assert_int_equal(hn_copy_put(&scene->tree.root, UUID_A, scene->original), 0);
        }
        if (start)
                assert_int_equal(virDomainCreate(scene->web), 0);
}

static int set_up(void **state)
{
        static struct scene scene;

        scene = (struct scene) { .undo.root = &scene.tree.root };
        tree_make(&scene.tree);
        scene.undo.io = scene.tree.files;
        host_tree_put(&scene.tree, 4, 2, 1);
        put_running(&scene.tree);
        assert_int_equal(hn_ledger_open(&scene.tree.root, NULL, &scene.undo.ledger), 0);
        assert_int_equal(hn_systemd_new(&scene.tree.root, NULL, &scene.undo.systemd), 0);
        scene.undo.libvirt = virConnectOpen("test:///default");
        assert_non_null(scene.undo.libvirt);
        *state = &scene;
        return 0;
}

static int tear_down(void **state)
{
        struct scene *scene = *state;

        if (scene->web)
                (void) virDomainFree(scene->web);
        if (scene->undo.libvirt)
                (void) virConnectClose(scene->undo.libvirt);
        free(scene->original);
        hn_ledger_close(scene->undo.ledger);
        hn_systemd_free(scene->undo.systemd);
        tree_remove(&scene->tree);
        return 0;
}

static void put_entry(struct scene *scene, const char *uuid, const char *unit, bool managed, const char *reason)
{
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "web");
        HN_BITMAP hwloc_bitmap_t nodes = set_of("2");

        entry->unit = strdup(unit);
        entry->reason = strdup(reason);
        entry->managed = managed;
        if (strcmp(unit, UNIT) == 0) {
                entry->state = HN_ENTRY_STARTED;
                entry->pid = PID;
                entry->start_ticks = TICKS;
        }
        assert_int_equal(hn_ledger_lock(scene->undo.ledger, 0), 0);
        assert_int_equal(hn_ledger_put(scene->undo.ledger, entry, "{}"), 0);
        hn_ledger_unlock(scene->undo.ledger);
        assert_int_equal(hn_dropin_write(&scene->tree.root, unit, NULL, nodes), 0);
}

static struct hn_entry *entry_of(struct scene *scene, const char *uuid)
{
        struct hn_entry *entry = NULL;

        assert_int_equal(hn_ledger_get(scene->undo.ledger, uuid, &entry), 0);
        if (!entry)
                abort(); /* the compiler can't tell */
        return entry;
}

/* Undoes web, which must be found. */
static void undo_web(struct scene *scene, struct hn_undo_domains *domains, struct hn_undo_domain **ret)
{
        hn_undo_domains_clear(domains);
        assert_int_equal(hn_undo_list(&scene->undo, domains), 0);
        *ret = hn_undo_find(domains, "web");
        assert_non_null(*ret);
        (*ret)->wanted = true;
        hn_undo_domain(&scene->undo, *ret);
}

static void assert_open(struct scene *scene)
{
        assert_list_file(&scene->tree, THREADS "/emulator/cpuset.cpus", "0-7");
        assert_list_file(&scene->tree, THREADS "/vcpu0/cpuset.cpus", "0-7");
        assert_list_file(&scene->tree, THREADS "/vcpu1/cpuset.cpus", "0-7");
        assert_true(tree_file_has(&scene->tree, HN_UNITS_FILE, UNIT " AllowedCPUs=0-7 AllowedMemoryNodes=0-3\n"));
        assert_false(hn_dropin_exists(&scene->tree.root, UNIT));
}

static void assert_untouched(struct scene *scene)
{
        assert_list_file(&scene->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
        assert_false(hn_root_exists(&scene->tree.root, HN_UNITS_FILE));
}

static void assert_given_back(struct scene *scene)
{
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);

        assert_false(entry->managed);
        assert_string_equal(entry->reason, HN_REASON_GIVEN_BACK);
        assert_int_equal(entry->state, HN_ENTRY_STARTED);
        assert_int_equal(entry->pid, PID);
}

static void assert_original(struct scene *scene)
{
        HN_FREE char *xml = inactive_of(scene->web);
        HN_XMLDOC xmlDoc *present = xml_of(xml), *before = xml_of(scene->original);
        char *a = canonical_of(present), *b = canonical_of(before);

        assert_string_equal(a, b);
        assert_has(xml, "passwd='secret'");
        xmlFree(a);
        xmlFree(b);
}

/* ---- one domain */

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
                TEST(a_domain_goes_by_id_uuid_and_name),
                TEST(what_is_told_to_programs),
                TEST(what_is_left_of_guests_that_are_gone_goes),
                TEST(without_libvirt_no_copy_goes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
