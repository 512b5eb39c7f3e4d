/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shape at define time, over a libvirt that is played: what is written, when, and what is left alone.
 */
#include "daemon/define.h"

#include <sys/stat.h>

#include "model/host.h"
#include "store/copies.h"
#include "unit/support/entry.h"
#include "unit/support/host-tree.h"
#include "unit/support/rewrite.h"
#include "unit/support/tree.h"

#define UUID "0a1b2c3d-4e5f-4a6b-8c7d-0000000000ff"
#define COPY HN_COPIES_FOLDER "/" UUID ".xml"
#define SECRET "<graphics type='vnc' passwd='secret'/>"
#define DOMAIN(vcpus, metadata) "<domain type='kvm'>\n  <name>wide</name>\n  <uuid>" UUID "</uuid>\n" metadata \
        "  <memory unit='GiB'>4</memory>\n  <vcpu>" vcpus "</vcpu>\n  <os>\n    <type arch='x86_64'>hvm</type>\n" \
        "  </os>\n  <devices>\n    " SECRET "\n  </devices>\n</domain>\n"
#define WISH(attributes) "  <metadata>\n    <homenode:domain xmlns:homenode='urn:homenode:1' " attributes "/>\n" \
        "  </metadata>\n"
#define NARROW DOMAIN("2", "")
#define WIDE DOMAIN("6", "") /* a node has four CPUs */

/* libvirt with one domain; NULL: it has none. */
struct libvirt {
        char *xml;
        bool active;
        int read_error, write_error;
        const char *refusal;
        unsigned reads, writes, undefines;
        unsigned edit_after; /* this many readings somebody changes it to: */
        const char *edit;    /* "": undefines it */
        const char *other;   /* what another program writes over each of our definitions */
        uint64_t now_ms;
        bool dies;           /* kill -9 comes before it is written */
        struct hn_definitions *listener; /* the daemon, which looks before and after what another program writes */
};

struct scene {
        struct tree tree;
        struct libvirt libvirt;
        struct hn_definition_door door;
        struct hn_definitions *definitions;
};

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
        (void) hn_definitions_look(listener, UUID, HN_LOOK_DEFINITION | HN_LOOK_UPDATED);
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

/* Four nodes of four CPUs and 8 GiB, one of them in a page of 1 GiB. */
static int set_up(void **state)
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

static int tear_down(void **state)
{
        struct scene *scene = *state;

        hn_definitions_free(scene->definitions);
        free(scene->libvirt.xml);
        tree_remove(&scene->tree);
        return 0;
}

/* The daemon is started again. */
static void restart(struct scene *scene)
{
        hn_definitions_free(scene->definitions);
        assert_int_equal(hn_definitions_new(&scene->tree.root, &scene->door, &scene->definitions), 0);
}

static unsigned look(struct scene *scene)
{
        return hn_definitions_look(scene->definitions, UUID, HN_LOOK_DEFINITION);
}

/* Looks, and asserts how often it was read and written. */
static void assert_look(struct scene *scene, unsigned reads, unsigned writes)
{
        scene->libvirt.reads = scene->libvirt.writes = 0;
        assert_int_equal(look(scene), 0);
        assert_int_equal(scene->libvirt.reads, reads);
        assert_int_equal(scene->libvirt.writes, writes);
}

static void define(struct scene *scene, const char *xml)
{
        become(&scene->libvirt, xml);
}

static void assert_copy(struct scene *scene, const char *xml)
{
        HN_FREE char *copy = NULL;

        assert_int_equal(hn_copy_get(&scene->tree.root, UUID, &copy), xml ? 0 : -ENOENT);
        if (xml)
                assert_string_equal(copy, xml);
}

/* How often the journal says so. */
static unsigned said(struct scene *scene, const char *text)
{
        HN_FREE char *journal = NULL;
        unsigned n = 0;

        if (hn_root_read(&scene->tree.root, 65536, &journal, NULL, "/run/homenode/journal") < 0)
                return 0;
        for (const char *p = strstr(journal, text); p; p = strstr(p + 1, text))
                n++;
        return n;
}

static void assert_wide(struct scene *scene)
{
        assert_has(scene->libvirt.xml, "<cell id=\"0\"");
        assert_has(scene->libvirt.xml, "<cell id=\"1\"");
        assert_has(scene->libvirt.xml, "<memnode cellid=\"1\" mode=\"strict\"");
        assert_has(scene->libvirt.xml, "urn:homenode:applied:1");
}

/* A guest that is about to start was promised so much of a node. */
static void promise(struct scene *scene, const char *uuid, unsigned node, uint64_t memory_kib)
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

/* ---- what is written */

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
        scene->libvirt.read_error = -ENOTCONN;
        assert_look(scene, 1, 0);
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

/* ---- races */

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
                unsigned wait_ms = hn_definitions_look(scene->definitions, UUID,
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
        (void) hn_definitions_look(scene->definitions, UUID,
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
        assert_look(scene, 2, 0);
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

        assert_int_equal(hn_root_remove(&scene->tree.root, "/run/homenode/topology.json"), 0);
        assert_int_equal(hn_root_remove(&scene->tree.root, "/proc/sys/kernel/random/boot_id"), 0);
        tree_put(&scene->tree, "/run/homenode/ledger", "a file");
        define(scene, WIDE);
        assert_int_equal(look(scene), 60000);
        assert_int_equal(look(scene), 60000);
        assert_string_equal(scene->libvirt.xml, WIDE);
        assert_int_equal(scene->libvirt.writes, 0);
}

/* ---- users */

/* What the first look made of WIDE, with another text in the single place where `old` stands. */
static void edit(struct scene *scene, const char *old, const char *new)
{
        HN_FREE char *text = edited(scene->libvirt.xml, old, new);

        define(scene, text);
}

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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                T(a_wide_one_gets_its_cells),
                T(a_narrow_one_is_read_once),
                T(load_makes_no_cells),
                T(a_transient_or_missing_one_is_left),
                T(others_are_left_alone),
                T(the_policy_is_followed),
                T(what_comes_between_the_readings_wins),
                T(one_that_goes_between_the_readings_is_not_brought_back),
                T(one_that_was_undefined_meanwhile_goes_again),
                T(what_is_said_much_later_is_of_something_else),
                T(one_that_starts_is_looked_at_later),
                T(two_writers_come_to_rest),
                T(many_edits_end_with_cells),
                T(a_refused_one_stays_and_is_not_tried_again),
                T(without_a_copy_nothing_is_written),
                T(killed_before_the_writing_the_old_one_is_whole),
                T(what_is_no_domain_is_left),
                T(a_host_that_cannot_be_looked_at_is_said_once),
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
                T(nodes_follow_the_plan_but_not_often),
                T(nodes_stay_where_others_are_no_better),
        };
#undef T

        return cmocka_run_group_tests(tests, NULL, NULL);
}
