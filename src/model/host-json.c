/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A host as JSON: the facts, in a form that stays small and quick to read for hundreds of CPUs, since the
 * hook reads it at every start.
 *
 *   { "version": 1, "source": "this host",
 *     "isolated": "", "offline": "", "allowed_cpus": "0-3", "allowed_nodes": "0-1",
 *     "distance_source": "host", "distances": [ "10 20", "20 10" ],
 *     "nodes": [ { "node": 0, "cpus": "0-1", "memory_kib": 4, "free_kib": 4,
 *                  "pools": [ "2048 0 0" ] }, … ],         page size in KiB, pages, free ones
 *     "cores": [ "0-1", "2-3" ],
 *     "kinds": [ "0-1", "2-3" ],                       by efficiency rank; empty: all alike
 *     "caches": [ "8192 0-3" ],                        KiB, CPUs
 *     "devices": [ "0000:81:00.0 0108 1", … ] }        address, class, node
 */
#include "model/host-facts.h"
#include "model/json.h"
#include "model/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const source_names[] = {
        [HN_DISTANCE_FROM_HOST] = "host",
        [HN_DISTANCE_MISSING] = "missing",
        [HN_DISTANCE_BROKEN] = "broken",
};

/* Appends to an array; `value` is taken over. */
static int append(struct json_object *array, struct json_object *value)
{
        if (!value)
                return -ENOMEM;
        if (json_object_array_add(array, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

static int write_pools(const struct hn_fact_node *node, struct json_object *to)
{
        HN_JSON struct json_object *array = json_object_new_array();

        if (!array)
                return -ENOMEM;
        for (size_t i = 0; i < node->n_pools; i++) {
                const struct hn_pool *pool = &node->pools[i];
                HN_FREE char *text = hn_text_print("%" PRIu64 " %" PRIu64 " %" PRIu64, pool->page_kib,
                                                   pool->total_pages, pool->free_pages);

                if (!text || append(array, json_object_new_string(text)) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(to, "pools", HN_TAKE(array));
}

static int write_nodes(const struct hn_facts *facts, struct json_object *array)
{
        for (size_t i = 0; i < facts->n_nodes; i++) {
                const struct hn_fact_node *from = &facts->nodes[i];
                HN_JSON struct json_object *node = json_object_new_object();

                if (!node || hn_json_add(node, "node", json_object_new_uint64(from->os)) < 0 ||
                    hn_json_add(node, "cpus", hn_json_new_set(from->cpus)) < 0 ||
                    hn_json_add(node, "memory_kib", json_object_new_uint64(from->memory_kib)) < 0 ||
                    hn_json_add(node, "free_kib", json_object_new_uint64(from->free_kib)) < 0 ||
                    write_pools(from, node) < 0 || append(array, HN_TAKE(node)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int write_distances(const struct hn_facts *facts, struct json_object *array)
{
        HN_FREE char *row = malloc(facts->n_nodes * sizeof "255 ");

        if (!row)
                return -ENOMEM;
        for (size_t i = 0; i < facts->n_nodes; i++) {
                char *p = row;

                for (size_t j = 0; j < facts->n_nodes; j++)
                        p += sprintf(p, j ? " %u" : "%u", facts->distances[i * facts->n_nodes + j]);
                if (append(array, json_object_new_string(row)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int write_cores(const struct hn_facts *facts, struct json_object *array)
{
        for (size_t i = 0; i < facts->n_cores; i++)
                if (append(array, hn_json_new_set(facts->cores[i].threads)) < 0)
                        return -ENOMEM;
        return 0;
}

static int write_kinds(const struct hn_facts *facts, struct json_object *array)
{
        int highest = -1;

        for (size_t i = 0; i < facts->n_cores; i++)
                if (facts->cores[i].kind > highest)
                        highest = facts->cores[i].kind;
        for (int kind = 0; kind <= highest; kind++) {
                HN_BITMAP hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

                if (!cpus)
                        return -ENOMEM;
                for (size_t i = 0; i < facts->n_cores; i++)
                        if (facts->cores[i].kind == kind &&
                            hwloc_bitmap_or(cpus, cpus, facts->cores[i].threads) < 0)
                                return -ENOMEM;
                if (append(array, hn_json_new_set(cpus)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int write_caches(const struct hn_facts *facts, struct json_object *array)
{
        for (size_t i = 0; i < facts->n_caches; i++) {
                HN_FREE char *cpus = NULL, *text = NULL;

                if (hn_idset_format(facts->caches[i].cpus, &cpus) < 0)
                        return -ENOMEM;
                text = hn_text_print("%" PRIu64 " %s", facts->caches[i].size_kib, cpus);
                if (!text || append(array, json_object_new_string(text)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

void hn_device_format(const struct hn_device *device, char ret[static HN_DEVICE_LENGTH])
{
        (void) snprintf(ret, HN_DEVICE_LENGTH, "%04x:%02x:%02x.%x %04x %d", device->domain, device->bus,
                        device->slot, device->function, device->class_id, device->node);
}

static int write_devices(const struct hn_facts *facts, struct json_object *array)
{
        for (size_t i = 0; i < facts->n_devices; i++) {
                char text[HN_DEVICE_LENGTH];

                hn_device_format(&facts->devices[i], text);
                if (append(array, json_object_new_string(text)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int write_array(const struct hn_facts *facts, struct json_object *to, const char *name,
                       int (*fill)(const struct hn_facts *facts, struct json_object *array))
{
        HN_JSON struct json_object *array = json_object_new_array();
        int r;

        if (!array)
                return -ENOMEM;
        r = fill(facts, array);
        return r < 0 ? r : hn_json_add(to, name, HN_TAKE(array));
}

int hn_facts_to_json(const struct hn_facts *facts, struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();

        if (!json || hn_json_add(json, "version", json_object_new_uint64(HN_HOST_FORMAT)) < 0 ||
            hn_json_add(json, "source", json_object_new_string(facts->source ? facts->source : "")) < 0 ||
            hn_json_add(json, "isolated", hn_json_new_set(facts->isolated)) < 0 ||
            hn_json_add(json, "offline", hn_json_new_set(facts->offline)) < 0 ||
            hn_json_add(json, "allowed_cpus", hn_json_new_set(facts->allowed_cpus)) < 0 ||
            hn_json_add(json, "allowed_nodes", hn_json_new_set(facts->allowed_nodes)) < 0 ||
            hn_json_add(json, "distance_source",
                        json_object_new_string(source_names[facts->distance_source])) < 0 ||
            write_array(facts, json, "distances", write_distances) < 0 ||
            write_array(facts, json, "nodes", write_nodes) < 0 ||
            write_array(facts, json, "cores", write_cores) < 0 ||
            write_array(facts, json, "kinds", write_kinds) < 0 ||
            write_array(facts, json, "caches", write_caches) < 0 ||
            write_array(facts, json, "devices", write_devices) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(json);
        return 0;
}

int hn_host_to_json(const struct hn_host *host, struct json_object **ret)
{
        return host->facts ? hn_facts_to_json(host->facts, ret) : -EINVAL;
}
