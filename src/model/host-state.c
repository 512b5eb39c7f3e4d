/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Laying a published state (model/state.h) over a host.  All of it is read before anything changes, and
 * the host is then made anew from its facts, since other CPUs can mean other roles.
 */
#include "model/host-facts.h"
#include "model/json.h"
#include "model/state.h"

#include <errno.h>

struct node_change {
        bool found, has_free;
        uint64_t free_kib;
        struct hn_pool *pools; /* NULL: as they were */
        size_t n_pools;
};

struct change {
        hwloc_bitmap_t allowed_cpus, isolated, offline; /* NULL: as it was */
        struct node_change *nodes;
        size_t n_nodes;
};

static void clear_change(struct change *change)
{
        hwloc_bitmap_free(change->allowed_cpus);
        hwloc_bitmap_free(change->isolated);
        hwloc_bitmap_free(change->offline);
        for (size_t i = 0; i < change->n_nodes; i++)
                free(change->nodes[i].pools);
        free(change->nodes);
}

static int optional(int r)
{
        return r == -ENOENT ? 0 : r;
}

static int read_set(struct json_object *state, const char *name, hwloc_bitmap_t *ret)
{
        int r = optional(hn_json_get_set(state, name, ret));

        return r >= 0 && *ret && hwloc_bitmap_last(*ret) >= (int) HN_HOST_CPU_LIMIT ? -EBADMSG : r;
}

static int read_pool(struct json_object *json, struct hn_pool *ret)
{
        struct hn_pool pool;
        int r = hn_json_get_u64(json, "page_kib", HN_HOST_PAGE_KIB_LIMIT, &pool.page_kib);

        if (r >= 0 && !pool.page_kib)
                r = -EBADMSG;
        if (r >= 0)
                r = hn_json_get_u64(json, "total", HN_HOST_KIB_LIMIT / pool.page_kib, &pool.total_pages);
        if (r >= 0)
                r = hn_json_get_u64(json, "free", pool.total_pages, &pool.free_pages);
        if (r >= 0)
                *ret = pool;
        return r == -ENOENT ? -EBADMSG : r;
}

static int read_node(struct json_object *json, const struct hn_facts *facts, struct change *change)
{
        struct node_change ignored = { 0 }, *node = &ignored;
        uint64_t os;
        int r, at;

        r = hn_json_get_u64(json, "node", HN_HOST_NODE_LIMIT - 1, &os);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        at = hn_facts_at(facts, (unsigned) os);
        if (at >= 0)
                node = &change->nodes[at];
        if (node->found)
                return -EBADMSG;
        node->found = true;

        r = hn_json_get_u64(json, "free_kib", HN_HOST_KIB_LIMIT, &node->free_kib);
        node->has_free = r >= 0;
        r = optional(r);
        if (r >= 0)
                r = optional(hn_pools_from_json(json, read_pool, &node->pools, &node->n_pools));
        free(ignored.pools);
        return r;
}

static int read_change(struct json_object *state, const struct hn_facts *facts, struct change *change)
{
        struct json_object *array = NULL;
        uint64_t version;
        int r;

        if (hn_json_get_u64(state, "version", HN_STATE_VERSION, &version) < 0 || version != HN_STATE_VERSION)
                return -EBADMSG;
        change->nodes = calloc(facts->n_nodes, sizeof *change->nodes);
        if (!change->nodes)
                return -ENOMEM;
        change->n_nodes = facts->n_nodes;
        r = read_set(state, "allowed_cpus", &change->allowed_cpus);
        if (r >= 0)
                r = read_set(state, "isolated_cpus", &change->isolated);
        if (r >= 0)
                r = read_set(state, "offline_cpus", &change->offline);
        if (r >= 0)
                r = optional(hn_json_get_array(state, "nodes", HN_HOST_NODE_LIMIT, &array));
        for (size_t i = 0; r >= 0 && array && i < json_object_array_length(array); i++)
                r = read_node(json_object_array_get_idx(array, i), facts, change);
        return r;
}

static void swap_set(hwloc_bitmap_t *a, hwloc_bitmap_t *b)
{
        hwloc_bitmap_t kept = *a;

        if (!*b)
                return;
        *a = *b;
        *b = kept;
}

static void swap_node(struct hn_fact_node *node, struct node_change *change)
{
        struct hn_pool *pools = node->pools;
        size_t n_pools = node->n_pools;
        uint64_t free_kib = node->free_kib;

        if (change->has_free) {
                node->free_kib = change->free_kib;
                change->free_kib = free_kib;
        }
        if (change->pools) {
                node->pools = change->pools;
                node->n_pools = change->n_pools;
                change->pools = pools;
                change->n_pools = n_pools;
        }
}

/* Twice is not at all. */
static void swap_all(struct hn_facts *facts, struct change *change)
{
        swap_set(&facts->allowed_cpus, &change->allowed_cpus);
        swap_set(&facts->isolated, &change->isolated);
        swap_set(&facts->offline, &change->offline);
        for (size_t i = 0; i < change->n_nodes; i++)
                swap_node(&facts->nodes[i], &change->nodes[i]);
}

int hn_host_apply_state(struct hn_host *host, struct json_object *state)
{
        HN_CLEANUP(clear_change) struct change change = { 0 };
        struct hn_host *made = NULL, old;
        int r;

        if (!host->facts)
                return -EINVAL;
        r = read_change(state, host->facts, &change);
        if (r < 0)
                return r;
        swap_all(host->facts, &change);
        r = hn_host_settle(host->facts, &made);
        if (r < 0) {
                swap_all(host->facts, &change);
                return r;
        }
        old = *host;
        *host = *made;
        *made = old;
        made->facts = NULL; /* the new host has them */
        hn_host_free(made);
        return 0;
}

int hn_host_state_free(const struct hn_host *host, struct json_object *state, uint64_t **ret)
{
        HN_CLEANUP(clear_change) struct change change = { 0 };
        HN_FREE uint64_t *free_kib = calloc(host->n_nodes + 1, sizeof *free_kib);
        int r = host->facts ? 0 : -EINVAL;

        if (!free_kib)
                return -ENOMEM;
        if (r >= 0)
                r = read_change(state, host->facts, &change);
        if (r < 0)
                return r;
        for (size_t at = 0; at < host->n_nodes; at++) {
                int i = hn_facts_at(host->facts, host->nodes[at].os);

                free_kib[at] = i >= 0 && change.nodes[i].has_free ? change.nodes[i].free_kib : UINT64_MAX;
        }
        *ret = HN_TAKE(free_kib);
        return 0;
}
