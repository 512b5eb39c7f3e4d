/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The form of a placement in the ledger:
 *
 *   { "uuid": "…", "name": "web", "priority": "normal",
 *     "cells": [ { "id": 0, "vcpus": "0-3", "memory_kib": 1, "nodes": "2", "cpus": "8-15" } ],
 *     "vcpu_cpus": [ { "vcpu": 0, "cpus": "8" } ],               absent where there is none
 *     "emulator_cpus": "8-15", "home": "2", "memory_nodes": "2",
 *     "promises": [ { "node": 2, "memory_kib": 1, "page_kib": 0, "vcpus_milli": 4000 } ] }
 */
#include "model/placement.h"

#include <errno.h>
#include <string.h>

#include "model/json.h"

static const char *const priority_names[] = {
        [HN_PRIORITY_LOW] = "low",
        [HN_PRIORITY_NORMAL] = "normal",
        [HN_PRIORITY_HIGH] = "high",
};

const char *hn_priority_name(enum hn_priority priority)
{
        return priority_names[priority];
}

/* Appends a new object to an array; owned by the array. */
static struct json_object *append_object(struct json_object *array)
{
        struct json_object *object = json_object_new_object();

        if (object && json_object_array_add(array, object) < 0) {
                json_object_put(object);
                return NULL;
        }
        return object;
}

/* A new array as a member of `object`; owned by that. */
static struct json_object *add_array(struct json_object *object, const char *name)
{
        struct json_object *array = json_object_new_array();

        return hn_json_add(object, name, array) < 0 ? NULL : array;
}

static int cells_to_json(const struct hn_placement *placement, struct json_object *json)
{
        struct json_object *array = add_array(json, "cells");

        for (size_t i = 0; array && i < placement->n_cells; i++) {
                const struct hn_placed_cell *cell = &placement->cells[i];
                struct json_object *object = append_object(array);

                if (!object || hn_json_add(object, "id", json_object_new_uint64(cell->id)) < 0 ||
                    hn_json_add(object, "vcpus", hn_json_new_set(cell->vcpus)) < 0 ||
                    hn_json_add(object, "memory_kib", json_object_new_uint64(cell->memory_kib)) < 0 ||
                    (cell->devices_kib &&
                     hn_json_add(object, "devices_kib", json_object_new_uint64(cell->devices_kib)) < 0) ||
                    hn_json_add(object, "nodes", hn_json_new_set(cell->nodes)) < 0 ||
                    hn_json_add(object, "cpus", hn_json_new_set(cell->cpus)) < 0)
                        return -ENOMEM;
        }
        return array ? 0 : -ENOMEM;
}

static int vcpus_to_json(const struct hn_placement *placement, struct json_object *json)
{
        struct json_object *array;

        if (placement->n_vcpu_cpus == 0)
                return 0;
        array = add_array(json, "vcpu_cpus");
        for (size_t i = 0; array && i < placement->n_vcpu_cpus; i++) {
                struct json_object *object = append_object(array);

                if (!object || hn_json_add(object, "vcpu", json_object_new_uint64(placement->vcpu_cpus[i].id)) < 0 ||
                    hn_json_add(object, "cpus", hn_json_new_set(placement->vcpu_cpus[i].cpus)) < 0)
                        return -ENOMEM;
        }
        return array ? 0 : -ENOMEM;
}

static int promises_to_json(const struct hn_placement *placement, struct json_object *json)
{
        struct json_object *array = add_array(json, "promises");

        for (size_t i = 0; array && i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];
                struct json_object *object = append_object(array);

                if (!object || hn_json_add(object, "node", json_object_new_uint64(promise->node)) < 0 ||
                    hn_json_add(object, "memory_kib", json_object_new_uint64(promise->memory_kib)) < 0 ||
                    hn_json_add(object, "page_kib", json_object_new_uint64(promise->page_kib)) < 0 ||
                    hn_json_add(object, "vcpus_milli", json_object_new_uint64(promise->vcpus_milli)) < 0)
                        return -ENOMEM;
        }
        return array ? 0 : -ENOMEM;
}

int hn_placement_to_json(const struct hn_placement *placement, struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();

        if (!json || hn_json_add(json, "uuid", json_object_new_string(placement->uuid)) < 0 ||
            hn_json_add(json, "name", json_object_new_string(placement->name ? placement->name : "")) < 0 ||
            hn_json_add(json, "priority", json_object_new_string(hn_priority_name(placement->priority))) < 0 ||
            cells_to_json(placement, json) < 0 || vcpus_to_json(placement, json) < 0 ||
            hn_json_add(json, "emulator_cpus", hn_json_new_set(placement->emulator_cpus)) < 0 ||
            hn_json_add(json, "home", hn_json_new_set(placement->home)) < 0 ||
            hn_json_add(json, "memory_nodes", hn_json_new_set(placement->memory_nodes)) < 0 ||
            promises_to_json(placement, json) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(json);
        return 0;
}

static int number(struct json_object *object, const char *name, uint64_t limit, unsigned *ret)
{
        uint64_t value = 0;
        int r = hn_json_get_u64(object, name, limit, &value);

        if (r >= 0)
                *ret = (unsigned) value;
        return r;
}

/* Not there where nothing is plugged in. */
static int devices_from_json(struct json_object *cell, uint64_t *ret)
{
        int r = hn_json_get_u64(cell, "devices_kib", HN_PLACEMENT_KIB_LIMIT, ret);

        return r == -ENOENT ? 0 : r;
}

static int cells_from_json(struct json_object *json, struct hn_placement *placement)
{
        struct json_object *array = NULL;
        int r = hn_json_get_array(json, "cells", HN_DOMAIN_CELL_LIMIT, &array);

        if (r < 0)
                return r;
        size_t n = json_object_array_length(array);
        placement->cells = calloc(n ? n : 1, sizeof *placement->cells);
        if (!placement->cells)
                return -ENOMEM;
        placement->n_cells = n;
        for (size_t i = 0; r >= 0 && i < n; i++) {
                struct hn_placed_cell *cell = &placement->cells[i];
                struct json_object *object = json_object_array_get_idx(array, i);

                r = number(object, "id", HN_DOMAIN_CELL_LIMIT - 1, &cell->id);
                if (r >= 0)
                        r = hn_json_get_set(object, "vcpus", &cell->vcpus);
                if (r >= 0)
                        r = hn_json_get_u64(object, "memory_kib", HN_PLACEMENT_KIB_LIMIT, &cell->memory_kib);
                if (r >= 0)
                        r = devices_from_json(object, &cell->devices_kib);
                if (r >= 0)
                        r = hn_json_get_set(object, "nodes", &cell->nodes);
                if (r >= 0)
                        r = hn_json_get_set(object, "cpus", &cell->cpus);
        }
        return r;
}

static int vcpus_from_json(struct json_object *json, struct hn_placement *placement)
{
        struct json_object *array = NULL;
        int r = hn_json_get_array(json, "vcpu_cpus", HN_DOMAIN_VCPU_LIMIT, &array);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        size_t n = json_object_array_length(array);
        placement->vcpu_cpus = calloc(n ? n : 1, sizeof *placement->vcpu_cpus);
        if (!placement->vcpu_cpus)
                return -ENOMEM;
        placement->n_vcpu_cpus = n;
        for (size_t i = 0; r >= 0 && i < n; i++) {
                struct json_object *object = json_object_array_get_idx(array, i);

                r = number(object, "vcpu", HN_DOMAIN_VCPU_LIMIT - 1, &placement->vcpu_cpus[i].id);
                if (r >= 0)
                        r = hn_json_get_set(object, "cpus", &placement->vcpu_cpus[i].cpus);
        }
        return r;
}

static int promises_from_json(struct json_object *json, struct hn_placement *placement)
{
        struct json_object *array = NULL;
        int r = hn_json_get_array(json, "promises", HN_PLACEMENT_PROMISE_LIMIT, &array);

        for (size_t i = 0; r >= 0 && i < json_object_array_length(array); i++) {
                struct json_object *object = json_object_array_get_idx(array, i);
                struct hn_promise promise = { 0 };

                r = number(object, "node", HN_IDSET_LIMIT - 1, &promise.node);
                if (r >= 0)
                        r = hn_json_get_u64(object, "memory_kib", HN_PLACEMENT_KIB_LIMIT, &promise.memory_kib);
                if (r >= 0)
                        r = hn_json_get_u64(object, "page_kib", HN_PLACEMENT_KIB_LIMIT, &promise.page_kib);
                if (r >= 0)
                        r = number(object, "vcpus_milli", HN_PLACEMENT_MILLI_LIMIT, &promise.vcpus_milli);
                if (r >= 0)
                        r = hn_placement_promise_once(placement, &promise);
        }
        return r;
}

static int priority_from_json(struct json_object *json, enum hn_priority *ret)
{
        const char *text = NULL;
        int r = hn_json_get_string(json, "priority", &text);

        if (r < 0)
                return r;
        for (size_t i = 0; i < sizeof priority_names / sizeof *priority_names; i++)
                if (strcmp(text, priority_names[i]) == 0) {
                        *ret = (enum hn_priority) i;
                        return 0;
                }
        return -EBADMSG;
}

static int names_from_json(struct json_object *json, struct hn_placement *placement)
{
        const char *uuid = NULL, *name = NULL;
        int r = hn_json_get_string(json, "uuid", &uuid);

        if (r >= 0)
                r = hn_json_get_string(json, "name", &name);
        if (r < 0)
                return r;
        if (strlen(uuid) != HN_UUID_LENGTH && *uuid)
                return -EBADMSG;
        memcpy(placement->uuid, uuid, strlen(uuid) + 1);
        placement->name = strdup(name);
        return placement->name ? 0 : -ENOMEM;
}

static int set_from_json(struct json_object *json, const char *name, hwloc_bitmap_t *set)
{
        hwloc_bitmap_free(*set);
        *set = NULL;
        return hn_json_get_set(json, name, set);
}

int hn_placement_from_json(struct json_object *json, struct hn_placement **ret)
{
        HN_PLACEMENT struct hn_placement *placement = hn_placement_new();
        int r;

        if (!placement)
                return -ENOMEM;
        r = names_from_json(json, placement);
        if (r >= 0)
                r = priority_from_json(json, &placement->priority);
        if (r >= 0)
                r = cells_from_json(json, placement);
        if (r >= 0)
                r = vcpus_from_json(json, placement);
        if (r >= 0)
                r = set_from_json(json, "emulator_cpus", &placement->emulator_cpus);
        if (r >= 0)
                r = set_from_json(json, "home", &placement->home);
        if (r >= 0)
                r = set_from_json(json, "memory_nodes", &placement->memory_nodes);
        if (r >= 0)
                r = promises_from_json(json, placement);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        *ret = HN_TAKE(placement);
        return 0;
}
