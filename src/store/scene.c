/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/scene.h"

#include <errno.h>
#include <string.h>

#include "model/json.h"
#include "model/state.h"
#include "model/text.h"
#include "store/config.h"
#include "store/published.h"
#include "store/scene-internal.h"

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

/* The daemon's state is a help, never a condition: what is wrong with it leaves it out.  Of the host it tells nothing
 * that was not read just now, but how much of its memory guests hold. */
static int read_published_state(struct hn_scene *scene, const struct hn_root *root, bool measured)
{
        HN_JSON struct json_object *state = NULL;
        int r = hn_published_read(root, &state);

        if (r >= 0)
                r = hn_load_from_state(state, &scene->load);
        if (r >= 0 && !measured)
                r = hn_host_state_free(scene->host, state, &scene->published_kib);
        return r == -ENOMEM ? r : 0;
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
        *ret_fault = hn_text_print("%s %s", what, object);
        return error;
}

int hn_scene_open(const struct hn_root *root, const struct hn_scene_source *source, struct hn_scene **ret,
                  char **ret_fault)
{
        HN_SCENE struct hn_scene *scene = calloc(1, sizeof *scene);
        int r;

        if (!scene)
                return -ENOMEM;
        scene->root.fd = -1;
        r = hn_config_load(root, &scene->policy, &scene->faults);
        if (r < 0)
                return fault(ret_fault, r, "reading", "the configuration");
        r = read_host(root, source, &scene->host);
        if (r < 0)
                return fault(ret_fault, r, HN_SCENE_TOPOLOGY, source->host ? source->host : "this host");
        if (source->state)
                r = read_named_state(scene, source->state);
        else if (!source->host)
                r = read_published_state(scene, root, source->measured);
        if (r < 0)
                return fault(ret_fault, r, "reading the state", source->state ? source->state : HN_PUBLISHED_PATH);
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
        hn_root_close(&scene->root);
        free(scene->credits);
        free(scene->published_kib);
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

int hn_scene_add_ledger(struct hn_scene *scene, const struct hn_root *root, struct hn_ledger *ledger,
                        const char *except_uuid)
{
        int r = hn_ledger_load_room(ledger, &scene->entries, &scene->n_entries);

        if (except_uuid)
                (void) snprintf(scene->except_uuid, sizeof scene->except_uuid, "%s", except_uuid);
        for (size_t i = 0; r >= 0 && i < scene->n_entries; i++)
                if (strcmp(scene->entries[i]->placement->uuid, scene->except_uuid) != 0)
                        r = hn_scene_append(scene, scene->entries[i]->placement);
        return r < 0 ? r : hn_scene_credit(scene, root);
}
