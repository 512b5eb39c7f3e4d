/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The domain: what a libvirt guest's XML asks for.  What homenode itself put into the XML (the mark,
 * model/mark.h) is not part of what the user asks for, except for cells, which are guest ABI.
 */
#pragma once

#include <libxml/tree.h>

#include "model/idset.h"
#include "model/uuid.h"

#define HN_DOMAIN_XML_LIMIT (8u << 20)   /* bytes; libvirt's own XML limit is 10 MiB */
#define HN_DOMAIN_VCPU_LIMIT 8192u
#define HN_DOMAIN_CELL_LIMIT 1024u
#define HN_DOMAIN_PLUGGED_LIMIT 1024u    /* QEMU has 256 slots */

enum hn_priority { HN_PRIORITY_LOW, HN_PRIORITY_NORMAL, HN_PRIORITY_HIGH };
enum hn_memory_rule { HN_MEMORY_AUTO, HN_MEMORY_STRICT, HN_MEMORY_SOFT };

/* libvirt's numatune modes; NONE: the element is not there. */
enum hn_numa_mode { HN_NUMA_NONE, HN_NUMA_STRICT, HN_NUMA_PREFERRED, HN_NUMA_INTERLEAVE,
                    HN_NUMA_RESTRICTIVE };

/* <homenode:domain xmlns:homenode="urn:homenode:1">, DESIGN chapter 6 */
struct hn_wishes {
        bool off;                  /* placement="off" */
        hwloc_bitmap_t nodes;      /* NULL: any */
        enum hn_priority priority;
        int vnuma;                 /* -1 auto, 0 off (or the machine type knows no cells), N: so many cells */
        bool spanning_forbidden;
        enum hn_memory_rule memory;
        bool pin_cores;            /* pinning="core" */
        bool network_off, storage_off;
        char *fault;               /* what is wrong in it, NULL: nothing; then nothing counts but `off` */
};

struct hn_topology { unsigned sockets, dies, clusters, cores, threads; }; /* all 0: none given */

struct hn_request_cell {
        hwloc_bitmap_t vcpus;      /* may be empty (memory-only cell) */
        uint64_t memory_kib;
        uint64_t page_kib;         /* 0: ordinary pages */
        uint64_t devices_kib;      /* plugged in at start besides: DIMMs, virtio-mem as far as requested */
        hwloc_bitmap_t bound;      /* memnode by the user; NULL: none */
        enum hn_numa_mode mode;    /* of that memnode */
        hwloc_bitmap_t ours;       /* memnode by homenode, where libvirt binds it at a start; NULL: none */
        unsigned *distances;       /* n_cells values, 0 where not given; NULL: none given */
};

/* A memory device that names its nodes itself (<source><nodemask>), plugged in at start.  It is in no cell's devices_kib. */
struct hn_plugged {
        unsigned cell;         /* that it belongs to */
        uint64_t memory_kib;
        uint64_t page_kib;     /* 0: ordinary pages, or as its cell */
        bool page_given;
        hwloc_bitmap_t nodes;
};

/* One user pin: vCPU or iothread number and its CPUs. */
struct hn_pin { unsigned id; hwloc_bitmap_t cpus; };

struct hn_pci_address { unsigned domain, bus, slot, function; };

enum hn_interface_kind { HN_INTERFACE_NETWORK, HN_INTERFACE_BRIDGE, HN_INTERFACE_DIRECT, HN_INTERFACE_HOSTDEV,
                         HN_INTERFACE_VHOSTUSER, HN_INTERFACE_OTHER };
struct hn_interface { enum hn_interface_kind kind;
                      char *source; /* network, bridge, card or socket; may be NULL */
                      struct hn_pci_address pci; bool has_pci; };

enum hn_disk_kind { HN_DISK_FILE, HN_DISK_BLOCK, HN_DISK_NETWORK, HN_DISK_VHOSTUSER, HN_DISK_NVME,
                    HN_DISK_OTHER };
struct hn_disk { enum hn_disk_kind kind;
                 char *source; /* file, device, socket or protocol:name; may be NULL */
                 struct hn_pci_address pci; bool has_pci; unsigned iothread; /* 0: none */ };

struct hn_request {
        char *type;                /* "kvm", "qemu", … */
        char *name;
        char uuid[HN_UUID_LENGTH + 1]; /* lower case; "" where the XML has none */
        long id;                   /* -1: not running */
        bool managed_type;         /* kvm or qemu */

        unsigned vcpus_max, vcpus_current;
        uint64_t memory_kib;       /* at start, rounded up to MiB as libvirt does; without memory devices */
        uint64_t memory_current_kib;
        uint64_t memory_max_kib;   /* <maxMemory>, 0: no hotplug */
        unsigned memory_slots;
        uint64_t page_kib;         /* huge pages for all, 0: ordinary (per-cell ones are in the cells) */
        bool page_default;         /* <hugepages/> without a size: the host's default size */
        bool memory_shared;        /* access shared, memfd or file */
        bool memory_locked;
        bool memory_immediate;     /* allocation immediate */
        bool memory_encrypted;     /* launchSecurity sev, sev-snp, tdx, s390-pv: does not migrate */

        bool has_cpu_element;
        struct hn_topology topology; /* left out where it does not multiply to vcpus_max */
        struct hn_request_cell *cells;
        size_t n_cells;
        struct hn_plugged *plugged;
        size_t n_plugged;
        bool cells_ours;           /* they stand in our mark.  Where the domain is not running and they
                                    * no longer fit its vCPUs, memory or vnuma they are left out, and so
                                    * is their topology */

        bool placement_auto;       /* vcpu or numatune placement='auto': numad decides */
        enum hn_numa_mode numatune_mode; /* <numatune><memory>, the user's */
        hwloc_bitmap_t numatune_nodes;   /* NULL: none */
        bool numatune_user;        /* the user wrote some <numatune> */
        hwloc_bitmap_t vcpu_cpuset;      /* <vcpu cpuset=…>, NULL: none */
        struct hn_pin *vcpu_pins;
        size_t n_vcpu_pins;
        hwloc_bitmap_t emulator_pin;     /* NULL: none */
        struct hn_pin *iothread_pins;
        size_t n_iothread_pins;
        hwloc_bitmap_t iothreads;        /* their ids */

        struct hn_pci_address *hostdevs;
        size_t n_hostdevs;
        struct hn_interface *interfaces;
        size_t n_interfaces;
        struct hn_disk *disks;
        size_t n_disks;

        struct hn_wishes wishes;
};

/* Parses XML text: no network, no entity expansion, at most HN_DOMAIN_XML_LIMIT bytes; nothing is printed.
 * -EFBIG; -EBADMSG: not well-formed; -EOPNOTSUPP: with a document type; -ENOMEM.  *ret is freed with xmlFreeDoc. */
int hn_xml_parse(const char *text, size_t length, xmlDoc **ret);
HN_DEFINE_CLEANUP(xmlDoc *, xmlFreeDoc, hn_cleanup_xmldoc)
#define HN_XMLDOC HN_CLEANUP(hn_cleanup_xmldoc)

/* Reads what a domain's XML asks for.  The root may be <domain>, or a wrapper that holds exactly one as
 * libvirt writes it for saved guests and hooks (<domstatus>…).  -EINVAL: not a domain, or a value libvirt
 * would refuse too; *ret_fault (freed by the caller, set on -EINVAL only) says what and where. */
int hn_request_parse(xmlDoc *doc, struct hn_request **ret, char **ret_fault);

/* Takes our own memnodes for bindings of the user's: libvirt binds a starting guest's cells to the nodes that its
 * definition names, ours included, whatever the hook prints.  -ENOMEM. */
int hn_request_bind_ours(struct hn_request *request);

/* And back: what was taken so is ours again. */
void hn_request_unbind_ours(struct hn_request *request);

/* Is any of its memory, or a cell's, to be in huge pages? */
bool hn_request_wants_huge_pages(const struct hn_request *request);

void hn_request_free(struct hn_request *request);
HN_DEFINE_CLEANUP(struct hn_request *, hn_request_free, hn_cleanup_request)
#define HN_REQUEST HN_CLEANUP(hn_cleanup_request)

/* The <domain> element of a document, or NULL. */
xmlNode *hn_domain_element(xmlDoc *doc);
