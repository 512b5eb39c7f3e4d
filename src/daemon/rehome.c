/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keeper's part where the host changes: guests whose home is gone, or has more CPUs than before, and guests that
 * there was no room for.
 */
#include <errno.h>
#include <string.h>

#include "act/journal.h"
#include "daemon/connection.h"
#include "daemon/keeper-internal.h"
#include "daemon/replan.h"
#include "decide/widen.h"
#include "model/clock.h"
#include "model/text.h"

#define LATER_MS 5000u /* somebody holds the ledger's lock */

static void tell_host(const struct hn_keeper *keeper)
{
        const struct hn_host *host = keeper->outlook.host;
        HN_BITMAP hwloc_bitmap_t homes = hn_host_homes(host);
        HN_FREE char *nodes = NULL, *cpus = NULL;

        if (homes && hn_idset_format(homes, &nodes) >= 0 && hn_idset_format(host->allowed_cpus, &cpus) >= 0)
                hn_journal(keeper->root, LOG_INFO, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "the host has changed: guests may live on nodes %s, on CPUs %s", nodes, cpus);
}

bool hn_keeper_look_at_host(struct hn_keeper *keeper)
{
        (void) hn_watch_slice(keeper->watch);
        if (hn_outlook_renew(keeper->root, &keeper->outlook) <= 0)
                return false;
        if (keeper->outlook.generation > 1)
                tell_host(keeper);
        keeper->room = true;
        for (size_t i = 0; i < keeper->guests.n; i++)
                keeper->door.again(keeper->door.data, keeper->guests.list[i]->uuid, 0);
        return true;
}

/* ---- another home */

static void tell_wider(const struct hn_keeper *keeper, const struct hn_placement *placement, const char *nodes)
{
        HN_BITMAP hwloc_bitmap_t all = hn_placement_cpus(placement);
        HN_FREE char *cpus = NULL;

        if (all && hn_idset_format(all, &cpus) >= 0)
                hn_journal(keeper->root, LOG_INFO, HN_DAEMON_IDENTIFIER, placement->name, nodes,
                           "%s: given CPUs that its home has got: now %s", placement->name, cpus);
}

static void tell(const struct hn_keeper *keeper, struct hn_guest *guest, enum hn_replanned outcome)
{
        const struct hn_placement *placement = guest->entry->placement;
        HN_FREE char *list = NULL;

        if (outcome == HN_REPLAN_STAYS || (outcome == HN_REPLAN_NOWHERE && guest->nowhere_told) ||
            hn_idset_format(placement->home, &list) < 0)
                return;
        guest->nowhere_told = outcome == HN_REPLAN_NOWHERE;
        if (guest->nowhere_told)
                hn_journal(keeper->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, placement->name, list,
                           "%s: its home is gone, and there is no room elsewhere", placement->name);
        else if (outcome == HN_REPLAN_WIDENS)
                tell_wider(keeper, placement, list);
        else
                hn_journal(keeper->root, LOG_INFO, HN_DAEMON_IDENTIFIER, placement->name, list, "%s: given %s: %s",
                           placement->name, outcome == HN_REPLAN_LEAVES ? "another home" : "other CPUs",
                           guest->entry->reason);
}

/* Under the lock, from what the ledger says now. */
static int replan(struct hn_keeper *keeper, struct hn_guest *guest)
{
        const struct hn_adoption adoption = { .root = keeper->root, .request = guest->request, .cgroup = guest->cgroup,
                                              .pid = guest->pid, .start_ticks = guest->start_ticks };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        enum hn_standing standing = HN_STANDS;
        int r = hn_keeper_lock(keeper, &ledger), outcome = HN_REPLAN_STAYS;

        if (r >= 0)
                r = hn_ledger_get(ledger, guest->uuid, &entry);
        if (r < 0)
                return r;
        if (!hn_keeper_is_its(entry, guest))
                return -ESTALE;
        if (entry->moving)
                return -EBUSY;
        if (entry->managed)
                standing = hn_home_standing(keeper->outlook.host, guest->request, entry->placement);
        if (standing != HN_STANDS)
                outcome = hn_replan(&adoption, ledger, standing, &entry);
        if (outcome == HN_REPLAN_STAYS && entry->managed)
                outcome = hn_replan_widen(keeper->outlook.host, guest->request, ledger, entry);
        if (outcome >= 0)
                hn_guest_take_entry(guest, HN_TAKE(entry));
        return outcome;
}

/* Its home is there, with no CPU that it has not. */
static bool stands(const struct hn_keeper *keeper, const struct hn_guest *guest)
{
        const struct hn_host *host = keeper->outlook.host;
        HN_PLACEMENT struct hn_placement *wider = NULL;

        return hn_home_standing(host, guest->request, guest->entry->placement) == HN_STANDS &&
               hn_home_widen(host, guest->request, guest->entry->placement, &wider) >= 0 && !wider;
}

void hn_keeper_rehome(struct hn_keeper *keeper, struct hn_guest *guest)
{
        int r;

        /* Where it goes is the mover's business, which calls it off where that is gone. */
        if (!keeper->outlook.host || guest->stands_in == keeper->outlook.generation || guest->entry->moving)
                return;
        if (stands(keeper, guest)) {
                guest->stands_in = keeper->outlook.generation;
                guest->nowhere_told = false;
                return;
        }
        r = replan(keeper, guest);
        if (r < 0) {
                keeper->door.again(keeper->door.data, guest->uuid, LATER_MS);
                return;
        }
        guest->stands_in = keeper->outlook.generation;
        tell(keeper, guest, (enum hn_replanned) r);
        if (r == HN_REPLAN_LEAVES || r == HN_REPLAN_SHIFTS || r == HN_REPLAN_WIDENS)
                guest->layout = 0; /* new to its thread groups: not to be waited with, whoever else writes */
}

/* ---- room */

void hn_keeper_try_again(struct hn_keeper *keeper)
{
        uint64_t now_us = hn_monotonic_us();

        if (!keeper->room || (keeper->tried_us && now_us - keeper->tried_us < HN_ROOM_WAIT_US))
                return;
        keeper->room = false;
        keeper->tried_us = now_us;
        for (size_t i = 0; i < keeper->guests.n; i++) {
                struct hn_guest *guest = keeper->guests.list[i];

                if (!guest->entry || (guest->entry->managed && !guest->nowhere_told))
                        continue;
                guest->tried = false;
                guest->stands_in = 0;
                keeper->door.again(keeper->door.data, guest->uuid, 0);
        }
}
