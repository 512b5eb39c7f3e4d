/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an element that homenode may have written says, in the mark's words.
 */
#include "model/mark.h"

#include <errno.h>
#include <string.h>

#include "model/domain-xml.h"
#include "model/domain.h"

#define ATTRIBUTES 5 /* of one element at most */

/* What homenode, or libvirt for it, writes into its elements: attributes, and the only child element. */
static const struct form {
        const char *name, *child;
        const char *attributes[ATTRIBUTES];
} forms[] = {
        { "vcpupin", NULL, { "vcpu", "cpuset" } },
        { "iothreadpin", NULL, { "iothread", "cpuset" } },
        { "emulatorpin", NULL, { "cpuset" } },
        { "memory", NULL, { "mode", "nodeset", "placement" } },
        { "memnode", NULL, { "cellid", "mode", "nodeset" } },
        { "topology", NULL, { "sockets", "dies", "clusters", "cores", "threads" } },
        { "numa", "cell", { NULL } },
        { "cell", "distances", { "id", "cpus", "memory", "unit" } },
        { "distances", "sibling", { NULL } },
        { "sibling", NULL, { "id", "value" } },
};

static bool has_only_known_attributes(const xmlNode *element, const struct form *form)
{
        for (const xmlAttr *attribute = element->properties; attribute; attribute = attribute->next) {
                bool known = false;

                for (size_t i = 0; i < ATTRIBUTES && form->attributes[i]; i++)
                        known |= !attribute->ns && !strcmp((const char *) attribute->name, form->attributes[i]);
                if (!known)
                        return false;
        }
        return true;
}

/* Whatever else is in an element, a comment at least, makes it the user's: it would go with ours. */
static bool is_plain(const xmlNode *element)
{
        const struct form *form = NULL;

        for (size_t i = 0; i < sizeof forms / sizeof *forms && !form; i++)
                if (hn_xml_is(element, forms[i].name))
                        form = &forms[i];
        if (!form || !has_only_known_attributes(element, form))
                return false;
        for (const xmlNode *node = element->children; node; node = node->next) {
                bool blank = node->type == XML_TEXT_NODE && xmlIsBlankNode(node);

                if (!blank && (!form->child || !hn_xml_is(node, form->child) || !is_plain(node)))
                        return false;
        }
        return true;
}

/* The attribute as a canonical list; with `below`, without the numbers from there on. */
static int canonical_set(const xmlNode *element, const char *attribute, unsigned below, char **ret)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);
        HN_BITMAP hwloc_bitmap_t set = NULL;
        int r;

        if (!text)
                return -ENOENT;
        r = hn_idset_parse_libvirt((const char *) text, HN_IDSET_LIMIT, &set);
        if (r < 0)
                return r == -ENOMEM ? r : -ENOENT;
        if (hwloc_bitmap_last(set) >= (int) below && hwloc_bitmap_clr_range(set, below, -1) < 0)
                return -ENOMEM;
        return hn_idset_format(set, ret);
}

static int canonical_number(const xmlNode *element, const char *attribute, char **ret)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);
        uint64_t number;

        if (!text || hn_text_number((const char *) text, UINT32_MAX, &number) < 0)
                return -ENOENT;
        return asprintf(ret, "%u", (unsigned) number) < 0 ? -ENOMEM : 0;
}

static int describe_pin(const xmlNode *element, const char *what, const char *number,
                        struct hn_mark_item *item)
{
        int r;

        item->what = what;
        if (number) {
                r = canonical_number(element, number, &item->key);
                if (r < 0)
                        return r;
        }
        return canonical_set(element, "cpuset", HN_IDSET_LIMIT, &item->value);
}

/* memnode, or numatune's memory */
static int describe_binding(const xmlNode *element, struct hn_mark_item *item)
{
        bool memnode = hn_xml_is(element, "memnode");
        HN_XMLCHAR xmlChar *mode = hn_xml_value(element, "mode");
        HN_XMLCHAR xmlChar *placement = hn_xml_value(element, "placement");
        HN_FREE char *nodes = NULL;
        int r;

        item->what = memnode ? "memnode" : "memory";
        if (memnode) {
                r = canonical_number(element, "cellid", &item->key);
                if (r < 0)
                        return r;
        }
        if (placement && strcmp((const char *) placement, "static"))
                return -ENOENT;
        r = canonical_set(element, "nodeset", HN_IDSET_LIMIT, &nodes);
        if (r < 0)
                return r;
        return asprintf(&item->value, "%s:%s", mode ? (const char *) mode : "strict", nodes) < 0 ? -ENOMEM
                                                                                                 : 0;
}

static int describe_topology(const xmlNode *element, struct hn_mark_item *item)
{
        static const char *const names[] = { "sockets", "dies", "clusters", "cores", "threads" };
        unsigned values[5] = { 1, 1, 1, 1, 1 };

        item->what = "topology";
        for (size_t i = 0; i < 5; i++) {
                HN_XMLCHAR xmlChar *text = hn_xml_value(element, names[i]);
                uint64_t value;

                if (!text)
                        continue;
                if (hn_text_number((const char *) text, UINT32_MAX, &value) < 0)
                        return -ENOENT;
                values[i] = (unsigned) value;
        }
        return asprintf(&item->value, "%u:%u:%u:%u:%u", values[0], values[1], values[2], values[3],
                        values[4]) < 0 ? -ENOMEM : 0;
}

/* "10,20,30": the siblings' values in the order of their numbers */
static int describe_distances(const xmlNode *cell, char **ret)
{
        unsigned values[HN_DOMAIN_CELL_LIMIT] = { 0 }, n = 0;
        char *text = NULL;
        size_t length = 0;
        FILE *out;

        HN_XML_FOREACH(sibling, hn_xml_child(cell, "distances"), "sibling") {
                HN_XMLCHAR xmlChar *id = hn_xml_value(sibling, "id");
                HN_XMLCHAR xmlChar *value = hn_xml_value(sibling, "value");
                uint64_t at, distance;

                if (!id || !value || hn_text_number((const char *) id, HN_DOMAIN_CELL_LIMIT - 1, &at) < 0 ||
                    hn_text_number((const char *) value, 255, &distance) < 0)
                        return -ENOENT;
                values[at] = (unsigned) distance;
                if (at >= n)
                        n = (unsigned) at + 1;
        }
        out = open_memstream(&text, &length);
        if (!out)
                return -ENOMEM;
        for (unsigned i = 0; i < n; i++)
                (void) fprintf(out, "%s%u", i ? "," : "", values[i]);
        if (fclose(out) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}

static int describe_cell(const xmlNode *cell, unsigned below, struct hn_mark_item *item)
{
        HN_XMLCHAR xmlChar *memory = hn_xml_value(cell, "memory");
        HN_XMLCHAR xmlChar *unit = hn_xml_value(cell, "unit");
        HN_FREE char *vcpus = NULL;
        HN_FREE char *distances = NULL;
        uint64_t kib;
        int r;

        item->what = "cell";
        if (!memory || hn_text_memory((const char *) memory, (const char *) unit, &kib) < 0)
                return -ENOENT;
        r = canonical_number(cell, "id", &item->key);
        if (r < 0)
                return r;
        r = canonical_set(cell, "cpus", below, &vcpus);
        if (r < 0)
                return r;
        r = describe_distances(cell, &distances);
        if (r < 0)
                return r;
        return asprintf(&item->value, "%s:%llu:%s", vcpus, (unsigned long long) kib, distances) < 0 ? -ENOMEM
                                                                                                    : 0;
}

static int describe_numa(const xmlNode *numa, struct hn_mark_item *item)
{
        unsigned n = 0, vcpus = 0;

        item->what = "numa";
        HN_XML_FOREACH(cell, numa, NULL) {
                HN_XMLCHAR xmlChar *text = hn_xml_value(cell, "cpus");
                HN_BITMAP hwloc_bitmap_t set = NULL;

                if (text && hn_idset_parse_libvirt((const char *) text, HN_IDSET_LIMIT, &set) < 0)
                        return -ENOENT;
                vcpus += hn_idset_count(set);
                n++;
        }
        return asprintf(&item->value, "%u:%u", n, vcpus) < 0 ? -ENOMEM : 0;
}

static bool is_below(const xmlNode *element, const char *parent)
{
        return hn_xml_is(element->parent, parent);
}

static int describe(const xmlNode *element, struct hn_mark_item *item)
{
        if (!is_plain(element))
                return -ENOENT;
        if (hn_xml_is(element, "vcpupin") && is_below(element, "cputune"))
                return describe_pin(element, "vcpupin", "vcpu", item);
        if (hn_xml_is(element, "iothreadpin") && is_below(element, "cputune"))
                return describe_pin(element, "iothreadpin", "iothread", item);
        if (hn_xml_is(element, "emulatorpin") && is_below(element, "cputune"))
                return describe_pin(element, "emulatorpin", NULL, item);
        if ((hn_xml_is(element, "memnode") || hn_xml_is(element, "memory")) && is_below(element, "numatune"))
                return describe_binding(element, item);
        if (hn_xml_is(element, "topology") && is_below(element, "cpu"))
                return describe_topology(element, item);
        if (hn_xml_is(element, "cell") && is_below(element, "numa"))
                return describe_cell(element, HN_IDSET_LIMIT, item);
        if (hn_xml_is(element, "numa") && is_below(element, "cpu"))
                return describe_numa(element, item);
        return -ENOENT;
}

/* Hands an item over, whole or not at all. */
static int deliver(struct hn_mark_item *item, int r, struct hn_mark_item *ret)
{
        if (r == 0 && !item->key) {
                item->key = strdup("");
                r = item->key ? 0 : -ENOMEM;
        }
        if (r < 0) {
                hn_mark_item_clear(item);
                return r;
        }
        *ret = *item;
        return 0;
}

int hn_mark_describe(const xmlNode *element, struct hn_mark_item *ret)
{
        struct hn_mark_item item = { 0 };

        return deliver(&item, describe(element, &item), ret);
}

int hn_mark_describe_cell(const xmlNode *cell, unsigned vcpus_below, struct hn_mark_item *ret)
{
        struct hn_mark_item item = { 0 };

        return deliver(&item, is_plain(cell) ? describe_cell(cell, vcpus_below, &item) : -ENOENT, ret);
}

void hn_mark_item_clear(struct hn_mark_item *item)
{
        free(item->key);
        free(item->value);
        *item = (struct hn_mark_item){ 0 };
}
