/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/rewrite-fill.h"

#include <errno.h>

#include "model/domain-xml.h"

#define DISTANCE_SELF 10u  /* what libvirt takes: 10 to itself, … */
#define DISTANCE_LEAST 11u /* … and 11 to 254 to others (255 is "unreachable") */
#define DISTANCE_MOST 254u

static bool is_empty(hwloc_const_bitmap_t set)
{
        return !set || hwloc_bitmap_iszero(set);
}

/* Adds an element to `parent`, after *last where that is set, and takes it into the account. */
static xmlNode *add(struct hn_filling *filling, xmlNode *parent, xmlNode **last, const char *name)
{
        xmlNode *element = *last ? hn_rewrite_insert_after(*last, name) : hn_rewrite_insert(parent, name);

        if (!element || hn_account_add(filling->account, element) < 0)
                return NULL;
        *last = element;
        return element;
}

static int fill_topology(struct hn_filling *filling, xmlNode *cpu)
{
        const struct hn_topology *topology = &filling->decision->shape->topology;
        const struct {
                const char *name;
                unsigned value;
                bool only_if_several; /* not known to every libvirt */
        } parts[] = {
                { "sockets", topology->sockets, false }, { "dies", topology->dies, true },
                { "clusters", topology->clusters, true }, { "cores", topology->cores, false },
                { "threads", topology->threads, false },
        };
        xmlNode *element, *last = NULL;

        if (!topology->sockets || hn_xml_child(cpu, "topology"))
                return 0;
        element = add(filling, cpu, &last, "topology");
        if (!element)
                return -ENOMEM;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                int r;

                if (parts[i].only_if_several && parts[i].value <= 1)
                        continue;
                r = hn_rewrite_set_number(element, parts[i].name, parts[i].value);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool distances_are_valid(const struct hn_shape *shape)
{
        if (!shape->distances)
                return false;
        for (size_t i = 0; i < shape->n_cells; i++)
                for (size_t j = 0; j < shape->n_cells; j++) {
                        unsigned value = shape->distances[i * shape->n_cells + j];

                        if (i == j ? value != DISTANCE_SELF : value < DISTANCE_LEAST || value > DISTANCE_MOST)
                                return false;
                }
        return true;
}

static int fill_distances(const struct hn_shape *shape, size_t at, xmlNode *cell)
{
        xmlNode *distances = hn_rewrite_make(cell, "distances"), *last = NULL;

        if (!distances || hn_rewrite_close(cell) < 0)
                return -ENOMEM;
        for (size_t other = 0; other < shape->n_cells; other++) {
                last = last ? hn_rewrite_insert_after(last, "sibling")
                            : hn_rewrite_insert(distances, "sibling");
                if (!last || hn_rewrite_set_number(last, "id", other) < 0 ||
                    hn_rewrite_set_number(last, "value", shape->distances[at * shape->n_cells + other]) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int fill_cell(const struct hn_shape *shape, size_t at, xmlNode *cell)
{
        const struct hn_shape_cell *from = &shape->cells[at];
        int r;

        r = hn_rewrite_set_number(cell, "id", at);
        if (r == 0 && !is_empty(from->vcpus))
                r = hn_rewrite_set_idset(cell, "cpus", from->vcpus);
        if (r == 0)
                r = hn_rewrite_set_number(cell, "memory", from->memory_kib);
        if (r == 0)
                r = hn_rewrite_set(cell, "unit", "KiB");
        return r;
}

int hn_fill_cells(struct hn_filling *filling)
{
        const struct hn_shape *shape = filling->decision->shape;
        bool with_distances = distances_are_valid(shape);
        xmlNode *cpu = hn_account_holder(filling->account, HN_HOLDER_CPU);
        xmlNode *numa, *cell = NULL, *last = NULL;
        int r;

        if (!cpu)
                return -ENOMEM;
        r = fill_topology(filling, cpu);
        if (r < 0)
                return r;
        numa = hn_rewrite_make(cpu, "numa");
        if (!numa)
                return -ENOMEM;
        r = hn_account_add(filling->account, numa);
        for (size_t i = 0; i < shape->n_cells && r == 0; i++) {
                cell = add(filling, numa, &last, "cell");
                r = cell ? fill_cell(shape, i, cell) : -ENOMEM;
                if (r == 0 && with_distances)
                        r = fill_distances(shape, i, cell);
        }
        return r;
}

int hn_fill_memory(struct hn_filling *filling)
{
        hwloc_const_bitmap_t nodes = filling->decision->placement->memory_nodes;
        xmlNode *numatune, *memory, *last = NULL;
        int r;

        if (filling->request->numatune_user || is_empty(nodes))
                return 0;
        numatune = hn_account_holder(filling->account, HN_HOLDER_NUMATUNE);
        memory = numatune ? add(filling, numatune, &last, "memory") : NULL;
        if (!memory)
                return -ENOMEM;
        r = hn_rewrite_set(memory, "mode", "restrictive");
        return r < 0 ? r : hn_rewrite_set_idset(memory, "nodeset", nodes);
}

static size_t count_cells(const struct hn_filling *filling)
{
        const xmlNode *numa = hn_xml_child(hn_xml_child(filling->account->domain, "cpu"), "numa");
        size_t n = 0;

        HN_XML_FOREACH(cell, numa, "cell")
                n++;
        return n;
}

/* Every cell of the document, once, on some node: only then does binding them make sense. */
static bool binds_every_cell(const struct hn_filling *filling)
{
        const struct hn_placement *placement = filling->decision->placement;
        size_t n = count_cells(filling);

        if (filling->request->numatune_user || is_empty(placement->memory_nodes) || placement->n_cells != n)
                return false;
        for (size_t i = 0; i < n; i++)
                if (placement->cells[i].id != i || is_empty(placement->cells[i].nodes))
                        return false;
        return true;
}

int hn_fill_memnodes(struct hn_filling *filling)
{
        const struct hn_placement *placement = filling->decision->placement;
        xmlNode *numatune, *last = NULL;

        if (!binds_every_cell(filling))
                return 0;
        numatune = hn_account_holder(filling->account, HN_HOLDER_NUMATUNE);
        if (!numatune)
                return -ENOMEM;
        for (size_t i = 0; i < placement->n_cells; i++) {
                xmlNode *memnode = add(filling, numatune, &last, "memnode");

                if (!memnode || hn_rewrite_set_number(memnode, "cellid", placement->cells[i].id) < 0 ||
                    hn_rewrite_set(memnode, "mode", "strict") < 0 ||
                    hn_rewrite_set_idset(memnode, "nodeset", placement->cells[i].nodes) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int fill_pin(struct hn_filling *filling, const char *name, const char *number, unsigned id,
                    hwloc_const_bitmap_t cpus, xmlNode **last)
{
        xmlNode *cputune, *pin;
        int r = 0;

        if (is_empty(cpus))
                return 0;
        cputune = hn_account_holder(filling->account, HN_HOLDER_CPUTUNE);
        pin = cputune ? add(filling, cputune, last, name) : NULL;
        if (!pin)
                return -ENOMEM;
        if (number)
                r = hn_rewrite_set_number(pin, number, id);
        return r < 0 ? r : hn_rewrite_set_idset(pin, "cpuset", cpus);
}

/* The numbers below `n` that no pin of the user's names, or all of `ids`. */
static hwloc_bitmap_t not_pinned(hwloc_const_bitmap_t ids, const struct hn_pin *pins, size_t n)
{
        HN_BITMAP hwloc_bitmap_t open = hwloc_bitmap_dup(ids);

        for (size_t i = 0; open && i < n; i++)
                if (hwloc_bitmap_clr(open, pins[i].id) < 0)
                        return NULL;
        return HN_TAKE(open);
}

static int fill_vcpu_pins(struct hn_filling *filling)
{
        const struct hn_request *request = filling->request;
        HN_BITMAP hwloc_bitmap_t vcpus = hwloc_bitmap_alloc();
        HN_BITMAP hwloc_bitmap_t open = NULL;
        xmlNode *last = NULL;

        if (!vcpus || hwloc_bitmap_set_range(vcpus, 0, (int) request->vcpus_max - 1) < 0)
                return -ENOMEM;
        open = not_pinned(vcpus, request->vcpu_pins, request->n_vcpu_pins);
        if (!open)
                return -ENOMEM;
        HN_IDSET_FOREACH(vcpu, open) {
                hwloc_const_bitmap_t cpus = hn_placement_vcpu(filling->decision->placement, (unsigned) vcpu);
                int r = fill_pin(filling, "vcpupin", "vcpu", (unsigned) vcpu, cpus, &last);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int fill_iothread_pins(struct hn_filling *filling)
{
        const struct hn_request *request = filling->request;
        HN_BITMAP hwloc_bitmap_t open = not_pinned(request->iothreads, request->iothread_pins,
                                                   request->n_iothread_pins);
        xmlNode *last = NULL;

        if (!open)
                return -ENOMEM;
        HN_IDSET_FOREACH(iothread, open) {
                int r = fill_pin(filling, "iothreadpin", "iothread", (unsigned) iothread,
                                 filling->decision->placement->emulator_cpus, &last);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* <vcpu cpuset=…> by the user confines every thread that has no pin of its own: nothing is left open then. */
int hn_fill_pins(struct hn_filling *filling)
{
        const struct hn_request *request = filling->request;
        xmlNode *last = NULL;
        int r;

        if (request->vcpu_cpuset)
                return 0;
        r = fill_vcpu_pins(filling);
        if (r == 0 && !request->emulator_pin)
                r = fill_pin(filling, "emulatorpin", NULL, 0, filling->decision->placement->emulator_cpus,
                             &last);
        return r < 0 ? r : fill_iothread_pins(filling);
}

static hwloc_const_bitmap_t cell_nodes(const struct hn_placement *placement, const xmlNode *memnode)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(memnode, "cellid");
        uint64_t id;

        if (!text || hn_text_number((const char *) text, UINT32_MAX, &id) < 0)
                return NULL;
        for (size_t i = 0; i < placement->n_cells; i++)
                if (placement->cells[i].id == id)
                        return placement->cells[i].nodes;
        return NULL;
}

static hwloc_const_bitmap_t vcpu_cpus(const struct hn_placement *placement, const xmlNode *vcpupin)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(vcpupin, "vcpu");
        uint64_t vcpu;

        if (!text || hn_text_number((const char *) text, UINT32_MAX, &vcpu) < 0)
                return NULL;
        return hn_placement_vcpu(placement, (unsigned) vcpu);
}

int hn_fill_wanted(const struct hn_decision *decision, const xmlNode *element, const char **ret_attribute,
                   hwloc_const_bitmap_t *ret)
{
        const struct hn_placement *placement = decision->placement;
        bool bind = !is_empty(placement->memory_nodes);
        const char *attribute = "cpuset";
        hwloc_const_bitmap_t set;

        if (hn_xml_is(element, "vcpupin"))
                set = vcpu_cpus(placement, element);
        else if (hn_xml_is(element, "emulatorpin") || hn_xml_is(element, "iothreadpin"))
                set = placement->emulator_cpus;
        else if (hn_xml_is(element, "memnode") || hn_xml_is(element, "memory")) {
                attribute = "nodeset";
                set = hn_xml_is(element, "memory") ? placement->memory_nodes : cell_nodes(placement, element);
                if (!bind)
                        set = NULL;
        } else
                return -ENOENT;
        *ret_attribute = attribute;
        *ret = is_empty(set) ? NULL : set;
        return 0;
}
