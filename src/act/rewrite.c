/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/rewrite.h"

#include <errno.h>
#include <libxml/xmlsave.h>
#include <string.h>

#include "act/rewrite-fill.h"
#include "model/domain-xml.h"

#define NO_DECLARATION (-1) /* xmlDoc.standalone of a document without <?xml …?> */

static void free_buffer(xmlBuffer **buffer)
{
        if (*buffer)
                xmlBufferFree(*buffer);
}
#define HN_XMLBUFFER HN_CLEANUP(free_buffer)

/* libxml2 would write characters beyond ASCII as references where the declaration names no encoding. */
static int write_declaration(const xmlDoc *doc, xmlBuffer *buffer)
{
        const char *version = doc->version ? (const char *) doc->version : "1.0";
        HN_FREE char *text = NULL;

        if (doc->standalone == NO_DECLARATION)
                return 0;
        if (asprintf(&text, "<?xml version=\"%s\"%s%s?>\n", version,
                     doc->encoding ? " encoding=\"UTF-8\"" : "",
                     doc->standalone == 1 ? " standalone=\"yes\"" :
                     doc->standalone == 0 ? " standalone=\"no\"" : "") < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return xmlBufferCat(buffer, BAD_CAST text) == 0 ? 0 : -ENOMEM;
}

int hn_xml_format(xmlDoc *doc, char **ret_text, size_t *ret_length)
{
        HN_XMLBUFFER xmlBuffer *buffer = xmlBufferCreate();
        xmlSaveCtxt *save;
        char *text;
        long saved;
        int r;

        if (!buffer)
                return -ENOMEM;
        r = write_declaration(doc, buffer);
        if (r < 0)
                return r;
        save = xmlSaveToBuffer(buffer, "UTF-8", XML_SAVE_NO_DECL | XML_SAVE_AS_XML);
        if (!save)
                return -ENOMEM;
        saved = xmlSaveDoc(save, doc);
        if (xmlSaveClose(save) < 0 || saved < 0)
                return -ENOMEM;
        text = strdup((const char *) xmlBufferContent(buffer));
        if (!text)
                return -ENOMEM;
        *ret_length = strlen(text);
        *ret_text = text;
        return 0;
}

/* May the decision's cells be put into a document that has none?  Not where huge pages name cells already:
 * libvirt takes "cell 0" for the whole of a domain without cells, and for a part of one with several. */
static bool may_add_cells(const struct hn_filling *filling, enum hn_rewrite_form form)
{
        const xmlNode *domain = filling->account->domain;

        return filling->decision->shape->n_cells > 1 && !filling->decision->shape->given &&
               !hn_xml_child(hn_xml_child(domain, "cpu"), "numa") &&
               (form == HN_REWRITE_PREPARE || filling->request->id < 0) &&
               !hn_mark_cells_in_use(filling->account->mark, domain);
}

/* Cells are guest ABI: they stay where the domain runs or starts, where the decision was made for them, where
 * the user changed them, and where something of the user's refers to them. */
static bool keeps_cells(const struct hn_filling *filling)
{
        const xmlNode *domain = filling->account->domain;
        const xmlNode *numa = hn_xml_child(hn_xml_child(domain, "cpu"), "numa");

        return numa && (filling->request->id >= 0 || filling->decision->shape->given ||
                        !hn_mark_covers(filling->account->mark, numa) ||
                        hn_mark_cells_in_use(filling->account->mark, domain));
}

/* Are the cells in the document homenode's (by the account, which has them in it)? */
static bool cells_ours(const struct hn_account *account)
{
        for (size_t i = 0; i < account->n_ours; i++)
                if (hn_xml_is(account->ours[i], "numa"))
                        return true;
        return false;
}

static int fill_binding(struct hn_filling *filling, enum hn_rewrite_form form, enum hn_definition definition)
{
        bool several = filling->decision->placement->n_cells > 1;

        if (form == HN_REWRITE_PREPARE)
                return several ? hn_fill_memnodes(filling) : hn_fill_memory(filling);
        if (several && definition == HN_DEFINITION_AUTO && cells_ours(filling->account))
                return hn_fill_memnodes(filling);
        return 0;
}

static int replace(struct hn_filling *filling, enum hn_rewrite_form form, enum hn_definition definition)
{
        struct hn_account *account = filling->account;
        int r;

        r = hn_account_strip(account, keeps_cells(filling) ? HN_KEEP_CELLS : HN_KEEP_NOTHING);
        if (r == 0 && may_add_cells(filling, form))
                r = hn_fill_cells(filling);
        if (r == 0)
                r = fill_binding(filling, form, definition);
        if (r == 0 && form == HN_REWRITE_PREPARE)
                r = hn_fill_pins(filling);
        return r < 0 ? r : hn_account_write(account);
}

/* -ENOENT: it says so already, or names nothing of the host's. */
static int renewal_of(const struct hn_decision *decision, const xmlNode *element, const char **ret_attribute,
                      hwloc_const_bitmap_t *ret)
{
        HN_XMLCHAR xmlChar *text = NULL;
        HN_BITMAP hwloc_bitmap_t set = NULL;
        int r;

        r = hn_fill_wanted(decision, element, ret_attribute, ret);
        if (r < 0)
                return r;
        text = hn_xml_value(element, *ret_attribute);
        if (*ret && text && hn_idset_parse_libvirt((const char *) text, HN_IDSET_LIMIT, &set) == 0 &&
            hwloc_bitmap_isequal(set, *ret))
                return -ENOENT;
        return 0;
}

static bool needs_renewal(const struct hn_filling *filling, const char *holder)
{
        hwloc_const_bitmap_t set;
        const char *attribute;

        HN_XML_FOREACH(element, hn_xml_child(filling->account->domain, holder), NULL)
                if (hn_mark_covers(filling->account->mark, element) &&
                    renewal_of(filling->decision, element, &attribute, &set) == 0)
                        return true;
        return false;
}

/* Where this host has no place for the domain, another host's nodes and CPUs only keep it from starting. */
static int unbind(struct hn_account *account)
{
        int r = hn_account_strip(account, HN_KEEP_CELLS);

        return r < 0 ? r : hn_account_write(account);
}

/* Any output of the hook at migrate and restore marks the domain as tainted: the mark is written anew only
 * where a value changes. */
static int renew(struct hn_filling *filling)
{
        struct hn_account *account = filling->account;
        size_t kept = 0;
        int r;

        if (!needs_renewal(filling, "cputune") && !needs_renewal(filling, "numatune"))
                return 0;
        r = hn_account_strip(account, HN_KEEP_ALL);
        if (r < 0)
                return r;
        for (size_t i = 0; i < account->n_ours; i++) {
                xmlNode *element = account->ours[i];
                hwloc_const_bitmap_t set;
                const char *attribute;

                r = renewal_of(filling->decision, element, &attribute, &set);
                if (r == 0 && !set) {
                        hn_rewrite_remove(element);
                        continue;
                }
                if (r == 0)
                        r = hn_rewrite_set_idset(element, attribute, set);
                if (r < 0 && r != -ENOENT)
                        return r;
                account->ours[kept++] = element;
        }
        account->n_ours = kept;
        return hn_account_write(account);
}

static int compare(xmlDoc *doc, const char *before, bool *ret_changed)
{
        HN_FREE char *after = NULL;
        size_t length;
        int r = hn_xml_format(doc, &after, &length);

        if (r < 0)
                return r;
        *ret_changed = strcmp(before, after) != 0;
        return 0;
}

static bool is_for_us(enum hn_rewrite_form form, enum hn_definition definition,
                      const struct hn_request *request, const struct hn_decision *decision)
{
        if (request->wishes.off || !request->managed_type)
                return false;
        if (form == HN_REWRITE_FILTER)
                return true;
        return decision->verdict == HN_PLACED &&
               !(form == HN_REWRITE_DEFINITION && definition == HN_DEFINITION_NEVER);
}

int hn_rewrite_apply(xmlDoc *doc, enum hn_rewrite_form form, const struct hn_situation *situation,
                     const struct hn_decision *decision, bool *ret_changed)
{
        HN_ACCOUNT struct hn_account account = { 0 };
        HN_REQUEST struct hn_request *request = NULL;
        HN_FREE char *before = NULL;
        HN_FREE char *fault = NULL;
        struct hn_filling filling = { .account = &account, .decision = decision };
        enum hn_definition definition = situation->policy->definition;
        size_t length;
        int r;

        r = hn_request_parse(doc, &request, &fault);
        if (r < 0)
                return r;
        if (!is_for_us(form, definition, request, decision)) {
                *ret_changed = false;
                return 0;
        }
        r = hn_account_open(doc, &account);
        if (r < 0)
                return r;
        r = hn_xml_format(doc, &before, &length);
        if (r < 0)
                return r;
        filling.request = request;
        if (decision->verdict != HN_PLACED)
                r = unbind(&account);
        else
                r = form == HN_REWRITE_FILTER ? renew(&filling) : replace(&filling, form, definition);
        return r < 0 ? r : compare(doc, before, ret_changed);
}

int hn_rewrite_undo(xmlDoc *doc, bool *ret_changed)
{
        HN_ACCOUNT struct hn_account account = { 0 };
        HN_FREE char *before = NULL;
        bool in_use;
        size_t length;
        int r;

        r = hn_account_open(doc, &account);
        if (r < 0)
                return r;
        r = hn_xml_format(doc, &before, &length);
        if (r < 0)
                return r;
        in_use = hn_mark_cells_in_use(account.mark, account.domain);
        r = hn_account_strip(&account, in_use ? HN_KEEP_CELLS : HN_KEEP_NOTHING);
        return r < 0 ? r : compare(doc, before, ret_changed);
}
