/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "act/scope.h"

static int add_pins(hwloc_bitmap_t cpus, const struct hn_pin *pins, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (hwloc_bitmap_or(cpus, cpus, pins[i].cpus) < 0)
                        return -ENOMEM;
        return 0;
}

static int add_node_cpus(const struct hn_host *host, hwloc_const_bitmap_t nodes, hwloc_bitmap_t cpus)
{
        HN_IDSET_FOREACH(node, nodes) {
                int at = hn_host_at(host, (unsigned) node);

                if (at >= 0 && hwloc_bitmap_or(cpus, cpus, host->nodes[at].cpus) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* The nodes that the XML itself binds memory to. */
static int bound_nodes(const struct hn_request *request, hwloc_bitmap_t nodes)
{
        int r = 0;

        if (request->numatune_nodes)
                r = hwloc_bitmap_or(nodes, nodes, request->numatune_nodes);
        for (size_t i = 0; r >= 0 && i < request->n_cells; i++) {
                hwloc_const_bitmap_t bound = request->cells[i].bound ? request->cells[i].bound : request->cells[i].ours;

                r = bound ? hwloc_bitmap_or(nodes, nodes, bound) : 0;
        }
        return r < 0 ? -ENOMEM : 0;
}

int hn_scope_nodes(const struct hn_request *request, const struct hn_placement *placement, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_dup(placement->memory_nodes);

        if (!nodes || (!hwloc_bitmap_iszero(nodes) && bound_nodes(request, nodes) < 0))
                return -ENOMEM;
        *ret = HN_TAKE(nodes);
        return 0;
}

int hn_scope_cpus(const struct hn_host *host, const struct hn_request *request,
                  const struct hn_placement *placement, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t cpus = hn_placement_cpus(placement);
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

        if (!cpus || !nodes)
                return -ENOMEM;
        if ((request->vcpu_cpuset && hwloc_bitmap_or(cpus, cpus, request->vcpu_cpuset) < 0) ||
            (request->emulator_pin && hwloc_bitmap_or(cpus, cpus, request->emulator_pin) < 0) ||
            add_pins(cpus, request->vcpu_pins, request->n_vcpu_pins) < 0 ||
            add_pins(cpus, request->iothread_pins, request->n_iothread_pins) < 0 ||
            bound_nodes(request, nodes) < 0 || add_node_cpus(host, nodes, cpus) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(cpus);
        return 0;
}
