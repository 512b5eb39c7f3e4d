/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading what host-json.c writes.  The file may come from anybody (--state, bug reports): every number has a
 * limit, every set stays below HN_HOST_CPU_LIMIT, and what contradicts itself is refused.
 */
#include "model/host-facts.h"
#include "model/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A missing member is as bad as a wrong one. */
static int required(int r)
{
        return r == -ENOENT ? -EBADMSG : r;
}

static int get_set(struct json_object *object, const char *name, unsigned limit, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t set = NULL;
        int r = required(hn_json_get_set(object, name, &set));

        if (r < 0)
                return r;
        if (hwloc_bitmap_last(set) >= (int) limit)
                return -EBADMSG;
        hwloc_bitmap_free(*ret);
        *ret = HN_TAKE(set);
        return 0;
}

/* A set as an element of an array. */
static int read_set(struct json_object *value, hwloc_bitmap_t *ret)
{
        int r;

        if (!json_object_is_type(value, json_type_string))
                return -EBADMSG;
        r = hn_idset_parse(json_object_get_string(value), HN_HOST_CPU_LIMIT, ret);
        return r == -EINVAL || r == -ERANGE ? -EBADMSG : r;
}

/* ---- nodes */

/* Numbers with one blank between them, each at most its limit; *p is behind the last then. */
static int read_numbers(const char **p, uint64_t *ret, const uint64_t *limits, size_t n)
{
        const char *next = *p;

        for (size_t i = 0; i < n; i++) {
                if (i && *next++ != ' ')
                        return -EBADMSG;
                if (!isdigit((unsigned char) *next))
                        return -EBADMSG;
                /* Limits are far below what overflows. */
                for (ret[i] = 0; isdigit((unsigned char) *next) && ret[i] <= limits[i]; next++)
                        ret[i] = ret[i] * 10 + (uint64_t) (*next - '0');
                if (ret[i] > limits[i])
                        return -EBADMSG;
        }
        *p = next;
        return 0;
}

static int read_pool(struct json_object *value, struct hn_pool *ret)
{
        static const uint64_t limits[] = { HN_HOST_PAGE_KIB_LIMIT, HN_HOST_KIB_LIMIT, HN_HOST_KIB_LIMIT };
        uint64_t numbers[3];
        const char *p;

        if (!json_object_is_type(value, json_type_string))
                return -EBADMSG;
        p = json_object_get_string(value);
        if (read_numbers(&p, numbers, limits, 3) < 0 || *p || numbers[0] == 0 ||
            numbers[1] > HN_HOST_KIB_LIMIT / numbers[0] || numbers[2] > numbers[1])
                return -EBADMSG;
        *ret = (struct hn_pool) { .page_kib = numbers[0], .total_pages = numbers[1], .free_pages = numbers[2] };
        return 0;
}

int hn_pools_from_json(struct json_object *node, hn_pool_reader *read, struct hn_pool **ret, size_t *ret_n)
{
        HN_FREE struct hn_pool *pools = NULL;
        struct json_object *array = NULL;
        size_t n;
        int r = hn_json_get_array(node, "pools", HN_HOST_POOL_LIMIT, &array);

        if (r < 0)
                return r;
        n = json_object_array_length(array);
        pools = calloc(n + 1, sizeof *pools);
        if (!pools)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                r = read(json_object_array_get_idx(array, i), &pools[i]);
                if (r < 0)
                        return r;
                for (size_t j = 0; j < i; j++)
                        if (pools[j].page_kib == pools[i].page_kib)
                                return -EBADMSG;
        }
        *ret = HN_TAKE(pools);
        *ret_n = n;
        return 0;
}

static int read_node(struct json_object *json, hwloc_bitmap_t taken, struct hn_fact_node *node)
{
        uint64_t os;
        int r = hn_json_get_u64(json, "node", HN_HOST_NODE_LIMIT - 1, &os);

        if (r >= 0)
                r = get_set(json, "cpus", HN_HOST_CPU_LIMIT, &node->cpus);
        if (r >= 0)
                r = hn_json_get_u64(json, "memory_kib", HN_HOST_KIB_LIMIT, &node->memory_kib);
        if (r >= 0)
                r = hn_json_get_u64(json, "free_kib", HN_HOST_KIB_LIMIT, &node->free_kib);
        if (r >= 0)
                r = hn_pools_from_json(json, read_pool, &node->pools, &node->n_pools);
        if (r < 0)
                return required(r);
        node->os = (unsigned) os;
        if (hwloc_bitmap_intersects(taken, node->cpus))
                return -EBADMSG;
        return hwloc_bitmap_or(taken, taken, node->cpus) < 0 ? -ENOMEM : 0;
}

static int read_nodes(struct json_object *json, struct hn_facts *facts)
{
        HN_BITMAP hwloc_bitmap_t taken = hwloc_bitmap_alloc();
        struct json_object *array = NULL;
        int r = required(hn_json_get_array(json, "nodes", HN_HOST_NODE_LIMIT, &array));

        if (r < 0)
                return r;
        facts->nodes = calloc(json_object_array_length(array) + 1, sizeof *facts->nodes);
        if (!taken || !facts->nodes)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(array); i++) {
                facts->n_nodes++;
                r = read_node(json_object_array_get_idx(array, i), taken, &facts->nodes[i]);
                if (r < 0)
                        return r;
                if (i && facts->nodes[i].os <= facts->nodes[i - 1].os)
                        return -EBADMSG;
        }
        return facts->n_nodes ? 0 : -EBADMSG;
}

/* ---- distances */

/* "10 21": exactly n numbers below 1,000 */
static int read_row(struct json_object *value, unsigned *row, size_t n)
{
        static const uint64_t limit = 999;
        const char *p;

        if (!json_object_is_type(value, json_type_string))
                return -EBADMSG;
        p = json_object_get_string(value);
        for (size_t i = 0; i < n; i++) {
                uint64_t number;

                if ((i && *p++ != ' ') || read_numbers(&p, &number, &limit, 1) < 0)
                        return -EBADMSG;
                row[i] = (unsigned) number;
        }
        return *p ? -EBADMSG : 0;
}

static int read_distance_source(struct json_object *json, enum hn_distance_source *ret)
{
        const char *name = NULL;
        int r = required(hn_json_get_string(json, "distance_source", &name));

        if (r < 0)
                return r;
        if (strcmp(name, "host") == 0)
                *ret = HN_DISTANCE_FROM_HOST;
        else if (strcmp(name, "missing") == 0)
                *ret = HN_DISTANCE_MISSING;
        else if (strcmp(name, "broken") == 0)
                *ret = HN_DISTANCE_BROKEN;
        else
                return -EBADMSG;
        return 0;
}

/* What was written had been made usable: a matrix that would still have to change was not. */
static int read_distances(struct json_object *json, struct hn_facts *facts)
{
        HN_FREE unsigned *check = NULL;
        struct json_object *array = NULL;
        size_t n = facts->n_nodes;
        int r = read_distance_source(json, &facts->distance_source);

        if (r >= 0)
                r = required(hn_json_get_array(json, "distances", HN_HOST_NODE_LIMIT, &array));
        if (r < 0)
                return r;
        if (json_object_array_length(array) != n)
                return -EBADMSG;
        facts->distances = calloc(n * n, sizeof *facts->distances);
        if (!facts->distances)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                r = read_row(json_object_array_get_idx(array, i), facts->distances + i * n, n);
                if (r < 0)
                        return r;
        }
        check = hn_array_copy(facts->distances, n * n, sizeof *check);
        if (!check)
                return -ENOMEM;
        if (hn_distances_normalise(check, n) != HN_DISTANCE_FROM_HOST ||
            memcmp(check, facts->distances, n * n * sizeof *check) != 0)
                return -EBADMSG;
        return 0;
}

/* ---- cores, caches, devices */

static int read_cores(struct json_object *json, struct hn_facts *facts)
{
        HN_BITMAP hwloc_bitmap_t taken = hwloc_bitmap_alloc();
        struct json_object *array = NULL;
        int r = required(hn_json_get_array(json, "cores", HN_HOST_CPU_LIMIT, &array));

        if (r < 0)
                return r;
        facts->cores = calloc(json_object_array_length(array) + 1, sizeof *facts->cores);
        if (!taken || !facts->cores)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(array); i++) {
                struct hn_fact_core *core = &facts->cores[facts->n_cores++];

                core->kind = -1;
                r = read_set(json_object_array_get_idx(array, i), &core->threads);
                if (r < 0)
                        return r;
                if (hwloc_bitmap_iszero(core->threads) || hwloc_bitmap_intersects(taken, core->threads))
                        return -EBADMSG;
                if (hwloc_bitmap_or(taken, taken, core->threads) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int read_kinds(struct json_object *json, struct hn_facts *facts)
{
        struct json_object *array = NULL;
        int r = required(hn_json_get_array(json, "kinds", HN_HOST_KIND_LIMIT, &array));

        for (size_t kind = 0; r >= 0 && kind < json_object_array_length(array); kind++) {
                HN_BITMAP hwloc_bitmap_t cpus = NULL;

                r = read_set(json_object_array_get_idx(array, kind), &cpus);
                for (size_t i = 0; r >= 0 && i < facts->n_cores; i++)
                        if (hwloc_bitmap_intersects(facts->cores[i].threads, cpus))
                                facts->cores[i].kind = (int) kind;
        }
        return r;
}

static int read_cache(struct json_object *value, struct hn_cache *cache)
{
        static const uint64_t limit = HN_HOST_KIB_LIMIT;
        const char *p;
        int r;

        if (!json_object_is_type(value, json_type_string))
                return -EBADMSG;
        p = json_object_get_string(value);
        if (read_numbers(&p, &cache->size_kib, &limit, 1) < 0 || *p++ != ' ' || *p == ' ')
                return -EBADMSG;
        r = hn_idset_parse(p, HN_HOST_CPU_LIMIT, &cache->cpus);
        return r == -EINVAL || r == -ERANGE ? -EBADMSG : r;
}

static int read_caches(struct json_object *json, struct hn_facts *facts)
{
        struct json_object *array = NULL;
        int r = required(hn_json_get_array(json, "caches", HN_HOST_CPU_LIMIT, &array));

        if (r < 0)
                return r;
        facts->caches = calloc(json_object_array_length(array) + 1, sizeof *facts->caches);
        if (!facts->caches)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(array); i++) {
                r = read_cache(json_object_array_get_idx(array, i), &facts->caches[facts->n_caches++]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_device(struct json_object *value, const struct hn_facts *facts, struct hn_device *ret)
{
        char text[HN_DEVICE_LENGTH];
        struct hn_device d;

        if (!json_object_is_type(value, json_type_string))
                return -EBADMSG;
        if (sscanf(json_object_get_string(value), "%8x:%2x:%2x.%1x %4x %5d", &d.domain, &d.bus, &d.slot,
                   &d.function, &d.class_id, &d.node) != 6)
                return -EBADMSG;
        hn_device_format(&d, text); /* sscanf would take signs, blanks and a tail */
        if (strcmp(text, json_object_get_string(value)) != 0)
                return -EBADMSG;
        if (d.slot > 31 || d.function > 7 ||
            (d.node != -1 && (d.node < 0 || hn_facts_at(facts, (unsigned) d.node) < 0)))
                return -EBADMSG;
        *ret = d;
        return 0;
}

static int read_devices(struct json_object *json, struct hn_facts *facts)
{
        struct json_object *array = NULL;
        int r = required(hn_json_get_array(json, "devices", HN_HOST_DEVICE_LIMIT, &array));

        if (r < 0)
                return r;
        facts->devices = calloc(json_object_array_length(array) + 1, sizeof *facts->devices);
        if (!facts->devices)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < json_object_array_length(array); i++)
                r = read_device(json_object_array_get_idx(array, i), facts,
                                &facts->devices[facts->n_devices++]);
        return r;
}

static int read_head(struct json_object *json, struct hn_facts *facts)
{
        const char *source = NULL;
        uint64_t version = 0;
        int r = required(hn_json_get_u64(json, "version", HN_HOST_FORMAT, &version));

        if (r >= 0 && version != HN_HOST_FORMAT)
                r = -EBADMSG;
        if (r >= 0)
                r = required(hn_json_get_string(json, "source", &source));
        if (r < 0)
                return r;
        facts->source = strdup(source);
        if (!facts->source)
                return -ENOMEM;
        r = get_set(json, "isolated", HN_HOST_CPU_LIMIT, &facts->isolated);
        if (r >= 0)
                r = get_set(json, "offline", HN_HOST_CPU_LIMIT, &facts->offline);
        if (r >= 0)
                r = get_set(json, "allowed_cpus", HN_HOST_CPU_LIMIT, &facts->allowed_cpus);
        if (r >= 0)
                r = get_set(json, "allowed_nodes", HN_HOST_NODE_LIMIT, &facts->allowed_nodes);
        return r;
}

int hn_facts_from_json(struct json_object *json, struct hn_facts **ret)
{
        HN_FACTS struct hn_facts *facts = hn_facts_new();
        int r;

        if (!facts)
                return -ENOMEM;
        r = read_head(json, facts);
        if (r >= 0)
                r = read_nodes(json, facts);
        if (r >= 0)
                r = read_distances(json, facts);
        if (r >= 0)
                r = read_cores(json, facts);
        if (r >= 0)
                r = read_kinds(json, facts);
        if (r >= 0)
                r = read_caches(json, facts);
        if (r >= 0)
                r = read_devices(json, facts);
        if (r < 0)
                return r;
        *ret = HN_TAKE(facts);
        return 0;
}

int hn_host_from_json(struct json_object *json, struct hn_host **ret)
{
        HN_FACTS struct hn_facts *facts = NULL;
        int r = hn_facts_from_json(json, &facts);

        if (r < 0)
                return r;
        r = hn_host_settle(facts, ret);
        if (r >= 0)
                facts = NULL;
        return r;
}
