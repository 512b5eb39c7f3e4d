/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `homenode top --json`, a document a reading:
 *
 *   { "faults": [ "…" ], "read_at": "…", "interval_ms": 2000,           without, where it is the first reading
 *     "daemon_lives": true,
 *     "nodes": [ as of status ],
 *     "guests": [ { "name": "web", "uuid": "…", "state": "moving 43%", "home": "2", "priority": "normal",
 *                   "moves", "moving" and "last_move" as of status, "moved_percent": 43.1,
 *                   "vcpus": 4, "used_percent": 101.5, "ready_percent": 0.1, "cpu_pressure_percent": 1.0,
 *                   "memory_pressure_percent": 0, "io_pressure_percent": 0, "remote_kib": 1, "local_kib": 1,
 *                   "locality_percent": 50.0, "resident_note": "…" } ] }
 *
 * In the order that was asked for.  What is not known is left out.
 */
#include <errno.h>

#include "command/top.h"
#include "model/json.h"

static int add_number(struct json_object *json, const char *name, double value)
{
        return value < 0 ? 0 : hn_json_add(json, name, json_object_new_double(value));
}

static int add_text(struct json_object *json, const char *name, const char *text)
{
        return text && *text ? hn_json_add(json, name, json_object_new_string(text)) : 0;
}

static int add_entry(const struct hn_top_row *row, struct json_object *json)
{
        const struct hn_entry *entry = row->guest->entry;
        const struct hn_placement *placement = entry->placement;

        if (hn_json_add(json, "home", hn_json_new_set(placement->home)) < 0 ||
            add_text(json, "priority", hn_priority_name(placement->priority)) < 0 ||
            hn_status_add_moves(entry, json) < 0)
                return -ENOMEM;
        return add_number(json, "moved_percent", row->moved_percent);
}

static int add_memory(const struct hn_top_row *row, struct json_object *json)
{
        if (row->has_local && (hn_json_add(json, "remote_kib", json_object_new_uint64(row->remote_kib)) < 0 ||
                               hn_json_add(json, "local_kib", json_object_new_uint64(row->local_kib)) < 0))
                return -ENOMEM;
        if (add_number(json, "locality_percent", row->local_percent) < 0)
                return -ENOMEM;
        return add_text(json, "resident_note", row->guest->unread);
}

static int fill_guest(const struct hn_top_row *row, struct json_object *json)
{
        if (hn_json_add(json, "name", json_object_new_string(row->guest->name)) < 0 ||
            add_text(json, "uuid", hn_guest_uuid(row->guest)) < 0 || add_text(json, "state", row->state) < 0 ||
            (row->guest->entry && add_entry(row, json) < 0) ||
            (row->vcpus && hn_json_add(json, "vcpus", json_object_new_uint64(row->vcpus)) < 0) ||
            add_number(json, "used_percent", row->used) < 0 || add_number(json, "ready_percent", row->ready) < 0 ||
            add_number(json, "cpu_pressure_percent", row->cpu_pressure) < 0 ||
            add_number(json, "memory_pressure_percent", row->memory_pressure) < 0 ||
            add_number(json, "io_pressure_percent", row->io_pressure) < 0)
                return -ENOMEM;
        return add_memory(row, json);
}

static int add_guests(const struct hn_top_row *rows, size_t n, struct json_object *json)
{
        HN_JSON struct json_object *array = json_object_new_array();

        for (size_t i = 0; array && i < n; i++) {
                struct json_object *guest = json_object_new_object();

                if (!guest || json_object_array_add(array, guest) < 0) {
                        json_object_put(guest);
                        return -ENOMEM;
                }
                if (fill_guest(&rows[i], guest) < 0)
                        return -ENOMEM;
        }
        return hn_json_add(json, "guests", HN_TAKE(array));
}

int hn_top_to_json(const struct hn_top *top, const struct hn_top_sort *sort, struct json_object **ret)
{
        HN_JSON struct json_object *json = json_object_new_object();
        HN_FREE struct hn_top_row *rows = NULL;
        int r = json ? hn_top_rows(top, &rows) : -ENOMEM;

        if (r >= 0)
                r = hn_status_add_faults(&top->status, json);
        if (r >= 0 && top->daemon_told)
                r = hn_json_add(json, "daemon_lives", json_object_new_boolean(top->daemon_lives));
        if (r >= 0 && top->status.load_interval_ms)
                r = hn_json_add(json, "interval_ms", json_object_new_uint64(top->status.load_interval_ms));
        if (r >= 0 && top->status.host)
                r = hn_status_add_nodes(&top->status, json);
        if (r < 0)
                return r;
        hn_top_order(rows, top->status.n_guests, sort);
        r = add_guests(rows, top->status.n_guests, json);
        if (r >= 0)
                *ret = HN_TAKE(json);
        return r;
}
