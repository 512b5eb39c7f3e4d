/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keeper's part about memory that is plugged into guests: where it comes to lie is the kernel's and libvirt's
 * business (the scope's memory set, the policy of the cell), that it is there is the ledger's.
 */
#include <errno.h>
#include <string.h>

#include "daemon/keeper-internal.h"
#include "daemon/tell.h"
#include "decide/plug.h"
#include "model/text.h"
#include "store/config.h"

#define LATER_MS 5000u /* somebody holds the ledger's lock */

static bool has_followed(const struct hn_request *request, const struct hn_placement *placement)
{
        for (size_t i = 0; placement->n_cells == request->n_cells && i < request->n_cells; i++)
                if (placement->cells[i].devices_kib != request->cells[i].devices_kib)
                        return false;
        return true;
}

static void tell(const struct hn_keeper *keeper, const struct hn_placement *placement)
{
        uint64_t kib = 0;
        char size[HN_TEXT_SIZE];

        for (size_t i = 0; i < placement->n_cells; i++)
                kib += placement->cells[i].devices_kib;
        hn_tell_guest(keeper->root, placement->name, placement->home, "memory plugged in comes to %s now",
                      hn_text_size(kib, size));
}

/* Under the lock, from what the ledger says now.  1: it says something else then. */
static int follow(const struct hn_keeper *keeper, struct hn_guest *guest)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_FREE char *faults = NULL;
        struct hn_policy policy;
        int changed, r = hn_keeper_lock(keeper, &ledger);

        if (r >= 0)
                r = hn_ledger_get(ledger, guest->uuid, &entry);
        if (r < 0)
                return r;
        if (!hn_keeper_is_its(entry, guest) || entry->moving)
                return -ESTALE;
        if (hn_config_load(keeper->root, &policy, &faults) < 0)
                hn_policy_defaults(&policy);
        changed = hn_plug_follow(keeper->outlook.host, &policy, guest->request, entry->placement);
        if (changed > 0)
                r = hn_ledger_put(ledger, entry, NULL);
        if (changed < 0 || r < 0)
                return r < 0 ? r : changed;
        hn_guest_take_entry(guest, HN_TAKE(entry));
        return changed;
}

void hn_keeper_follow_plug(const struct hn_keeper *keeper, struct hn_guest *guest)
{
        int r;

        /* What is plugged in while it moves counts once it has come to rest. */
        if (!keeper->outlook.host || guest->entry->moving || has_followed(guest->request, guest->entry->placement))
                return;
        r = follow(keeper, guest);
        if (r > 0)
                tell(keeper, guest->entry->placement);
        else if (r == -ETIME)
                keeper->door.again(keeper->door.data, guest->uuid, LATER_MS);
}
