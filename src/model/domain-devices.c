/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Disks, interfaces and host devices: where a domain would rather be.
 */
#include "model/domain-parse.h"

#include <errno.h>

#include "model/text.h"

/* "0x1f", "31" or "037", as libvirt takes it; 0 where the attribute is not there. */
static bool address_part(const xmlNode *address, const char *attribute, unsigned long max, unsigned *ret)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(address, attribute);
        unsigned long value;
        char *end;

        if (!text) {
                *ret = 0;
                return true;
        }
        errno = 0;
        value = strtoul((const char *) text, &end, 0);
        if (errno || *end || end == (const char *) text || text[0] == '-' || value > max)
                return false;
        *ret = (unsigned) value;
        return true;
}

/* The host's PCI address in <source>; false: none, or not one that there can be. */
static bool read_address(const xmlNode *source, struct hn_pci_address *ret)
{
        const xmlNode *address = hn_xml_child(source, "address");
        struct hn_pci_address found;

        if (!address || xmlHasNsProp((xmlNode *) address, BAD_CAST "uuid", NULL) ||
            !xmlHasNsProp((xmlNode *) address, BAD_CAST "slot", NULL))
                return false;
        if (!address_part(address, "domain", 0xffff, &found.domain) ||
            !address_part(address, "bus", 0xff, &found.bus) ||
            !address_part(address, "slot", 0x1f, &found.slot) ||
            !address_part(address, "function", 7, &found.function))
                return false;
        *ret = found;
        return true;
}

static int read_hostdev(struct hn_request *request, const xmlNode *hostdev)
{
        struct hn_pci_address address, *added;

        if (!hn_xml_has(hostdev, "type", "pci") || !read_address(hn_xml_child(hostdev, "source"), &address))
                return 0;
        added = HN_ARRAY_ADD(request->hostdevs, request->n_hostdevs);
        if (!added)
                return -ENOMEM;
        *added = address;
        return 0;
}

/* Takes over an attribute's text; NULL where it is not there. */
static int take_text(const xmlNode *element, const char *attribute, char **ret)
{
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, attribute);

        if (!text)
                return 0;
        *ret = strdup((const char *) text);
        return *ret ? 0 : -ENOMEM;
}

static int read_interface(struct hn_request *request, const xmlNode *element)
{
        static const struct {
                const char *type;
                enum hn_interface_kind kind;
                const char *source;
        } kinds[] = {
                { "network", HN_INTERFACE_NETWORK, "network" },  { "bridge", HN_INTERFACE_BRIDGE, "bridge" },
                { "direct", HN_INTERFACE_DIRECT, "dev" },        { "hostdev", HN_INTERFACE_HOSTDEV, NULL },
                { "vhostuser", HN_INTERFACE_VHOSTUSER, "path" },
        };
        const xmlNode *source = hn_xml_child(element, "source");
        struct hn_interface *added = HN_ARRAY_ADD(request->interfaces, request->n_interfaces);

        if (!added)
                return -ENOMEM;
        added->kind = HN_INTERFACE_OTHER;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                if (!hn_xml_has(element, "type", kinds[i].type))
                        continue;
                added->kind = kinds[i].kind;
                if (added->kind == HN_INTERFACE_HOSTDEV)
                        added->has_pci = read_address(source, &added->pci);
                else
                        return take_text(source, kinds[i].source, &added->source);
        }
        return 0;
}

static int read_network_disk(const xmlNode *source, struct hn_disk *disk)
{
        HN_XMLCHAR xmlChar *protocol = hn_xml_value(source, "protocol");
        HN_XMLCHAR xmlChar *name = hn_xml_value(source, "name");

        if (!protocol)
                return 0;
        disk->source = hn_text_print("%s:%s", protocol, name ? (const char *) name : "");
        return disk->source ? 0 : -ENOMEM;
}

static int read_disk_source(const xmlNode *element, struct hn_disk *disk)
{
        const xmlNode *source = hn_xml_child(element, "source");

        if (hn_xml_has(element, "type", "file")) {
                disk->kind = HN_DISK_FILE;
                return take_text(source, "file", &disk->source);
        }
        if (hn_xml_has(element, "type", "block")) {
                disk->kind = HN_DISK_BLOCK;
                return take_text(source, "dev", &disk->source);
        }
        if (hn_xml_has(element, "type", "vhostuser")) {
                disk->kind = HN_DISK_VHOSTUSER;
                return take_text(source, "path", &disk->source);
        }
        if (hn_xml_has(element, "type", "network")) {
                disk->kind = HN_DISK_NETWORK;
                return read_network_disk(source, disk);
        }
        if (hn_xml_has(element, "type", "nvme")) {
                disk->kind = HN_DISK_NVME;
                disk->has_pci = read_address(source, &disk->pci);
        }
        return 0;
}

/* <driver iothread='1'>, or the first of <driver><iothreads><iothread id='1'/> */
static void read_disk_iothread(const xmlNode *element, struct hn_disk *disk)
{
        const xmlNode *driver = hn_xml_child(element, "driver");
        const xmlNode *listed = hn_xml_child(hn_xml_child(driver, "iothreads"), "iothread");
        HN_XMLCHAR xmlChar *text = listed ? hn_xml_value(listed, "id") : hn_xml_value(driver, "iothread");
        uint64_t id;

        if (text && hn_text_number((const char *) text, HN_IDSET_LIMIT - 1, &id) == 0)
                disk->iothread = (unsigned) id;
}

static int read_disk(struct hn_request *request, const xmlNode *element)
{
        struct hn_disk *added = HN_ARRAY_ADD(request->disks, request->n_disks);

        if (!added)
                return -ENOMEM;
        added->kind = HN_DISK_OTHER;
        read_disk_iothread(element, added);
        return read_disk_source(element, added);
}

int hn_read_devices(struct hn_reading *reading)
{
        struct hn_request *request = reading->request;

        HN_XML_FOREACH(devices, reading->domain, "devices")
                HN_XML_FOREACH(device, devices, NULL) {
                        int r = 0;

                        if (hn_xml_is(device, "hostdev"))
                                r = read_hostdev(request, device);
                        else if (hn_xml_is(device, "interface"))
                                r = read_interface(request, device);
                        else if (hn_xml_is(device, "disk"))
                                r = read_disk(request, device);
                        if (r < 0)
                                return r;
                }
        return 0;
}
