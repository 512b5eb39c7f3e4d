/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The host's topology on record in /run, since hwloc takes tens of ms to look at a large host and the hook
 * runs at every start.  The record holds facts that stay the same as long as its key does; memory, pools and
 * the sets of the cgroups are read each time.
 */
#include "model/host-facts.h"
#include "model/json.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FOLDER "/run/homenode"
#define TEXT_LIMIT (16u << 20)
#define DEPTH 8

/* What a record is good for, in member order. */
static const struct { const char *name, *path; } key_files[] = {
        { "boot_id", "/proc/sys/kernel/random/boot_id" },
        { "cpus_online", "/sys/devices/system/cpu/online" },
        { "nodes_online", "/sys/devices/system/node/online" },
};
#define KEY_FILES (sizeof key_files / sizeof *key_files)

/* Devices come and go (hot plug, virtual functions): their names in any order, as a number. */
static uint64_t devices_digest(const struct hn_root *root)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        uint64_t sum = 0;

        if (hn_root_open_dir(root, &dir, "/sys/bus/pci/devices") < 0)
                return 0;
        while ((entry = readdir(dir))) {
                uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

                for (const char *p = entry->d_name; *p; p++)
                        hash = (hash ^ (unsigned char) *p) * UINT64_C(0x100000001b3);
                sum += hash;
        }
        return sum >> 1; /* json-c reads numbers beyond 63 bits as two kinds */
}

static int make_key(const struct hn_root *root, struct json_object **ret)
{
        HN_JSON struct json_object *key = json_object_new_object();
        int r;

        if (!key || hn_json_add(key, "format", json_object_new_uint64(HN_HOST_FORMAT)) < 0 ||
            hn_json_add(key, "package", json_object_new_string(PACKAGE_VERSION)) < 0 ||
            hn_json_add(key, "devices", json_object_new_uint64(devices_digest(root))) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < KEY_FILES; i++) {
                HN_FREE char *line = NULL;

                r = hn_root_read_line(root, &line, "%s", key_files[i].path);
                if (r >= 0)
                        r = hn_json_add(key, key_files[i].name, json_object_new_string(line));
                if (r < 0)
                        return r;
        }
        *ret = HN_TAKE(key);
        return 0;
}

static int read_record(const struct hn_root *root, struct json_object *key, struct hn_facts **ret)
{
        HN_FREE char *text = NULL;
        HN_JSON struct json_object *json = NULL;
        struct json_object *found;
        size_t length;
        int r = hn_root_read(root, TEXT_LIMIT, &text, &length, HN_TOPOLOGY_PATH);

        if (r >= 0)
                r = hn_json_parse(text, length, DEPTH, &json);
        if (r < 0)
                return r;
        if (!json_object_object_get_ex(json, "key", &found) || !json_object_equal(found, key))
                return -ESTALE;
        if (!json_object_object_get_ex(json, "host", &found))
                return -EBADMSG;
        return hn_facts_from_json(found, ret);
}

/* No record is no harm: the next one tries again. */
static void write_record(const struct hn_root *root, struct json_object *key, const struct hn_facts *facts)
{
        HN_JSON struct json_object *json = json_object_new_object(), *host = NULL;
        const char *text;
        size_t length;

        if (!json || hn_facts_to_json(facts, &host) < 0 ||
            hn_json_add(json, "key", json_object_get(key)) < 0 ||
            hn_json_add(json, "host", HN_TAKE(host)) < 0)
                return;
        text = json_object_to_json_string_length(json, JSON_C_TO_STRING_PLAIN, &length);
        if (text && hn_root_mkdir(root, 0700, FOLDER) >= 0)
                (void) hn_root_replace(root, text, length, 0600, HN_TOPOLOGY_PATH);
}

static int settle(struct hn_facts *facts, struct hn_host **ret)
{
        int r = hn_host_settle(facts, ret);

        if (r < 0)
                hn_facts_free(facts);
        return r;
}

int hn_host_from_cache(const struct hn_root *root, bool with_pools, struct hn_host **ret)
{
        HN_JSON struct json_object *key = NULL;
        HN_FACTS struct hn_facts *facts = NULL;
        int r;

        if (make_key(root, &key) >= 0 && read_record(root, key, &facts) >= 0) {
                r = hn_facts_live_figures(root, with_pools, facts);
                if (r >= 0)
                        return settle(HN_TAKE(facts), ret);
                hn_facts_free(HN_TAKE(facts));
        }
        r = hn_facts_from_root(root, &facts);
        if (r >= 0)
                r = hn_facts_live_figures(root, with_pools, facts);
        if (r < 0)
                return r;
        if (key)
                write_record(root, key, facts);
        return settle(HN_TAKE(facts), ret);
}
