/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "deciding.h"

#include <errno.h>
#include <string.h>

#include "decide/explain.h"
#include "model/json.h"

int hn_hook_open_ledger(const struct hn_guest *guest, struct hn_report *report, struct hn_ledger **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(guest->root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
        if (r < 0)
                hn_report_tell(report, "not placed: the ledger can't be had: %s", strerror(-r));
        else
                *ret = HN_TAKE(ledger);
        return r;
}

int hn_hook_new_entry(const struct hn_guest *guest, const struct hn_decision *decision, const char *unit,
                      struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);

        if (!entry)
                return -ENOMEM;
        entry->placement = hn_placement_copy(decision->placement);
        entry->unit = unit ? strdup(unit) : NULL;
        entry->reason = strdup(decision->reason ? decision->reason : "");
        if (!entry->placement || !entry->reason || (unit && !entry->unit))
                return -ENOMEM;
        entry->state = HN_ENTRY_RESERVED;
        entry->domain_id = guest->request->id;
        entry->managed = decision->verdict == HN_PLACED;
        *ret = HN_TAKE(entry);
        return 0;
}

int hn_hook_put(struct hn_ledger *ledger, const struct hn_guest *guest, const struct hn_decision *decision,
                const struct hn_entry *entry)
{
        HN_JSON struct json_object *explanation = NULL;
        int r = hn_explain_json(guest->request, decision, &explanation);

        return r < 0 ? r : hn_ledger_put(ledger, entry, json_object_to_json_string(explanation));
}

int hn_hook_look(const struct hn_guest *guest, struct hn_report *report, struct hn_scene **ret)
{
        const struct hn_scene_source source = { .with_pools = hn_request_wants_huge_pages(guest->request) };
        HN_SCENE struct hn_scene *scene = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_scene_open(guest->root, &source, &scene, &fault);

        if (r < 0) {
                hn_report_tell(report, "not placed: %s: %s", fault ? fault : "looking at the host", strerror(-r));
                return r;
        }
        if (scene->faults)
                hn_report_tell(report, "configuration: %.*s", (int) strcspn(scene->faults, "\n"), scene->faults);
        if (guest->request->wishes.fault)
                hn_report_tell(report, "metadata: %s", guest->request->wishes.fault);
        *ret = report->scene = HN_TAKE(scene);
        return 0;
}

int hn_hook_decide(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_scene *scene,
                   struct hn_report *report, struct hn_decision **ret)
{
        int r = hn_scene_add_ledger(scene, guest->root, ledger, guest->request->uuid);

        if (r >= 0)
                r = hn_scene_decide(scene, &scene->situation, guest->request, ret);
        if (r < 0)
                hn_report_tell(report, "not placed: deciding: %s", strerror(-r));
        return r;
}
