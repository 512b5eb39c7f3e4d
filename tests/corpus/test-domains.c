/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Domains as other projects write them: what is rewritten stays as valid as it was, rewriting twice is
 * rewriting once, undo gives back what was there, and what homenode has no business with comes out as it
 * went in.
 *
 * The schema is the installed libvirt's, or $HOMENODE_SCHEMA's; without one all else is tested.
 */
#include <dirent.h>
#include <libxml/relaxng.h>

#include "act/rewrite.h"
#include "unit/support/decision.h"
#include "unit/support/recorded.h"
#include "unit/support/test.h"
#include "unit/support/xml.h"

#define INSTALLED_SCHEMA "/usr/share/libvirt/schemas/domain.rng"
#define SMALL_HOST "node:4(memory=4294967296) core:2 pu:2" /* so that some are split */
#define MIB_KIB 1024u
#define CELLS_MOST 3u

struct corpus {
        char *folder;
        struct hn_situation situation;
        xmlRelaxNG *schema;  /* NULL: none there */
        size_t seen, valid, placed, split;
};

static void ignore(void *context, const char *message, ...)
{
        (void) context;
        (void) message;
}

static bool is_valid(const struct corpus *corpus, xmlDoc *doc)
{
        xmlRelaxNGValidCtxt *context = xmlRelaxNGNewValidCtxt(corpus->schema);
        int r;

        assert_non_null(context);
        xmlRelaxNGSetValidErrors(context, ignore, ignore, NULL);
        r = xmlRelaxNGValidateDoc(context, doc);
        xmlRelaxNGFreeValidCtxt(context);
        return r == 0;
}

static char *text_of(xmlDoc *doc)
{
        char *text = NULL;
        size_t length;

        assert_int_equal(hn_xml_format(doc, &text, &length), 0);
        return text;
}

/* The request, or NULL where libvirt would refuse the domain too. */
static struct hn_request *try_request(xmlDoc *doc)
{
        struct hn_request *request = NULL;
        HN_FREE char *fault = NULL;

        return hn_request_parse(doc, &request, &fault) < 0 ? NULL : request;
}

/* Any decision will do here: `n` cells on nodes 4, 5, …, or the domain's own cells. */
static struct hn_decision *decide_by_hand(const struct hn_request *request, unsigned n)
{
        struct cell_spec cells[HN_DOMAIN_CELL_LIMIT];
        char texts[CELLS_MOST][48];
        unsigned each;

        if (request->n_cells) {
                for (size_t i = 0; i < request->n_cells; i++)
                        cells[i] = (struct cell_spec){ "", request->cells[i].memory_kib, i % 2 ? "5" : "4",
                                                       "16-31" };
                return decision_of(cells, request->n_cells, true);
        }
        each = request->vcpus_max / n;
        for (unsigned i = 0; i < n; i++) {
                unsigned last = i == n - 1 ? request->vcpus_max - 1 : (i + 1) * each - 1;

                (void) snprintf(texts[i], sizeof texts[i], "%u-%u", i * each, last);
                cells[i] = (struct cell_spec){ texts[i], (uint64_t) MIB_KIB, i % 2 ? "5" : "4", "16-31" };
        }
        cells[0].memory_kib = request->memory_kib - (n - 1) * MIB_KIB;
        return decision_of(cells, n, false);
}

static void check_one(struct corpus *corpus, xmlDoc *original, bool valid, enum hn_rewrite_form form,
                      const struct hn_decision *decision)
{
        HN_XMLDOC xmlDoc *doc = xmlCopyDoc(original, 1);
        HN_FREE char *before = canonical_of(original);
        bool changed;

        assert_int_equal(hn_rewrite_apply(doc, form, &corpus->situation, decision, &changed), 0);
        HN_FREE char *once = text_of(doc);
        if (valid)
                assert_true(is_valid(corpus, doc));

        HN_XMLDOC xmlDoc *again = xml_of(once);
        assert_int_equal(hn_rewrite_apply(again, form, &corpus->situation, decision, &changed), 0);
        HN_FREE char *twice = text_of(again);
        assert_string_equal(once, twice);

        assert_int_equal(hn_rewrite_undo(again, &changed), 0);
        HN_FREE char *after = canonical_of(again);
        assert_string_equal(before, after);
        corpus->split += form == HN_REWRITE_DEFINITION && strstr(once, "what=\"numa\"");
}

/* A real decision, and then a second one on what came out: that must change nothing more. */
static void check_decided(struct corpus *corpus, xmlDoc *original, bool valid, enum hn_rewrite_form form)
{
        HN_REQUEST struct hn_request *request = try_request(original), *now = NULL;
        HN_DECISION struct hn_decision *decision = NULL, *second = NULL;
        HN_XMLDOC xmlDoc *doc = xmlCopyDoc(original, 1);
        bool changed;

        assert_int_equal(hn_decide(&corpus->situation, request, &decision), 0);
        corpus->placed += decision->verdict == HN_PLACED;
        check_one(corpus, original, valid, form, decision);

        assert_int_equal(hn_rewrite_apply(doc, form, &corpus->situation, decision, &changed), 0);
        now = try_request(doc);
        assert_non_null(now);
        assert_int_equal(hn_decide(&corpus->situation, now, &second), 0);
        assert_int_equal(second->verdict, decision->verdict);
        HN_FREE char *once = text_of(doc);
        assert_int_equal(hn_rewrite_apply(doc, form, &corpus->situation, second, &changed), 0);
        HN_FREE char *twice = text_of(doc);
        assert_string_equal(once, twice);
}

/* What the owner or the type keeps homenode from comes out byte by byte. */
static void check_untouched(struct corpus *corpus, xmlDoc *doc, bool opt_out)
{
        xmlNode *domain = hn_domain_element(doc), *metadata, *wish;

        if (opt_out) {
                metadata = xmlNewChild(domain, NULL, BAD_CAST "metadata", NULL);
                wish = xmlNewChild(metadata, NULL, BAD_CAST "domain", NULL);
                xmlSetNs(wish, xmlNewNs(wish, BAD_CAST "urn:homenode:1", BAD_CAST "h"));
                xmlNewProp(wish, BAD_CAST "placement", BAD_CAST "off");
        }
        HN_FREE char *before = text_of(doc);
        for (int form = HN_REWRITE_PREPARE; form <= HN_REWRITE_DEFINITION; form++) {
                HN_REQUEST struct hn_request *request = try_request(doc);
                HN_DECISION struct hn_decision *decision = decide_by_hand(request, 1);
                bool changed = true;

                assert_int_equal(hn_rewrite_apply(doc, (enum hn_rewrite_form) form, &corpus->situation,
                                                  decision, &changed),
                                 0);
                HN_FREE char *after = text_of(doc);
                assert_false(changed);
                assert_string_equal(before, after);
        }
}

static void check_file(struct corpus *corpus, const char *name)
{
        struct hn_root root;
        HN_FREE char *text = NULL;
        HN_XMLDOC xmlDoc *doc = NULL;
        size_t length;
        bool valid;

        assert_int_equal(hn_root_open(corpus->folder, &root), 0);
        assert_int_equal(hn_root_read(&root, HN_DOMAIN_XML_LIMIT, &text, &length, "/%s", name), 0);
        hn_root_close(&root);
        assert_int_equal(hn_xml_parse(text, length, &doc), 0);
        HN_REQUEST struct hn_request *request = try_request(doc);
        valid = corpus->schema && is_valid(corpus, doc);
        corpus->seen++;
        corpus->valid += valid;
        if (!request)
                return;
        for (int form = HN_REWRITE_PREPARE; request->managed_type && form <= HN_REWRITE_DEFINITION; form++) {
                check_decided(corpus, doc, valid, (enum hn_rewrite_form) form);
                for (unsigned n = 1; n <= CELLS_MOST && n <= request->vcpus_max; n++) {
                        HN_DECISION struct hn_decision *decision = decide_by_hand(request, n);

                        check_one(corpus, doc, valid, (enum hn_rewrite_form) form, decision);
                }
        }
        check_untouched(corpus, doc, request->managed_type);
}

static void every_domain_comes_through(void **state)
{
        struct corpus *corpus = *state;
        struct dirent **entries = NULL;
        int n = scandir(corpus->folder, &entries, NULL, alphasort);

        assert_true(n > 0);
        for (int i = 0; i < n; i++) {
                const char *dot = strrchr(entries[i]->d_name, '.');

                if (dot && !strcmp(dot, ".xml")) {
                        print_message("%s\n", entries[i]->d_name);
                        check_file(corpus, entries[i]->d_name);
                }
                free(entries[i]);
        }
        free(entries);
        print_message("%zu files, %zu valid, %zu placements, %zu split definitions\n", corpus->seen,
                      corpus->valid, corpus->placed, corpus->split);
        assert_true(corpus->placed >= corpus->seen && corpus->split > 0);
}

static xmlRelaxNG *load_schema(void)
{
        const char *file = getenv("HOMENODE_SCHEMA");
        xmlRelaxNGParserCtxt *context;
        xmlRelaxNG *schema;

        context = xmlRelaxNGNewParserCtxt(file && *file ? file : INSTALLED_SCHEMA);
        assert_non_null(context);
        xmlRelaxNGSetParserErrors(context, ignore, ignore, NULL);
        schema = xmlRelaxNGParse(context);
        xmlRelaxNGFreeParserCtxt(context);
        if (!schema)
                print_message("SKIPPED: validation, for there is no libvirt schema here\n");
        return schema;
}

int main(void)
{
        struct corpus corpus = { 0 };
        const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(every_domain_comes_through, &corpus) };
        HN_HOST struct hn_host *host = NULL;
        struct hn_policy policy;
        int failed;

        corpus.folder = recorded("domains");
        if (!corpus.folder)
                return SKIPPED;
        if (hn_host_from_description(SMALL_HOST, &host) < 0)
                return 1;
        hn_policy_defaults(&policy);
        corpus.situation = (struct hn_situation){ .host = host, .policy = &policy };
        corpus.schema = load_schema();
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        xmlRelaxNGFree(corpus.schema);
        free(corpus.folder);
        return failed;
}
