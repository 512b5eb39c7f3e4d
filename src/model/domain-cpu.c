/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * vCPUs, iothreads, CPU topology and the user's pins.
 */
#include "model/domain-parse.h"

#include <errno.h>

/* <vcpus> says for each vCPU whether it is there at start, and so replaces <vcpu current=…>. */
static int read_vcpu_list(struct hn_reading *reading, const xmlNode *list)
{
        struct hn_request *request = reading->request;
        HN_BITMAP hwloc_bitmap_t seen = hwloc_bitmap_alloc();
        unsigned current = 0, id;
        int r;

        if (!seen)
                return -ENOMEM;
        HN_XML_FOREACH(vcpu, list, "vcpu") {
                r = hn_xml_number(vcpu, "id", 0, request->vcpus_max - 1, &id, &reading->fault);
                if (r == -ENOENT)
                        return hn_xml_fault(&reading->fault, vcpu, "the id is missing");
                if (r < 0)
                        return r;
                if (hwloc_bitmap_isset(seen, id))
                        return hn_xml_fault(&reading->fault, vcpu, "vCPU %u is there twice", id);
                if (hwloc_bitmap_set(seen, id) < 0)
                        return -ENOMEM;
                current += hn_xml_has(vcpu, "enabled", "yes");
        }
        if (hwloc_bitmap_iszero(seen))
                return 0;
        if (!current)
                return hn_xml_fault(&reading->fault, list, "no vCPU is enabled");
        request->vcpus_current = current;
        return 0;
}

static int read_vcpu_cpuset(struct hn_reading *reading, const xmlNode *vcpu)
{
        struct hn_request *request = reading->request;
        HN_XMLCHAR xmlChar *placement = hn_xml_value(vcpu, "placement");
        int r;

        if (placement && !strcmp((const char *) placement, "auto")) {
                request->placement_auto = true;
                return 0;
        }
        if (placement && strcmp((const char *) placement, "static"))
                return hn_xml_fault(&reading->fault, vcpu, "placement='%s' is not known", placement);
        r = hn_xml_idset(vcpu, "cpuset", HN_IDSET_LIMIT, false, &request->vcpu_cpuset, &reading->fault);
        return r == -ENOENT ? 0 : r;
}

int hn_read_vcpus(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        const xmlNode *vcpu = hn_xml_child(reading->domain, "vcpu");
        int r;

        request->vcpus_max = 1;
        r = hn_xml_number(vcpu, NULL, 1, HN_DOMAIN_VCPU_LIMIT, &request->vcpus_max, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        request->vcpus_current = request->vcpus_max;
        r = hn_xml_number(vcpu, "current", 1, request->vcpus_max, &request->vcpus_current, &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        r = read_vcpu_cpuset(reading, vcpu);
        if (r < 0)
                return r;
        return read_vcpu_list(reading, hn_xml_child(reading->domain, "vcpus"));
}

int hn_read_topology(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        const xmlNode *cpu = hn_xml_child(reading->domain, "cpu");
        const xmlNode *topology = hn_xml_child(cpu, "topology");
        struct hn_topology found = { 0, 1, 1, 0, 0 };
        const struct {
                const char *name;
                unsigned *value;
                bool optional;
        } parts[] = {
                { "sockets", &found.sockets, false }, { "dies", &found.dies, true },
                { "clusters", &found.clusters, true }, { "cores", &found.cores, false },
                { "threads", &found.threads, false },
        };
        int r;

        request->has_cpu_element = cpu != NULL;
        if (!topology)
                return 0;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                r = hn_xml_number(topology, parts[i].name, 1, UINT16_MAX, parts[i].value, &reading->fault);
                if (r == -ENOENT && !parts[i].optional)
                        return hn_xml_fault(&reading->fault, topology, "%s is missing", parts[i].name);
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        /* The qemu driver refuses one that does not multiply to the vCPUs; nothing can be built on it. */
        if ((uint64_t) found.sockets * found.dies <= request->vcpus_max &&
            (uint64_t) found.clusters * found.cores <= request->vcpus_max &&
            (uint64_t) found.sockets * found.dies * found.clusters * found.cores * found.threads ==
                    request->vcpus_max)
                request->topology = found;
        return 0;
}

/* Adds a pin unless there is one for that number already (-EINVAL with a fault). */
static int add_pin(struct hn_reading *reading, const xmlNode *element, unsigned id, hwloc_bitmap_t seen,
                   struct hn_pin **pins, size_t *n)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL;
        struct hn_pin *pin;
        int r;

        if (hwloc_bitmap_isset(seen, id))
                return hn_xml_fault(&reading->fault, element, "number %u is pinned twice", id);
        if (hwloc_bitmap_set(seen, id) < 0)
                return -ENOMEM;
        r = hn_xml_idset(element, "cpuset", HN_IDSET_LIMIT, false, &cpus, &reading->fault);
        if (r == -ENOENT)
                return hn_xml_fault(&reading->fault, element, "the cpuset is missing");
        if (r < 0 || hn_mark_covers(reading->mark, element))
                return r;
        pin = HN_ARRAY_ADD(*pins, *n);
        if (!pin)
                return -ENOMEM;
        pin->id = id;
        pin->cpus = HN_TAKE(cpus);
        return 0;
}

static int read_vcpu_pins(struct hn_reading *reading, const xmlNode *cputune, hwloc_bitmap_t seen)
{
        struct hn_request *request = reading->request;
        unsigned id;
        int r;

        HN_XML_FOREACH(pin, cputune, "vcpupin") {
                r = hn_xml_number(pin, "vcpu", 0, UINT16_MAX, &id, &reading->fault);
                if (r == -ENOENT)
                        return hn_xml_fault(&reading->fault, pin, "the vCPU is missing");
                if (r < 0)
                        return r;
                if (id >= request->vcpus_max) /* libvirt passes these over */
                        continue;
                r = add_pin(reading, pin, id, seen, &request->vcpu_pins, &request->n_vcpu_pins);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_iothread_pins(struct hn_reading *reading, const xmlNode *cputune, hwloc_bitmap_t seen)
{
        struct hn_request *request = reading->request;
        unsigned id;
        int r;

        HN_XML_FOREACH(pin, cputune, "iothreadpin") {
                r = hn_xml_number(pin, "iothread", 1, HN_IDSET_LIMIT - 1, &id, &reading->fault);
                if (r == -ENOENT)
                        return hn_xml_fault(&reading->fault, pin, "the iothread is missing");
                if (r < 0)
                        return r;
                if (!hwloc_bitmap_isset(request->iothreads, id))
                        return hn_xml_fault(&reading->fault, pin, "there is no iothread %u", id);
                r = add_pin(reading, pin, id, seen, &request->iothread_pins, &request->n_iothread_pins);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_emulator_pin(struct hn_reading *reading, const xmlNode *cputune)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL;
        const xmlNode *pin = hn_xml_child(cputune, "emulatorpin");
        int r;

        if (!pin)
                return 0;
        if (hn_xml_next(pin, "emulatorpin"))
                return hn_xml_fault(&reading->fault, pin, "there is more than one");
        r = hn_xml_idset(pin, "cpuset", HN_IDSET_LIMIT, false, &cpus, &reading->fault);
        if (r == -ENOENT)
                return hn_xml_fault(&reading->fault, pin, "the cpuset is missing");
        if (r < 0 || hn_mark_covers(reading->mark, pin))
                return r;
        hwloc_bitmap_free(reading->request->emulator_pin);
        reading->request->emulator_pin = HN_TAKE(cpus);
        return 0;
}

/* The ids that <iothreadids> names; those that <iothreads> has more get the lowest free numbers from 1. */
static int read_iothreads(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;
        unsigned wanted = 0, named = 0, id;
        int r;

        request->iothreads = hwloc_bitmap_alloc();
        if (!request->iothreads)
                return -ENOMEM;
        r = hn_xml_number(hn_xml_child(reading->domain, "iothreads"), NULL, 0, HN_DOMAIN_VCPU_LIMIT, &wanted,
                          &reading->fault);
        if (r < 0 && r != -ENOENT)
                return r;
        HN_XML_FOREACH(iothread, hn_xml_child(reading->domain, "iothreadids"), "iothread") {
                r = hn_xml_number(iothread, "id", 1, HN_IDSET_LIMIT - 1, &id, &reading->fault);
                if (r == -ENOENT)
                        return hn_xml_fault(&reading->fault, iothread, "the id is missing");
                if (r < 0)
                        return r;
                if (hwloc_bitmap_isset(request->iothreads, id))
                        return hn_xml_fault(&reading->fault, iothread, "iothread %u is there twice", id);
                if (hwloc_bitmap_set(request->iothreads, id) < 0)
                        return -ENOMEM;
                named++;
        }
        for (id = 1; named < wanted; id++)
                if (!hwloc_bitmap_isset(request->iothreads, id)) {
                        if (hwloc_bitmap_set(request->iothreads, id) < 0)
                                return -ENOMEM;
                        named++;
                }
        return 0;
}

int hn_read_pins(struct hn_reading *reading)
{
        HN_BITMAP hwloc_bitmap_t vcpus = hwloc_bitmap_alloc();
        HN_BITMAP hwloc_bitmap_t iothreads = hwloc_bitmap_alloc();
        int r;

        if (!vcpus || !iothreads)
                return -ENOMEM;
        r = read_iothreads(reading);
        if (r < 0)
                return r;
        HN_XML_FOREACH(cputune, reading->domain, "cputune") {
                r = read_vcpu_pins(reading, cputune, vcpus);
                if (r < 0)
                        return r;
                r = read_emulator_pin(reading, cputune);
                if (r < 0)
                        return r;
                r = read_iothread_pins(reading, cputune, iothreads);
                if (r < 0)
                        return r;
        }
        return 0;
}
