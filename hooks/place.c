/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Before a guest starts: prepare, and the filters of migrate and restore.
 */
#include <errno.h>
#include <string.h>

#include "act/enforce.h"
#include "act/scope.h"
#include "deciding.h"
#include "model/clock.h"

#define SYSTEMD_WAIT_US 200000u

static void write_dropin(const struct hn_guest *guest, const struct hn_host *host, const struct hn_entry *entry,
                         struct hn_report *report)
{
        const struct hn_enforced enforced = {
                .root = guest->root,
                .request = guest->request,
                .placement = entry->placement,
                .unit = entry->unit,
        };

        (void) hn_enforce_start(&enforced, host, SYSTEMD_WAIT_US, &report->text);
}

/* A start that was given up tells nobody, and the guest may have been made larger before the next. */
static bool holds(const struct hn_placement *placement, const struct hn_request *request)
{
        uint64_t memory_kib = 0;

        for (size_t i = 0; i < placement->n_cells; i++)
                memory_kib += placement->cells[i].memory_kib;
        return memory_kib >= request->memory_kib && hn_placement_vcpu(placement, request->vcpus_max - 1);
}

/* A reservation made for this very start: by migrate or restore just before, or by the same hook installed twice. */
static int keep_reservation(struct hn_ledger *ledger, const struct hn_guest *guest, const char *unit,
                            struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        char boot_id[HN_UUID_LENGTH + 1];
        int r = hn_ledger_get(ledger, guest->request->uuid, &entry);

        if (r >= 0)
                r = hn_boot_id(guest->root, boot_id);
        if (r < 0)
                return r;
        if (entry->state != HN_ENTRY_RESERVED || strcmp(entry->boot_id, boot_id) != 0 || !entry->managed ||
            hn_boottime_us() - entry->written_us > HN_RESERVATION_US ||
            (entry->domain_id != guest->request->id && !entry->kept) || !holds(entry->placement, guest->request))
                return -ENOENT;
        free(entry->unit);
        entry->unit = unit ? strdup(unit) : NULL;
        if (unit && !entry->unit)
                return -ENOMEM;
        entry->domain_id = guest->request->id;
        entry->kept = false;
        *ret = HN_TAKE(entry);
        return 0;
}

static int print_rewritten(const struct hn_guest *guest, enum hn_rewrite_form form, const struct hn_scene *scene,
                           const struct hn_decision *decision, struct hn_report *report)
{
        bool changed = false;
        size_t length = 0;
        int r = hn_rewrite_apply(guest->doc, form, &scene->situation, decision, &changed);

        if (r >= 0 && changed)
                r = hn_xml_format(guest->doc, &report->xml, &length);
        if (r < 0)
                hn_report_tell(report, "XML not rewritten: %s", strerror(-r));
        return r;
}

static int prepare_kept(const struct hn_guest *guest, struct hn_ledger *ledger, const struct hn_scene *scene,
                        const struct hn_entry *entry, struct hn_report *report)
{
        int r = hn_ledger_put(ledger, entry, NULL);

        hn_ledger_unlock(ledger);
        hn_report_home(report, entry->placement, entry->reason);
        hn_report_tell(report, "as decided just before");
        if (r < 0)
                hn_report_tell(report, "no drop-in: %s", strerror(-r));
        else
                write_dropin(guest, scene->host, entry, report);
        return 0;
}

static int prepare_anew(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_scene *scene,
                        const char *unit, struct hn_report *report)
{
        HN_DECISION struct hn_decision *decision = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = hn_request_bind_ours(guest->request);

        if (r >= 0)
                r = hn_hook_decide(guest, ledger, scene, report, &decision);
        if (r < 0)
                return r;
        hn_report_decision(report, decision);
        if (decision->verdict == HN_REFUSED)
                return hn_ledger_remove(ledger, guest->request->uuid);
        r = hn_hook_new_entry(guest, decision, unit, &entry);
        if (r >= 0)
                r = hn_hook_put(ledger, guest, decision, entry);
        hn_ledger_unlock(ledger);
        if (r < 0) {
                hn_report_tell(report, "not placed: writing the ledger: %s", strerror(-r));
                return r;
        }
        if (decision->verdict != HN_PLACED)
                return 0;
        write_dropin(guest, scene->host, entry, report);
        return print_rewritten(guest, HN_REWRITE_PREPARE, scene, decision, report);
}

int hn_operation_prepare(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_scene *scene = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_FREE char *unit = NULL;
        int r = hn_scope_unit(guest->request->id, guest->name, &unit);

        if (r < 0)
                hn_report_tell(ret, "no scope can be foreseen");
        else if (hn_dropin_remove(guest->root, unit) < 0)
                hn_report_tell(ret, "an old drop-in of %s can't be removed", unit);
        if (hn_hook_look(guest, ret, &scene) < 0 || hn_hook_open_ledger(guest, ret, &ledger) < 0)
                return 0;
        if (!guest->request->wishes.off && keep_reservation(ledger, guest, unit, &entry) >= 0)
                return prepare_kept(guest, ledger, scene, entry, ret);
        (void) prepare_anew(guest, ledger, scene, unit, ret);
        return 0;
}

int hn_operation_filter(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_DECISION struct hn_decision *decision = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_scene *scene = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r;

        if (hn_hook_look(guest, ret, &scene) < 0 || hn_hook_open_ledger(guest, ret, &ledger) < 0)
                return 0;
        r = hn_hook_decide(guest, ledger, scene, ret, &decision);
        if (r < 0)
                return 0;
        hn_report_decision(ret, decision);
        /* A refusal is for prepare, which follows, to pronounce. */
        ret->refused = false;
        if (decision->verdict != HN_PLACED)
                return 0;
        r = hn_hook_new_entry(guest, decision, NULL, &entry);
        if (r >= 0) {
                entry->kept = true;
                r = hn_hook_put(ledger, guest, decision, entry);
        }
        hn_ledger_unlock(ledger);
        if (r < 0) {
                hn_report_tell(ret, "not placed: writing the ledger: %s", strerror(-r));
                return 0;
        }
        (void) print_rewritten(guest, HN_REWRITE_FILTER, scene, decision, ret);
        return 0;
}
