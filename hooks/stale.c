/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stale.h"

#include <string.h>

#include "act/scope.h"
#include "store/ledger.h"
#include "store/living.h"

struct known {
        struct hn_living living;
        struct hn_entry **entries;
        size_t n_entries;
        char **units; /* with drop-ins */
        size_t n_units;
};

static void forget(struct known *known)
{
        hn_living_clear(&known->living);
        hn_entries_free(known->entries, known->n_entries);
        hn_units_free(known->units, known->n_units);
}

static int look(const struct hn_root *root, struct known *known)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_dropins_list(root, &known->units, &known->n_units);

        if (r >= 0 && known->n_units)
                r = hn_living_read(root, &known->living);
        /* Without a ledger nobody has a reservation in it. */
        if (r >= 0 && known->n_units && hn_ledger_open(root, NULL, &ledger) >= 0)
                (void) hn_ledger_load(ledger, &known->entries, &known->n_entries);
        return r;
}

static bool is_anothers(const struct known *known, const char *unit, const char *name)
{
        for (size_t i = 0; i < known->living.n_scopes; i++)
                if (strcmp(known->living.scopes[i], unit) == 0)
                        return true;
        for (size_t i = 0; i < known->n_entries; i++) {
                const struct hn_entry *entry = known->entries[i];

                if (entry->unit && strcmp(entry->unit, unit) == 0 && strcmp(entry->placement->name, name) != 0)
                        return true;
        }
        return false;
}

int hn_stale_clear(const struct hn_root *root, const char *name)
{
        HN_CLEANUP(forget) struct known known = { .living.proc = -1 };
        int r = look(root, &known), n = 0;

        for (size_t i = 0; r >= 0 && i < known.n_units; i++) {
                if (!hn_scope_unit_is_of(known.units[i], name) || is_anothers(&known, known.units[i], name))
                        continue;
                r = hn_dropin_remove(root, known.units[i]);
                n += r >= 0;
        }
        return r < 0 ? r : n;
}
