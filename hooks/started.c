/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Once a guest's QEMU runs: its entry becomes that of a running guest, and its CPU sets come into force.
 */
#include <errno.h>
#include <string.h>

#include "act/enforce.h"
#include "act/scope.h"
#include "act/undo.h"
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

/* Under the lock: what others put down since the entry was read counts, above all that it is given back. */
static int refresh(const struct hn_guest *guest, struct hn_ledger *ledger, int pid, uint64_t start_ticks,
                   struct hn_entry **entry)
{
        HN_ENTRY struct hn_entry *now = NULL;
        int r = hn_ledger_get(ledger, guest->request->uuid, &now);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (now->state == HN_ENTRY_RESERVED || (now->pid == pid && now->start_ticks == start_ticks)) {
                hn_entry_free(*entry);
                *entry = HN_TAKE(now);
        }
        return 0;
}

/* The entry goes on as that of a running guest.  Reading it needs no lock, so that a lock that can't be had keeps
 * nothing from coming into force. */
static int enter_started(const struct hn_guest *guest, struct hn_ledger *ledger, int pid, struct hn_report *report,
                         struct hn_entry **entry)
{
        struct hn_process process = { 0 };
        int r = pid > 0 ? hn_process_read(guest->root, pid, &process) : 0, locked;

        locked = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
        if (locked >= 0 && r >= 0)
                r = refresh(guest, ledger, pid, process.start_ticks, entry);
        (*entry)->state = HN_ENTRY_STARTED;
        (*entry)->pid = pid;
        (*entry)->start_ticks = process.start_ticks;
        if (r >= 0 && guest->request->n_cells == 0)
                r = hn_placement_fold((*entry)->placement);
        if (r >= 0)
                r = locked;
        if (r >= 0)
                r = hn_ledger_put(ledger, *entry, NULL);
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

static bool is_given_back(const struct hn_entry *entry)
{
        return !entry->managed && entry->reason && strcmp(entry->reason, HN_REASON_GIVEN_BACK) == 0;
}

/* Whoever gives a guest back says so in the ledger before they open its cgroups, and does not wait for us: what we wrote
 * since we read it may have come after what they wrote.  The lock would do as well, but while somebody's memory is moved
 * a cgroup keeps its writer for seconds, and all other starts would wait for us. */
static void yield_to_undo(const struct hn_guest *guest, struct hn_ledger *ledger, int pid, struct hn_report *report)
{
        const struct hn_cgroup_io io = hn_cgroup_files(guest->root);
        HN_ENTRY struct hn_entry *entry = NULL;
        struct hn_undone undone = { 0 };
        int r = hn_ledger_get(ledger, guest->request->uuid, &entry);

        if (r < 0 || !is_given_back(entry))
                return;
        r = hn_undo_running(&io, NULL, guest->request, pid, &undone);
        if (r >= 0)
                r = undone.error;
        hn_report_tell(report, "%s%s%s", HN_REASON_GIVEN_BACK, r < 0 ? ", but not all of it: " : "",
                       r < 0 ? strerror(-r) : "");
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
                (void) enter_started(guest, ledger, pid, ret, &entry);
        if (entry && !entry->managed && !is_given_back(entry)) {
                hn_report_tell(ret, "%s", entry->reason);
                return 0;
        }
        if (entry && entry->managed)
                hn_report_home(ret, entry->placement, entry->reason);
        if (pid > 0 && !guest->request->wishes.off && !(entry && !entry->managed))
                confine(guest, pid, entry, ret);
        if (pid > 0 && entry)
                yield_to_undo(guest, ledger, pid, ret);
        return 0;
}
