/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/load.h"

#include "model/host-facts.h"
#include "model/json.h"
#include "model/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define CPU_LIMIT ((double) HN_HOST_CPU_LIMIT)
#define SHARE_LIMIT 2.0     /* a share is 1 at most, but clocks differ */
#define GUEST_LIMIT 65536u

void hn_load_free(struct hn_load *load)
{
        if (!load)
                return;
        free(load->nodes);
        free(load->guests);
        free(load);
}

double hn_load_busy(const struct hn_load *load, unsigned node)
{
        for (size_t i = 0; load && i < load->n_nodes; i++)
                if (load->nodes[i].node == node)
                        return load->nodes[i].busy_cpus;
        return 0;
}

int hn_load_add_node(struct hn_load *load, unsigned node, double busy_cpus)
{
        struct hn_node_load *more = reallocarray(load->nodes, load->n_nodes + 1, sizeof *more);

        if (!more)
                return -ENOMEM;
        load->nodes = more;
        load->nodes[load->n_nodes++] = (struct hn_node_load) {
                .node = node, .busy_cpus = busy_cpus > 0 && busy_cpus <= HN_HOST_CPU_LIMIT ? busy_cpus : 0,
        };
        return 0;
}

static double within(double value, double limit)
{
        return value >= 0 && value <= limit ? value : -1;
}

int hn_load_add_guest(struct hn_load *load, const struct hn_guest_load *guest)
{
        struct hn_guest_load *more = reallocarray(load->guests, load->n_guests + 1, sizeof *more), *added;

        if (!more)
                return -ENOMEM;
        load->guests = more;
        added = &load->guests[load->n_guests++];
        *added = *guest;
        added->run_cpus = guest->run_cpus > 0 && guest->run_cpus <= CPU_LIMIT ? guest->run_cpus : 0;
        added->wait_cpus = within(guest->wait_cpus, CPU_LIMIT);
        added->trend_cpus = fabs(guest->trend_cpus) <= CPU_LIMIT ? guest->trend_cpus : 0;
        added->cpu_pressure = within(guest->cpu_pressure, SHARE_LIMIT);
        added->memory_pressure = within(guest->memory_pressure, SHARE_LIMIT);
        added->io_pressure = within(guest->io_pressure, SHARE_LIMIT);
        return 0;
}

const struct hn_guest_load *hn_load_guest(const struct hn_load *load, const char *uuid)
{
        for (size_t i = 0; load && i < load->n_guests; i++)
                if (strcmp(load->guests[i].uuid, uuid) == 0)
                        return &load->guests[i];
        return NULL;
}

/* A number between these; `ret` stays as it is where it is absent. */
static int read_number(struct json_object *json, const char *name, double least, double most, double *ret)
{
        struct json_object *value;
        double number;

        if (!json_object_object_get_ex(json, name, &value))
                return 0;
        if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
                return -EBADMSG;
        number = json_object_get_double(value);
        if (!isfinite(number) || number < least || number > most)
                return -EBADMSG;
        *ret = number;
        return 0;
}

static int read_node(struct json_object *json, struct hn_load *load)
{
        struct hn_node_load *node = &load->nodes[load->n_nodes];
        uint64_t os;
        int r = hn_json_get_u64(json, "node", HN_HOST_NODE_LIMIT - 1, &os);

        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        for (size_t i = 0; i < load->n_nodes; i++)
                if (load->nodes[i].node == os)
                        return -EBADMSG;
        node->node = (unsigned) os;
        node->busy_cpus = 0;
        r = read_number(json, "busy_cpus", 0, HN_HOST_CPU_LIMIT, &node->busy_cpus);
        if (r >= 0)
                load->n_nodes++;
        return r;
}

static int read_guest(struct json_object *json, struct hn_load *load)
{
        struct hn_guest_load guest = { .wait_cpus = -1, .cpu_pressure = -1, .memory_pressure = -1, .io_pressure = -1 };
        const char *uuid;
        int r = hn_json_get_string(json, "uuid", &uuid);

        if (r < 0 || hn_uuid_canonical(uuid, guest.uuid) < 0)
                return -EBADMSG;
        r = read_number(json, "run_cpus", 0, CPU_LIMIT, &guest.run_cpus);
        if (r >= 0)
                r = read_number(json, "wait_cpus", 0, CPU_LIMIT, &guest.wait_cpus);
        if (r >= 0)
                r = read_number(json, "trend_cpus", -CPU_LIMIT, CPU_LIMIT, &guest.trend_cpus);
        if (r >= 0)
                r = read_number(json, "cpu_pressure", 0, SHARE_LIMIT, &guest.cpu_pressure);
        if (r >= 0)
                r = read_number(json, "memory_pressure", 0, SHARE_LIMIT, &guest.memory_pressure);
        if (r >= 0)
                r = read_number(json, "io_pressure", 0, SHARE_LIMIT, &guest.io_pressure);
        return r < 0 ? r : hn_load_add_guest(load, &guest);
}

static int read_guests(struct json_object *state, struct hn_load *load)
{
        struct json_object *array = NULL;
        int r = hn_json_get_array(state, "guests", GUEST_LIMIT, &array);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (size_t i = 0; r >= 0 && i < json_object_array_length(array); i++)
                r = read_guest(json_object_array_get_idx(array, i), load);
        return r;
}

int hn_load_from_state(struct json_object *state, struct hn_load **ret)
{
        HN_LOAD struct hn_load *load = calloc(1, sizeof *load);
        struct json_object *array = NULL;
        uint64_t version;
        int r;

        if (!load)
                return -ENOMEM;
        r = hn_json_get_u64(state, "version", HN_STATE_VERSION, &version);
        if (r < 0 || version != HN_STATE_VERSION)
                return -EBADMSG;
        r = hn_json_get_array(state, "nodes", HN_HOST_NODE_LIMIT, &array);
        if (r < 0 && r != -ENOENT)
                return r;
        if (array) {
                load->nodes = calloc(json_object_array_length(array) + 1, sizeof *load->nodes);
                if (!load->nodes)
                        return -ENOMEM;
                for (size_t i = 0; i < json_object_array_length(array); i++) {
                        r = read_node(json_object_array_get_idx(array, i), load);
                        if (r < 0)
                                return r;
                }
        }
        r = read_guests(state, load);
        if (r < 0)
                return r;
        *ret = HN_TAKE(load);
        return 0;
}
