/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory: how much, of which pages, behind what.
 *
 * libvirt's <memory> holds the memory devices as well: what the guest has besides them at start is the sum of
 * its cells, or <memory> less the devices where there are none (virDomainDefPostParseMemory).
 */
#include "model/domain-parse.h"

#include <errno.h>

#define MIB_KIB 1024u
#define SMALL_PAGE_KIB 4u /* a page size that is no huge page anywhere */

static uint64_t round_to_mib(uint64_t kib)
{
        return (kib + MIB_KIB - 1) / MIB_KIB * MIB_KIB;
}

/* <source> of a device backed by ordinary memory: its own nodes and pages.  libvirt binds it to those nodes whatever its
 * cell is bound to (qemuBuildMemoryBackendProps); pages alone go with the cell's nodes, and are counted as its own. */
static int read_source(struct hn_reading *reading, const xmlNode *device, unsigned cell, uint64_t plugged, bool *ret_own)
{
        struct hn_request *request = reading->request;
        const xmlNode *source = hn_xml_child(device, "source");
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        struct hn_plugged *own;
        uint64_t page_kib = 0;
        int r, s;

        r = hn_xml_idset(hn_xml_child(source, "nodemask"), NULL, HN_IDSET_LIMIT, false, &nodes, &reading->fault);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        s = hn_xml_memory(hn_xml_child(source, "pagesize"), NULL, &page_kib, &reading->fault);
        if (s < 0 && s != -ENOENT)
                return s;
        if (request->n_plugged == HN_DOMAIN_PLUGGED_LIMIT)
                return hn_xml_fault(&reading->fault, device, "there are more than %u", HN_DOMAIN_PLUGGED_LIMIT);
        own = HN_ARRAY_ADD(request->plugged, request->n_plugged);
        if (!own)
                return -ENOMEM;
        *own = (struct hn_plugged) { .cell = cell, .memory_kib = plugged, .page_given = s >= 0 && page_kib,
                                     .page_kib = page_kib == SMALL_PAGE_KIB ? 0 : page_kib, .nodes = HN_TAKE(nodes) };
        *ret_own = true;
        return 0;
}

/* What a device has plugged in at start, and what it counts in <memory>. */
static int read_device(struct hn_reading *reading, const xmlNode *device, uint64_t *total)
{
        struct hn_request *request = reading->request;
        const xmlNode *target = hn_xml_child(device, "target");
        uint64_t size = 0, plugged = 0;
        unsigned cell = 0;
        bool own = false;
        int r;

        r = hn_xml_memory(hn_xml_child(target, "size"), NULL, &size, &reading->fault);
        if (r == -ENOENT)
                return hn_xml_fault(&reading->fault, device, "the size is missing");
        if (r < 0)
                return r;
        if (hn_xml_has(device, "model", "dimm"))
                plugged = size;
        else if (hn_xml_has(device, "model", "virtio-mem")) {
                r = hn_xml_memory(hn_xml_child(target, "requested"), NULL, &plugged, &reading->fault);
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        r = hn_xml_number(hn_xml_child(target, "node"), NULL, 0, UINT32_MAX, &cell, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        r = plugged ? read_source(reading, device, cell, plugged, &own) : 0;
        if (r < 0)
                return r;
        if (!own && cell < request->n_cells && __builtin_add_overflow(request->cells[cell].devices_kib, plugged,
                                                              &request->cells[cell].devices_kib))
                return hn_xml_fault(&reading->fault, device, "the sizes are too large together");
        if (__builtin_add_overflow(*total, size, total) || *total > INT64_MAX)
                return hn_xml_fault(&reading->fault, device, "the sizes are too large together");
        return 0;
}

static int read_devices(struct hn_reading *reading, uint64_t *ret)
{
        uint64_t total = 0;

        HN_XML_FOREACH(devices, reading->domain, "devices")
                HN_XML_FOREACH(device, devices, "memory") {
                        int r = read_device(reading, device, &total);

                        if (r < 0)
                                return r;
                }
        *ret = total;
        return 0;
}

static int read_optional(struct hn_reading *reading, const char *name, uint64_t *ret)
{
        int r = hn_xml_memory(hn_xml_child(reading->domain, name), NULL, ret, &reading->fault);

        return r == -ENOENT ? 0 : r;
}

static int read_sizes(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        const xmlNode *element = hn_xml_child(reading->domain, "memory");
        uint64_t total = 0, devices = 0, cells = 0;
        int r;

        r = read_optional(reading, "memory", &total);
        if (r < 0)
                return r;
        r = read_devices(reading, &devices);
        if (r < 0)
                return r;
        for (size_t i = 0; i < request->n_cells; i++)
                cells += request->cells[i].memory_kib;
        if (cells)
                request->memory_kib = cells;
        else if (devices > total)
                return hn_xml_fault(&reading->fault, element ? element : reading->domain,
                                    "the memory devices are larger together");
        else
                request->memory_kib = round_to_mib(total - devices);
        if (!request->memory_kib)
                return hn_xml_fault(&reading->fault, element ? element : reading->domain,
                                    "there is no memory");
        total = request->memory_kib + devices;
        r = read_optional(reading, "currentMemory", &request->memory_current_kib);
        if (r < 0)
                return r;
        if (!request->memory_current_kib || request->memory_current_kib > total)
                request->memory_current_kib = total;
        return 0;
}

static int read_limit(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        const xmlNode *element = hn_xml_child(reading->domain, "maxMemory");
        int r;

        if (!element)
                return 0;
        r = hn_xml_memory(element, NULL, &request->memory_max_kib, &reading->fault);
        if (r < 0)
                return r;
        r = hn_xml_number(element, "slots", 0, UINT32_MAX, &request->memory_slots, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        request->memory_max_kib = round_to_mib(request->memory_max_kib);
        if (request->memory_max_kib && request->memory_max_kib < request->memory_kib)
                return hn_xml_fault(&reading->fault, element, "it is less than the memory at start");
        return 0;
}

/* One <page>: for the cells that it names, or (without a nodeset) for all that no other one names. */
static int read_page(struct hn_reading *reading, const xmlNode *page, hwloc_bitmap_t named)
{
        struct hn_request *request = reading->request;
        HN_BITMAP hwloc_bitmap_t cells = NULL;
        uint64_t size;
        int r;

        r = hn_xml_memory(page, "size", &size, &reading->fault);
        if (r == -ENOENT || (r == 0 && !size))
                return hn_xml_fault(&reading->fault, page, "the size is missing or 0");
        if (r < 0)
                return r;
        if (size == SMALL_PAGE_KIB)
                size = 0;
        r = hn_xml_idset(page, "nodeset", HN_IDSET_LIMIT, false, &cells, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        if (!cells || !request->n_cells) {
                request->page_kib = size;
                return 0;
        }
        if (hwloc_bitmap_last(cells) >= (int) request->n_cells)
                return hn_xml_fault(&reading->fault, page, "a cell is not below %zu", request->n_cells);
        if (hwloc_bitmap_intersects(cells, named))
                return hn_xml_fault(&reading->fault, page, "a cell has another page size already");
        HN_IDSET_FOREACH(cell, cells)
                request->cells[cell].page_kib = size;
        return hwloc_bitmap_or(named, named, cells) < 0 ? -ENOMEM : 0;
}

static int read_pages(struct hn_reading *reading, const xmlNode *hugepages)
{
        struct hn_request *request = reading->request;
        HN_BITMAP hwloc_bitmap_t named = hwloc_bitmap_alloc();
        int r;

        if (!named)
                return -ENOMEM;
        if (!hugepages)
                return 0;
        request->page_default = !hn_xml_child(hugepages, "page");
        HN_XML_FOREACH(page, hugepages, "page") {
                r = read_page(reading, page, named);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < request->n_cells; i++)
                if (!hwloc_bitmap_isset(named, (unsigned) i))
                        request->cells[i].page_kib = request->page_kib;
        return 0;
}

static int read_backing(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        const xmlNode *backing = hn_xml_child(reading->domain, "memoryBacking");
        const xmlNode *source = hn_xml_child(backing, "source");

        request->memory_shared |= hn_xml_has(hn_xml_child(backing, "access"), "mode", "shared") ||
                                  hn_xml_has(source, "type", "memfd") || hn_xml_has(source, "type", "file");
        request->memory_immediate = hn_xml_has(hn_xml_child(backing, "allocation"), "mode", "immediate");
        request->memory_locked = hn_xml_child(backing, "locked") != NULL;
        return read_pages(reading, hn_xml_child(backing, "hugepages"));
}

static bool is_encrypted(const xmlNode *domain)
{
        static const char *const types[] = { "sev", "sev-snp", "tdx", "s390-pv" };
        const xmlNode *security = hn_xml_child(domain, "launchSecurity");

        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (hn_xml_has(security, "type", types[i]))
                        return true;
        return false;
}

int hn_read_memory(struct hn_reading *reading)
{
        int r;

        r = read_sizes(reading);
        if (r < 0)
                return r;
        r = read_limit(reading);
        if (r < 0)
                return r;
        reading->request->memory_encrypted = is_encrypted(reading->domain);
        return read_backing(reading);
}
