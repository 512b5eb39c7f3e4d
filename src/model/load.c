/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/load.h"

#include "model/host-facts.h"
#include "model/json.h"
#include "model/state.h"

#include <errno.h>
#include <math.h>

void hn_load_free(struct hn_load *load)
{
        if (!load)
                return;
        free(load->nodes);
        free(load);
}

double hn_load_busy(const struct hn_load *load, unsigned node)
{
        for (size_t i = 0; load && i < load->n_nodes; i++)
                if (load->nodes[i].node == node)
                        return load->nodes[i].busy_cpus;
        return 0;
}

static int read_busy(struct json_object *json, double *ret)
{
        struct json_object *value;
        double busy;

        if (!json_object_object_get_ex(json, "busy_cpus", &value)) {
                *ret = 0;
                return 0;
        }
        if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
                return -EBADMSG;
        busy = json_object_get_double(value);
        if (!isfinite(busy) || busy < 0 || busy > HN_HOST_CPU_LIMIT)
                return -EBADMSG;
        *ret = busy;
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
        r = read_busy(json, &node->busy_cpus);
        if (r >= 0)
                load->n_nodes++;
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
        *ret = HN_TAKE(load);
        return 0;
}
