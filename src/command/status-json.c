/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `homenode status --json`:
 *
 *   { "read_at": "…", "faults": [ "…" ], "load_interval_ms": 200,       without, where load was not measured
 *     "nodes": [ { "node": 0, "role": "home", "cpus": "0-7", "n_cpus": 8, "busy_cpus": 1.5,
 *                  "memory_kib": 1, "used_kib": 1, "free_kib": 1, "promised_kib": 1, "promised_vcpus": 4.0,
 *                  "pools": [ { "page_kib": 2048, "total_pages": 1, "free_pages": 1 } ], "n_guests": 1 } ],
 *     "guests": [ { "name": "web", "uuid": "…", "state": "placed", "unit": "…", "home": "2", "cpus": "8-15",
 *                   "priority": "normal", "resident": [ { "node": 2, "resident_kib": 1 } ], "resident_age_ms": 3,
 *                   "resident_note": "…", "locality_percent": 99.5, "cells": [ … ], "pinned": [ … ],
 *                   "pinned_by_user_known": true, "last_action": { "what": "…", "at": "…", "age_s": 1 }, "moves": 1,
 *                   "moving": { "from": "0", "to": "2", "kind": "guest", "reason": "…", "narrowing": false, "back": false },
 *                   "last_move": { "result": "…", "delivered": true } } ] }
 *
 * What is not known is left out; resident_note says why.  `nodes` is left out where guests were named.
 */
#include <errno.h>
#include <time.h>

#include "command/status.h"
#include "model/clock.h"
#include "model/json.h"

/* The wall clock's time of something that is so long ago; false: there is no such time. */
static bool format_ago(uint64_t ago_us, char text[static 64])
{
        time_t then = time(NULL) - (time_t) (ago_us / 1000000u);
        struct tm local;

        return localtime_r(&then, &local) && strftime(text, 64, "%FT%T%z", &local) > 0;
}

static int add_pools(const struct hn_node *node, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();

        for (size_t i = 0; array && i < node->n_pools; i++) {
                struct json_object *pool = json_object_new_object();

                if (!pool || json_object_array_add(array, pool) < 0) {
                        json_object_put(pool);
                        return -ENOMEM;
                }
                if (hn_json_add(pool, "page_kib", json_object_new_uint64(node->pools[i].page_kib)) < 0 ||
                    hn_json_add(pool, "total_pages", json_object_new_uint64(node->pools[i].total_pages)) < 0 ||
                    hn_json_add(pool, "free_pages", json_object_new_uint64(node->pools[i].free_pages)) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(json, "pools", HN_TAKE(array));
}

static int fill_node(const struct hn_node *node, const struct hn_node_status *status, struct json_object *json)
{
        uint64_t used_kib = node->memory_kib > node->free_kib ? node->memory_kib - node->free_kib : 0;

        if (hn_json_add(json, "node", json_object_new_uint64(node->os)) < 0 ||
            hn_json_add(json, "role", json_object_new_string(hn_node_role_name(node->role))) < 0 ||
            hn_json_add(json, "cpus", hn_json_new_set(node->cpus)) < 0 ||
            hn_json_add(json, "n_cpus", json_object_new_uint64(hn_idset_count(node->cpus))) < 0)
                return -ENOMEM;
        if (status->busy_cpus >= 0 &&
            hn_json_add(json, "busy_cpus", json_object_new_double(status->busy_cpus)) < 0)
                return -ENOMEM;
        if (hn_json_add(json, "memory_kib", json_object_new_uint64(node->memory_kib)) < 0 ||
            hn_json_add(json, "used_kib", json_object_new_uint64(used_kib)) < 0 ||
            hn_json_add(json, "free_kib", json_object_new_uint64(node->free_kib)) < 0 ||
            add_pools(node, json) < 0)
                return -ENOMEM;
        return 0;
}

static int fill_promises(const struct hn_node_status *status, struct json_object *json)
{
        if (hn_json_add(json, "promised_kib", json_object_new_uint64(status->promised_kib)) < 0 ||
            hn_json_add(json, "promised_vcpus", json_object_new_double(status->promised_vcpus_milli / 1000.0)) < 0 ||
            hn_json_add(json, "n_guests", json_object_new_uint64(status->n_guests)) < 0)
                return -ENOMEM;
        return 0;
}

int hn_status_add_nodes(const struct hn_status *status, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();

        for (size_t at = 0; array && at < status->host->n_nodes; at++) {
                struct json_object *node = json_object_new_object();

                if (!node || json_object_array_add(array, node) < 0) {
                        json_object_put(node);
                        return -ENOMEM;
                }
                if (fill_node(&status->host->nodes[at], &status->nodes[at], node) < 0 ||
                    (status->ledger_read && fill_promises(&status->nodes[at], node) < 0))
                        return -ENOMEM;
        }
        return hn_json_add(json, "nodes", HN_TAKE(array));
}

/* ---- guests */

static int add_resident(const struct hn_guest_status *guest, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();
        double locality = hn_guest_locality(guest);

        if (guest->unread && hn_json_add(json, "resident_note", json_object_new_string(guest->unread)) < 0)
                return -ENOMEM;
        if (!guest->read_us)
                return 0;
        for (unsigned node = 0; array && node < guest->resident.n_nodes; node++) {
                struct json_object *element = json_object_new_object();

                if (!element || json_object_array_add(array, element) < 0) {
                        json_object_put(element);
                        return -ENOMEM;
                }
                if (hn_json_add(element, "node", json_object_new_uint64(node)) < 0 ||
                    hn_json_add(element, "resident_kib",
                                json_object_new_uint64(hn_resident_kib(&guest->resident, node))) < 0)
                        return -ENOMEM;
        }
        if (hn_json_add(json, "resident", HN_TAKE(array)) < 0 ||
            hn_json_add(json, "resident_age_ms",
                        json_object_new_uint64((hn_boottime_us() - guest->read_us) / 1000)) < 0)
                return -ENOMEM;
        return locality < 0 ? 0 : hn_json_add(json, "locality_percent", json_object_new_double(locality));
}

static int fill_cell(const struct hn_guest_status *guest, const struct hn_placed_cell *cell, struct json_object *json)
{
        if (hn_json_add(json, "id", json_object_new_uint64(cell->id)) < 0 ||
            hn_json_add(json, "vcpus", hn_json_new_set(cell->vcpus)) < 0 ||
            hn_json_add(json, "memory_kib", json_object_new_uint64(cell->memory_kib)) < 0 ||
            hn_json_add(json, "nodes", hn_json_new_set(cell->nodes)) < 0 ||
            hn_json_add(json, "cpus", hn_json_new_set(cell->cpus)) < 0)
                return -ENOMEM;
        return !guest->read_us ? 0
               : hn_json_add(json, "guest_resident_on_nodes_kib",
                             json_object_new_uint64(hn_resident_sum_kib(&guest->resident, cell->nodes)));
}

static int add_cells(const struct hn_guest_status *guest, struct json_object *json)
{
        const struct hn_placement *placement = guest->entry->placement;
        HN_JSON struct json_object *array = json_object_new_array();

        for (size_t i = 0; array && i < placement->n_cells; i++) {
                struct json_object *cell = json_object_new_object();

                if (!cell || json_object_array_add(array, cell) < 0) {
                        json_object_put(cell);
                        return -ENOMEM;
                }
                if (fill_cell(guest, &placement->cells[i], cell) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(json, "cells", HN_TAKE(array));
}

static int fill_pin(const struct hn_pinned *pin, struct json_object *json)
{
        bool memory = *pin->what == 'm' || *pin->what == 'c';

        if (hn_json_add(json, "what", json_object_new_string(pin->what)) < 0 ||
            (pin->id >= 0 && hn_json_add(json, "id", json_object_new_int(pin->id)) < 0) ||
            (pin->members && hn_json_add(json, "vcpus", hn_json_new_set(pin->members)) < 0) ||
            hn_json_add(json, memory ? "nodes" : "cpus", hn_json_new_set(pin->set)) < 0)
                return -ENOMEM;
        return hn_json_add(json, "by", json_object_new_string(pin->by_user ? "user" : "homenode"));
}

static int add_pins(const struct hn_guest_status *guest, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();
        HN_PINS struct hn_pins pins = { 0 };
        int r = hn_pins_of(guest, &pins);

        for (size_t i = 0; r >= 0 && array && i < pins.n; i++) {
                struct json_object *pin = json_object_new_object();

                if (!pin || json_object_array_add(array, pin) < 0) {
                        json_object_put(pin);
                        return -ENOMEM;
                }
                r = fill_pin(&pins.all[i], pin);
        }
        if (r >= 0)
                r = hn_json_add(json, "pinned", HN_TAKE(array));
        return r < 0 ? r : hn_json_add(json, "pinned_by_user_known", json_object_new_boolean(pins.known));
}

static int add_action(const struct hn_status *status, const struct hn_entry *entry, struct json_object *json)
{
        HN_JSON struct json_object *action = json_object_new_object();
        HN_FREE char *what = hn_status_action(entry);
        uint64_t now_us = hn_boottime_us();
        char text[64];

        if (!action || !what || hn_json_add(action, "what", json_object_new_string(what)) < 0)
                return -ENOMEM;
        if (hn_status_of_this_boot(status, entry) && entry->written_us <= now_us) {
                uint64_t ago_us = now_us - entry->written_us;

                if ((format_ago(ago_us, text) && hn_json_add(action, "at", json_object_new_string(text)) < 0) ||
                    hn_json_add(action, "age_s", json_object_new_uint64(ago_us / 1000000u)) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(json, "last_action", HN_TAKE(action));
}

static int add_moving(const struct hn_moving *moving, struct json_object *json)
{
        HN_JSON struct json_object *object = json_object_new_object();

        if (!object || hn_json_add(object, "from", hn_json_new_set(moving->from->home)) < 0 ||
            hn_json_add(object, "to", hn_json_new_set(moving->to->home)) < 0 ||
            hn_json_add(object, "kind", json_object_new_string(moving->kind)) < 0 ||
            hn_json_add(object, "reason", json_object_new_string(moving->reason)) < 0 ||
            hn_json_add(object, "narrowing", json_object_new_boolean(moving->narrowing)) < 0 ||
            hn_json_add(object, "back", json_object_new_boolean(moving->back)) < 0)
                return -ENOMEM;
        return hn_json_add(json, "moving", HN_TAKE(object));
}

int hn_status_add_moves(const struct hn_entry *entry, struct json_object *json)
{
        HN_JSON struct json_object *last = NULL;
        int r = hn_json_add(json, "moves", json_object_new_uint64(entry->moved.count));

        if (r >= 0 && entry->moving)
                r = add_moving(entry->moving, json);
        if (r < 0 || !entry->moved.result)
                return r;
        last = json_object_new_object();
        if (!last || hn_json_add(last, "result", json_object_new_string(entry->moved.result)) < 0 ||
            hn_json_add(last, "delivered", json_object_new_boolean(entry->moved.delivered)) < 0)
                return -ENOMEM;
        return hn_json_add(json, "last_move", HN_TAKE(last));
}

static int add_placement(const struct hn_placement *placement, struct json_object *json)
{
        HN_BITMAP hwloc_bitmap_t cpus = hn_placement_cpus(placement);

        if (!cpus || hn_json_add(json, "home", hn_json_new_set(placement->home)) < 0 ||
            hn_json_add(json, "cpus", hn_json_new_set(cpus)) < 0)
                return -ENOMEM;
        return hn_json_add(json, "priority", json_object_new_string(hn_priority_name(placement->priority)));
}

static int fill_guest(const struct hn_status *status, const struct hn_guest_status *guest, struct json_object *json)
{
        const char *uuid = hn_guest_uuid(guest);
        int r = hn_json_add(json, "name", json_object_new_string(guest->name));

        if (r >= 0 && *uuid)
                r = hn_json_add(json, "uuid", json_object_new_string(uuid));
        if (r >= 0)
                r = hn_json_add(json, "state", json_object_new_string(hn_guest_state_name(guest->state)));
        if (r >= 0 && guest->unit)
                r = hn_json_add(json, "unit", json_object_new_string(guest->unit));
        if (r >= 0 && guest->entry)
                r = add_placement(guest->entry->placement, json);
        if (r >= 0)
                r = add_resident(guest, json);
        if (r >= 0 && guest->entry)
                r = add_cells(guest, json);
        if (r >= 0)
                r = add_pins(guest, json);
        if (r >= 0 && guest->entry)
                r = hn_status_add_moves(guest->entry, json);
        return r >= 0 && guest->entry ? add_action(status, guest->entry, json) : r;
}

static int add_guests(const struct hn_status *status, const struct hn_shown *shown, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();

        for (size_t i = 0; array && i < shown->n_guests; i++) {
                struct json_object *guest = json_object_new_object();

                if (!guest || json_object_array_add(array, guest) < 0) {
                        json_object_put(guest);
                        return -ENOMEM;
                }
                if (fill_guest(status, shown->guests[i], guest) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(json, "guests", HN_TAKE(array));
}

static int add_fault_lines(const char *faults, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();

        while (array && faults && *faults) {
                size_t length = strcspn(faults, "\n");
                struct json_object *line = json_object_new_string_len(faults, (int) length);

                if (!line || json_object_array_add(array, line) < 0) {
                        json_object_put(line);
                        return -ENOMEM;
                }
                faults += length + (faults[length] == '\n');
        }
        return hn_json_add(json, "faults", HN_TAKE(array));
}

int hn_status_add_faults(const struct hn_status *status, struct json_object *json)
{
        char text[64];
        int r = add_fault_lines(status->faults, json);

        return r >= 0 && format_ago(0, text) ? hn_json_add(json, "read_at", json_object_new_string(text)) : r;
}

int hn_status_to_json(const struct hn_status *status, const struct hn_shown *shown, struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();
        int r = json ? hn_status_add_faults(status, json) : -ENOMEM;

        if (r >= 0 && status->load_interval_ms)
                r = hn_json_add(json, "load_interval_ms", json_object_new_uint64(status->load_interval_ms));
        if (r >= 0 && shown->all && status->host)
                r = hn_status_add_nodes(status, json);
        if (r >= 0)
                r = add_guests(status, shown, json);
        if (r >= 0)
                *ret = HN_TAKE(json);
        return r;
}
