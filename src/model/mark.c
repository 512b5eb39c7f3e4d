/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/mark.h"

#include <errno.h>
#include <libxml/hash.h>
#include <string.h>

#include "model/domain-xml.h"

struct hn_mark {
        xmlHashTable *values; /* (what, key) → value */
};

static bool is_mark(const xmlNode *node, const char *name)
{
        return node->type == XML_ELEMENT_NODE && node->ns && node->ns->href &&
               !strcmp((const char *) node->ns->href, HN_NS_MARK) && !strcmp((const char *) node->name, name);
}

bool hn_mark_is(const xmlNode *node)
{
        return is_mark(node, "applied");
}

xmlNode *hn_mark_find(const xmlNode *domain)
{
        HN_XML_FOREACH(metadata, domain, "metadata")
                for (xmlNode *node = metadata->children; node; node = node->next)
                        if (hn_mark_is(node))
                                return node;
        return NULL;
}

static void free_value(void *value, const xmlChar *name)
{
        (void) name;
        xmlFree(value);
}

static int load_item(xmlHashTable *values, const xmlNode *node)
{
        HN_XMLCHAR xmlChar *what = hn_xml_value(node, "what");
        HN_XMLCHAR xmlChar *key = hn_xml_value(node, "key");
        HN_XMLCHAR xmlChar *value = hn_xml_value(node, "value");

        if (!what)
                return 0;
        if (!value)
                value = xmlStrdup(BAD_CAST "");
        if (!value)
                return -ENOMEM;
        if (xmlHashLookup2(values, what, key ? key : BAD_CAST ""))
                return 0;
        if (xmlHashAddEntry2(values, what, key ? key : BAD_CAST "", value) < 0)
                return -ENOMEM;
        value = NULL;
        return 0;
}

int hn_mark_load(const xmlNode *domain, struct hn_mark **ret)
{
        const xmlNode *element = hn_mark_find(domain);
        HN_MARK struct hn_mark *mark = calloc(1, sizeof *mark);
        int r;

        if (!mark)
                return -ENOMEM;
        mark->values = xmlHashCreate(64);
        if (!mark->values)
                return -ENOMEM;
        for (const xmlNode *node = element ? element->children : NULL; node; node = node->next)
                if (is_mark(node, "added")) {
                        r = load_item(mark->values, node);
                        if (r < 0)
                                return r;
                }
        *ret = HN_TAKE(mark);
        return 0;
}

void hn_mark_free(struct hn_mark *mark)
{
        if (!mark)
                return;
        if (mark->values)
                xmlHashFree(mark->values, free_value);
        free(mark);
}

static const char *look_up(const struct hn_mark *mark, const char *what, const char *key)
{
        return xmlHashLookup2(mark->values, BAD_CAST what, BAD_CAST key);
}

bool hn_mark_made(const struct hn_mark *mark, const char *what)
{
        return look_up(mark, what, "");
}

static bool says(const struct hn_mark *mark, const struct hn_mark_item *item)
{
        const char *value = look_up(mark, item->what, item->key);

        return value && !strcmp(value, item->value);
}

static bool covers_item(const struct hn_mark *mark, const xmlNode *element)
{
        HN_MARK_ITEM struct hn_mark_item item = { 0 };

        return hn_mark_describe(element, &item) == 0 && says(mark, &item);
}

static bool marked_numa(const struct hn_mark *mark, unsigned *ret_cells, unsigned *ret_vcpus)
{
        const char *value = look_up(mark, "numa", "");

        return value && sscanf(value, "%u:%u", ret_cells, ret_vcpus) == 2;
}

unsigned hn_mark_vcpus(const struct hn_mark *mark)
{
        unsigned cells, vcpus;

        return marked_numa(mark, &cells, &vcpus) ? vcpus : 0;
}

/* libvirt adds vCPUs that no cell names to cell 0: those beyond the marked number don't count there. */
static bool covers_cell(const struct hn_mark *mark, const xmlNode *cell)
{
        HN_MARK_ITEM struct hn_mark_item item = { 0 };
        unsigned cells, vcpus;

        return marked_numa(mark, &cells, &vcpus) &&
               hn_mark_describe_cell(cell, hn_xml_has(cell, "id", "0") ? vcpus : HN_IDSET_LIMIT, &item) ==
                       0 &&
               says(mark, &item);
}

static bool covers_numa(const struct hn_mark *mark, const xmlNode *numa)
{
        HN_MARK_ITEM struct hn_mark_item item = { 0 };
        unsigned cells, vcpus, n = 0;

        if (!marked_numa(mark, &cells, &vcpus) || hn_mark_describe(numa, &item) < 0)
                return false;
        HN_XML_FOREACH(cell, numa, NULL) {
                if (!covers_cell(mark, cell))
                        return false;
                n++;
        }
        return n == cells;
}

bool hn_mark_covers(const struct hn_mark *mark, const xmlNode *element)
{
        if (!xmlHashSize(mark->values))
                return false;
        if (hn_xml_is(element, "numa") && hn_xml_is(element->parent, "cpu"))
                return covers_numa(mark, element);
        if (hn_xml_is(element, "cell") && hn_xml_is(element->parent, "numa"))
                return covers_cell(mark, element);
        return covers_item(mark, element);
}

static bool names_a_cell(const xmlNode *device)
{
        return hn_xml_child(hn_xml_child(device, "target"), "node");
}

bool hn_mark_cells_in_use(const struct hn_mark *mark, const xmlNode *domain)
{
        const xmlNode *devices = hn_xml_child(domain, "devices");
        const xmlNode *backing = hn_xml_child(domain, "memoryBacking");

        HN_XML_FOREACH(memnode, hn_xml_child(domain, "numatune"), "memnode")
                if (!hn_mark_covers(mark, memnode))
                        return true;
        HN_XML_FOREACH(page, hn_xml_child(backing, "hugepages"), "page")
                if (xmlHasNsProp((xmlNode *) page, BAD_CAST "nodeset", NULL))
                        return true;
        HN_XML_FOREACH(memory, devices, "memory")
                if (names_a_cell(memory))
                        return true;
        HN_XML_FOREACH(controller, devices, "controller")
                if (names_a_cell(controller))
                        return true;
        return false;
}
