/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/scene.h"

#include <errno.h>
#include <string.h>

#include "model/clock.h"
#include "model/json.h"
#include "model/resident.h"
#include "model/state.h"
#include "store/config.h"

#define STATE_LIMIT (8u << 20)
#define STATE_DEPTH 16

static int read_host(const struct hn_root *root, const struct hn_scene_source *source, struct hn_host **ret)
{
        return source->host ? hn_host_from_description(source->host, ret)
                            : hn_host_from_cache(root, source->with_pools, ret);
}

static int apply_state(struct hn_scene *scene, struct json_object *state)
{
        int r = hn_host_apply_state(scene->host, state);

        return r < 0 ? r : hn_load_from_state(state, &scene->load);
}

/* Was it written by this boot's daemon, lately? */
static bool fresh(const struct hn_root *root, struct json_object *state)
{
        HN_FREE char *boot_id = NULL;
        const char *state_boot_id = NULL;
        uint64_t version = 0, written_us = 0, now_us = hn_boottime_us();

        return hn_json_get_u64(state, "version", HN_STATE_VERSION, &version) >= 0 && version == HN_STATE_VERSION &&
               hn_json_get_u64(state, "written_us", UINT64_MAX, &written_us) >= 0 &&
               hn_json_get_string(state, "boot_id", &state_boot_id) >= 0 &&
               hn_root_read_line(root, &boot_id, "/proc/sys/kernel/random/boot_id") >= 0 &&
               strcmp(boot_id, state_boot_id) == 0 && written_us <= now_us && now_us - written_us <= HN_STATE_FRESH_US;
}

/* The daemon's state is a help, never a condition: what is wrong with it leaves it out. */
static int read_published_state(struct hn_scene *scene, const struct hn_root *root)
{
        HN_JSON struct json_object *state = NULL;
        HN_FREE char *text = NULL;
        size_t length = 0;

        if (hn_root_read(root, STATE_LIMIT, &text, &length, HN_STATE_PATH) < 0 ||
            hn_json_parse(text, length, STATE_DEPTH, &state) < 0 || !fresh(root, state))
                return 0;
        scene->credited = true;
        return apply_state(scene, state) == -ENOMEM ? -ENOMEM : 0;
}

static int read_named_state(struct hn_scene *scene, const char *path)
{
        HN_ROOT struct hn_root here = { .fd = -1 };
        HN_JSON struct json_object *state = NULL;
        HN_FREE char *text = NULL;
        size_t length = 0;
        uint64_t version = 0;
        int r = hn_root_open(*path == '/' ? "/" : ".", &here);

        if (r >= 0)
                r = hn_root_read(&here, STATE_LIMIT, &text, &length, "%s", path);
        if (r >= 0)
                r = hn_json_parse(text, length, STATE_DEPTH, &state);
        if (r >= 0)
                r = hn_json_get_u64(state, "version", HN_STATE_VERSION, &version);
        if (r >= 0)
                r = version == HN_STATE_VERSION ? apply_state(scene, state) : -EBADMSG;
        return r == -ENOENT && text ? -EBADMSG : r;
}

static int fault(char **ret_fault, int error, const char *what, const char *object)
{
        if (asprintf(ret_fault, "%s %s", what, object) < 0)
                *ret_fault = NULL;
        return error;
}

int hn_scene_open(const struct hn_root *root, const struct hn_scene_source *source, struct hn_scene **ret,
                  char **ret_fault)
{
        HN_SCENE struct hn_scene *scene = calloc(1, sizeof *scene);
        int r;

        if (!scene)
                return -ENOMEM;
        r = hn_config_load(root, &scene->policy, &scene->faults);
        if (r < 0)
                return fault(ret_fault, r, "reading", "the configuration");
        r = read_host(root, source, &scene->host);
        if (r < 0)
                return fault(ret_fault, r, "reading the topology of", source->host ? source->host : "this host");
        if (source->state)
                r = read_named_state(scene, source->state);
        else if (!source->host)
                r = read_published_state(scene, root);
        if (r < 0)
                return fault(ret_fault, r, "reading the state", source->state ? source->state : HN_STATE_PATH);
        scene->credited |= source->state || source->host;
        scene->situation = (struct hn_situation) {
                .host = scene->host,
                .policy = &scene->policy,
                .load = scene->load,
        };
        *ret = HN_TAKE(scene);
        return 0;
}

void hn_scene_free(struct hn_scene *scene)
{
        if (!scene)
                return;
        hn_host_free(scene->host);
        hn_load_free(scene->load);
        hn_entries_free(scene->entries, scene->n_entries);
        free(scene->placements);
        free(scene->faults);
        free(scene);
}

int hn_scene_append(struct hn_scene *scene, const struct hn_placement *placement)
{
        const struct hn_placement **more;

        more = reallocarray(scene->placements, scene->n_placements + 1, sizeof *more);
        if (!more)
                return -ENOMEM;
        more[scene->n_placements++] = placement;
        scene->placements = more;
        scene->situation.placements = more;
        scene->situation.n_placements = scene->n_placements;
        return 0;
}

static void credit_node(struct hn_node *node, uint64_t held_kib)
{
        uint64_t used_kib = node->memory_kib > node->free_kib ? node->memory_kib - node->free_kib : 0;

        node->free_kib += held_kib < used_kib ? held_kib : used_kib;
}

/* Counts what a running guest holds on a node as free, since its promise stands for it already.  Where its cgroup
 * does not tell, it is taken to hold all that it was promised. */
static void credit_memory(struct hn_scene *scene, const struct hn_root *root, const struct hn_entry *entry)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_FREE char *dir = NULL;
        bool told = false;

        if (entry->unit && asprintf(&dir, "/sys/fs/cgroup/machine.slice/%s", entry->unit) < 0)
                dir = NULL;
        told = dir && hn_resident_read(root, dir, &resident) >= 0;
        for (size_t i = 0; told && i < scene->host->n_nodes; i++)
                credit_node(&scene->host->nodes[i], hn_resident_kib(&resident, scene->host->nodes[i].os));
        for (size_t i = 0; !told && i < entry->placement->n_promises; i++) {
                const struct hn_promise *promise = &entry->placement->promises[i];
                int at = hn_host_at(scene->host, promise->node);

                if (at >= 0 && promise->page_kib == 0)
                        credit_node(&scene->host->nodes[at], promise->memory_kib);
        }
}

/* The same for huge pages, which a guest takes as it starts. */
static void credit_pages(struct hn_scene *scene, const struct hn_placement *placement)
{
        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];
                int at = hn_host_at(scene->host, promise->node);

                for (size_t j = 0; promise->page_kib && at >= 0 && j < scene->host->nodes[at].n_pools; j++) {
                        struct hn_pool *pool = &scene->host->nodes[at].pools[j];

                        if (pool->page_kib != promise->page_kib)
                                continue;
                        pool->free_pages += promise->memory_kib / promise->page_kib;
                        if (pool->free_pages > pool->total_pages)
                                pool->free_pages = pool->total_pages;
                }
        }
}

int hn_scene_add_ledger(struct hn_scene *scene, const struct hn_root *root, struct hn_ledger *ledger,
                        const char *except_uuid)
{
        int r = hn_ledger_load(ledger, &scene->entries, &scene->n_entries);

        for (size_t i = 0; r >= 0 && i < scene->n_entries; i++)
                if (!except_uuid || strcmp(scene->entries[i]->placement->uuid, except_uuid) != 0)
                        r = hn_scene_append(scene, scene->entries[i]->placement);
        if (r < 0)
                return r;

        for (size_t i = 0; i < scene->n_entries; i++) {
                if (scene->entries[i]->state != HN_ENTRY_STARTED)
                        continue;
                credit_pages(scene, scene->entries[i]->placement);
                if (!scene->credited)
                        credit_memory(scene, root, scene->entries[i]);
        }
        return 0;
}
