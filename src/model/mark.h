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
 * An item counts as ours only while the XML still says `value` there, and nothing else: what the user writes over it
 * or into it is the user's.
 *
 *   what          key      value
 *   vcpupin       vCPU     its CPUs, as a canonical list
 *   iothreadpin   iothread the same
 *   emulatorpin            the same
 *   memnode       cell     mode:nodes
 *   memory                 mode:nodes (of numatune)
 *   topology               sockets:dies:clusters:cores:threads
 *   numa                   number of cells:number of vCPUs
 *   cell          cell     vCPUs:KiB:distances
 *   metadata, cpu, cputune, numatune: elements made only to hold the others; no key, no value
 */
#pragma once

#include <libxml/tree.h>
#include <stdbool.h>

#include "model/cleanup.h"

#define HN_NS_WISHES "urn:homenode:1"
#define HN_NS_MARK "urn:homenode:applied:1"

/* Is this child of <metadata> a mark? */
bool hn_mark_is(const xmlNode *node);

/* The mark's element, or NULL; of several the first.  `domain` is the <domain> element. */
xmlNode *hn_mark_find(const xmlNode *domain);

/* What the mark says, for looking things up; a domain without one has an empty mark.  -ENOMEM. */
struct hn_mark;
int hn_mark_load(const xmlNode *domain, struct hn_mark **ret);
void hn_mark_free(struct hn_mark *mark);
HN_DEFINE_CLEANUP(struct hn_mark *, hn_mark_free, hn_cleanup_mark)
#define HN_MARK HN_CLEANUP(hn_cleanup_mark)

/* Is this element (a vcpupin, emulatorpin, iothreadpin, memnode, numatune/memory, topology, cpu/numa or one
 * of its cells) one that homenode wrote and nobody changed since?  Sets are compared as sets, since libvirt
 * writes lists anew; and its qemu driver gives vCPUs that no cell names to cell 0, which is no change. */
bool hn_mark_covers(const struct hn_mark *mark, const xmlNode *element);

/* How many vCPUs the marked cells were made for; 0: there are none. */
unsigned hn_mark_vcpus(const struct hn_mark *mark);

/* Did homenode make this element (metadata, cpu, cputune, numatune) to hold its own? */
bool hn_mark_made(const struct hn_mark *mark, const char *what);

/* One line of the mark, for what an element says now. */
struct hn_mark_item {
        const char *what;
        char *key;   /* "" where there is only one */
        char *value;
};
/* -ENOENT: not one of the elements that the mark knows, or not well written; -ENOMEM. */
int hn_mark_describe(const xmlNode *element, struct hn_mark_item *ret);
/* The same for a cell as if it had no vCPUs from that number on. */
int hn_mark_describe_cell(const xmlNode *cell, unsigned vcpus_below, struct hn_mark_item *ret);
void hn_mark_item_clear(struct hn_mark_item *item);
#define HN_MARK_ITEM HN_CLEANUP(hn_mark_item_clear)

/* Does something of the user's refer to cells by number: a memnode of theirs, a memory device, a PCI
 * expander, huge pages for some cells?  Then the cells cannot go without breaking the domain. */
bool hn_mark_cells_in_use(const struct hn_mark *mark, const xmlNode *domain);
