/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * After a guest's end, or that of a start that failed: drop-in and entry go.
 */
#include <string.h>

#include "act/scope.h"
#include "operations.h"
#include "store/ledger.h"

/* The XML has no id any more: the ledger knows the unit.  Neither reading nor removing an entry takes the lock, so
 * that one who holds it for ever leaves nothing behind. */
int hn_operation_release(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = hn_ledger_open(guest->root, NULL, &ledger);

        if (r >= 0 && hn_ledger_get(ledger, guest->request->uuid, &entry) >= 0 && entry->unit &&
            hn_dropin_remove(guest->root, entry->unit) < 0)
                hn_report_tell(ret, "the drop-in of %s can't be removed", entry->unit);
        if (r >= 0)
                r = hn_ledger_remove(ledger, guest->request->uuid);
        if (r < 0)
                hn_report_tell(ret, "the ledger's entry stays until its QEMU is missed: %s", strerror(-r));
        else
                hn_report_tell(ret, "cleared");
        return 0;
}
