/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The facts that an hwloc topology holds.
 */
#include "model/host-facts.h"

#include <errno.h>
#include <string.h>

#include <hwloc/cpukinds.h>

#define KIB 1024u
#define PCI_BRIDGES 0x06u /* base class; those with something behind them are no devices to hwloc */

static uint64_t to_kib(hwloc_uint64_t bytes)
{
        return bytes / KIB < HN_HOST_KIB_LIMIT ? bytes / KIB : HN_HOST_KIB_LIMIT;
}

/* A copy of an object's set without what the machine as a whole has not: a file may well say "0xf...f". */
static hwloc_bitmap_t bounded(hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
        HN_BITMAP hwloc_bitmap_t copy = hwloc_bitmap_alloc();

        if (!copy || hwloc_bitmap_and(copy, set, hwloc_topology_get_complete_cpuset(topology)) < 0)
                return NULL;
        return HN_TAKE(copy);
}

/* Memory that came as a device (PMEM, CXL, HBM in the kernel's hands) or sits on a GPU. */
static bool is_special(hwloc_obj_t node)
{
        static const char *const kinds[] = { "HBM", "MCDRAM", "NVM", "SPM", "GPUMemory", "CXL" };

        if (hwloc_obj_get_info_by_name(node, "DAXDevice"))
                return true;
        for (size_t i = 0; node->subtype && i < sizeof kinds / sizeof *kinds; i++)
                if (strncmp(node->subtype, kinds[i], strlen(kinds[i])) == 0)
                        return true;
        return false;
}

/* Ordinary memory before special, then ascending OS index: who comes first keeps CPUs that several name. */
static int before(const void *a, const void *b)
{
        hwloc_obj_t x = *(const hwloc_obj_t *) a, y = *(const hwloc_obj_t *) b;

        if (is_special(x) != is_special(y))
                return is_special(x) ? 1 : -1;
        return (x->os_index > y->os_index) - (x->os_index < y->os_index);
}

static int by_os(const void *a, const void *b)
{
        const struct hn_fact_node *x = a, *y = b;

        return (x->os > y->os) - (x->os < y->os);
}

/* Pools of huge pages; the smallest page size is the ordinary one. */
static int read_pools(const struct hwloc_numanode_attr_s *attributes, struct hn_fact_node *node)
{
        uint64_t ordinary = UINT64_MAX;

        for (unsigned i = 0; i < attributes->page_types_len; i++)
                if (attributes->page_types[i].size < ordinary)
                        ordinary = attributes->page_types[i].size;
        node->pools = calloc((size_t) attributes->page_types_len + 1, sizeof *node->pools);
        if (!node->pools)
                return -ENOMEM;
        for (unsigned i = 0; i < attributes->page_types_len; i++) {
                uint64_t page_kib = attributes->page_types[i].size / KIB;
                uint64_t pages = attributes->page_types[i].count;

                if (attributes->page_types[i].size == ordinary || !page_kib ||
                    page_kib > HN_HOST_PAGE_KIB_LIMIT || node->n_pools == HN_HOST_POOL_LIMIT)
                        continue;
                if (pages > node->memory_kib / page_kib)
                        pages = node->memory_kib / page_kib;
                node->pools[node->n_pools++] = (struct hn_pool) {
                        .page_kib = page_kib, .total_pages = pages, .free_pages = pages };
        }
        return 0;
}

static int read_node(hwloc_topology_t topology, hwloc_obj_t object, hwloc_bitmap_t taken,
                     struct hn_fact_node *node)
{
        if (object->os_index >= HN_HOST_NODE_LIMIT)
                return -EBADMSG;
        node->os = object->os_index;
        node->memory_kib = node->free_kib = to_kib(object->attr->numanode.local_memory);
        node->cpus = bounded(topology, object->complete_cpuset);
        if (!node->cpus || hwloc_bitmap_andnot(node->cpus, node->cpus, taken) < 0 ||
            hwloc_bitmap_or(taken, taken, node->cpus) < 0)
                return -ENOMEM;
        return read_pools(&object->attr->numanode, node);
}

static int read_nodes(hwloc_topology_t topology, struct hn_facts *facts)
{
        int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
        HN_BITMAP hwloc_bitmap_t taken = hwloc_bitmap_alloc();
        HN_FREE hwloc_obj_t *objects = NULL;

        if (count <= 0 || (unsigned) count > HN_HOST_NODE_LIMIT)
                return -EBADMSG;
        objects = calloc((size_t) count, sizeof *objects);
        facts->nodes = calloc((size_t) count, sizeof *facts->nodes);
        if (!taken || !objects || !facts->nodes)
                return -ENOMEM;
        for (int i = 0; i < count; i++)
                objects[i] = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned) i);
        qsort(objects, (size_t) count, sizeof *objects, before);

        for (int i = 0; i < count; i++) {
                int r;

                facts->n_nodes++;
                r = read_node(topology, objects[i], taken, &facts->nodes[i]);
                if (r < 0)
                        return r;
        }
        qsort(facts->nodes, facts->n_nodes, sizeof *facts->nodes, by_os);
        return 0;
}

/* The lowest node with CPUs and memory in a set of nodes, or NULL. */
static struct hn_fact_node *first_home(struct hn_facts *facts, hwloc_const_bitmap_t nodeset)
{
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (hwloc_bitmap_isset(nodeset, facts->nodes[i].os) && facts->nodes[i].memory_kib &&
                    !hwloc_bitmap_iszero(facts->nodes[i].cpus))
                        return &facts->nodes[i];
        return NULL;
}

/* CPUs whose own node is off line or left out belong to no node: they count to the nearest by the tree. */
static int adopt_orphans(hwloc_topology_t topology, struct hn_facts *facts)
{
        HN_BITMAP hwloc_bitmap_t orphans = bounded(topology, hwloc_topology_get_topology_cpuset(topology));

        if (!orphans)
                return -ENOMEM;
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (hwloc_bitmap_andnot(orphans, orphans, facts->nodes[i].cpus) < 0)
                        return -ENOMEM;
        HN_IDSET_FOREACH(cpu, orphans) {
                hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, (unsigned) cpu);
                struct hn_fact_node *home = NULL;

                for (; object && !home; object = object->parent)
                        if (object->nodeset)
                                home = first_home(facts, object->nodeset);
                if (home && hwloc_bitmap_set(home->cpus, (unsigned) cpu) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Efficiency rank of a set of CPUs, -1 where all are of one kind or hwloc can't rank them. */
static int kind_of(hwloc_topology_t topology, hwloc_const_bitmap_t cpus)
{
        int efficiency = -1, kind;

        if (hwloc_cpukinds_get_nr(topology, 0) < 2)
                return -1;
        kind = hwloc_cpukinds_get_by_cpuset(topology, cpus, 0);
        if (kind < 0 ||
            hwloc_cpukinds_get_info(topology, (unsigned) kind, NULL, &efficiency, NULL, NULL, 0) < 0)
                return -1;
        return efficiency < (int) HN_HOST_KIND_LIMIT ? efficiency : -1;
}

static int read_cores(hwloc_topology_t topology, struct hn_facts *facts)
{
        int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);

        facts->cores = NULL;
        for (int i = 0; i < count; i++) {
                hwloc_obj_t object = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned) i);
                struct hn_fact_core *cores = hn_array_grow(facts->cores, facts->n_cores, sizeof *cores);

                if (!cores)
                        return -ENOMEM;
                facts->cores = cores;
                cores[facts->n_cores].kind = kind_of(topology, object->cpuset);
                cores[facts->n_cores].threads = bounded(topology, object->complete_cpuset);
                if (!cores[facts->n_cores++].threads)
                        return -ENOMEM;
        }
        return hn_facts_lone_cores(facts, hwloc_topology_get_topology_cpuset(topology));
}

static int add_cache(hwloc_topology_t topology, struct hn_facts *facts, hwloc_obj_t object)
{
        struct hn_cache *caches;

        for (size_t i = 0; i < facts->n_caches; i++)
                if (hwloc_bitmap_intersects(facts->caches[i].cpus, object->complete_cpuset))
                        return 0;
        caches = hn_array_grow(facts->caches, facts->n_caches, sizeof *caches);
        if (!caches)
                return -ENOMEM;
        facts->caches = caches;
        caches[facts->n_caches].size_kib = to_kib(object->attr->cache.size);
        caches[facts->n_caches].cpus = bounded(topology, object->complete_cpuset);
        return caches[facts->n_caches++].cpus ? 0 : -ENOMEM;
}

/* L3, and L2 for CPUs without one (thrifty cores).  L4 sits at the memory: it divides no node. */
static int read_caches(hwloc_topology_t topology, struct hn_facts *facts)
{
        static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE };

        for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
                int count = hwloc_get_nbobjs_by_type(topology, levels[level]);

                for (int i = 0; i < count; i++) {
                        int r = add_cache(topology, facts,
                                          hwloc_get_obj_by_type(topology, levels[level], (unsigned) i));

                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* The one node with CPUs near an I/O device; -1 where there are several: then the host does not say. */
static int node_of_device(hwloc_topology_t topology, const struct hn_facts *facts, hwloc_obj_t device)
{
        hwloc_obj_t ancestor = hwloc_get_non_io_ancestor_obj(topology, device);
        int node = -1;

        for (size_t i = 0; ancestor && i < facts->n_nodes; i++) {
                if (!hwloc_bitmap_isset(ancestor->nodeset, facts->nodes[i].os) ||
                    hwloc_bitmap_iszero(facts->nodes[i].cpus))
                        continue;
                if (node >= 0)
                        return -1;
                node = (int) facts->nodes[i].os;
        }
        return node;
}

static int read_devices(hwloc_topology_t topology, struct hn_facts *facts)
{
        hwloc_obj_t object = NULL;

        while ((object = hwloc_get_next_pcidev(topology, object))) {
                const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
                struct hn_device *devices;

                if (pci->class_id >> 8 == PCI_BRIDGES)
                        continue;
                if (facts->n_devices == HN_HOST_DEVICE_LIMIT)
                        return -EBADMSG;
                devices = hn_array_grow(facts->devices, facts->n_devices, sizeof *devices);
                if (!devices)
                        return -ENOMEM;
                facts->devices = devices;
                devices[facts->n_devices++] = (struct hn_device) {
                        .domain = pci->domain, .bus = pci->bus, .slot = pci->dev, .function = pci->func,
                        .class_id = pci->class_id, .node = node_of_device(topology, facts, object) };
        }
        return 0;
}

static int check_cpus(hwloc_topology_t topology)
{
        int last = hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(topology));

        /* -1: empty or infinite */
        return last < 0 || (unsigned) last >= HN_HOST_CPU_LIMIT ? -EBADMSG : 0;
}

/* Off line are, as far as a file tells, also CPUs that a cgroup hid when it was written. */
static int read_sets(hwloc_topology_t topology, struct hn_facts *facts)
{
        hwloc_const_bitmap_t complete = hwloc_topology_get_complete_cpuset(topology);
        hwloc_const_bitmap_t allowed_nodes = hwloc_topology_get_allowed_nodeset(topology);

        if (hwloc_bitmap_andnot(facts->offline, complete, hwloc_topology_get_topology_cpuset(topology)) < 0 ||
            hwloc_bitmap_and(facts->allowed_cpus, complete, hwloc_topology_get_allowed_cpuset(topology)) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < facts->n_nodes; i++)
                if (hwloc_bitmap_isset(allowed_nodes, facts->nodes[i].os) &&
                    hwloc_bitmap_set(facts->allowed_nodes, facts->nodes[i].os) < 0)
                        return -ENOMEM;
        return 0;
}

int hn_facts_from_hwloc(hwloc_topology_t topology, struct hn_facts **ret)
{
        HN_FACTS struct hn_facts *facts = hn_facts_new();
        int r;

        if (!facts)
                return -ENOMEM;
        r = check_cpus(topology);
        if (r >= 0)
                r = read_nodes(topology, facts);
        if (r >= 0)
                r = read_sets(topology, facts);
        if (r >= 0)
                r = adopt_orphans(topology, facts);
        if (r >= 0)
                r = hn_facts_distances(topology, facts);
        if (r >= 0)
                r = read_cores(topology, facts);
        if (r >= 0)
                r = read_caches(topology, facts);
        if (r >= 0)
                r = read_devices(topology, facts);
        if (r < 0)
                return r;
        *ret = HN_TAKE(facts);
        return 0;
}
