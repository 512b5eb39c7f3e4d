/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/ledger-entry.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "model/json.h"
#include "model/process.h"
#include "store/ledger-moving.h"

#define FORM_VERSION 1
#define DEPTH_LIMIT 8 /* entry, placement, cells, cell; and some air for later versions' members */
#define UNIT_LIMIT 255

static const char *const state_names[] = {
        [HN_ENTRY_RESERVED] = "reserved",
        [HN_ENTRY_STARTED] = "started",
};

void hn_entry_free(struct hn_entry *entry)
{
        if (!entry)
                return;
        hn_placement_free(entry->placement);
        free(entry->unit);
        free(entry->reason);
        hn_moving_free(entry->moving);
        free(entry->moved.result);
        free(entry);
}

/* A member that may be absent: `ret` keeps what it has. */
static int optional_u64(struct json_object *json, const char *name, uint64_t limit, uint64_t *ret)
{
        int r = hn_json_get_u64(json, name, limit, ret);

        return r == -ENOENT ? 0 : r;
}

static int optional_text(struct json_object *json, const char *name, char **ret)
{
        const char *text = NULL;
        int r = hn_json_get_string(json, name, &text);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

/* It becomes part of a path. */
static bool is_file_name(const char *text, size_t limit)
{
        return *text && *text != '.' && strlen(text) <= limit && !strchr(text, '/');
}

bool hn_entry_unit_valid(const char *unit)
{
        return is_file_name(unit, UNIT_LIMIT);
}

static int read_numbers(struct json_object *json, struct hn_entry *entry)
{
        uint64_t domain_id = UINT64_MAX, pid = 0;
        int r;

        r = hn_json_get_u64(json, "written_us", INT64_MAX, &entry->written_us);
        if (r >= 0)
                r = optional_u64(json, "domain_id", INT_MAX, &domain_id);
        if (r >= 0)
                r = optional_u64(json, "pid", INT_MAX, &pid);
        if (r >= 0)
                r = optional_u64(json, "start_ticks", UINT64_MAX, &entry->start_ticks);
        entry->domain_id = domain_id == UINT64_MAX ? -1 : (long) domain_id;
        entry->pid = (int) pid;
        return r;
}

static int read_texts(struct json_object *json, struct hn_entry *entry)
{
        const char *state = NULL, *boot_id = NULL;
        int r;

        r = hn_json_get_string(json, "state", &state);
        if (r >= 0)
                r = hn_json_get_string(json, "boot_id", &boot_id);
        if (r < 0)
                return r;
        if (strcmp(state, state_names[HN_ENTRY_RESERVED]) == 0)
                entry->state = HN_ENTRY_RESERVED;
        else if (strcmp(state, state_names[HN_ENTRY_STARTED]) == 0)
                entry->state = HN_ENTRY_STARTED;
        else
                return -EBADMSG;
        if (hn_uuid_canonical(boot_id, entry->boot_id) < 0)
                return -EBADMSG;
        r = optional_text(json, "reason", &entry->reason);
        if (r >= 0)
                r = optional_text(json, "unit", &entry->unit);
        if (r >= 0 && entry->unit && !hn_entry_unit_valid(entry->unit))
                return -EBADMSG;
        return r;
}

static int read_placement(struct json_object *json, struct hn_entry *entry)
{
        struct json_object *placement;
        int r;

        if (!json_object_object_get_ex(json, "placement", &placement))
                return -EBADMSG;
        r = hn_placement_from_json(placement, &entry->placement);
        if (r < 0)
                return r;
        return hn_uuid_canonical(entry->placement->uuid, entry->placement->uuid) < 0 ? -EBADMSG : 0;
}

int hn_entry_parse(const char *text, size_t length, struct hn_entry **ret)
{
        HN_JSON struct json_object *json = NULL;
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);
        uint64_t version = 0;
        int r;

        if (!entry)
                return -ENOMEM;
        r = hn_json_parse(text, length, DEPTH_LIMIT, &json);
        if (r >= 0)
                r = hn_json_get_u64(json, "version", UINT64_MAX, &version);
        if (r >= 0 && version != FORM_VERSION)
                r = -EBADMSG;
        if (r >= 0)
                r = read_numbers(json, entry);
        if (r >= 0)
                r = hn_json_get_bool(json, "managed", &entry->managed);
        if (r >= 0)
                r = hn_json_get_bool(json, "kept", &entry->kept);
        if (r >= 0)
                r = read_texts(json, entry);
        if (r >= 0)
                r = read_placement(json, entry);
        if (r >= 0)
                r = hn_moving_read(json, entry);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        *ret = HN_TAKE(entry);
        return 0;
}

static int add_optional(const struct hn_entry *entry, struct json_object *json)
{
        int r = 0;

        if (entry->domain_id >= 0)
                r = hn_json_add(json, "domain_id", json_object_new_int64(entry->domain_id));
        if (r >= 0 && entry->unit)
                r = hn_json_add(json, "unit", json_object_new_string(entry->unit));
        if (r >= 0 && entry->pid > 0)
                r = hn_json_add(json, "pid", json_object_new_int64(entry->pid));
        if (r >= 0 && entry->start_ticks > 0)
                r = hn_json_add(json, "start_ticks", json_object_new_uint64(entry->start_ticks));
        if (r >= 0 && entry->reason)
                r = hn_json_add(json, "reason", json_object_new_string(entry->reason));
        return r;
}

int hn_entry_format(const struct hn_entry *entry, char **ret_text, size_t *ret_length)
{
        HN_JSON struct json_object *json = json_object_new_object();
        struct json_object *placement = NULL;
        size_t length = 0;

        if (entry->room_only)
                return -EINVAL;
        if (!json || hn_json_add(json, "version", json_object_new_int64(FORM_VERSION)) < 0 ||
            hn_json_add(json, "state", json_object_new_string(state_names[entry->state])) < 0 ||
            hn_json_add(json, "boot_id", json_object_new_string(entry->boot_id)) < 0 ||
            hn_json_add(json, "written_us", json_object_new_uint64(entry->written_us)) < 0 ||
            add_optional(entry, json) < 0 ||
            hn_json_add(json, "managed", json_object_new_boolean(entry->managed)) < 0 ||
            hn_json_add(json, "kept", json_object_new_boolean(entry->kept)) < 0 ||
            hn_placement_to_json(entry->placement, &placement) < 0 ||
            hn_json_add(json, "placement", placement) < 0 || hn_moving_write(entry, json) < 0)
                return -ENOMEM;

        const char *text = json_object_to_json_string_length(json, JSON_C_TO_STRING_PLAIN, &length);
        char *copy = text ? strdup(text) : NULL;
        if (!copy)
                return -ENOMEM;
        *ret_text = copy;
        *ret_length = length;
        return 0;
}

/* The QEMU of a start that has not come as far as `started`.  libvirt writes the PID file early, and keeps
 * it. */
static bool start_under_way(const struct hn_root *root, const struct hn_entry *entry)
{
        const char *name = entry->placement->name;
        int pid = 0;

        if (entry->unit && hn_root_exists(root, "/sys/fs/cgroup/machine.slice/%s", entry->unit))
                return true;
        return name && hn_process_of_guest(root, name, &pid) >= 0 && hn_root_exists(root, "/proc/%d", pid);
}

bool hn_entry_counts(const struct hn_root *root, const struct hn_entry *entry, const char *boot_id,
                     uint64_t now_us)
{
        struct hn_process process;

        if (strcmp(entry->boot_id, boot_id) != 0)
                return false;
        if (entry->state == HN_ENTRY_STARTED) {
                int r = entry->pid > 0 ? hn_process_read(root, entry->pid, &process) : -ENODATA;

                /* What can't be told counts: memory promised twice is worse than memory kept for nobody. */
                if (r < 0)
                        return r != -ESRCH;
                return entry->start_ticks == 0 || entry->start_ticks == process.start_ticks;
        }
        /* A time that is still to come is none of this boot. */
        if (entry->written_us <= now_us && now_us - entry->written_us <= HN_RESERVATION_US)
                return true;
        return start_under_way(root, entry);
}
