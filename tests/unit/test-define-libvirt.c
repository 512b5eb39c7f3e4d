/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The whole daemon against libvirt's driver for tests, which lives in the process: somebody else defines, edits,
 * starts and undefines, and the loop runs.
 */
#include <libvirt/virterror.h>
#include <pthread.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/turn.h"
#include "model/host.h"
#include "store/copies.h"
#include "unit/support/host-tree.h"
#include "unit/support/rewrite.h"
#include "unit/support/test.h"

#define UUID "0a1b2c3d-4e5f-4a6b-8c7d-0000000000ff"
#define BOOT_ID "11111111-2222-4333-8444-555555555555"
#define HELD "<domain type='kvm'><name>wide</name><uuid>" UUID "</uuid>" \
        "<metadata><other:thing xmlns:other='urn:other' kept='yes'/></metadata>" \
        "<memory unit='GiB'>4</memory><vcpu>%u</vcpu><os><type arch='x86_64'>hvm</type></os>" \
        "<devices><graphics type='vnc' port='5907' passwd='secret'/></devices></domain>"

struct scene {
        struct tree tree;
        struct hn_daemon daemon;
        struct hn_timer *end;
        virConnectPtr user; /* another connection, as virsh has it */
};

static void end(void *data)
{
        struct scene *scene = data;

        hn_loop_stop(scene->daemon.loop);
}

/* Until nothing is left to be looked at. */
static void settle(struct scene *scene)
{
        do {
                hn_timer_once(scene->end, 50);
                assert_int_equal(hn_loop_run(scene->daemon.loop), 0);
        } while (hn_work_count(scene->daemon.work) > 0 || !hn_connection_get(scene->daemon.connection));
}

static int set_up(void **state)
{
        static struct scene scene;
        HN_HOST struct hn_host *host = NULL;

        tree_make(&scene.tree);
        host_tree_put(&scene.tree, 4, 4, 1);
        tree_put(&scene.tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        assert_int_equal(hn_root_mkdir(&scene.tree.root, 0700, "/run/homenode"), 0);
        assert_int_equal(hn_host_from_cache(&scene.tree.root, false, &host), 0);
        assert_int_equal(setenv("HOMENODE_ROOT", scene.tree.path, 1), 0);
        assert_int_equal(setenv("HOMENODE_URI", "test:///default", 1), 0);
        assert_int_equal(hn_daemon_open(&scene.daemon), 0);
        assert_int_equal(hn_timer_new(end, &scene, &scene.end), 0);
        settle(&scene);
        scene.user = virConnectOpen("test:///default");
        assert_non_null(scene.user);
        *state = &scene;
        return 0;
}

static int tear_down(void **state)
{
        struct scene *scene = *state;

        (void) virConnectClose(scene->user);
        hn_timer_free(scene->end);
        assert_true(hn_daemon_close(&scene->daemon));
        tree_remove(&scene->tree);
        return 0;
}

static virDomainPtr define(struct scene *scene, const char *xml)
{
        virDomainPtr domain = virDomainDefineXML(scene->user, xml);

        assert_non_null(domain);
        return domain;
}

static virDomainPtr define_sized(struct scene *scene, unsigned vcpus)
{
        HN_FREE char *xml = NULL;

        assert_true(asprintf(&xml, HELD, vcpus) > 0);
        return define(scene, xml);
}

static char *inactive_of(virDomainPtr domain)
{
        char *xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);

        assert_non_null(xml);
        return xml;
}

static bool has_copy(struct scene *scene)
{
        return hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID ".xml");
}

static void assert_wide(const char *xml)
{
        assert_has(xml, "<cell id='1'");
        assert_has(xml, "<memnode cellid='1' mode='strict'");
        assert_has(xml, "urn:homenode:applied:1");
        assert_has(xml, "passwd='secret'");
        assert_has(xml, "kept=\"yes\"");
}

static void a_wide_one_gets_its_cells_and_undefining_leaves_nothing(void **state)
{
        struct scene *scene = *state;
        HN_VIRDOMAIN virDomainPtr domain = define_sized(scene, 6);
        HN_FREE char *original = inactive_of(domain), *xml = NULL, *copy = NULL, *later = NULL;

        settle(scene);
        xml = inactive_of(domain);
        assert_wide(xml);
        assert_int_equal(hn_copy_get(&scene->tree.root, UUID, &copy), 0);
        assert_string_equal(copy, original);
        hn_connection_mark_all(scene->daemon.connection);
        settle(scene);
        later = inactive_of(domain);
        assert_string_equal(later, xml);
        assert_int_equal(virDomainUndefine(domain), 0);
        settle(scene);
        assert_false(has_copy(scene));
}

static void a_narrow_one_stays_as_it_is(void **state)
{
        struct scene *scene = *state;
        HN_VIRDOMAIN virDomainPtr domain = define_sized(scene, 4);
        HN_FREE char *original = inactive_of(domain), *xml = NULL;

        settle(scene);
        xml = inactive_of(domain);
        assert_string_equal(xml, original);
        assert_false(has_copy(scene));
        assert_int_equal(virDomainUndefine(domain), 0);
}

static void one_that_is_started_at_once_gets_them_for_the_next_time(void **state)
{
        struct scene *scene = *state;
        HN_VIRDOMAIN virDomainPtr domain = define_sized(scene, 6);
        HN_FREE char *xml = NULL;

        assert_int_equal(virDomainCreate(domain), 0);
        settle(scene);
        assert_int_equal(virDomainDestroy(domain), 0);
        settle(scene);
        xml = inactive_of(domain);
        assert_wide(xml);
        assert_int_equal(virDomainUndefine(domain), 0);
        settle(scene);
        assert_false(has_copy(scene));
}

static void a_transient_one_does_not_become_persistent(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *xml = NULL;

        assert_true(asprintf(&xml, HELD, 6u) > 0);
        HN_VIRDOMAIN virDomainPtr domain = virDomainCreateXML(scene->user, xml, 0);
        assert_non_null(domain);
        settle(scene);
        assert_int_equal(virDomainIsPersistent(domain), 0);
        assert_int_equal(virDomainDestroy(domain), 0);
        settle(scene);
        assert_false(has_copy(scene));
}

static void opting_out_by_metadata_takes_them_out(void **state)
{
        struct scene *scene = *state;
        HN_VIRDOMAIN virDomainPtr domain = define_sized(scene, 6);
        HN_FREE char *xml = NULL, *again = NULL;

        settle(scene);
        assert_int_equal(virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, "<domain placement='off'/>",
                                              "homenode", "urn:homenode:1", VIR_DOMAIN_AFFECT_CONFIG), 0);
        settle(scene);
        xml = inactive_of(domain);
        assert_has_not(xml, "<cell");
        assert_has_not(xml, "applied");
        assert_has(xml, "passwd='secret'");
        assert_false(has_copy(scene));
        assert_int_equal(virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, NULL, NULL, "urn:homenode:1",
                                              VIR_DOMAIN_AFFECT_CONFIG), 0);
        settle(scene);
        again = inactive_of(domain);
        assert_wide(again);
        assert_int_equal(virDomainUndefine(domain), 0);
        settle(scene);
}

static void undo_gives_back_the_original(void **state)
{
        struct scene *scene = *state;
        const struct hn_definition_door door = hn_definition_door_to(scene->user); /* as the command has it */
        HN_VIRDOMAIN virDomainPtr domain = define_sized(scene, 6);
        HN_FREE char *original = inactive_of(domain), *xml = NULL, *message = NULL;

        settle(scene);
        assert_int_equal(hn_definition_undo(&scene->tree.root, &door, UUID, &message), 1);
        settle(scene);
        xml = inactive_of(domain);
        assert_string_equal(xml, original);
        assert_int_equal(virDomainUndefine(domain), 0);
        settle(scene);
        assert_false(hn_root_exists(&scene->tree.root, HN_COPIES_FOLDER "/" UUID ".left"));
}

/* The user undefines it after the second reading, just before it is written. */
static int write_too_late(void *libvirt, const char *xml, char **ret_message)
{
        HN_VIRDOMAIN virDomainPtr domain = virDomainLookupByUUIDString(libvirt, UUID);

        assert_non_null(domain);
        assert_int_equal(virDomainUndefine(domain), 0);
        return hn_definition_door_to(libvirt).write(libvirt, xml, ret_message);
}

static void one_that_is_undefined_while_it_is_written_does_not_come_back(void **state)
{
        struct scene *scene = *state;
        struct hn_definition_door door = hn_definition_door_to(NULL);
        struct hn_definitions **definitions = &scene->daemon.defining->definitions, *usual = *definitions;

        door.write = write_too_late;
        assert_int_equal(hn_definitions_new(&scene->tree.root, &door, definitions), 0);
        (void) virDomainFree(define_sized(scene, 6));
        settle(scene);
        assert_null(virDomainLookupByUUIDString(scene->user, UUID));
        assert_int_equal(virGetLastErrorCode(), VIR_ERR_NO_DOMAIN);
        assert_false(has_copy(scene));
        hn_definitions_free(*definitions);
        *definitions = usual;
}

/* ---- somebody holds one */

static struct {
        pthread_mutex_t lock;
        pthread_cond_t let_go;
        bool held, asked;
} holder = { .lock = PTHREAD_MUTEX_INITIALIZER, .let_go = PTHREAD_COND_INITIALIZER };

static int read_held(void *libvirt, const char *uuid, struct hn_defined *ret)
{
        hn_turn_give();
        (void) pthread_mutex_lock(&holder.lock);
        holder.asked |= strcmp(uuid, UUID) == 0;
        while (holder.held && strcmp(uuid, UUID) == 0)
                (void) pthread_cond_wait(&holder.let_go, &holder.lock);
        (void) pthread_mutex_unlock(&holder.lock);
        hn_turn_take();
        return hn_defining_door().read(libvirt, uuid, ret);
}

static void hold(bool held)
{
        (void) pthread_mutex_lock(&holder.lock);
        holder.held = held;
        (void) pthread_cond_broadcast(&holder.let_go);
        (void) pthread_mutex_unlock(&holder.lock);
}

static bool was_asked(void)
{
        bool asked;

        (void) pthread_mutex_lock(&holder.lock);
        asked = holder.asked;
        (void) pthread_mutex_unlock(&holder.lock);
        return asked;
}

/* Until nothing but the one that is held is under way. */
static void settle_but_one(struct scene *scene)
{
        do {
                hn_timer_once(scene->end, 50);
                assert_int_equal(hn_loop_run(scene->daemon.loop), 0);
        } while (hn_work_count(scene->daemon.work) > 1 || !was_asked());
}

static void others_get_their_cells_while_somebody_holds_one(void **state)
{
        struct scene *scene = *state;
        struct hn_definition_door door = hn_defining_door();
        struct hn_definitions **definitions = &scene->daemon.defining->definitions, *usual = *definitions;
        virDomainPtr domain = NULL;

        door.read = read_held;
        assert_int_equal(hn_definitions_new(&scene->tree.root, &door, definitions), 0);
        hold(true);
        HN_VIRDOMAIN virDomainPtr held = define_sized(scene, 6);
        for (unsigned i = 0; i < 20; i++) {
                HN_FREE char *whole = NULL, *other = NULL, *named = NULL;
                char last[13];

                assert_true(asprintf(&whole, HELD, 6u) > 0);
                (void) snprintf(last, sizeof last, "%012u", i);
                other = edited(whole, "0000000000ff", last);
                named = edited(other, "<name>wide", "<name>other");
                domain = define(scene, named);
                settle_but_one(scene);
                HN_FREE char *xml = inactive_of(domain);
                assert_wide(xml);
                assert_int_equal(virDomainUndefine(domain), 0);
                (void) virDomainFree(domain);
        }
        HN_FREE char *before = inactive_of(held);
        assert_null(strstr(before, "<cell id="));
        hold(false);
        settle(scene);
        HN_FREE char *after = inactive_of(held);
        assert_wide(after);
        assert_int_equal(virDomainUndefine(held), 0);
        settle(scene);
        hn_definitions_free(*definitions);
        *definitions = usual;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_wide_one_gets_its_cells_and_undefining_leaves_nothing),
                cmocka_unit_test(a_narrow_one_stays_as_it_is),
                cmocka_unit_test(one_that_is_started_at_once_gets_them_for_the_next_time),
                cmocka_unit_test(a_transient_one_does_not_become_persistent),
                cmocka_unit_test(opting_out_by_metadata_takes_them_out),
                cmocka_unit_test(one_that_is_undefined_while_it_is_written_does_not_come_back),
                cmocka_unit_test(undo_gives_back_the_original),
                cmocka_unit_test(others_get_their_cells_while_somebody_holds_one),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
