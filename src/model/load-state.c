/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Writing the state that the daemon publishes; load.c and host-state.c read it.
 */
#include "model/load.h"

#include <errno.h>

#include "model/json.h"
#include "model/state.h"

static int add_u64(struct json_object *object, const char *name, uint64_t value)
{
        return hn_json_add(object, name, json_object_new_uint64(value));
}

/* A thousandth is more than anybody can measure. */
static int add_number(struct json_object *object, const char *name, double value)
{
        char text[32];

        (void) snprintf(text, sizeof text, "%.3f", value);
        return hn_json_add(object, name, json_object_new_double_s(value, text));
}

/* Where the kernel tells. */
static int add_told(struct json_object *object, const char *name, double value)
{
        return value >= 0 ? add_number(object, name, value) : 0;
}

static int append(struct json_object *array, struct json_object **value)
{
        if (json_object_array_add(array, *value) < 0)
                return -ENOMEM;
        *value = NULL;
        return 0;
}

static int add_pools(struct json_object *object, const struct hn_node *node)
{
        HN_JSON struct json_object *pools = json_object_new_array();
        int r = pools ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < node->n_pools; i++) {
                HN_JSON struct json_object *pool = json_object_new_object();

                if (!pool)
                        return -ENOMEM;
                r = add_u64(pool, "page_kib", node->pools[i].page_kib);
                if (r >= 0)
                        r = add_u64(pool, "total", node->pools[i].total_pages);
                if (r >= 0)
                        r = add_u64(pool, "free", node->pools[i].free_pages);
                if (r >= 0)
                        r = append(pools, &pool);
        }
        return r < 0 ? r : hn_json_add(object, "pools", HN_TAKE(pools));
}

static int add_nodes(struct json_object *state, const struct hn_host *host, const struct hn_load *load)
{
        HN_JSON struct json_object *nodes = json_object_new_array();
        int r = nodes ? 0 : -ENOMEM;

        for (size_t at = 0; r >= 0 && at < host->n_nodes; at++) {
                HN_JSON struct json_object *node = json_object_new_object();

                if (!node)
                        return -ENOMEM;
                r = add_u64(node, "node", host->nodes[at].os);
                if (r >= 0)
                        r = add_u64(node, "free_kib", host->nodes[at].free_kib);
                if (r >= 0)
                        r = add_number(node, "busy_cpus", hn_load_busy(load, host->nodes[at].os));
                if (r >= 0)
                        r = add_pools(node, &host->nodes[at]);
                if (r >= 0)
                        r = append(nodes, &node);
        }
        return r < 0 ? r : hn_json_add(state, "nodes", HN_TAKE(nodes));
}

static int fill_guest(struct json_object *object, const struct hn_guest_load *guest)
{
        int r = hn_json_add(object, "uuid", json_object_new_string(guest->uuid));

        if (r >= 0)
                r = add_number(object, "run_cpus", guest->run_cpus);
        if (r >= 0)
                r = add_told(object, "wait_cpus", guest->wait_cpus);
        if (r >= 0)
                r = add_number(object, "trend_cpus", guest->trend_cpus);
        if (r >= 0)
                r = add_told(object, "cpu_pressure", guest->cpu_pressure);
        if (r >= 0)
                r = add_told(object, "memory_pressure", guest->memory_pressure);
        if (r >= 0)
                r = add_told(object, "io_pressure", guest->io_pressure);
        return r;
}

static int add_guests(struct json_object *state, const struct hn_load *load)
{
        HN_JSON struct json_object *guests = json_object_new_array();
        int r = guests ? 0 : -ENOMEM;

        if (!load || !load->n_guests)
                return r;
        for (size_t i = 0; r >= 0 && i < load->n_guests; i++) {
                HN_JSON struct json_object *guest = json_object_new_object();

                if (!guest)
                        return -ENOMEM;
                r = fill_guest(guest, &load->guests[i]);
                if (r >= 0)
                        r = append(guests, &guest);
        }
        return r < 0 ? r : hn_json_add(state, "guests", HN_TAKE(guests));
}

static int begin(const char *boot_id, uint64_t written_us, struct json_object **ret)
{
        HN_JSON struct json_object *state = json_object_new_object();
        int r = state ? add_u64(state, "version", HN_STATE_VERSION) : -ENOMEM;

        if (r >= 0)
                r = hn_json_add(state, "boot_id", json_object_new_string(boot_id));
        if (r >= 0)
                r = add_u64(state, "written_us", written_us);
        if (r < 0)
                return r;
        *ret = HN_TAKE(state);
        return 0;
}

int hn_load_to_state(const struct hn_host *host, const struct hn_load *load, const char *boot_id, uint64_t written_us,
                     struct json_object **ret)
{
        HN_JSON struct json_object *state = NULL;
        int r = begin(boot_id, written_us, &state);

        if (r >= 0)
                r = hn_json_add(state, "isolated_cpus", hn_json_new_set(host->isolated));
        if (r >= 0)
                r = hn_json_add(state, "offline_cpus", hn_json_new_set(host->offline));
        if (r >= 0 && hwloc_bitmap_last(host->allowed_cpus) >= 0) /* or it is infinite: all */
                r = hn_json_add(state, "allowed_cpus", hn_json_new_set(host->allowed_cpus));
        if (r >= 0)
                r = add_nodes(state, host, load);
        if (r >= 0)
                r = add_guests(state, load);
        if (r < 0)
                return r;
        *ret = HN_TAKE(state);
        return 0;
}

int hn_load_guests_to_state(const struct hn_load *load, const char *boot_id, uint64_t written_us,
                            struct json_object **ret)
{
        HN_JSON struct json_object *state = NULL;
        int r = begin(boot_id, written_us, &state);

        if (r >= 0)
                r = add_guests(state, load);
        if (r < 0)
                return r;
        *ret = HN_TAKE(state);
        return 0;
}
