/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Once a guest's QEMU runs: its entry becomes that of a running guest, and its CPU sets come into force.
 */
#include <errno.h>
#include <string.h>

#include "act/enforce.h"
#include "act/scope.h"
#include "deciding.h"
#include "model/process.h"

/* A guest that no prepare could place (no lock, no ledger then) is placed now, as far as that goes. */
static int late_entry(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_report *report,
                      struct hn_entry **ret)
{
        HN_DECISION struct hn_decision *decision = NULL;
        struct hn_scene *scene = NULL;
        HN_FREE char *unit = NULL;
        int r = hn_hook_look(guest, report, &scene);

        if (r >= 0)
                r = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
        if (r >= 0)
                r = hn_hook_decide(guest, ledger, scene, report, &decision);

        if (r < 0)
                return r;
        hn_report_decision(report, decision);
        (void) hn_scope_unit(guest->request->id, guest->name, &unit);
        /* It runs already: too late to refuse, and no memory set was in force. */
        report->refused = false;
        return hn_hook_new_entry(guest, decision, unit, ret);
}

/* The entry goes on as that of a running guest.  Reading it needs no lock, so that a lock that can't be had keeps
 * nothing from coming into force. */
static int enter_started(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_entry *entry, int pid,
                         struct hn_report *report)
{
        struct hn_process process = { 0 };
        int r = 0;

        entry->state = HN_ENTRY_STARTED;
        entry->pid = pid;
        if (pid > 0)
                r = hn_process_read(guest->root, pid, &process);
        entry->start_ticks = process.start_ticks;
        if (r >= 0 && guest->request->n_cells == 0)
                r = hn_placement_fold(entry->placement);
        if (r >= 0)
                r = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
        if (r >= 0)
                r = hn_ledger_put(ledger, entry, NULL);
        hn_ledger_unlock(ledger);
        if (r < 0)
                hn_report_tell(report, "writing the ledger: %s", strerror(-r));
        return r;
}

static int find_entry(const struct hn_guest *guest, struct hn_ledger **ret_ledger, struct hn_report *report,
                      struct hn_entry **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(guest->root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_get(ledger, guest->request->uuid, ret);
        if (r == -ENOENT || r == -EBADMSG)
                r = late_entry(guest, ledger, report, ret);
        if (r >= 0)
                *ret_ledger = HN_TAKE(ledger);
        return r;
}

/* Without an entry what an earlier drop-in confines is opened all the same. */
static void confine(const struct hn_guest *guest, int pid, const struct hn_entry *entry, struct hn_report *report)
{
        const struct hn_enforced enforced = {
                .root = guest->root,
                .request = guest->request,
                .placement = entry ? entry->placement : NULL,
                .unit = entry ? entry->unit : NULL,
        };

        (void) hn_enforce_running(&enforced, pid, NULL, &report->text);
}

int hn_operation_started(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int pid = 0, r = hn_process_of_guest(guest->root, guest->name, &pid);

        if (r < 0)
                hn_report_tell(ret, "QEMU's process can't be told: %s", strerror(-r));
        r = find_entry(guest, &ledger, ret, &entry);
        if (r < 0)
                hn_report_tell(ret, "not placed: the ledger can't be had: %s", strerror(-r));
        else
                (void) enter_started(guest, ledger, entry, pid, ret);
        if (entry && !entry->managed) {
                hn_report_tell(ret, "%s", entry->reason);
                return 0;
        }
        if (entry)
                hn_report_home(ret, entry->placement, entry->reason);
        if (pid > 0 && !guest->request->wishes.off)
                confine(guest, pid, entry, ret);
        return 0;
}
