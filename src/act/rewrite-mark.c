/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/rewrite-mark.h"

#include <errno.h>

#include "model/domain-xml.h"
#include "model/domain.h"

static const char *const holder_names[HN_HOLDERS] = { "metadata", "cpu", "cputune", "numatune" };

int hn_account_open(xmlDoc *doc, struct hn_account *ret)
{
        struct hn_account account = { .domain = hn_domain_element(doc) };
        int r;

        if (!account.domain || !hn_xml_is(account.domain, "domain"))
                return -EINVAL;
        r = hn_mark_load(account.domain, &account.mark);
        if (r < 0)
                return r;
        *ret = account;
        return 0;
}

void hn_account_close(struct hn_account *account)
{
        hn_mark_free(account->mark);
        free(account->ours);
}

int hn_account_add(struct hn_account *account, xmlNode *element)
{
        xmlNode **grown = reallocarray(account->ours, account->n_ours + 1, sizeof *grown);

        if (!grown)
                return -ENOMEM;
        account->ours = grown;
        grown[account->n_ours++] = element;
        return 0;
}

static int keep_element(struct hn_account *account, xmlNode *element)
{
        int r = hn_account_add(account, element);

        if (r < 0 || !hn_xml_is(element, "numa"))
                return r;
        HN_XML_FOREACH(cell, element, "cell") {
                r = hn_account_add(account, cell);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int strip_children(struct hn_account *account, const char *parent, bool keep)
{
        xmlNode *next;
        int r;

        for (xmlNode *child = hn_xml_child(hn_xml_child(account->domain, parent), NULL); child;
             child = next) {
                next = hn_xml_next(child, NULL);
                if (!hn_mark_covers(account->mark, child))
                        continue;
                if (!keep)
                        hn_rewrite_remove(child);
                else {
                        r = keep_element(account, child);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* Holders that lost the last of what they held. */
static void drop_bare_holders(struct hn_account *account)
{
        for (int i = 0; i < HN_HOLDERS; i++) {
                xmlNode *element = hn_xml_child(account->domain, holder_names[i]);

                if (!account->made[i] || !element || !hn_rewrite_is_bare(element))
                        continue;
                hn_rewrite_remove(element);
                account->made[i] = false;
        }
}

/* However many somebody put together: in one pass. */
static void remove_marks(xmlNode *domain)
{
        HN_XML_FOREACH(metadata, domain, "metadata")
                for (xmlNode *node = metadata->children, *next; node; node = next) {
                        next = node->next;
                        if (hn_mark_is(node))
                                hn_rewrite_remove(node);
                }
}

int hn_account_strip(struct hn_account *account, enum hn_keep keep)
{
        int r;

        if (!hn_mark_find(account->domain))
                return 0;
        r = strip_children(account, "cpu", keep != HN_KEEP_NOTHING);
        if (r == 0)
                r = strip_children(account, "numatune", keep == HN_KEEP_ALL);
        if (r == 0)
                r = strip_children(account, "cputune", keep == HN_KEEP_ALL);
        if (r < 0)
                return r;
        remove_marks(account->domain);
        for (int i = 0; i < HN_HOLDERS; i++)
                account->made[i] = hn_mark_made(account->mark, holder_names[i]);
        drop_bare_holders(account);
        return 0;
}

xmlNode *hn_account_holder(struct hn_account *account, enum hn_holder holder)
{
        bool made;
        xmlNode *element = hn_rewrite_obtain(account->domain, holder_names[holder], &made);

        if (element)
                account->made[holder] |= made;
        return element;
}

static xmlNode *add_line(xmlNode *mark, xmlNode **last, const char *what)
{
        xmlNode *line = *last ? hn_rewrite_insert_after(*last, "added") : hn_rewrite_insert(mark, "added");

        if (!line)
                return NULL;
        xmlSetNs(line, mark->ns);
        *last = line;
        return hn_rewrite_set(line, "what", what) < 0 ? NULL : line;
}

static int write_item(xmlNode *mark, xmlNode **last, const xmlNode *element)
{
        HN_MARK_ITEM struct hn_mark_item item = { 0 };
        xmlNode *line;
        int r;

        r = hn_mark_describe(element, &item);
        if (r < 0)
                return r;
        line = add_line(mark, last, item.what);
        if (!line)
                return -ENOMEM;
        if (*item.key) {
                r = hn_rewrite_set(line, "key", item.key);
                if (r < 0)
                        return r;
        }
        return hn_rewrite_set(line, "value", item.value);
}

static int write_lines(const struct hn_account *account, xmlNode *mark)
{
        xmlNode *last = NULL;
        int r;

        for (int i = 0; i < HN_HOLDERS; i++)
                if (account->made[i] && !add_line(mark, &last, holder_names[i]))
                        return -ENOMEM;
        for (size_t i = 0; i < account->n_ours; i++) {
                r = write_item(mark, &last, account->ours[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int hn_account_write(struct hn_account *account)
{
        xmlNode *metadata, *mark;
        xmlNs *ns;

        drop_bare_holders(account);
        if (!account->n_ours)
                return 0;
        metadata = hn_account_holder(account, HN_HOLDER_METADATA);
        if (!metadata)
                return -ENOMEM;
        mark = hn_rewrite_make(metadata, "applied");
        if (!mark)
                return -ENOMEM;
        ns = xmlNewNs(mark, BAD_CAST HN_NS_MARK, BAD_CAST "homenode");
        if (!ns)
                return -ENOMEM;
        xmlSetNs(mark, ns);
        return write_lines(account, mark);
}
