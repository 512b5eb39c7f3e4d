/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "act/actions.h"
#include "act/scope.h"
#include "act/unit.h"
#include "daemon/keeper-internal.h"
#include "daemon/tell.h"
#include "model/clock.h"
#include "model/resident.h"

#define VERIFY_MS 1000u /* systemd answers before the cgroup says so, and libvirt may still be at a hotplug */
#define FNV_BEGIN UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

HN_PRINTF(3, 4)
static void tell(const struct hn_keeper *keeper, const struct hn_guest *guest, const char *text, ...)
{
        const struct hn_placement *placement = guest->entry->placement;
        va_list arguments;

        va_start(arguments, text);
        hn_vtell_guest(keeper->root, placement->name, placement->home, text, arguments);
        va_end(arguments);
}

/* ---- comparing */

static uint64_t layout_of(const struct hn_groups *groups)
{
        uint64_t hash = FNV_BEGIN;

        for (size_t i = 0; i < groups->n; i++)
                for (const char *p = groups->list[i].name;; p++) {
                        hash = (hash ^ (unsigned char) *p) * FNV_PRIME;
                        if (!*p)
                                break;
                }
        return hash ? hash : 1;
}

/* How much of the guest lies outside the nodes wanted; read only where they are not in force. */
static uint64_t outside_kib(const struct hn_keeper *keeper, const struct hn_guest *guest,
                            const struct hn_groups *groups)
{
        HN_BITMAP hwloc_bitmap_t wanted = NULL;
        HN_RESIDENT struct hn_resident resident = { 0 };
        const struct hn_request *request = guest->request;
        const struct hn_moving *moving = guest->entry->moving;
        /* Huge pages are not counted in what is read here; but the mover has looked. */
        uint64_t unknown_kib = moving && moving->narrowing ? 0 : UINT64_MAX;

        if (hn_keep_nodes(request, guest->entry->placement, &wanted) < 0 || !groups->scope_nodes ||
            hwloc_bitmap_iszero(wanted) || hwloc_bitmap_isequal(groups->scope_nodes, wanted))
                return 0;
        if (hn_request_wants_huge_pages(request) ||
            hn_resident_read(keeper->root, guest->cgroup->scope, &resident) < 0)
                return unknown_kib;
        return hn_resident_sum_kib(&resident, NULL) - hn_resident_sum_kib(&resident, wanted);
}

int hn_keep_compare(struct hn_keeper *keeper, struct hn_guest *guest, struct hn_actions *ret, bool *ret_relaid)
{
        HN_GROUPS struct hn_groups *groups = NULL;
        bool by_systemd = guest->cgroup->by_systemd;
        int r = hn_groups_read(keeper->root, guest->cgroup->scope, guest->cgroup->threads, &groups);

        if (r < 0)
                return r;
        const struct hn_circumstances circumstances = {
                .way = by_systemd ? HN_SCOPE_UNIT : HN_SCOPE_LEFT,
                .dropin = by_systemd && hn_dropin_exists(keeper->root, hn_guest_cgroup_unit(guest->cgroup)),
                .outside_kib = outside_kib(keeper, guest, groups),
                .moving = guest->entry->moving != NULL,
                .all_cpus = keeper->all_cpus,
                .all_nodes = keeper->all_nodes,
        };
        r = hn_keep_plan(groups, guest->entry->placement, guest->request, &circumstances, ret);
        if (r < 0)
                return r;
        uint64_t layout = layout_of(groups);
        *ret_relaid = layout != guest->layout;
        if (*ret_relaid && hn_watch_guest(keeper->watch, guest->uuid, guest->cgroup->scope, guest->cgroup->threads,
                                          groups) == -ENOSPC)
                tell(keeper, guest, "changes are found by the sweep only: fs.inotify.max_user_watches is used up");
        guest->layout = layout;
        return 0;
}

/* ---- doing */

static void tell_contest(const struct hn_keeper *keeper, const struct hn_guest *guest, enum hn_contest_news news)
{
        if (news == HN_CONTEST_BEGUN)
                tell(keeper, guest, "somebody else keeps changing its CPUs or nodes: putting them right less and less often");
        else if (news == HN_CONTEST_SETTLED)
                tell(keeper, guest, "its CPUs and nodes have settled");
}

/* Once each time that it comes to be so. */
static void tell_once(const struct hn_keeper *keeper, const struct hn_guest *guest, bool now, bool *told,
                      const char *text)
{
        if (now && !*told)
                tell(keeper, guest, "%s", text);
        *told = now;
}

static void tell_state(const struct hn_keeper *keeper, struct hn_guest *guest, const struct hn_actions *actions)
{
        tell_once(keeper, guest, actions->homeless, &guest->homeless_told, "its home has lost its CPUs or its memory");
        tell_once(keeper, guest, actions->memory_waits, &guest->memory_told,
                  "its memory set is not as planned, and is not changed while that would hold it up or bind it elsewhere");
}

static void do_actions(struct hn_keeper *keeper, struct hn_guest *guest, const struct hn_actions *actions, bool relaid)
{
        const struct hn_unit_setter setter = { hn_unit_set, keeper->systemd, HN_UNIT_WAIT_US };
        struct hn_done done = { 0 };

        hn_actions_do(keeper->io, &setter, guest->cgroup, actions, &done);
        if (done.failed && !guest->failure_told)
                tell(keeper, guest, "%u of %zu changes failed: %s", done.failed, actions->n,
                     done.error == -ENOSPC ? "conflicts with the cpuset above or below" : strerror(-done.error));
        guest->failure_told = done.failed != 0;
        /* New groups have to be seen to, whoever else writes; failing at the same thing is waited for like a fight. */
        if (!relaid || done.failed)
                tell_contest(keeper, guest, hn_contest_repaired(&guest->contest, hn_monotonic_us()));
        unsigned wait_ms = hn_contest_wait_ms(&guest->contest, hn_monotonic_us());
        keeper->door.again(keeper->door.data, guest->uuid, wait_ms > VERIFY_MS ? wait_ms : VERIFY_MS);
}

bool hn_keep_guest(struct hn_keeper *keeper, struct hn_guest *guest)
{
        HN_ACTIONS struct hn_actions actions = { 0 };
        bool relaid = false;
        uint64_t now_us = hn_monotonic_us();

        if (hn_keep_compare(keeper, guest, &actions, &relaid) < 0)
                return false; /* it is going; the next sweep looks again */
        tell_state(keeper, guest, &actions);
        if (actions.n == 0) {
                guest->failure_told = false;
                tell_contest(keeper, guest, hn_contest_right(&guest->contest, now_us));
                return false;
        }
        unsigned wait_ms = relaid ? 0 : hn_contest_wait_ms(&guest->contest, now_us);
        if (wait_ms) {
                keeper->door.again(keeper->door.data, guest->uuid, wait_ms);
                return false;
        }
        do_actions(keeper, guest, &actions, relaid);
        return true;
}
