/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any text as the JSON of a host, and as a published state over a small one: refused, or a host whose sets
 * and matrices hold together, and that reads the same when written.  Links libhomenode.a, hwloc, json-c.
 */
#include <stdint.h>
#include <stdlib.h>

#include "model/host.h"
#include "model/json.h"
#include "model/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
        if (!holds)
                abort();
}

static void check_matrix(const struct hn_host *host)
{
        for (size_t a = 0; a < host->n_nodes; a++)
                for (size_t b = 0; b < host->n_nodes; b++) {
                        unsigned d = host->distances[a * host->n_nodes + b];

                        demand(d == host->distances[b * host->n_nodes + a]);
                        demand(a == b ? d == HN_DISTANCE_LOCAL : d > HN_DISTANCE_LOCAL && d < 255);
                }
}

static void check(const struct hn_host *host)
{
        HN_BITMAP hwloc_bitmap_t seen = hwloc_bitmap_alloc();

        demand(host->n_nodes > 0 && seen);
        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_node *node = &host->nodes[at];

                demand(!hwloc_bitmap_intersects(seen, node->cpus) &&
                       !hwloc_bitmap_intersects(node->cpus, host->isolated) &&
                       !hwloc_bitmap_intersects(node->cpus, host->offline) &&
                       hwloc_bitmap_isincluded(node->cpus, host->allowed_cpus));
                demand(node->free_kib <= node->memory_kib);
                demand(node->role == HN_NODE_HOME || hwloc_bitmap_iszero(node->cpus));
                demand(hn_host_at(host, node->os) == (int) at);
                demand(hwloc_bitmap_or(seen, seen, node->cpus) == 0);
        }
        for (size_t i = 0; i < host->n_cores; i++) {
                int at = hn_host_at(host, host->cores[i].node);

                demand(at >= 0 && !hwloc_bitmap_iszero(host->cores[i].threads) &&
                       hwloc_bitmap_isincluded(host->cores[i].threads, host->nodes[at].cpus));
        }
        for (size_t i = 0; i < host->n_caches; i++)
                demand(hwloc_bitmap_isincluded(host->caches[i].cpus, seen));
        check_matrix(host);
}

static void try_host(struct json_object *json)
{
        HN_HOST struct hn_host *host = NULL, *again = NULL;
        HN_JSON struct json_object *written = NULL, *rewritten = NULL;

        if (hn_host_from_json(json, &host) < 0)
                return;
        check(host);
        demand(hn_host_to_json(host, &written) == 0);
        demand(hn_host_from_json(written, &again) == 0);
        demand(hn_host_to_json(again, &rewritten) == 0);
        demand(json_object_equal(written, rewritten));
}

static void try_state(struct json_object *json)
{
        static struct json_object *small;
        HN_HOST struct hn_host *host = NULL;
        HN_LOAD struct hn_load *load = NULL;

        if (!small) {
                HN_HOST struct hn_host *made = NULL;

                demand(hn_host_from_description("node:2(indexes=0,8) core:2 pu:2", &made) == 0);
                demand(hn_host_to_json(made, &small) == 0);
        }
        demand(hn_host_from_json(small, &host) == 0);
        (void) hn_host_apply_state(host, json);
        check(host);
        if (hn_load_from_state(json, &load) == 0)
                demand(hn_load_busy(load, 0) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        HN_JSON struct json_object *json = NULL;

        if (hn_json_parse((const char *) data, size, 8, &json) < 0)
                return 0;
        try_host(json);
        try_state(json);
        return 0;
}
