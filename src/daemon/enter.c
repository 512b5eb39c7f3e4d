/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keeper's part about getting a guest into the ledger.
 */
#include <errno.h>
#include <string.h>

#include "act/journal.h"
#include "daemon/adopt.h"
#include "daemon/connection.h"
#include "daemon/keeper-internal.h"

#define LATER_MS 5000u /* somebody holds the ledger's lock */

static void tell(const struct hn_keeper *keeper, const struct hn_guest *guest, enum hn_entering how,
                 const struct hn_entry *entry)
{
        const char *name = guest->request->name;

        hn_journal(keeper->root, LOG_INFO, HN_DAEMON_IDENTIFIER, name, NULL, "%s: %s: %s", name,
                   how == HN_ENTER ? "found running" : "decided on anew", entry->reason);
}

/* The hook that reserved never came to `started`: its decision counts all the same. */
static int take_reservation(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_entry *entry)
{
        int r = 0;

        entry->state = HN_ENTRY_STARTED;
        entry->pid = guest->pid;
        entry->start_ticks = guest->start_ticks;
        entry->domain_id = guest->request->id;
        if (guest->request->n_cells == 0)
                r = hn_placement_fold(entry->placement);
        return r < 0 ? r : hn_ledger_put(ledger, entry, NULL);
}

/* 1: nothing to be done about it. */
static int adopt(const struct hn_keeper *keeper, struct hn_guest *guest, enum hn_entering how, struct hn_ledger *ledger,
                 struct hn_entry **ret)
{
        const struct hn_adoption adoption = {
                .root = keeper->root, .request = guest->request, .cgroup = guest->cgroup, .pid = guest->pid,
                .start_ticks = guest->start_ticks, .only_placed = how == HN_ENTER_IF_PLACED,
        };
        int r = hn_adopt(&adoption, ledger, ret);

        if (r >= 0 && *ret)
                tell(keeper, guest, how, *ret);
        return r;
}

static bool was_given_back(const struct hn_entry *entry)
{
        return entry->reason && strcmp(entry->reason, HN_REASON_GIVEN_BACK) == 0;
}

/* Under the lock: who else looked at the guest meanwhile has written what counts. */
static int enter(const struct hn_keeper *keeper, struct hn_guest *guest, enum hn_entering how)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = hn_keeper_lock(keeper, &ledger);

        if (r < 0)
                return r;
        r = hn_ledger_get(ledger, guest->uuid, &entry);
        bool its = r >= 0 && hn_keeper_is_its(entry, guest);
        if (r >= 0 && entry->state == HN_ENTRY_RESERVED && how == HN_ENTER) {
                r = take_reservation(guest, ledger, entry);
        } else if (!its || (how != HN_ENTER && !was_given_back(entry))) {
                hn_entry_free(HN_TAKE(entry));
                r = adopt(keeper, guest, how, ledger, &entry);
        }
        if (r >= 0 && entry)
                hn_guest_take_entry(guest, HN_TAKE(entry));
        return r;
}

void hn_keeper_enter(const struct hn_keeper *keeper, struct hn_guest *guest, enum hn_entering how)
{
        int r = enter(keeper, guest, how);

        guest->tried = r != -ETIME;
        if (r >= 0)
                return;
        if (r != -ETIME && !guest->failure_told)
                hn_journal(keeper->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, guest->request->name, NULL,
                           "%s: not placed: %s", guest->request->name, strerror(-r));
        guest->failure_told = r != -ETIME;
        if (r == -ETIME)
                keeper->door.again(keeper->door.data, guest->uuid, LATER_MS);
}
