/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/ledger-moving.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "model/json.h"

void hn_moving_free(struct hn_moving *moving)
{
        if (!moving)
                return;
        hn_placement_free(moving->from);
        hn_placement_free(moving->to);
        free(moving->kind);
        free(moving->reason);
        free(moving);
}

static int get_text(struct json_object *json, const char *name, char **ret)
{
        const char *text = NULL;
        int r = hn_json_get_string(json, name, &text);

        if (r < 0)
                return r;
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

/* Where the guest was or will be: in the same cells as it is. */
static int get_placement(struct json_object *json, const char *name, const struct hn_placement *now,
                         struct hn_placement **ret)
{
        HN_PLACEMENT struct hn_placement *placement = NULL;
        struct json_object *member;
        int r;

        if (!json_object_object_get_ex(json, name, &member))
                return -EBADMSG;
        r = hn_placement_from_json(member, &placement);
        if (r < 0)
                return r;
        if (strcasecmp(placement->uuid, now->uuid) != 0 || placement->n_cells != now->n_cells)
                return -EBADMSG;
        memcpy(placement->uuid, now->uuid, sizeof placement->uuid);
        for (size_t i = 0; i < now->n_cells; i++)
                if (placement->cells[i].id != now->cells[i].id)
                        return -EBADMSG;
        *ret = HN_TAKE(placement);
        return 0;
}

static int read_moving(struct json_object *json, struct hn_entry *entry)
{
        HN_MOVING struct hn_moving *moving = calloc(1, sizeof *moving);
        uint64_t turn = 0;
        int r;

        if (!moving)
                return -ENOMEM;
        r = get_placement(json, "from", entry->placement, &moving->from);
        if (r >= 0)
                r = get_placement(json, "to", entry->placement, &moving->to);
        if (r >= 0)
                r = get_text(json, "kind", &moving->kind);
        if (r >= 0)
                r = get_text(json, "reason", &moving->reason);
        if (r >= 0)
                r = hn_json_get_u64(json, "began_us", INT64_MAX, &moving->began_us);
        if (r >= 0)
                r = hn_json_get_u64(json, "turn", UINT_MAX, &turn);
        if (r >= 0)
                r = hn_json_get_bool(json, "narrowing", &moving->narrowing);
        if (r >= 0)
                r = hn_json_get_bool(json, "back", &moving->back);
        if (r < 0)
                return r;
        moving->turn = (unsigned) turn;
        entry->moving = HN_TAKE(moving);
        return 0;
}

static int read_moved(struct json_object *json, struct hn_moved *moved)
{
        uint64_t count = 0;
        int r = hn_json_get_u64(json, "count", UINT_MAX, &count);

        if (r >= 0)
                r = hn_json_get_u64(json, "ended_us", INT64_MAX, &moved->ended_us);
        if (r >= 0)
                r = hn_json_get_bool(json, "delivered", &moved->delivered);
        if (r >= 0)
                r = get_text(json, "result", &moved->result);
        moved->count = (unsigned) count;
        return r;
}

int hn_moving_read(struct json_object *json, struct hn_entry *entry)
{
        struct json_object *member;
        int r = 0;

        if (json_object_object_get_ex(json, "moving", &member))
                r = read_moving(member, entry);
        if (r >= 0 && json_object_object_get_ex(json, "moved", &member))
                r = read_moved(member, &entry->moved);
        return r;
}

static int add_placement(struct json_object *json, const char *name, const struct hn_placement *placement)
{
        struct json_object *member = NULL;
        int r = hn_placement_to_json(placement, &member);

        return r < 0 ? r : hn_json_add(json, name, member);
}

static int write_moving(const struct hn_entry *entry, struct json_object *json)
{
        const struct hn_moving *moving = entry->moving;
        int r = add_placement(json, "from", moving->from);

        if (r >= 0)
                r = add_placement(json, "to", moving->to);
        if (r >= 0)
                r = hn_json_add(json, "kind", json_object_new_string(moving->kind));
        if (r >= 0)
                r = hn_json_add(json, "reason", json_object_new_string(moving->reason));
        if (r >= 0)
                r = hn_json_add(json, "began_us", json_object_new_uint64(moving->began_us));
        if (r >= 0)
                r = hn_json_add(json, "turn", json_object_new_uint64(moving->turn));
        if (r >= 0)
                r = hn_json_add(json, "narrowing", json_object_new_boolean(moving->narrowing));
        return r < 0 ? r : hn_json_add(json, "back", json_object_new_boolean(moving->back));
}

static int write_moved(const struct hn_entry *entry, struct json_object *json)
{
        const struct hn_moved *moved = &entry->moved;
        int r = hn_json_add(json, "count", json_object_new_uint64(moved->count));

        if (r >= 0)
                r = hn_json_add(json, "ended_us", json_object_new_uint64(moved->ended_us));
        if (r >= 0)
                r = hn_json_add(json, "delivered", json_object_new_boolean(moved->delivered));
        return r < 0 ? r : hn_json_add(json, "result", json_object_new_string(moved->result));
}

/* A member that `write` fills in. */
static int add_object(struct json_object *json, const char *name,
                      int (*write)(const struct hn_entry *entry, struct json_object *member),
                      const struct hn_entry *entry)
{
        HN_JSON struct json_object *member = json_object_new_object();
        int r = member ? write(entry, member) : -ENOMEM;

        return r < 0 ? r : hn_json_add(json, name, HN_TAKE(member));
}

int hn_moving_write(const struct hn_entry *entry, struct json_object *json)
{
        int r = entry->moving ? add_object(json, "moving", write_moving, entry) : 0;

        return r < 0 || !entry->moved.result ? r : add_object(json, "moved", write_moved, entry);
}

static int settle_cell(const struct hn_entry *entry, size_t at, hwloc_bitmap_t bound)
{
        const struct hn_moving *moving = entry->moving;
        int r = hwloc_bitmap_copy(bound, (moving ? moving->to : entry->placement)->cells[at].nodes);

        if (r >= 0 && moving && !moving->narrowing)
                r = hwloc_bitmap_or(bound, bound, moving->from->cells[at].nodes);
        return r < 0 ? -ENOMEM : 0;
}

int hn_entry_settle_bound(const struct hn_entry *entry, struct hn_request *request)
{
        int r = 0;

        if ((!entry->moving && !entry->moved.count) || entry->placement->n_cells != request->n_cells)
                return 0;
        for (size_t i = 0; r >= 0 && i < request->n_cells; i++)
                if (request->cells[i].ours)
                        r = settle_cell(entry, i, request->cells[i].ours);
        return r;
}
