/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "act/scope.h"
#include "decide/keep.h"

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
            hn_keep_add_named(request, nodes) < 0 || add_node_cpus(host, nodes, cpus) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(cpus);
        return 0;
}
