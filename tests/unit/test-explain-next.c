/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode explain for domains that do not run, over a recorded tree and libvirt's driver for tests.
 */
#include "command/command.h"

#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <stdio.h>
#include <unistd.h>

#include "model/json.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define UUID "0a1b2c3d-4e5f-4a6b-8c7d-0000000000ee"
#define WEB "<domain type='kvm'><name>web</name><uuid>" UUID "</uuid>%s<memory unit='GiB'>1</memory><vcpu>2</vcpu>" \
        "<os><type arch='x86_64'>hvm</type></os></domain>"

struct scene {
        struct tree tree;
        virConnectPtr libvirt;
};

static int set_up(void **state)
{
        static struct scene scene;

        tree_make(&scene.tree);
        host_tree_put(&scene.tree, 4, 2, 1);
        assert_int_equal(setenv("HOMENODE_ROOT", scene.tree.path, 1), 0);
        assert_int_equal(setenv("HOMENODE_URI", "test:///default", 1), 0);
        scene.libvirt = virConnectOpen("test:///default");
        assert_non_null(scene.libvirt);
        *state = &scene;
        return 0;
}

static int tear_down(void **state)
{
        struct scene *scene = *state;

        (void) virConnectClose(scene->libvirt);
        tree_remove(&scene->tree);
        return 0;
}

static void define(struct scene *scene, const char *more, bool start)
{
        HN_FREE char *xml = NULL;

        assert_true(asprintf(&xml, WEB, more) > 0);
        virDomainPtr domain = virDomainDefineXML(scene->libvirt, xml);
        assert_non_null(domain);
        if (start)
                assert_int_equal(virDomainCreate(domain), 0);
        (void) virDomainFree(domain);
}

/* Runs the command; what it printed is in *ret_text, which the caller frees. */
static int explain(struct scene *scene, const char *domain, bool json, char **ret_text)
{
        char *argv[] = { (char *) "explain", (char *) domain, json ? (char *) "--json" : NULL, NULL };
        int before = dup(STDOUT_FILENO), r;

        (void) fflush(stdout);
        tree_put(&scene->tree, "/out", "");
        HN_CLOSE int fd = hn_root_open_file(&scene->tree.root, O_RDWR | O_TRUNC, 0, "/out");
        assert_true(before >= 0 && fd >= 0);
        assert_true(dup2(fd, STDOUT_FILENO) >= 0);
        r = hn_command_explain(json ? 3 : 2, argv);
        (void) fflush(stdout);
        assert_true(dup2(before, STDOUT_FILENO) >= 0);
        (void) close(before);
        assert_int_equal(hn_root_read(&scene->tree.root, 1u << 20, ret_text, NULL, "/out"), 0);
        return r;
}

static void says_what_would_be_decided(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *text = NULL, *by_uuid = NULL;

        define(scene, "", false);
        assert_int_equal(explain(scene, "web", false, &text), HN_EXIT_DONE);
        assert_non_null(strstr(text, "web does not run. If it were started now:\n"));
        assert_non_null(strstr(text, "on node 0: fits one node"));
        assert_non_null(strstr(text, "NODE 1")); /* the runner-up, beside the winner */
        assert_non_null(strstr(text, "PROMISED ON"));
        assert_int_equal(explain(scene, UUID, false, &by_uuid), HN_EXIT_DONE);
        assert_string_equal(by_uuid, text);
        assert_false(hn_root_exists(&scene->tree.root, "/run/homenode/ledger/" UUID ".json"));
}

static void says_it_as_json(void **state)
{
        struct scene *scene = *state;
        HN_JSON struct json_object *json = NULL;
        HN_FREE char *text = NULL;
        const char *name = NULL;
        bool managed = false;

        define(scene, "", false);
        assert_int_equal(explain(scene, "web", true, &text), HN_EXIT_DONE);
        assert_int_equal(hn_json_parse(text, strlen(text), 16, &json), 0);
        assert_int_equal(hn_json_get_string(json, "state", &name), 0);
        assert_string_equal(name, "shut off");
        assert_int_equal(hn_json_get_bool(json, "managed", &managed), 0);
        assert_true(managed);
        assert_non_null(json_object_object_get(json, "score"));
        assert_non_null(json_object_object_get(json, "runner_up"));
        assert_non_null(json_object_object_get(json, "promises"));
        assert_null(json_object_object_get(json, "pid"));
        assert_null(json_object_object_get(json, "saved"));
}

static void says_who_is_left_or_refused(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *left = NULL, *refused = NULL;

        define(scene, "<metadata><h:domain xmlns:h='urn:homenode:1' placement='off'/></metadata>", false);
        assert_int_equal(explain(scene, "web", false, &left), HN_EXIT_DONE);
        assert_non_null(strstr(left, "opted out"));
        define(scene, "<metadata><h:domain xmlns:h='urn:homenode:1' nodes='9'/></metadata>", false);
        assert_int_equal(explain(scene, "web", false, &refused), HN_EXIT_DONE);
        assert_non_null(strstr(refused, "asks for node 9"));
}

static void says_why_there_is_nothing_to_say(void **state)
{
        struct scene *scene = *state;
        HN_FREE char *runs = NULL, *unknown = NULL, *away = NULL;

        define(scene, "", true);
        assert_int_equal(explain(scene, "web", false, &runs), HN_EXIT_FAILED);
        assert_string_equal(runs, "");
        assert_int_equal(explain(scene, "nobody", true, &unknown), HN_EXIT_FAILED);
        assert_int_equal(unknown[0], '{');
        assert_int_equal(setenv("HOMENODE_URI", "test:///no/such/file", 1), 0);
        assert_int_equal(explain(scene, "web", false, &away), HN_EXIT_FAILED);
        assert_string_equal(away, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(says_what_would_be_decided),
                TEST(says_it_as_json),
                TEST(says_who_is_left_or_refused),
                TEST(says_why_there_is_nothing_to_say),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
