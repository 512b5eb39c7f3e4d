/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Recorded domains as definitions on a small host: what is written needs no second writing, and undo gives back what
 * was there.
 */
#include "daemon/redefine.h"

#include "act/rewrite.h"
#include "model/host.h"
#include "unit/support/host-tree.h"
#include "unit/support/recorded.h"
#include "unit/support/test.h"
#include "unit/support/xml.h"

struct corpus {
        char *folder;
        unsigned seen, written;
};

/* Canonical, but for the attributes' quotes and the declaration. */
static void assert_undone(const char *name, const char *original, const char *written)
{
        HN_XMLDOC xmlDoc *doc = xml_of(written), *before = xml_of(original);
        char *expected = canonical_of(before), *found;
        bool changed = false;

        assert_int_equal(hn_rewrite_undo(doc, &changed), 0);
        assert_true(changed);
        found = canonical_of(doc);
        if (strcmp(expected, found) != 0)
                fail_msg("%s: undo does not give back what was there", name);
        xmlFree(expected);
        xmlFree(found);
}

static void try_domain(struct corpus *corpus, const struct hn_root *root, const char *name, const char *xml)
{
        HN_REDEFINITION struct hn_redefinition first = { 0 }, second = { 0 };
        int r = hn_redefine(root, xml, false, &first);

        corpus->seen++;
        if (r == -EBADMSG || !first.xml)
                return;
        assert_int_equal(r, 0);
        corpus->written++;
        assert_int_equal(hn_redefine(root, first.xml, false, &second), 0);
        if (second.kind != HN_REDEFINE_NOTHING)
                fail_msg("%s: written twice", name);
        assert_true(second.marked);
        if (first.kind == HN_REDEFINE_FIRST)
                assert_undone(name, xml, first.xml);
}

static void every_domain_is_written_once(void **state)
{
        struct corpus *corpus = *state;
        HN_ROOT struct hn_root data = { .fd = -1 };
        HN_CLOSEDIR DIR *dir = NULL;
        HN_HOST struct hn_host *host = NULL;
        struct tree tree;
        struct dirent *entry;

        tree_make(&tree);
        host_tree_put(&tree, 4, 4, 1);
        tree_put(&tree, "/proc/sys/kernel/random/boot_id", "11111111-2222-4333-8444-555555555555\n");
        assert_int_equal(hn_root_mkdir(&tree.root, 0700, "/run/homenode"), 0);
        assert_int_equal(hn_host_from_cache(&tree.root, false, &host), 0);
        assert_int_equal(hn_root_open(corpus->folder, &data), 0);
        assert_int_equal(hn_root_open_dir(&data, &dir, "/"), 0);
        while ((entry = readdir(dir))) {
                HN_FREE char *xml = NULL;

                if (hn_root_read(&data, HN_DOMAIN_XML_LIMIT, &xml, NULL, "/%s", entry->d_name) >= 0)
                        try_domain(corpus, &tree.root, entry->d_name, xml);
        }
        print_message("%u of %u domains written\n", corpus->written, corpus->seen);
        assert_true(corpus->written > 0);
        tree_remove(&tree);
}

int main(void)
{
        struct corpus corpus = { 0 };
        const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(every_domain_is_written_once, &corpus) };
        int r = SKIPPED;

        corpus.folder = recorded("domains");
        if (corpus.folder)
                r = cmocka_run_group_tests(tests, NULL, NULL);
        free(corpus.folder);
        return r;
}
