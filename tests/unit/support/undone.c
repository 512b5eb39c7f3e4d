/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/undone.h"

#include "act/scope.h"
#include "store/copies.h"
#include "unit/support/host-tree.h"
#include "unit/support/rewrite.h"

#define WEB "<domain type='kvm'><name>web</name><uuid>" UUID_A "</uuid>" \
        "<metadata><other:thing xmlns:other='urn:other' kept='yes'/>%s</metadata>" \
        "<memory unit='GiB'>4</memory><vcpu>4</vcpu>" \
        "<os><type arch='x86_64'>hvm</type></os>" \
        "<devices><graphics type='vnc' port='5907' passwd='secret'/></devices></domain>"

static const struct guest_plan plan = { .unit = UNIT, .confined = "0-7", .all = "0-7", .nodes = "2" };

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

char *inactive_of(virDomainPtr domain)
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

void put_web(struct scene *scene, const char *metadata, bool cells, bool start)
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

int undone_set_up(void **state)
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

int undone_tear_down(void **state)
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

void put_entry(struct scene *scene, const char *uuid, const char *unit, bool managed, const char *reason)
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

struct hn_entry *entry_of(struct scene *scene, const char *uuid)
{
        struct hn_entry *entry = NULL;

        assert_int_equal(hn_ledger_get(scene->undo.ledger, uuid, &entry), 0);
        if (!entry)
                abort(); /* the compiler can't tell */
        return entry;
}

void undo_web(struct scene *scene, struct hn_undo_domains *domains, struct hn_undo_domain **ret)
{
        hn_undo_domains_clear(domains);
        assert_int_equal(hn_undo_list(&scene->undo, domains), 0);
        *ret = hn_undo_find(domains, "web");
        assert_non_null(*ret);
        (*ret)->wanted = true;
        hn_undo_domain(&scene->undo, *ret);
}

void assert_open(struct scene *scene)
{
        assert_list_file(&scene->tree, THREADS "/emulator/cpuset.cpus", "0-7");
        assert_list_file(&scene->tree, THREADS "/vcpu0/cpuset.cpus", "0-7");
        assert_list_file(&scene->tree, THREADS "/vcpu1/cpuset.cpus", "0-7");
        assert_true(tree_file_has(&scene->tree, HN_UNITS_FILE, UNIT " AllowedCPUs=0-7 AllowedMemoryNodes=0-3\n"));
        assert_false(hn_dropin_exists(&scene->tree.root, UNIT));
}

void assert_untouched(struct scene *scene)
{
        assert_list_file(&scene->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
        assert_false(hn_root_exists(&scene->tree.root, HN_UNITS_FILE));
}

void assert_given_back(struct scene *scene)
{
        HN_ENTRY struct hn_entry *entry = entry_of(scene, UUID_A);

        assert_false(entry->managed);
        assert_string_equal(entry->reason, HN_REASON_GIVEN_BACK);
        assert_int_equal(entry->state, HN_ENTRY_STARTED);
        assert_int_equal(entry->pid, PID);
}

void assert_original(struct scene *scene)
{
        HN_FREE char *xml = inactive_of(scene->web);
        HN_XMLDOC xmlDoc *present = xml_of(xml), *before = xml_of(scene->original);
        char *a = canonical_of(present), *b = canonical_of(before);

        assert_string_equal(a, b);
        assert_has(xml, "passwd='secret'");
        xmlFree(a);
        xmlFree(b);
}
