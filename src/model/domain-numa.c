/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Guest NUMA cells and <numatune>.
 */
#include "model/domain-parse.h"

#include <errno.h>

#define DISTANCE_MIN 10u
#define DISTANCE_MAX 255u /* libvirt's: 255 is "unreachable" */
#define MIB_KIB 1024u     /* the qemu driver rounds every cell up to whole MiB */

static uint64_t round_to_mib(uint64_t kib)
{
        return (kib + MIB_KIB - 1) / MIB_KIB * MIB_KIB;
}

static int read_distances(struct hn_reading *reading, const xmlNode *element, unsigned at)
{
        struct hn_request *request = reading->request;
        struct hn_request_cell *cell = &request->cells[at];
        const xmlNode *distances = hn_xml_child(element, "distances");
        unsigned id, value;
        int r;

        if (!distances)
                return 0;
        cell->distances = calloc(request->n_cells, sizeof *cell->distances);
        if (!cell->distances)
                return -ENOMEM;
        cell->distances[at] = DISTANCE_MIN;
        HN_XML_FOREACH(sibling, distances, "sibling") {
                r = hn_xml_number(sibling, "id", 0, (unsigned) request->n_cells - 1, &id, &reading->fault);
                if (r == 0)
                        r = hn_xml_number(sibling, "value", DISTANCE_MIN, DISTANCE_MAX, &value,
                                          &reading->fault);
                if (r == -ENOENT)
                        return hn_xml_fault(&reading->fault, sibling, "id or value is missing");
                if (r < 0)
                        return r;
                if ((id == at) != (value == DISTANCE_MIN))
                        return hn_xml_fault(&reading->fault, sibling, "%u is the distance to itself alone",
                                            DISTANCE_MIN);
                cell->distances[id] = value;
        }
        return 0;
}

/* What only one of two cells says holds for the other as well (libvirt does so). */
static void complete_distances(struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++)
                for (size_t j = 0; j < request->n_cells; j++) {
                        const unsigned *there = request->cells[j].distances;
                        unsigned *here = request->cells[i].distances;

                        if (here && there && !here[j])
                                here[j] = there[i];
                }
}

static int read_cell_vcpus(struct hn_reading *reading, const xmlNode *element, struct hn_request_cell *cell,
                           hwloc_bitmap_t taken)
{
        const struct hn_request *request = reading->request;
        int r;

        r = hn_xml_idset(element, "cpus", HN_IDSET_LIMIT, true, &cell->vcpus, &reading->fault);
        if (r == -ENOENT) {
                cell->vcpus = hwloc_bitmap_alloc();
                return cell->vcpus ? 0 : -ENOMEM;
        }
        if (r < 0)
                return r;
        if (hwloc_bitmap_last(cell->vcpus) >= (int) request->vcpus_max)
                return hn_xml_fault(&reading->fault, element, "a vCPU is not below %u", request->vcpus_max);
        if (hwloc_bitmap_intersects(cell->vcpus, taken))
                return hn_xml_fault(&reading->fault, element, "a vCPU is in another cell too");
        return hwloc_bitmap_or(taken, taken, cell->vcpus) < 0 ? -ENOMEM : 0;
}

static int read_cell(struct hn_reading *reading, const xmlNode *element, unsigned position,
                     hwloc_bitmap_t taken)
{
        struct hn_request *request = reading->request;
        struct hn_request_cell *cell;
        unsigned at = position;
        int r;

        r = hn_xml_number(element, "id", 0, (unsigned) request->n_cells - 1, &at, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        cell = &request->cells[at];
        if (cell->vcpus)
                return hn_xml_fault(&reading->fault, element, "cell %u is there twice", at);
        r = read_cell_vcpus(reading, element, cell, taken);
        if (r < 0)
                return r;
        r = hn_xml_memory(element, "memory", &cell->memory_kib, &reading->fault);
        if (r == -ENOENT)
                return hn_xml_fault(&reading->fault, element, "the memory is missing");
        if (r < 0)
                return r;
        cell->memory_kib = round_to_mib(cell->memory_kib);
        request->memory_shared |= hn_xml_has(element, "memAccess", "shared");
        return read_distances(reading, element, at);
}

/* Do cells of ours still say what <vcpu>, <memory> and the owner's wishes say?  After a user's edit they may
 * not: then there are vCPUs that no cell names, or that libvirt has given to cell 0. */
static int cells_fit(struct hn_reading *reading, bool *ret)
{
        const struct hn_request *request = reading->request;
        uint64_t sum = 0, memory = 0;
        int r;

        for (size_t i = 0; i < request->n_cells; i++)
                sum += request->cells[i].memory_kib;
        r = hn_xml_memory(hn_xml_child(reading->domain, "memory"), NULL, &memory, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = hn_mark_vcpus(reading->mark) == request->vcpus_max &&
               (r == -ENOENT || round_to_mib(memory) == sum) &&
               (request->wishes.vnuma < 0 || (size_t) request->wishes.vnuma == request->n_cells);
        return 0;
}

static void drop_cells(struct hn_reading *reading, const xmlNode *cpu)
{
        struct hn_request *request = reading->request;
        const xmlNode *topology = hn_xml_child(cpu, "topology");

        for (size_t i = 0; i < request->n_cells; i++) {
                hwloc_bitmap_free(request->cells[i].vcpus);
                free(request->cells[i].distances);
        }
        free(request->cells);
        request->cells = NULL;
        request->n_cells = 0;
        request->cells_ours = false;
        if (topology && hn_mark_covers(reading->mark, topology))
                request->topology = (struct hn_topology){ 0 };
}

/* The qemu driver gives vCPUs that no cell names to cell 0. */
static int fill_first_cell(struct hn_request *request, hwloc_const_bitmap_t taken)
{
        for (unsigned vcpu = 0; vcpu < request->vcpus_max; vcpu++)
                if (!hwloc_bitmap_isset(taken, vcpu) && hwloc_bitmap_set(request->cells[0].vcpus, vcpu) < 0)
                        return -ENOMEM;
        return 0;
}

static int read_cell_list(struct hn_reading *reading, const xmlNode *numa, hwloc_bitmap_t taken)
{
        struct hn_request *request = reading->request;
        unsigned position = 0;
        size_t n = 0;
        int r;

        HN_XML_FOREACH(element, numa, "cell")
                n++;
        if (n < 1 || n > HN_DOMAIN_CELL_LIMIT)
                return hn_xml_fault(&reading->fault, numa, "%zu cells instead of 1 to %u", n,
                                    HN_DOMAIN_CELL_LIMIT);
        request->cells = calloc(n, sizeof *request->cells);
        if (!request->cells)
                return -ENOMEM;
        request->n_cells = n;
        HN_XML_FOREACH(element, numa, "cell") {
                r = read_cell(reading, element, position++, taken);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* QEMU's machine types that know NUMA, by the names of all their versions.  A domain without a machine gets
 * its architecture's usual one. */
static bool machine_has_cells(const xmlNode *domain)
{
        static const char *const known[] = { "pc", "q35", "virt", "pseries", "sbsa-ref" };
        const xmlNode *type = hn_xml_child(hn_xml_child(domain, "os"), "type");
        HN_XMLCHAR xmlChar *machine = hn_xml_value(type, "machine");

        if (!machine)
                return !hn_xml_has(type, "arch", "s390x") && !hn_xml_has(type, "arch", "s390");
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (!strncmp((const char *) machine, known[i], strlen(known[i])))
                        return true;
        return false;
}

int hn_read_cells(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        const xmlNode *cpu = hn_xml_child(reading->domain, "cpu");
        const xmlNode *numa = hn_xml_child(cpu, "numa");
        HN_BITMAP hwloc_bitmap_t taken = hwloc_bitmap_alloc();
        bool fit = true;
        int r;

        if (!taken)
                return -ENOMEM;
        if (!machine_has_cells(reading->domain))
                request->wishes.vnuma = 0;
        if (!numa)
                return 0;
        r = read_cell_list(reading, numa, taken);
        if (r < 0)
                return r;
        request->cells_ours = hn_mark_covers(reading->mark, numa);
        if (request->cells_ours && request->id < 0 && !hn_mark_cells_in_use(reading->mark, reading->domain)) {
                r = cells_fit(reading, &fit);
                if (r < 0)
                        return r;
        }
        if (!fit) {
                drop_cells(reading, cpu);
                return 0;
        }
        complete_distances(request);
        return fill_first_cell(request, taken);
}

static int read_mode(struct hn_reading *reading, const xmlNode *element, enum hn_numa_mode *ret)
{
        static const struct {
                const char *name;
                enum hn_numa_mode mode;
        } modes[] = {
                { "strict", HN_NUMA_STRICT }, { "preferred", HN_NUMA_PREFERRED },
                { "interleave", HN_NUMA_INTERLEAVE }, { "restrictive", HN_NUMA_RESTRICTIVE },
        };
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, "mode");

        *ret = HN_NUMA_STRICT;
        if (!text)
                return 0;
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
                if (!strcmp((const char *) text, modes[i].name)) {
                        *ret = modes[i].mode;
                        return 0;
                }
        return hn_xml_fault(&reading->fault, element, "mode='%s' is not known", text);
}

static int read_numatune_memory(struct hn_reading *reading, const xmlNode *memory)
{
        struct hn_request *request = reading->request;
        HN_XMLCHAR xmlChar *placement = hn_xml_value(memory, "placement");
        HN_XMLCHAR xmlChar *mode = hn_xml_value(memory, "mode");
        bool automatic = placement && !strcmp((const char *) placement, "auto");
        int r;

        if (placement && !automatic && strcmp((const char *) placement, "static"))
                return hn_xml_fault(&reading->fault, memory, "placement='%s' is not known", placement);
        request->numatune_user = true;
        r = read_mode(reading, memory, &request->numatune_mode);
        if (r < 0)
                return r;
        r = hn_xml_idset(memory, "nodeset", HN_IDSET_LIMIT, false, &request->numatune_nodes, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == -ENOENT && !mode && !placement) {
                request->numatune_mode = HN_NUMA_NONE; /* an empty element says nothing */
                return 0;
        }
        if (r == -ENOENT && !placement)
                automatic = request->placement_auto;
        if (r == -ENOENT && !automatic)
                return hn_xml_fault(&reading->fault, memory, "the nodeset is missing");
        if (automatic) {
                request->placement_auto = true;
                hwloc_bitmap_free(HN_TAKE(request->numatune_nodes));
        }
        return 0;
}

static int read_memnode(struct hn_reading *reading, const xmlNode *memnode)
{
        struct hn_request *request = reading->request;
        bool ours = hn_mark_covers(reading->mark, memnode);
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        struct hn_request_cell *cell;
        enum hn_numa_mode mode;
        unsigned id;
        int r;

        if (ours && !request->n_cells)
                return 0;
        if (!request->n_cells)
                return hn_xml_fault(&reading->fault, memnode, "the domain has no cells");
        r = hn_xml_number(memnode, "cellid", 0, (unsigned) request->n_cells - 1, &id, &reading->fault);
        if (r == 0)
                r = read_mode(reading, memnode, &mode);
        if (r == 0)
                r = hn_xml_idset(memnode, "nodeset", HN_IDSET_LIMIT, false, &nodes, &reading->fault);
        if (r == -ENOENT)
                return hn_xml_fault(&reading->fault, memnode, "cellid or nodeset is missing");
        if (r < 0)
                return r;
        cell = &request->cells[id];
        if (cell->bound || cell->ours)
                return hn_xml_fault(&reading->fault, memnode, "cell %u is bound twice", id);
        if (ours) {
                cell->ours = HN_TAKE(nodes);
                return 0;
        }
        if ((mode == HN_NUMA_RESTRICTIVE) != (request->numatune_mode == HN_NUMA_RESTRICTIVE))
                return hn_xml_fault(&reading->fault, memnode,
                                    "restrictive goes only with restrictive in <memory>");
        cell->bound = HN_TAKE(nodes);
        cell->mode = mode;
        request->numatune_user = true;
        return 0;
}

int hn_read_numatune(struct hn_reading *reading)
{
        const xmlNode *numatune = hn_xml_child(reading->domain, "numatune");
        const xmlNode *memory = hn_xml_child(numatune, "memory");
        const xmlNode *memnode = hn_xml_child(numatune, "memnode");
        int r;

        if (!numatune)
                return 0;
        if (hn_xml_next(numatune, "numatune"))
                return hn_xml_fault(&reading->fault, numatune, "there is more than one");
        if (memory && !hn_mark_covers(reading->mark, memory)) {
                r = read_numatune_memory(reading, memory);
                if (r < 0)
                        return r;
                if (memnode && !reading->request->numatune_nodes && reading->request->placement_auto)
                        return hn_xml_fault(&reading->fault, memnode, "it does not go with placement='auto'");
        }
        for (; memnode; memnode = hn_xml_next(memnode, "memnode")) {
                r = read_memnode(reading, memnode);
                if (r < 0)
                        return r;
        }
        return 0;
}
