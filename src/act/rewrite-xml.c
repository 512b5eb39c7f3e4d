/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/rewrite-xml.h"

#include <errno.h>
#include <string.h>

#include "model/domain-xml.h"
#include "model/text.h"

#define INDENT "  "

/* libvirt's order of children, as far as homenode puts something between them.  Its schema takes any. */
static const char *const in_domain[] = {
        "name", "uuid", "genid", "title", "description", "metadata", "maxMemory", "memory", "currentMemory",
        "memoryBacking", "vcpu", "vcpus", "iothreads", "iothreadids", "defaultiothread", "blkiotune",
        "memtune", "cputune", "numatune", "resource", "sysinfo", "bootloader", "bootloader_args", "os",
        "idmap", "features", "cpu", NULL
};
static const char *const in_cpu[] = {
        "model", "vendor", "topology", "cache", "maxphysaddr", "feature", "numa", NULL
};
static const char *const in_cputune[] = {
        "shares", "period", "quota", "global_period", "global_quota", "emulator_period", "emulator_quota",
        "iothread_period", "iothread_quota", "vcpupin", "emulatorpin", "iothreadpin", NULL
};
static const char *const in_numatune[] = { "memory", "memnode", NULL };

static const struct {
        const char *parent;
        const char *const *children;
} orders[] = {
        { "domain", in_domain }, { "cpu", in_cpu }, { "cputune", in_cputune }, { "numatune", in_numatune },
};

static const char *const *order_in(const xmlNode *parent)
{
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
                if (hn_xml_is(parent, orders[i].parent))
                        return orders[i].children;
        return NULL;
}

static bool comes_before(const xmlNode *element, const char *const *order, const char *name)
{
        for (; *order; order++) {
                if (hn_xml_is(element, *order))
                        return true;
                if (!strcmp(*order, name))
                        return false;
        }
        return false;
}

/* The last child that may stand before a new NAME; without an order, the last child. */
static xmlNode *find_anchor(const xmlNode *parent, const char *name)
{
        const char *const *order = order_in(parent);
        xmlNode *anchor = NULL;

        for (xmlNode *node = parent->children; node; node = node->next)
                if (node->type == XML_ELEMENT_NODE && (!order || comes_before(node, order, name)))
                        anchor = node;
        return anchor;
}

static bool is_white(const xmlNode *node)
{
        return node && node->type == XML_TEXT_NODE && xmlIsBlankNode((xmlNode *) node);
}

/* The line's end and indentation before a node ("\n    "), NULL: it does not begin a line.  What a line before it ends
 * with does not matter: it may be one text with this, or two, and is one where it was written and read again. */
static const char *indentation(const xmlNode *node)
{
        const char *line;

        if (!node->prev || node->prev->type != XML_TEXT_NODE || !node->prev->content)
                return NULL;
        line = strrchr((const char *) node->prev->content, '\n');
        return line && line[strspn(line, " \t\r\n")] == '\0' ? line : NULL;
}

static int add_text_before(xmlNode *element, const char *indent, const char *deeper)
{
        HN_FREE char *white = NULL;
        xmlNode *text;

        if (!indent)
                return 0;
        white = hn_text_print("%s%s", indent, deeper);
        if (!white)
                return -ENOMEM;
        text = xmlNewDocText(element->doc, BAD_CAST white);
        if (!text)
                return -ENOMEM;
        if (!xmlAddPrevSibling(element, text)) {
                xmlFreeNode(text);
                return -ENOMEM;
        }
        return 0;
}

xmlNode *hn_rewrite_insert_after(xmlNode *sibling, const char *name)
{
        xmlNode *element = xmlNewDocNode(sibling->doc, NULL, BAD_CAST name, NULL);

        if (!element)
                return NULL;
        if (!xmlAddNextSibling(sibling, element)) {
                xmlFreeNode(element);
                return NULL;
        }
        return add_text_before(element, indentation(sibling), "") < 0 ? NULL : element;
}

static xmlNode *insert_first(xmlNode *parent, const char *name)
{
        xmlNode *element = xmlNewDocNode(parent->doc, NULL, BAD_CAST name, NULL);
        xmlNode *first = parent->children;

        if (!element)
                return NULL;
        if (!(first ? xmlAddPrevSibling(first, element) : xmlAddChild(parent, element))) {
                xmlFreeNode(element);
                return NULL;
        }
        return add_text_before(element, indentation(parent), INDENT) < 0 ? NULL : element;
}

xmlNode *hn_rewrite_insert(xmlNode *parent, const char *name)
{
        xmlNode *anchor = find_anchor(parent, name);

        return anchor ? hn_rewrite_insert_after(anchor, name) : insert_first(parent, name);
}

int hn_rewrite_close(xmlNode *element)
{
        const char *indent = indentation(element);
        xmlNode *text;

        if (!indent)
                return 0;
        text = xmlNewDocText(element->doc, BAD_CAST indent);
        if (!text)
                return -ENOMEM;
        if (!xmlAddChild(element, text)) {
                xmlFreeNode(text);
                return -ENOMEM;
        }
        return 0;
}

xmlNode *hn_rewrite_make(xmlNode *parent, const char *name)
{
        xmlNode *element = hn_rewrite_insert(parent, name);

        return element && hn_rewrite_close(element) == 0 ? element : NULL;
}

xmlNode *hn_rewrite_obtain(xmlNode *parent, const char *name, bool *ret_made)
{
        xmlNode *element = hn_xml_child(parent, name);

        if (element) {
                *ret_made = false;
                return element;
        }
        *ret_made = true;
        return hn_rewrite_make(parent, name);
}

void hn_rewrite_remove(xmlNode *element)
{
        xmlNode *before = element->prev;

        if (is_white(before)) {
                xmlUnlinkNode(before);
                xmlFreeNode(before);
        }
        xmlUnlinkNode(element);
        xmlFreeNode(element);
}

bool hn_rewrite_is_bare(const xmlNode *element)
{
        if (element->properties || element->nsDef)
                return false;
        for (const xmlNode *node = element->children; node; node = node->next)
                if (!is_white(node))
                        return false;
        return true;
}

int hn_rewrite_set(xmlNode *element, const char *attribute, const char *value)
{
        return xmlSetProp(element, BAD_CAST attribute, BAD_CAST value) ? 0 : -ENOMEM;
}

int hn_rewrite_set_number(xmlNode *element, const char *attribute, uint64_t value)
{
        char text[24];

        (void) snprintf(text, sizeof text, "%llu", (unsigned long long) value);
        return hn_rewrite_set(element, attribute, text);
}

int hn_rewrite_set_idset(xmlNode *element, const char *attribute, hwloc_const_bitmap_t set)
{
        HN_FREE char *text = NULL;
        int r = hn_idset_format(set, &text);

        return r < 0 ? r : hn_rewrite_set(element, attribute, text);
}
