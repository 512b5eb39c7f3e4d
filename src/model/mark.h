/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mark: what homenode added to a domain's XML, kept in the domain's metadata so that our pins and
 * nodes are never mistaken for the user's, and so that undo needs nothing else:
 *
 *   <homenode:applied xmlns:homenode="urn:homenode:applied:1">
 *     <homenode:added what="vcpupin" key="0" value="0-3"/>
 *     …
 *   </homenode:applied>
 *
 * An item counts as ours only while the XML still says `value` there: what the user writes over it is the user's.
 */
#pragma once

#include <libxml/tree.h>
#include <stdbool.h>

#define HN_NS_WISHES "urn:homenode:1"
#define HN_NS_MARK "urn:homenode:applied:1"

/* The mark's element, or NULL.  `domain` is the <domain> element. */
xmlNode *hn_mark_find(xmlNode *domain);

/* Is this element (a vcpupin, emulatorpin, iothreadpin, memnode, numatune/memory, topology or cpu/numa) one
 * that homenode wrote and nobody changed since? */
bool hn_mark_covers(const xmlNode *mark, const xmlNode *element);
