/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a domain's owner wishes: <homenode:domain> in the metadata (DESIGN chapter 6).
 */
#include "model/domain-parse.h"

#include <errno.h>

static int one_of(const char *value, const char *const *names, int *ret)
{
        for (int i = 0; names[i]; i++)
                if (!strcmp(value, names[i])) {
                        *ret = i;
                        return 0;
                }
        return -EINVAL;
}

static int wish_flag(const char *value, const char *no, const char *yes, bool *ret)
{
        const char *const names[] = { no, yes, NULL };
        int choice;

        if (one_of(value, names, &choice) < 0)
                return -EINVAL;
        *ret = choice;
        return 0;
}

static int wish_placement(struct hn_wishes *wishes, const char *value)
{
        return wish_flag(value, "auto", "off", &wishes->off);
}

static int wish_nodes(struct hn_wishes *wishes, const char *value)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        int r;

        r = hn_idset_parse(value, HN_IDSET_LIMIT, &nodes);
        if (r < 0)
                return r == -ENOMEM ? r : -EINVAL;
        if (hwloc_bitmap_iszero(nodes))
                return -EINVAL;
        hwloc_bitmap_free(wishes->nodes);
        wishes->nodes = HN_TAKE(nodes);
        return 0;
}

static int wish_priority(struct hn_wishes *wishes, const char *value)
{
        static const char *const names[] = { "low", "normal", "high", NULL };
        int choice;

        if (one_of(value, names, &choice) < 0)
                return -EINVAL;
        wishes->priority = (enum hn_priority) choice;
        return 0;
}

static int wish_vnuma(struct hn_wishes *wishes, const char *value)
{
        static const char *const names[] = { "off", "auto", NULL };
        uint64_t number;
        int choice;

        if (one_of(value, names, &choice) == 0) {
                wishes->vnuma = choice ? -1 : 0;
                return 0;
        }
        if (hn_text_number(value, HN_DOMAIN_CELL_LIMIT, &number) < 0 || number < 1)
                return -EINVAL;
        wishes->vnuma = (int) number;
        return 0;
}

static int wish_spanning(struct hn_wishes *wishes, const char *value)
{
        return wish_flag(value, "allow", "forbid", &wishes->spanning_forbidden);
}

static int wish_memory(struct hn_wishes *wishes, const char *value)
{
        static const char *const names[] = { "auto", "strict", "soft", NULL };
        int choice;

        if (one_of(value, names, &choice) < 0)
                return -EINVAL;
        wishes->memory = (enum hn_memory_rule) choice;
        return 0;
}

static int wish_pinning(struct hn_wishes *wishes, const char *value)
{
        return wish_flag(value, "float", "core", &wishes->pin_cores);
}

static int wish_network(struct hn_wishes *wishes, const char *value)
{
        return wish_flag(value, "auto", "off", &wishes->network_off);
}

static int wish_storage(struct hn_wishes *wishes, const char *value)
{
        return wish_flag(value, "auto", "off", &wishes->storage_off);
}

static const struct {
        const char *name;
        int (*read)(struct hn_wishes *wishes, const char *value);
} known[] = {
        { "placement", wish_placement }, { "nodes", wish_nodes },       { "priority", wish_priority },
        { "vnuma", wish_vnuma },         { "spanning", wish_spanning }, { "memory", wish_memory },
        { "pinning", wish_pinning },     { "network", wish_network },   { "storage", wish_storage },
};

static void set_defaults(struct hn_wishes *wishes)
{
        *wishes = (struct hn_wishes){ .priority = HN_PRIORITY_NORMAL, .vnuma = -1 };
}

/* -EINVAL with a fault where the name or the value is not known. */
static int read_wish(struct hn_wishes *wishes, const xmlNode *element, const char *name, char **fault)
{
        HN_XMLCHAR xmlChar *value = hn_xml_value(element, name);
        int r;

        if (!value)
                return -ENOMEM;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
                if (strcmp(known[i].name, name))
                        continue;
                r = known[i].read(wishes, (const char *) value);
                if (r == -EINVAL)
                        return hn_xml_fault(fault, element, "%s='%s' is not known", name, value);
                return r;
        }
        return hn_xml_fault(fault, element, "there is no attribute '%s'", name);
}

static int read_element(struct hn_wishes *wishes, const xmlNode *element)
{
        HN_FREE char *fault = NULL;
        bool off;
        int r = 0;

        if (strcmp((const char *) element->name, "domain"))
                r = hn_xml_fault(&fault, element, "there is no element '%s'", element->name);
        for (const xmlAttr *a = element->properties; a && r == 0; a = a->next)
                if (!a->ns)
                        r = read_wish(wishes, element, (const char *) a->name, &fault);
        if (r != -EINVAL)
                return r;

        /* Who wrote placement="off" beside a slip of the pen still wants to be left alone. */
        off = hn_xml_has(element, "placement", "off");
        hwloc_bitmap_free(wishes->nodes);
        set_defaults(wishes);
        wishes->off = off;
        wishes->fault = HN_TAKE(fault);
        return 0;
}

int hn_read_wishes(struct hn_reading *reading)
{
        struct hn_wishes *wishes = &reading->request->wishes;

        set_defaults(wishes);
        HN_XML_FOREACH(metadata, reading->domain, "metadata")
                for (const xmlNode *node = metadata->children; node; node = node->next)
                        if (node->type == XML_ELEMENT_NODE && node->ns && node->ns->href &&
                            !strcmp((const char *) node->ns->href, HN_NS_WISHES))
                                return read_element(wishes, node);
        return 0;
}
