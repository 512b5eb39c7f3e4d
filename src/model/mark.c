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

xmlNode *hn_mark_find(const xmlNode *domain)
{
        HN_XML_FOREACH(metadata, domain, "metadata")
                for (xmlNode *node = metadata->children; node; node = node->next)
                        if (is_mark(node, "applied"))
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

/* The attribute as a canonical list; with `below`, without the numbers from there on. */
static int canonical_set(const xmlNode *element, const char *attribute, unsigned below, char **ret)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);
        HN_BITMAP hwloc_bitmap_t set = NULL;
        int r;

        if (!text)
                return -ENOENT;
        r = hn_idset_parse((const char *) text, HN_IDSET_LIMIT, &set);
        if (r < 0)
                return r == -ENOMEM ? r : -ENOENT;
        if (hwloc_bitmap_clr_range(set, below, -1) < 0)
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

static int describe_pin(const xmlNode *element, const char *what, const char *number, struct hn_mark_item *item)
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
        return asprintf(&item->value, "%s:%s", mode ? (const char *) mode : "strict", nodes) < 0 ? -ENOMEM : 0;
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

/* Other attributes or children than homenode writes make a cell the user's. */
static bool is_plain_cell(const xmlNode *cell)
{
        static const char *const ours[] = { "id", "cpus", "memory", "unit" };

        for (const xmlAttr *attribute = cell->properties; attribute; attribute = attribute->next) {
                bool known = false;

                for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
                        known |= !attribute->ns && !strcmp((const char *) attribute->name, ours[i]);
                if (!known)
                        return false;
        }
        HN_XML_FOREACH(child, cell, NULL)
                if (!hn_xml_is(child, "distances"))
                        return false;
        return true;
}

/* "10,20,30": the siblings' values in the order of their numbers */
static int describe_distances(const xmlNode *cell, char **ret)
{
        unsigned values[1024] = { 0 }, n = 0;
        char *text = NULL;
        size_t length = 0;
        FILE *out;

        HN_XML_FOREACH(sibling, hn_xml_child(cell, "distances"), "sibling") {
                HN_XMLCHAR xmlChar *id = hn_xml_value(sibling, "id");
                HN_XMLCHAR xmlChar *value = hn_xml_value(sibling, "value");
                uint64_t at, distance;

                if (!id || !value || hn_text_number((const char *) id, 1023, &at) < 0 ||
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
        if (!is_plain_cell(cell) || !memory ||
            hn_text_memory((const char *) memory, (const char *) unit, &kib) < 0)
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
        return asprintf(&item->value, "%s:%llu:%s", vcpus, (unsigned long long) kib, distances) < 0 ? -ENOMEM : 0;
}

static int describe_numa(const xmlNode *numa, struct hn_mark_item *item)
{
        unsigned n = 0, vcpus = 0;

        item->what = "numa";
        HN_XML_FOREACH(cell, numa, NULL) {
                HN_XMLCHAR xmlChar *text = hn_xml_value(cell, "cpus");
                HN_BITMAP hwloc_bitmap_t set = NULL;

                if (!hn_xml_is(cell, "cell"))
                        return -ENOENT;
                if (text && hn_idset_parse((const char *) text, HN_IDSET_LIMIT, &set) < 0)
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

static int describe(const xmlNode *element, unsigned vcpus_below, struct hn_mark_item *item)
{
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
                return describe_cell(element, vcpus_below, item);
        if (hn_xml_is(element, "numa") && is_below(element, "cpu"))
                return describe_numa(element, item);
        return -ENOENT;
}

static int describe_below(const xmlNode *element, unsigned vcpus_below, struct hn_mark_item *ret)
{
        HN_MARK_ITEM struct hn_mark_item item = { 0 };
        int r;

        r = describe(element, vcpus_below, &item);
        if (r < 0)
                return r;
        if (!item.key)
                item.key = strdup("");
        if (!item.key)
                return -ENOMEM;
        *ret = item;
        item = (struct hn_mark_item){ 0 };
        return 0;
}

int hn_mark_describe(const xmlNode *element, struct hn_mark_item *ret)
{
        return describe_below(element, HN_IDSET_LIMIT, ret);
}

void hn_mark_item_clear(struct hn_mark_item *item)
{
        free(item->key);
        free(item->value);
        *item = (struct hn_mark_item){ 0 };
}

static bool covers_item(const struct hn_mark *mark, const xmlNode *element, unsigned vcpus_below)
{
        HN_MARK_ITEM struct hn_mark_item item = { 0 };
        const char *value;

        if (describe_below(element, vcpus_below, &item) < 0)
                return false;
        value = look_up(mark, item.what, item.key);
        return value && !strcmp(value, item.value);
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
        unsigned cells, vcpus;

        return marked_numa(mark, &cells, &vcpus) &&
               covers_item(mark, cell, hn_xml_has(cell, "id", "0") ? vcpus : HN_IDSET_LIMIT);
}

static bool covers_numa(const struct hn_mark *mark, const xmlNode *numa)
{
        unsigned cells, vcpus, n = 0;

        if (!marked_numa(mark, &cells, &vcpus))
                return false;
        HN_XML_FOREACH(cell, numa, NULL) {
                if (!hn_xml_is(cell, "cell") || !covers_cell(mark, cell))
                        return false;
                n++;
        }
        return n == cells;
}

bool hn_mark_covers(const struct hn_mark *mark, const xmlNode *element)
{
        if (!xmlHashSize(mark->values))
                return false;
        if (hn_xml_is(element, "numa") && is_below(element, "cpu"))
                return covers_numa(mark, element);
        if (hn_xml_is(element, "cell") && is_below(element, "numa"))
                return covers_cell(mark, element);
        return covers_item(mark, element, HN_IDSET_LIMIT);
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
