/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/domain-xml.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "model/text.h"

#define FAULT_LENGTH_LIMIT 400u /* bytes; the text may quote what an attacker wrote */

static bool is_wanted(const xmlNode *node, const char *name)
{
        return node->type == XML_ELEMENT_NODE && !node->ns &&
               (!name || !strcmp((const char *) node->name, name));
}

bool hn_xml_is(const xmlNode *element, const char *name)
{
        return element && is_wanted(element, name);
}

static xmlNode *first_wanted(xmlNode *node, const char *name)
{
        while (node && !is_wanted(node, name))
                node = node->next;
        return node;
}

xmlNode *hn_xml_child(const xmlNode *parent, const char *name)
{
        return parent ? first_wanted(parent->children, name) : NULL;
}

xmlNode *hn_xml_next(const xmlNode *element, const char *name)
{
        return first_wanted(element->next, name);
}

xmlChar *hn_xml_value(const xmlNode *element, const char *attribute)
{
        xmlChar *text;

        if (!element)
                return NULL;
        if (attribute)
                return xmlGetNoNsProp((xmlNode *) element, BAD_CAST attribute);
        text = xmlNodeGetContent((xmlNode *) element);
        if (text && !*text) {
                xmlFree(text);
                return NULL;
        }
        return text;
}

bool hn_xml_has(const xmlNode *element, const char *attribute, const char *value)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);

        return text && !strcmp((const char *) text, value);
}

/* Cuts at a character's boundary and takes out control characters. */
static void tame(char *text)
{
        size_t n = strlen(text);

        if (n > FAULT_LENGTH_LIMIT) {
                n = FAULT_LENGTH_LIMIT;
                while (n && ((unsigned char) text[n] & 0xc0) == 0x80)
                        n--;
                text[n] = '\0';
        }
        for (; *text; text++)
                if ((unsigned char) *text < 0x20)
                        *text = ' ';
}

int hn_xml_fault(char **fault, const xmlNode *where, const char *format, ...)
{
        HN_XMLCHAR xmlChar *path = xmlGetNodePath((xmlNode *) where);
        HN_FREE char *what = NULL;
        char *text;
        va_list arguments;

        va_start(arguments, format);
        what = hn_text_vprint(format, arguments);
        va_end(arguments);
        if (!what)
                return -ENOMEM;
        text = hn_text_print("%s (line %ld): %s", path ? (const char *) path : "?",
                             xmlGetLineNo((xmlNode *) where), what);
        if (!text)
                return -ENOMEM;
        tame(text);
        free(*fault);
        *fault = text;
        return -EINVAL;
}

int hn_text_number(const char *text, uint64_t max, uint64_t *ret)
{
        uint64_t value = 0;

        while (isspace((unsigned char) *text))
                text++;
        if (*text == '+')
                text++;
        if (!isdigit((unsigned char) *text))
                return -EINVAL;
        for (; isdigit((unsigned char) *text); text++)
                if (__builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (unsigned) (*text - '0'), &value) || value > max)
                        return -ERANGE;
        while (isspace((unsigned char) *text))
                text++;
        if (*text)
                return -EINVAL;
        *ret = value;
        return 0;
}

static int unit_bytes(const char *unit, uint64_t *ret)
{
        static const char letters[] = "kmgtpe";
        const char *letter;
        uint64_t base, bytes = 1;

        if (!strcasecmp(unit, "b") || !strcasecmp(unit, "byte") || !strcasecmp(unit, "bytes")) {
                *ret = 1;
                return 0;
        }
        letter = *unit ? strchr(letters, tolower((unsigned char) *unit)) : NULL;
        if (!letter)
                return -EINVAL;
        if (!unit[1] || !strcasecmp(unit + 1, "ib"))
                base = 1024;
        else if (!strcasecmp(unit + 1, "b"))
                base = 1000;
        else
                return -EINVAL;
        for (const char *p = letters; p <= letter; p++)
                bytes *= base;
        *ret = bytes;
        return 0;
}

int hn_text_memory(const char *text, const char *unit, uint64_t *ret_kib)
{
        uint64_t value, scale, bytes;
        int r;

        r = unit_bytes(unit && *unit ? unit : "KiB", &scale);
        if (r < 0)
                return r;
        r = hn_text_number(text, UINT64_MAX, &value);
        if (r < 0)
                return r;
        if (__builtin_mul_overflow(value, scale, &bytes) || bytes > INT64_MAX)
                return -ERANGE;
        *ret_kib = bytes / 1024 + (bytes % 1024 != 0);
        return 0;
}

int hn_xml_number(const xmlNode *element, const char *attribute, unsigned min, unsigned max, unsigned *ret,
                  char **fault)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);
        uint64_t value;

        if (!text)
                return -ENOENT;
        if (hn_text_number((const char *) text, max, &value) < 0 || value < min)
                return hn_xml_fault(fault, element, "%s%s'%s' is not a number from %u to %u",
                                    attribute ? attribute : "", attribute ? ": " : "", text, min, max);
        *ret = (unsigned) value;
        return 0;
}

int hn_xml_memory(const xmlNode *element, const char *attribute, uint64_t *ret_kib, char **fault)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);
        HN_XMLCHAR xmlChar *unit = hn_xml_value(element, "unit");

        if (!text)
                return -ENOENT;
        if (hn_text_memory((const char *) text, (const char *) unit, ret_kib) < 0)
                return hn_xml_fault(fault, element, "'%s' in '%s' is not a size", text,
                                    unit ? (const char *) unit : "KiB");
        return 0;
}

int hn_xml_idset(const xmlNode *element, const char *attribute, unsigned limit, bool may_be_empty,
                 hwloc_bitmap_t *ret, char **fault)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);
        HN_BITMAP hwloc_bitmap_t set = NULL;
        int r;

        if (!text)
                return -ENOENT;
        r = hn_idset_parse_libvirt((const char *) text, limit, &set);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || (!may_be_empty && hwloc_bitmap_iszero(set)))
                return hn_xml_fault(fault, element, "%s%s'%s' is not a list of numbers below %u",
                                    attribute ? attribute : "", attribute ? ": " : "", text, limit);
        *ret = HN_TAKE(set);
        return 0;
}
