/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading libvirt's XML: elements without a namespace, numbers, sizes and sets, each with a fault that says
 * what is wrong and where.  Internal to the readers of domain XML and to the rewriting.
 */
#pragma once

#include <libxml/tree.h>
#include <libxml/xmlmemory.h>

#include "model/idset.h"
#include "model/root.h"

static inline void hn_cleanup_xmlchar(xmlChar **text)
{
        if (*text)
                xmlFree(*text);
}
#define HN_XMLCHAR HN_CLEANUP(hn_cleanup_xmlchar)

/* The first child element, and the next sibling element, that is called `name` (NULL: anything) and stands in
 * no namespace; NULL: there is none.  `parent` may be NULL. */
xmlNode *hn_xml_child(const xmlNode *parent, const char *name);
xmlNode *hn_xml_next(const xmlNode *element, const char *name);

/* for (xmlNode *child = …) over the children of that name.  The child may not be unlinked inside. */
#define HN_XML_FOREACH(child, parent, name) \
        for (xmlNode *child = hn_xml_child(parent, name); child; child = hn_xml_next(child, name))

/* Is the element called `name`, in no namespace? */
bool hn_xml_is(const xmlNode *element, const char *name);

/* An attribute's value, or the element's text where `attribute` is NULL; NULL: not there, and as libvirt has
 * it an element without text is as good as not there.  `element` may be NULL.  Freed with xmlFree. */
xmlChar *hn_xml_value(const xmlNode *element, const char *attribute);

/* Has the attribute exactly this value? */
bool hn_xml_has(const xmlNode *element, const char *attribute, const char *value);

/* Writes "/domain/vcpu (line 4): …" to *fault, which must be NULL.  Returns -EINVAL, or -ENOMEM. */
int hn_xml_fault(char **fault, const xmlNode *where, const char *format, ...) HN_PRINTF(3, 4);

/* A decimal number; white space around it and a plus sign are allowed.  -EINVAL, -ERANGE (above `max`). */
int hn_text_number(const char *text, uint64_t max, uint64_t *ret);

/* A size as virScaleInteger of libvirt reads it: b, byte(s); k, M, G, T, P, E alone or with iB by 1024, with
 * B by 1000; upper or lower case.  Rounded up to KiB.  `unit` NULL or "": KiB.  -EINVAL, -ERANGE (2^63 bytes
 * and more). */
int hn_text_memory(const char *text, const char *unit, uint64_t *ret_kib);

/* A number, from an attribute or (NULL) the text.  -ENOENT: not there, without a fault; -EINVAL with one. */
int hn_xml_number(const xmlNode *element, const char *attribute, unsigned min, unsigned max, unsigned *ret,
                  char **fault);

/* A size in KiB, from an attribute or (NULL) the text; the unit stands in the attribute `unit`. */
int hn_xml_memory(const xmlNode *element, const char *attribute, uint64_t *ret_kib, char **fault);

/* A list of numbers below `limit`, from an attribute or (NULL) the text.  -ENOENT, -EINVAL; an empty set is one where
 * `may_be_empty`, and a fault otherwise. */
int hn_xml_idset(const xmlNode *element, const char *attribute, unsigned limit, bool may_be_empty,
                 hwloc_bitmap_t *ret, char **fault);
