/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Beginning moves: whether they can be, then all entries of a group into the ledger, or none.
 */
#include <errno.h>
#include <string.h>

#include "daemon/mover-internal.h"
#include "decide/fit.h"
#include "decide/move.h"
#include "decide/shape.h"
#include "model/clock.h"
#include "model/text.h"
#include "store/config.h"

/* One guest of a group. */
struct mover_part {
        const struct hn_move_order *order;
        struct hn_guest *guest;
        struct hn_entry *old, *new; /* the ledger's, and what it is to become */
        bool widens;                /* nothing moves: only its memory set gets wider */
};

struct group {
        struct hn_mover *mover;
        struct hn_policy policy;
        struct mover_part *parts;
        size_t n;
        uint64_t began_us;
};

static void end_group(struct group *group)
{
        for (size_t i = 0; group->parts && i < group->n; i++) {
                hn_entry_free(group->parts[i].old);
                hn_entry_free(group->parts[i].new);
        }
        free(group->parts);
}

HN_PRINTF(3, 4)
static int refuse(struct hn_mover *mover, int error, const char *format, ...)
{
        va_list arguments;

        free(mover->refusal);
        va_start(arguments, format);
        mover->refusal = hn_text_vprint(format, arguments);
        va_end(arguments);
        return error;
}

/* ---- what stands in the way */

/* A memory set of a thread's own is libvirt's, for a numatune: it would hold the thread back, and with it the whole
 * guest (DESIGN fact 8). */
static int check_threads(struct hn_mover *mover, const struct hn_guest *guest, const struct hn_groups *groups,
                         hwloc_const_bitmap_t wide)
{
        for (size_t i = 0; i < groups->n; i++) {
                HN_FREE char *dir = hn_text_print("%s/%s", guest->cgroup->threads, groups->list[i].name);
                HN_BITMAP hwloc_bitmap_t own = NULL;

                if (!dir)
                        return -ENOMEM;
                if (hn_cpuset_get(mover->keeper->io, dir, "cpuset.mems", &own) >= 0 && !hwloc_bitmap_iszero(own) &&
                    !hwloc_bitmap_isincluded(wide, own))
                        return refuse(mover, -EPERM, "its threads have memory sets of their own, from a numatune");
        }
        return 0;
}

static bool is_bound(const struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++)
                if (request->cells[i].ours)
                        return true;
        return false;
}

static int check_bound(struct hn_mover *mover, const struct hn_guest *guest, const struct hn_placement *to,
                       hwloc_const_bitmap_t in_force, hwloc_const_bitmap_t wide)
{
        const struct hn_request *request = guest->request;
        /* After a move that ended half-way they are bound by the order of what is in force, wherever that is. */
        bool by_order = is_bound(request) && guest->entry->moved.result && in_force &&
                        hn_idset_count(in_force) > request->n_cells;

        if (!in_force || hwloc_bitmap_iszero(to->memory_nodes))
                return 0;
        if (by_order ? hn_idset_count(to->memory_nodes) == request->n_cells
                     : hn_move_binds(request, to, in_force, wide, to->memory_nodes))
                return 0;
        return refuse(mover, -EPERM, "its cells would come to be bound to other nodes");
}

/* The sets that are in force and that it needs meanwhile. */
static int check_sets(struct hn_mover *mover, struct mover_part *part, const struct hn_placement *under_way,
                      const struct hn_groups *groups)
{
        const struct hn_guest *guest = part->guest;
        const struct hn_placement *to = part->order->to;
        hwloc_const_bitmap_t in_force = groups->scope_nodes, wide = under_way->memory_nodes;
        int r;

        if (groups->above_nodes && !hwloc_bitmap_isincluded(to->home, groups->above_nodes))
                return refuse(mover, -EPERM, "what is above its scope does not let it have memory there");
        if (in_force && !guest->cgroup->by_systemd && !hwloc_bitmap_isincluded(to->home, in_force))
                return refuse(mover, -EPERM, "its memory set is not homenode's to change");
        if (hwloc_bitmap_iszero(wide))
                wide = in_force ? in_force : to->home;
        r = check_threads(mover, guest, groups, wide);
        return r < 0 ? r : check_bound(mover, guest, to, in_force, wide);
}

static int check_guest(struct hn_mover *mover, struct mover_part *part)
{
        const struct hn_move_order *order = part->order;
        struct hn_guest *guest = hn_guests_find(&mover->keeper->guests, order->uuid);

        if (!guest || !guest->entry || !guest->request || !guest->cgroup)
                return refuse(mover, -ENOENT, "it does not run, or is not known yet");
        if (!guest->entry->managed || guest->request->wishes.off)
                return refuse(mover, -EPERM, "it is not homenode's to place");
        if (hn_mover_has(mover, order->uuid))
                return refuse(mover, -EBUSY, "it is being moved already");
        if (order->to->n_cells != guest->entry->placement->n_cells || !order->to->n_cells)
                return refuse(mover, -ESTALE, "its cells are others");
        part->guest = guest;
        return 0;
}

static int check_refusal(struct hn_mover *mover, const struct hn_guest *guest)
{
        HN_SHAPE struct hn_shape *shape = NULL;
        const char *refusal;
        int r;

        if (!mover->keeper->outlook.host)
                return -EAGAIN;
        r = hn_shape_running(mover->keeper->outlook.host, guest->request, &shape);
        if (r < 0)
                return r;
        refusal = hn_move_refusal(mover->keeper->outlook.host, guest->request, shape, guest->entry->placement);
        return refusal ? refuse(mover, -EPERM, "%s", refusal) : 0;
}

/* ---- entries */

static bool same_nodes(const struct hn_placement *a, const struct hn_placement *b)
{
        for (size_t i = 0; i < a->n_cells; i++)
                if (!hwloc_bitmap_isequal(a->cells[i].nodes, b->cells[i].nodes))
                        return false;
        return hwloc_bitmap_isequal(a->home, b->home);
}

static int new_moving(const struct group *group, const struct mover_part *part, struct hn_moving **ret)
{
        HN_MOVING struct hn_moving *moving = calloc(1, sizeof *moving);

        if (!moving)
                return -ENOMEM;
        moving->from = hn_placement_copy(part->old->placement);
        moving->to = hn_placement_copy(part->order->to);
        moving->kind = strdup(hn_move_kind_name(part->order->kind));
        moving->reason = strdup(part->order->reason ? part->order->reason : "");
        if (!moving->from || !moving->to || !moving->kind || !moving->reason)
                return -ENOMEM;
        moving->began_us = group->began_us;
        moving->turn = (unsigned) (part - group->parts);
        *ret = HN_TAKE(moving);
        return 0;
}

static int make_entry(const struct group *group, struct mover_part *part, struct hn_ledger *ledger)
{
        HN_GROUPS struct hn_groups *groups = NULL;
        struct hn_mover *mover = group->mover;
        struct hn_placement *under_way = NULL;
        struct hn_guest *guest = part->guest;
        int r = hn_ledger_get(ledger, guest->uuid, &part->old);

        if (r >= 0)
                r = hn_ledger_get(ledger, guest->uuid, &part->new);
        if (r >= 0 && (!hn_keeper_is_its(part->old, guest) || !part->old->managed || part->old->moving ||
                       part->old->placement->n_cells != part->order->to->n_cells))
                r = refuse(mover, -ESTALE, "it has changed meanwhile");
        if (r >= 0)
                r = hn_groups_read(mover->keeper->root, guest->cgroup->scope, guest->cgroup->threads, &groups);
        if (r >= 0)
                r = hn_move_under_way(part->old->placement, part->order->to, groups->scope_nodes, &under_way);
        if (r < 0)
                return r;
        hn_placement_free(part->new->placement);
        part->new->placement = under_way;
        part->widens = !part->order->memory_kib && same_nodes(part->old->placement, part->order->to) && groups->scope_nodes &&
                       hwloc_bitmap_isincluded(groups->scope_nodes, part->order->to->memory_nodes);
        if (part->widens)
                return hn_placement_replace(&part->new->placement, part->order->to);
        r = check_sets(mover, part, under_way, groups);
        if (r >= 0)
                r = check_refusal(mover, guest);
        return r < 0 ? r : new_moving(group, part, &part->new->moving);
}

/* ---- room */

static const struct mover_part *part_of(const struct group *group, const char *uuid)
{
        for (size_t i = 0; i < group->n; i++)
                if (strcmp(group->parts[i].guest->uuid, uuid) == 0)
                        return &group->parts[i];
        return NULL;
}

/* Those of the group count with where they are going to. */
static uint64_t sum_kib(const struct group *group, struct hn_entry *const *entries, size_t n,
                        const struct hn_promise *promise)
{
        uint64_t kib = 0;

        for (size_t i = 0; i < n; i++)
                if (!part_of(group, entries[i]->placement->uuid))
                        kib = hn_add(kib, hn_placement_memory_kib(entries[i]->placement, promise->node,
                                                                  promise->page_kib));
        for (size_t i = 0; i < group->n; i++)
                kib = hn_add(kib, hn_placement_memory_kib(group->parts[i].order->to, promise->node,
                                                          promise->page_kib));
        return kib;
}

/* What was decided without the lock: has somebody else been promised the same since? */
static int check_room(const struct group *group, struct hn_ledger *ledger)
{
        const struct hn_host *host = group->mover->keeper->outlook.host;
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r = hn_ledger_load_room(ledger, &entries, &n);

        for (size_t i = 0; r >= 0 && i < group->n; i++) {
                const struct hn_placement *to = group->parts[i].order->to, *from = group->parts[i].old->placement;

                for (size_t p = 0; r >= 0 && p < to->n_promises; p++) {
                        const struct hn_promise *promise = &to->promises[p];
                        int at = hn_host_at(host, promise->node);

                        if (promise->memory_kib <= hn_placement_memory_kib(from, promise->node, promise->page_kib))
                                continue;
                        if (at < 0 || sum_kib(group, entries, n, promise) >
                                              hn_usable_kib(&group->policy, &host->nodes[at], promise->page_kib))
                                r = refuse(group->mover, -ESTALE, "node %u has no room for it", promise->node);
                }
        }
        hn_entries_free(entries, n);
        return r;
}

/* ---- all or none */

static int put_all(const struct group *group, struct hn_ledger *ledger)
{
        size_t n = 0;
        int r = 0;

        while (n < group->n && r >= 0)
                r = hn_ledger_put(ledger, group->parts[n++].new, NULL);
        /* The one that failed as well: it may be there all the same. */
        while (r < 0 && n-- > 0)
                (void) hn_ledger_put(ledger, group->parts[n].old, NULL);
        return r;
}

/* The ledger tells groups apart by it. */
static uint64_t next_began_us(struct hn_mover *mover)
{
        uint64_t now_us = hn_boottime_us();

        mover->begun_us = now_us > mover->begun_us ? now_us : mover->begun_us + 1;
        return mover->begun_us;
}

static int make_group(struct hn_mover *mover, const struct hn_move_order *orders, size_t n, struct group *group)
{
        HN_FREE char *faults = NULL;
        int r = 0;

        group->mover = mover;
        group->parts = calloc(n ? n : 1, sizeof *group->parts);
        if (!group->parts)
                return -ENOMEM;
        group->n = n;
        group->began_us = next_began_us(mover);
        if (hn_config_load(mover->keeper->root, &group->policy, &faults) < 0)
                hn_policy_defaults(&group->policy);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                group->parts[i].order = &orders[i];
                r = check_guest(mover, &group->parts[i]);
                for (size_t j = 0; r >= 0 && j < i; j++)
                        if (group->parts[j].guest == group->parts[i].guest)
                                r = -EINVAL;
        }
        return r;
}

static void take_over(struct group *group)
{
        struct hn_mover *mover = group->mover;

        for (size_t i = 0; i < group->n; i++) {
                struct mover_part *part = &group->parts[i];
                struct hn_guest *guest = part->guest;
                bool widens = part->widens;
                struct hn_job *job;

                hn_guest_take_entry(guest, HN_TAKE(part->new));
                guest->layout = 0; /* new to its thread groups: not to be waited with, whoever else writes */
                job = widens ? NULL : hn_mover_add(mover, guest);
                if (job) /* without memory it is found as a daemon that was killed would have left it */
                        hn_mover_tell(mover, job, "moves: %s", guest->entry->moving->reason);
                mover->keeper->door.again(mover->keeper->door.data, guest->uuid, 0);
        }
}

int hn_mover_begin(struct hn_mover *mover, const struct hn_move_order *orders, size_t n)
{
        HN_CLEANUP(end_group) struct group group = { 0 };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r;

        free(HN_TAKE(mover->refusal));
        r = make_group(mover, orders, n, &group);
        if (r >= 0)
                r = hn_keeper_lock(mover->keeper, &ledger);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = make_entry(&group, &group.parts[i], ledger);
        if (r >= 0)
                r = check_room(&group, ledger);
        if (r >= 0)
                r = put_all(&group, ledger);
        if (r < 0)
                return r;
        hn_ledger_unlock(ledger);
        take_over(&group);
        return 0;
}
