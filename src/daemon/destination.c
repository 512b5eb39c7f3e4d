/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/destination.h"

#include <errno.h>

#include "daemon/keeper-internal.h"
#include "decide/fit.h"
#include "decide/place.h"
#include "decide/shape.h"
#include "model/resident.h"
#include "model/text.h"
#include "store/scene.h"

HN_PRINTF(3, 4)
static int refuse(char **ret_why, int error, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        *ret_why = hn_text_vprint(format, arguments);
        va_end(arguments);
        return error;
}

/* ---- the nodes */

static int check_homes(const struct hn_host *host, hwloc_const_bitmap_t nodes, char **ret_why)
{
        if (hwloc_bitmap_iszero(nodes))
                return refuse(ret_why, -EINVAL, "no node is named");
        HN_IDSET_FOREACH(os, nodes) {
                int at = hn_host_at(host, (unsigned) os);

                if (at < 0)
                        return refuse(ret_why, -EINVAL, "there is no node %d", os);
                if (host->nodes[at].role != HN_NODE_HOME)
                        return refuse(ret_why, -EINVAL, "node %d has no CPUs or no memory for guests", os);
        }
        return 0;
}

/* Cells that came together on one node could never be parted again: they would be bound to the same node. */
static int check_number(const struct hn_placement *placement, hwloc_const_bitmap_t nodes, char **ret_why)
{
        unsigned now = hn_idset_count(placement->home), wanted = hn_idset_count(nodes);

        if (placement->n_cells > 1 && wanted != now)
                return refuse(ret_why, -EINVAL, "it has %zu cells on %u nodes: name as many", placement->n_cells, now);
        if (placement->n_cells == 1 && wanted > now)
                return refuse(ret_why, -EINVAL, "it is on %u node%s: name no more", now, now == 1 ? "" : "s");
        return 0;
}

static int check_wishes(const struct hn_request *request, hwloc_const_bitmap_t nodes, char **ret_why)
{
        HN_FREE char *list = NULL;

        if (!request->wishes.nodes || hwloc_bitmap_isincluded(nodes, request->wishes.nodes))
                return 0;
        return hn_idset_format(request->wishes.nodes, &list) < 0
                       ? -ENOMEM
                       : refuse(ret_why, -EPERM, "its metadata allows nodes %s only", list);
}

/* ---- the placement */

static int gather_scene(const struct hn_keeper *keeper, const struct hn_guest *guest, struct hn_scene **ret)
{
        const struct hn_scene_source source = { .with_pools = hn_request_wants_huge_pages(guest->request) };
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_scene_open(keeper->root, &source, &scene, &fault);

        if (r >= 0)
                r = hn_keeper_lock(keeper, &ledger);
        if (r >= 0)
                r = hn_scene_add_ledger(scene, keeper->root, ledger, guest->uuid);
        if (r < 0)
                return r;
        /* What it holds itself is to be had where it is. */
        if (hn_resident_read(keeper->root, guest->cgroup->scope, &resident) >= 0)
                hn_scene_credit_resident(scene, &resident);
        *ret = HN_TAKE(scene);
        return 0;
}

static int place(const struct hn_keeper *keeper, const struct hn_guest *guest, hwloc_const_bitmap_t nodes,
                 struct hn_placement **ret, char **ret_why)
{
        HN_SCENE struct hn_scene *scene = NULL;
        HN_SHAPE struct hn_shape *shape = NULL;
        HN_PLACEMENT struct hn_placement *to = NULL;
        HN_FREE char *list = hn_text_nodes(nodes);
        struct hn_score score;
        int r = list ? gather_scene(keeper, guest, &scene) : -ENOMEM;

        if (r >= 0)
                r = hn_shape_running(scene->host, guest->request, &shape);
        if (r >= 0)
                r = hn_place_on(&scene->situation, guest->request, shape, nodes, &to, &score);
        if (r == -ENOSPC)
                return refuse(ret_why, r, "there is no room for it on %s", list);
        if (r < 0)
                return r;
        if (!hwloc_bitmap_isequal(to->home, nodes))
                return refuse(ret_why, -EINVAL, "its cells can't be had on exactly %s", list);
        *ret = HN_TAKE(to);
        return 0;
}

/* Only its memory is to come home. */
static int gather(const struct hn_placement *now, struct hn_placement **ret)
{
        HN_PLACEMENT struct hn_placement *to = hn_placement_copy(now);

        if (!to || hwloc_bitmap_copy(to->memory_nodes, to->home) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(to);
        return 0;
}

int hn_destination(const struct hn_keeper *keeper, const struct hn_guest *guest, hwloc_const_bitmap_t nodes,
                   struct hn_placement **ret, char **ret_why)
{
        const struct hn_host *host = keeper->outlook.host;
        int r;

        if (!host || !guest->entry || !guest->request || !guest->cgroup)
                return -ENOENT;
        if (!guest->entry->managed || !guest->entry->placement->n_cells)
                return refuse(ret_why, -ENOENT, "it is left to libvirt: %s", guest->entry->reason);
        r = check_homes(host, nodes, ret_why);
        if (r >= 0)
                r = check_number(guest->entry->placement, nodes, ret_why);
        if (r >= 0)
                r = check_wishes(guest->request, nodes, ret_why);
        if (r < 0)
                return r;
        if (hwloc_bitmap_isequal(nodes, guest->entry->placement->home) && guest->request->wishes.memory != HN_MEMORY_SOFT)
                return gather(guest->entry->placement, ret);
        return place(keeper, guest, nodes, ret, ret_why);
}
