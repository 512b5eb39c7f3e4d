/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Putting elements into a document so that taking them out again gives back every byte.
 *
 * The rule: an added element comes directly after another element, or as the very first child; where the
 * document is indented, a white-space text goes in before it.  So what is added never touches a text that was
 * there, and taking it out is: the element, and the white space directly before it.
 */
#pragma once

#include <libxml/tree.h>

#include "model/idset.h"

/* Adds an empty element NAME to `parent` where libvirt would write it; NULL without memory. */
xmlNode *hn_rewrite_insert(xmlNode *parent, const char *name);

/* The same directly after `sibling`, a child of the same parent. */
xmlNode *hn_rewrite_insert_after(xmlNode *sibling, const char *name);

/* Gives an element's end tag a line of its own; for one that was added here and holds others. */
int hn_rewrite_close(xmlNode *element);

/* hn_rewrite_insert and hn_rewrite_close. */
xmlNode *hn_rewrite_make(xmlNode *parent, const char *name);

/* The child NAME of `parent`; made to hold others where it is missing (*ret_made). */
xmlNode *hn_rewrite_obtain(xmlNode *parent, const char *name, bool *ret_made);

/* Takes the element out, with the white space before it. */
void hn_rewrite_remove(xmlNode *element);

/* Does it hold nothing but white space, and no attributes? */
bool hn_rewrite_is_bare(const xmlNode *element);

/* Sets attributes, the old value of which goes; -ENOMEM. */
int hn_rewrite_set(xmlNode *element, const char *attribute, const char *value);
int hn_rewrite_set_number(xmlNode *element, const char *attribute, uint64_t value);
int hn_rewrite_set_idset(xmlNode *element, const char *attribute, hwloc_const_bitmap_t set);
