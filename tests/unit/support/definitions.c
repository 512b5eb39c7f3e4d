/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/definitions.h"

#include "model/host.h"
#include "store/copies.h"
#include "unit/support/host-tree.h"

static void become(struct libvirt *libvirt, const char *xml)
{
        free(libvirt->xml);
        libvirt->xml = xml ? strdup(xml) : NULL;
}

static int play_read(void *data, const char *uuid, struct hn_defined *ret)
{
        struct libvirt *libvirt = data;

        assert_string_equal(uuid, UUID);
        libvirt->reads++;
        if (libvirt->read_error)
                return libvirt->read_error;
        if (!libvirt->xml)
                return -ENOENT;
        *ret = (struct hn_defined) { .xml = strdup(libvirt->xml), .active = libvirt->active };
        if (libvirt->edit && libvirt->reads >= libvirt->edit_after) {
                become(libvirt, *libvirt->edit ? libvirt->edit : NULL);
                libvirt->edit = NULL;
        }
        return 0;
}

/* libvirt has the text in its own layout. */
static void listen(struct libvirt *libvirt)
{
        struct hn_definitions *listener = libvirt->listener;

        if (!listener)
                return;
        libvirt->listener = NULL;
        for (char *p = libvirt->xml; *p; p++)
                *p = *p == '"' ? '\'' : *p;
        (void) hn_definitions_look(listener, libvirt, UUID, HN_LOOK_DEFINITION | HN_LOOK_UPDATED);
        libvirt->listener = listener;
}

static int play_write(void *data, const char *xml, char **ret_message)
{
        struct libvirt *libvirt = data;

        if (libvirt->dies)
                return -ENOTCONN;
        libvirt->writes++;
        if (libvirt->refusal) {
                *ret_message = strdup(libvirt->refusal);
                return -EREMOTEIO;
        }
        if (libvirt->write_error)
                return libvirt->write_error;
        listen(libvirt);
        become(libvirt, libvirt->other ? libvirt->other : xml);
        listen(libvirt);
        return 0;
}

static int play_undefine(void *data, const char *uuid, char **ret_message)
{
        struct libvirt *libvirt = data;

        assert_string_equal(uuid, UUID);
        libvirt->undefines++;
        if (libvirt->refusal) {
                *ret_message = strdup(libvirt->refusal);
                return -EREMOTEIO;
        }
        become(libvirt, NULL);
        return 0;
}

static uint64_t play_now(void *data)
{
        const struct libvirt *libvirt = data;

        return libvirt->now_ms;
}

int definitions_set_up(void **state)
{
        static struct scene scene;
        HN_HOST struct hn_host *host = NULL;

        scene = (struct scene) {
                .door = { .data = &scene.libvirt, .read = play_read, .write = play_write,
                          .undefine = play_undefine, .now_ms = play_now },
                .libvirt.now_ms = 1,
        };
        tree_make(&scene.tree);
        host_tree_put(&scene.tree, 4, 4, 1);
        tree_put(&scene.tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        assert_int_equal(hn_root_mkdir(&scene.tree.root, 0700, "/run/homenode"), 0);
        assert_int_equal(hn_host_from_cache(&scene.tree.root, false, &host), 0);
        assert_int_equal(hn_definitions_new(&scene.tree.root, &scene.door, &scene.definitions), 0);
        *state = &scene;
        return 0;
}

int definitions_tear_down(void **state)
{
        struct scene *scene = *state;

        hn_definitions_free(scene->definitions);
        free(scene->libvirt.xml);
        tree_remove(&scene->tree);
        return 0;
}

void restart(struct scene *scene)
{
        hn_definitions_free(scene->definitions);
        assert_int_equal(hn_definitions_new(&scene->tree.root, &scene->door, &scene->definitions), 0);
}

unsigned look(struct scene *scene)
{
        return hn_definitions_look(scene->definitions, &scene->libvirt, UUID, HN_LOOK_DEFINITION);
}

void assert_look(struct scene *scene, unsigned reads, unsigned writes)
{
        scene->libvirt.reads = scene->libvirt.writes = 0;
        assert_int_equal(look(scene), 0);
        assert_int_equal(scene->libvirt.reads, reads);
        assert_int_equal(scene->libvirt.writes, writes);
}

void define(struct scene *scene, const char *xml)
{
        become(&scene->libvirt, xml);
}

void edit(struct scene *scene, const char *old, const char *new)
{
        HN_FREE char *text = edited(scene->libvirt.xml, old, new);

        define(scene, text);
}

void assert_copy(struct scene *scene, const char *xml)
{
        HN_FREE char *copy = NULL;

        assert_int_equal(hn_copy_get(&scene->tree.root, UUID, &copy), xml ? 0 : -ENOENT);
        if (xml)
                assert_string_equal(copy, xml);
}

unsigned said(struct scene *scene, const char *text)
{
        HN_FREE char *journal = NULL;
        unsigned n = 0;

        if (hn_root_read(&scene->tree.root, 65536, &journal, NULL, "/run/homenode/journal") < 0)
                return 0;
        for (const char *p = strstr(journal, text); p; p = strstr(p + 1, text))
                n++;
        return n;
}

void assert_wide(struct scene *scene)
{
        assert_has(scene->libvirt.xml, "<cell id=\"0\"");
        assert_has(scene->libvirt.xml, "<cell id=\"1\"");
        assert_has(scene->libvirt.xml, "<memnode cellid=\"1\" mode=\"strict\"");
        assert_has(scene->libvirt.xml, "urn:homenode:applied:1");
}

void promise(struct scene *scene, const char *uuid, unsigned node, uint64_t memory_kib)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = make_entry(uuid, "other");
        const struct hn_promise promised = { .node = node, .memory_kib = memory_kib, .vcpus_milli = 4000 };

        entry->placement->n_promises = 0;
        hwloc_bitmap_only(entry->placement->home, node);
        hwloc_bitmap_only(entry->placement->cells[0].nodes, node);
        assert_int_equal(hn_placement_promise(entry->placement, &promised), 0);
        assert_int_equal(hn_ledger_open(&scene->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}
