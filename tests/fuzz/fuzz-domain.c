/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any text as a domain: refused, or read, decided on a small host and rewritten in every form.  What comes
 * out can be read again, rewriting it again changes nothing, and undo gives back what was there.  The same
 * after somebody took out one of the elements in between, but for what was there.
 * Links libhomenode.a, hwloc, libxml2, json-c.
 */
#include <libxml/c14n.h>
#include <libxml/xmlerror.h>
#include <stdint.h>
#include <string.h>

#include "act/rewrite.h"
#include "model/mark.h"

#define EDITS 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
        if (!holds)
                abort();
}

/* Canonical XML has no words for some namespaces, and would print about each. */
static void ignore(void *context, const char *message, ...)
{
        (void) context;
        (void) message;
}

static const struct hn_situation *situation(void)
{
        static struct hn_situation made;
        static struct hn_policy policy;
        struct hn_host *host;

        if (made.host)
                return &made;
        demand(hn_host_from_description("node:4(memory=4294967296) core:2 pu:2", &host) == 0);
        hn_policy_defaults(&policy);
        xmlSetGenericErrorFunc(NULL, ignore);
        made = (struct hn_situation){ .host = host, .policy = &policy };
        return &made;
}

static char *text_of(xmlDoc *doc)
{
        char *text = NULL;
        size_t length;

        demand(hn_xml_format(doc, &text, &length) == 0);
        return text;
}

static char *canonical_of(xmlDoc *doc)
{
        xmlChar *text = NULL;

        (void) xmlC14NDocDumpMemory(doc, NULL, XML_C14N_1_0, NULL, 1, &text);
        return (char *) text;
}

static struct hn_request *request_of(xmlDoc *doc)
{
        struct hn_request *request = NULL;
        char *fault = NULL;
        int r = hn_request_parse(doc, &request, &fault);

        demand(r == 0 || r == -EINVAL);
        demand((r == -EINVAL) == (fault != NULL));
        free(fault);
        return request;
}

static void check_sums(const struct hn_request *request)
{
        uint64_t sum = 0;

        for (size_t i = 0; i < request->n_cells; i++)
                sum += request->cells[i].memory_kib;
        demand(!request->n_cells || sum == request->memory_kib);
        demand(request->memory_kib % 1024 == 0 && request->memory_kib > 0);
        demand(request->vcpus_current >= 1 && request->vcpus_current <= request->vcpus_max);
}

static void check_form(xmlDoc *original, enum hn_rewrite_form form, const struct hn_decision *decision)
{
        HN_XMLDOC xmlDoc *doc = xmlCopyDoc(original, 1);
        HN_XMLDOC xmlDoc *again = NULL;
        HN_REQUEST struct hn_request *request = NULL;
        bool marked = hn_mark_find(hn_domain_element(original));
        bool changed;

        demand(hn_rewrite_apply(doc, form, situation(), decision, &changed) == 0);
        HN_FREE char *once = text_of(doc);
        demand(hn_xml_parse(once, strlen(once), &again) == 0);
        request = request_of(again);
        demand(request);
        demand(hn_rewrite_apply(again, form, situation(), decision, &changed) == 0 && !changed);
        HN_FREE char *twice = text_of(again);
        demand(!strcmp(once, twice));

        demand(hn_rewrite_undo(again, &changed) == 0);
        HN_FREE char *before = canonical_of(original), *after = canonical_of(again);
        demand(marked || !before || !strcmp(before, after));
        demand(hn_rewrite_undo(again, &changed) == 0 && !changed);
}

/* The element after `node` in document order, within `top`. */
static xmlNode *next_element(xmlNode *node, const xmlNode *top)
{
        do {
                if (node->type == XML_ELEMENT_NODE && node->children)
                        node = node->children;
                else {
                        while (node != top && !node->next)
                                node = node->parent;
                        if (node == top)
                                return NULL;
                        node = node->next;
                }
        } while (node->type != XML_ELEMENT_NODE);
        return node;
}

static void take_out(xmlDoc *doc, size_t which)
{
        xmlNode *domain = hn_domain_element(doc), *node;
        size_t n = 0;

        for (node = next_element(domain, domain); node; node = next_element(node, domain))
                n++;
        node = n ? next_element(domain, domain) : NULL;
        for (which = n ? which % n : 0; which; which--)
                node = next_element(node, domain);
        if (node) {
                xmlUnlinkNode(node);
                xmlFreeNode(node);
        }
}

/* `original` applied, then edited, then applied to what that asks for. */
static void check_edit(xmlDoc *original, const struct hn_decision *decision, size_t which)
{
        HN_XMLDOC xmlDoc *doc = xmlCopyDoc(original, 1);
        HN_REQUEST struct hn_request *request = NULL;
        HN_DECISION struct hn_decision *second = NULL;
        bool changed;

        demand(hn_rewrite_apply(doc, HN_REWRITE_PREPARE, situation(), decision, &changed) == 0);
        take_out(doc, which);
        request = request_of(doc);
        if (request) {
                demand(hn_decide(situation(), request, &second) == 0);
                demand(hn_rewrite_apply(doc, HN_REWRITE_PREPARE, situation(), second, &changed) == 0);
                demand(hn_rewrite_apply(doc, HN_REWRITE_PREPARE, situation(), second, &changed) == 0 && !changed);
        }
        demand(hn_rewrite_undo(doc, &changed) == 0);
        demand(hn_rewrite_undo(doc, &changed) == 0 && !changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        HN_XMLDOC xmlDoc *doc = NULL;
        HN_REQUEST struct hn_request *request = NULL;
        HN_DECISION struct hn_decision *decision = NULL;

        if (hn_xml_parse((const char *) data, size, &doc) < 0)
                return 0;
        request = request_of(doc);
        if (!request)
                return 0;
        check_sums(request);
        demand(hn_decide(situation(), request, &decision) == 0);
        for (int form = HN_REWRITE_PREPARE; form <= HN_REWRITE_DEFINITION; form++)
                check_form(doc, (enum hn_rewrite_form) form, decision);
        for (size_t i = 1; i <= EDITS; i++)
                check_edit(doc, decision, size * i);
        return 0;
}
