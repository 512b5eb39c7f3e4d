/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is left when every domain is undone: of guests and domains that are gone.
 */
#include <errno.h>
#include <string.h>

#include "act/scope.h"
#include "command/undo.h"
#include "model/text.h"
#include "store/copies.h"
#include "store/living.h"

#define LOCK_WAIT_US 2000000u

static bool is_needed(const char *unit, const struct hn_living *living, struct hn_entry *const *entries, size_t n)
{
        for (size_t i = 0; i < living->n_scopes; i++)
                if (strcmp(living->scopes[i], unit) == 0)
                        return true;
        for (size_t i = 0; i < n; i++) /* one that is being started has no scope yet */
                if (entries[i]->unit && strcmp(entries[i]->unit, unit) == 0)
                        return true;
        return false;
}

static int remove_dropins(const struct hn_root *root, struct hn_entry *const *entries, size_t n, unsigned *removed)
{
        HN_LIVING struct hn_living living = { .proc = -1 };
        char **units = NULL;
        size_t n_units = 0;
        int r = hn_living_read(root, &living);

        if (r >= 0)
                r = hn_dropins_list(root, &units, &n_units);
        for (size_t i = 0; i < n_units; i++) {
                int s = is_needed(units[i], &living, entries, n) ? -EBUSY : hn_dropin_remove(root, units[i]);

                *removed += s >= 0;
                if (s < 0 && s != -EBUSY && r >= 0)
                        r = s;
        }
        hn_units_free(units, n_units);
        return r;
}

/* Starts write both under this lock, or have their reservation in the ledger first. */
static int clear_ledger(const struct hn_undo *undo, struct hn_undo_rest *rest)
{
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r = hn_ledger_lock(undo->ledger, LOCK_WAIT_US);

        if (r < 0)
                return r;
        r = hn_ledger_sweep(undo->ledger, &entries, &n, &rest->records);
        if (r >= 0)
                r = remove_dropins(undo->root, entries, n, &rest->dropins);
        hn_ledger_unlock(undo->ledger);
        hn_entries_free(entries, n);
        return r;
}

static bool is_known(const struct hn_undo_domains *domains, const char *uuid)
{
        for (size_t i = 0; i < domains->n; i++)
                if (strcmp(domains->all[i].uuid, uuid) == 0)
                        return true;
        return false;
}

static int remove_copies(const struct hn_root *root, const struct hn_undo_domains *domains, unsigned *removed)
{
        HN_FREE void *held = NULL;
        char (*uuids)[HN_UUID_LENGTH + 1] = NULL;
        size_t n = 0;
        int r = hn_copies_list(root, &uuids, &n), first = r;

        held = uuids;
        for (size_t i = 0; i < n; i++) {
                if (is_known(domains, uuids[i]))
                        continue;
                r = hn_copy_remove(root, uuids[i]);
                if (r >= 0)
                        r = hn_left_remove(root, uuids[i]);
                *removed += r >= 0;
                if (r < 0 && first >= 0)
                        first = r;
        }
        return first;
}

void hn_undo_rest(const struct hn_undo *undo, const struct hn_undo_domains *domains, struct hn_undo_rest *ret)
{
        int r = clear_ledger(undo, ret);

        if (r < 0)
                (void) hn_text_add(&ret->faults, "what is left in /run could not be cleared up: %s", strerror(-r));
        r = undo->libvirt ? remove_copies(undo->root, domains, &ret->copies) : 0;
        if (r < 0)
                (void) hn_text_add(&ret->faults, "what is left in " HN_COPIES_FOLDER " could not be cleared up: %s",
                                   strerror(-r));
}
