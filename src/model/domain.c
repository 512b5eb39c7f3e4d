/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/domain.h"

#include <ctype.h>
#include <errno.h>
#include <libxml/parser.h>

#include "model/domain-parse.h"

/* A document type may define entities and name files: libvirt needs none, so the parser stops there. */
static void refuse_doctype(void *data, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
        xmlParserCtxt *context = data;

        (void) name;
        (void) external;
        (void) system;
        xmlStopParser(context);
        context->wellFormed = 0;
        context->_private = context; /* the document type, and not a fault further on, was it */
}

/* libxml2 prints faults of character encodings whatever the parser's options say. */
static void print_nothing(void *context, const char *message, ...)
{
        (void) context;
        (void) message;
}

static xmlDoc *read_quietly(xmlParserCtxt *context, const char *text, size_t length)
{
        xmlGenericErrorFunc function = xmlGenericError;
        void *data = xmlGenericErrorContext;
        xmlDoc *doc;

        xmlSetGenericErrorFunc(NULL, print_nothing);
        doc = xmlCtxtReadMemory(context, text, (int) length, NULL, NULL,
                                XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
        xmlSetGenericErrorFunc(data, function);
        return doc;
}

static void free_parser(xmlParserCtxt **context)
{
        if (*context)
                xmlFreeParserCtxt(*context);
}

int hn_xml_parse(const char *text, size_t length, xmlDoc **ret)
{
        HN_CLEANUP(free_parser) xmlParserCtxt *context = NULL;
        xmlDoc *doc;

        if (length > HN_DOMAIN_XML_LIMIT)
                return -EFBIG;
        context = xmlNewParserCtxt();
        if (!context)
                return -ENOMEM;
        context->sax->internalSubset = refuse_doctype;
        doc = read_quietly(context, text, length);
        if (!doc && context->_private)
                return -EOPNOTSUPP;
        if (!doc)
                return context->errNo == XML_ERR_NO_MEMORY ? -ENOMEM : -EBADMSG;
        *ret = doc;
        return 0;
}

xmlNode *hn_domain_element(xmlDoc *doc)
{
        xmlNode *root = xmlDocGetRootElement(doc), *domain;

        if (!root || hn_xml_is(root, "domain"))
                return root;
        domain = hn_xml_child(root, "domain");
        return domain && !hn_xml_next(domain, "domain") ? domain : NULL;
}

static int copy_text(const xmlChar *text, char **ret)
{
        *ret = strdup((const char *) text);
        return *ret ? 0 : -ENOMEM;
}

static int read_name(struct hn_reading *reading)
{
        const xmlNode *element = hn_xml_child(reading->domain, "name");
        HN_XMLCHAR xmlChar *name = hn_xml_value(element, NULL);

        if (!name || !*name)
                return hn_xml_fault(&reading->fault, element ? element : reading->domain,
                                    "a name is missing");
        if (strpbrk((const char *) name, "/\n"))
                return hn_xml_fault(&reading->fault, element,
                                    "a name cannot have a slash or a line's end in it");
        return copy_text(name, &reading->request->name);
}

/* As virUUIDParse of libvirt: 32 hexadecimal digits, dashes between them wherever, white space around. */
static int read_uuid(struct hn_reading *reading)
{
        const xmlNode *element = hn_xml_child(reading->domain, "uuid");
        HN_XMLCHAR xmlChar *text = hn_xml_value(element, NULL);
        char *out = reading->request->uuid;
        unsigned digits = 0;

        if (!text)
                return 0;
        for (const xmlChar *p = text; *p; p++) {
                if (*p == '-' || isspace(*p))
                        continue;
                if (!isxdigit(*p) || digits == 32) {
                        digits = 33;
                        break;
                }
                if (digits == 8 || digits == 12 || digits == 16 || digits == 20)
                        *out++ = '-';
                *out++ = (char) tolower(*p);
                digits++;
        }
        if (digits != 32)
                return hn_xml_fault(&reading->fault, element, "'%s' is not a UUID", text);
        *out = '\0';
        return 0;
}

static int read_identity(struct hn_reading *reading)
{
        HN_XMLCHAR xmlChar *type = hn_xml_value(reading->domain, "type");
        HN_XMLCHAR xmlChar *id = hn_xml_value(reading->domain, "id");
        struct hn_request *request = reading->request;
        uint64_t number;
        int r;

        if (!type || !*type)
                return hn_xml_fault(&reading->fault, reading->domain, "the domain has no type");
        r = copy_text(type, &request->type);
        if (r < 0)
                return r;
        request->managed_type = !strcmp(request->type, "kvm") || !strcmp(request->type, "qemu");
        request->id = id && hn_text_number((const char *) id, INT32_MAX, &number) == 0 ? (long) number : -1;
        r = read_name(reading);
        return r < 0 ? r : read_uuid(reading);
}

static int read_all(struct hn_reading *reading)
{
        static int (*const parts[])(struct hn_reading *) = {
                read_identity, hn_read_wishes, hn_read_vcpus, hn_read_topology, hn_read_cells, hn_read_memory,
                hn_read_numatune, hn_read_pins, hn_read_devices,
        };

        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                int r = parts[i](reading);

                if (r < 0)
                        return r;
        }
        return 0;
}

int hn_request_parse(xmlDoc *doc, struct hn_request **ret, char **ret_fault)
{
        HN_REQUEST struct hn_request *request = calloc(1, sizeof *request);
        HN_MARK struct hn_mark *mark = NULL;
        struct hn_reading reading = { .domain = hn_domain_element(doc), .request = request };
        int r;

        if (!request)
                return -ENOMEM;
        if (!reading.domain || !hn_xml_is(reading.domain, "domain")) {
                *ret_fault = strdup("this is not a domain's XML");
                return *ret_fault ? -EINVAL : -ENOMEM;
        }
        r = hn_mark_load(reading.domain, &mark);
        if (r < 0)
                return r;
        reading.mark = mark;
        r = read_all(&reading);
        if (r == -EINVAL)
                *ret_fault = HN_TAKE(reading.fault);
        free(reading.fault);
        if (r < 0)
                return r;
        *ret = HN_TAKE(request);
        return 0;
}

int hn_request_bind_ours(struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++) {
                struct hn_request_cell *cell = &request->cells[i];

                if (!cell->ours || cell->bound)
                        continue;
                cell->bound = hwloc_bitmap_dup(cell->ours);
                if (!cell->bound)
                        return -ENOMEM;
                cell->mode = HN_NUMA_STRICT;
        }
        return 0;
}

void hn_request_unbind_ours(struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++) {
                struct hn_request_cell *cell = &request->cells[i];

                if (!cell->ours || !cell->bound)
                        continue;
                hwloc_bitmap_free(HN_TAKE(cell->bound));
                cell->mode = HN_NUMA_NONE;
        }
}

bool hn_request_wants_huge_pages(const struct hn_request *request)
{
        bool huge = request->page_kib || request->page_default;

        for (size_t i = 0; i < request->n_cells; i++)
                huge |= request->cells[i].page_kib != 0;
        for (size_t i = 0; i < request->n_plugged; i++)
                huge |= request->plugged[i].page_kib != 0;
        return huge;
}

static void free_pins(struct hn_pin *pins, size_t n)
{
        for (size_t i = 0; i < n; i++)
                hwloc_bitmap_free(pins[i].cpus);
        free(pins);
}

static void free_cells(struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++) {
                hwloc_bitmap_free(request->cells[i].vcpus);
                hwloc_bitmap_free(request->cells[i].bound);
                hwloc_bitmap_free(request->cells[i].ours);
                free(request->cells[i].distances);
        }
        free(request->cells);
}

void hn_request_free(struct hn_request *request)
{
        if (!request)
                return;
        free(request->type);
        free(request->name);
        hwloc_bitmap_free(request->wishes.nodes);
        free(request->wishes.fault);
        free_cells(request);
        for (size_t i = 0; i < request->n_plugged; i++)
                hwloc_bitmap_free(request->plugged[i].nodes);
        free(request->plugged);
        hwloc_bitmap_free(request->numatune_nodes);
        hwloc_bitmap_free(request->vcpu_cpuset);
        free_pins(request->vcpu_pins, request->n_vcpu_pins);
        hwloc_bitmap_free(request->emulator_pin);
        free_pins(request->iothread_pins, request->n_iothread_pins);
        hwloc_bitmap_free(request->iothreads);
        free(request->hostdevs);
        for (size_t i = 0; i < request->n_interfaces; i++)
                free(request->interfaces[i].source);
        free(request->interfaces);
        for (size_t i = 0; i < request->n_disks; i++)
                free(request->disks[i].source);
        free(request->disks);
        free(request);
}
