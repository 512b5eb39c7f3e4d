/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/where.h"

#include <errno.h>
#include <string.h>

#include "command/input.h"

int hn_where_ledger(const struct hn_root *root, const char *dir, struct hn_ledger **ret)
{
        if (dir && access(dir, F_OK) < 0)
                return -errno;
        return hn_ledger_open(root, dir, ret);
}

/* A ledger may not be there yet, and this host's own is closed to ordinary users; any other fault of one that
 * was named is a mistake. */
static int add_ledger(const struct hn_where *where, const struct hn_root *root, struct hn_scene *scene)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r;

        if (where->empty || (where->host && !where->ledger))
                return 0;
        r = hn_where_ledger(root, where->ledger, &ledger);
        if (r >= 0)
                r = hn_scene_add_ledger(scene, root, ledger, NULL);
        if (r >= 0)
                return 0;
        bool fatal = r == -ENOMEM || (where->ledger && r != -ENOENT);
        (void) hn_complain("the ledger%s%s can't be read (%s)%s", where->ledger ? " " : "",
                           where->ledger ? where->ledger : "", strerror(-r),
                           fatal ? "" : ": going on as if no guest were placed");
        return fatal ? r : 0;
}

static void complain_scene(const struct hn_where *where, int error, const char *fault)
{
        if (error != -EBADMSG)
                (void) hn_complain("%s: %s", fault ? fault : "host", strerror(-error));
        else if (!where->host || !fault || strncmp(fault, HN_SCENE_TOPOLOGY, strlen(HN_SCENE_TOPOLOGY)) != 0)
                (void) hn_complain("%s: is not what was expected there", fault ? fault : "host");
        else if (hn_input_is_domain(where->host))
                (void) hn_complain("%s: a domain's XML, not a host's topology: it goes without --host", where->host);
        else
                (void) hn_complain("%s: is neither a topology exported by lstopo nor a synthetic description",
                                   where->host);
}

int hn_where_scene(const struct hn_where *where, struct hn_scene **ret)
{
        const struct hn_scene_source source = {
                .host = where->host,
                .state = where->state,
                .with_pools = true,
        };
        HN_ROOT struct hn_root root = { .fd = -1 };
        HN_SCENE struct hn_scene *scene = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_root_open(NULL, &root);

        if (r < 0) {
                const char *name = getenv("HOMENODE_ROOT");

                (void) hn_complain("%s: %s", name ? name : "/", strerror(-r));
                return r;
        }
        r = hn_scene_open(&root, &source, &scene, &fault);
        if (r < 0) {
                complain_scene(where, r, fault);
                return r;
        }
        if (scene->faults)
                hn_complain_lines("configuration", scene->faults);
        r = add_ledger(where, &root, scene);
        if (r >= 0)
                *ret = HN_TAKE(scene);
        return r;
}

/* libvirt knows a domain by either; hand-written XML often has no UUID. */
static bool same_domain(const struct hn_placement *placement, const struct hn_request *request)
{
        if (*request->uuid)
                return strcmp(placement->uuid, request->uuid) == 0;
        return placement->name && request->name && strcmp(placement->name, request->name) == 0;
}

int hn_where_situation(const struct hn_scene *scene, const struct hn_request *request,
                       struct hn_situation *ret, const struct hn_placement ***ret_placements)
{
        const struct hn_placement **placements = calloc(scene->n_placements + 1, sizeof *placements);
        size_t n = 0;

        if (!placements)
                return -ENOMEM;
        for (size_t i = 0; i < scene->n_placements; i++)
                if (i >= scene->n_entries || !same_domain(scene->placements[i], request))
                        placements[n++] = scene->placements[i];
        *ret = scene->situation;
        ret->placements = placements;
        ret->n_placements = n;
        *ret_placements = placements;
        return 0;
}

int hn_where_decide(struct hn_scene *scene, const struct hn_request *request, struct hn_decision **ret)
{
        HN_FREE const struct hn_placement **placements = NULL;
        struct hn_situation situation;
        int r = hn_where_situation(scene, request, &situation, &placements);

        return r < 0 ? r : hn_scene_decide(scene, &situation, request, ret);
}
