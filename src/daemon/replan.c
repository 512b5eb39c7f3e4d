/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/replan.h"

#include <errno.h>
#include <string.h>

#include "decide/explain.h"
#include "decide/widen.h"
#include "model/json.h"
#include "model/text.h"

/* A decision under way. */
struct replanning {
        const struct hn_adoption *adoption;
        const struct hn_placement *placement; /* in force */
        struct hn_scene *scene;
        struct hn_decision *decision;         /* NULL: there is no room */
};

static void end_replanning(struct replanning *p)
{
        hn_scene_free(p->scene);
        hn_decision_free(p->decision);
}

/* *ret stays NULL where there is no room. */
static int decide(struct replanning *p, struct hn_decision **ret)
{
        HN_DECISION struct hn_decision *decision = NULL;
        int r = hn_scene_decide(p->scene, &p->scene->situation, p->adoption->request, &decision);

        if (r >= 0 && decision->verdict == HN_PLACED && p->adoption->request->n_cells == 0)
                r = hn_placement_fold(decision->placement);
        if (r >= 0 && decision->verdict == HN_PLACED)
                *ret = HN_TAKE(decision);
        return r;
}

/* The same on the home that it has, where that is a home still. */
static int decide_at_home(struct replanning *p, struct hn_decision **ret)
{
        struct hn_request *request = p->adoption->request;
        hwloc_bitmap_t wished = request->wishes.nodes;
        int r;

        if (!hn_home_remains(p->scene->host, p->placement->home) ||
            (wished && !hwloc_bitmap_isincluded(p->placement->home, wished)))
                return 0;
        request->wishes.nodes = p->placement->home;
        r = decide(p, ret);
        request->wishes.nodes = wished;
        return r;
}

static bool is_home(const struct replanning *p, const struct hn_decision *decision)
{
        return hwloc_bitmap_isequal(decision->placement->home, p->placement->home);
}

static int leaves(const struct replanning *p, const struct hn_placement *from, bool *ret)
{
        return hn_home_leaves(&p->scene->situation, p->adoption->request, p->decision->shape, from,
                              p->decision->placement, ret);
}

/* It has CPUs: it stays where that is no worse, with the sets that it has, so that CPUs that come back are used. */
static int weigh_narrowed(struct replanning *p)
{
        bool leave = false;
        int r = p->decision && !is_home(p, p->decision) ? leaves(p, p->placement, &leave) : 0;

        if (r < 0)
                return r;
        return leave ? HN_REPLAN_LEAVES : HN_REPLAN_STAYS;
}

/* Something of it has no CPU: other CPUs of its home, or another home. */
static int weigh_homeless(struct replanning *p)
{
        HN_DECISION struct hn_decision *at_home = NULL;
        bool leave = true;
        int r = 0;

        if (!p->decision)
                return HN_REPLAN_NOWHERE;
        if (!is_home(p, p->decision)) {
                r = decide_at_home(p, &at_home);
                if (r >= 0 && at_home)
                        r = leaves(p, at_home->placement, &leave);
        }
        if (r < 0)
                return r;
        if (at_home && !leave) {
                hn_decision_free(p->decision);
                p->decision = HN_TAKE(at_home);
        }
        return is_home(p, p->decision) ? HN_REPLAN_SHIFTS : HN_REPLAN_LEAVES;
}

static int new_reason(const struct replanning *p, char **ret)
{
        HN_FREE char *nodes = hn_text_nodes(p->placement->home);

        if (!nodes)
                return -ENOMEM;
        *ret = hn_text_print("%s lost CPUs or memory: %s", nodes, p->decision->reason ? p->decision->reason : "");
        return *ret ? 0 : -ENOMEM;
}

static int put(struct replanning *p, struct hn_ledger *ledger, struct hn_entry *entry)
{
        HN_JSON struct json_object *explanation = NULL;
        HN_PLACEMENT struct hn_placement *placement = hn_placement_copy(p->decision->placement);
        char *reason = NULL;
        int r = placement ? new_reason(p, &reason) : -ENOMEM;

        if (r >= 0)
                r = hn_explain_json(p->adoption->request, p->decision, &explanation);
        if (r < 0) {
                free(reason);
                return r;
        }
        if (hwloc_bitmap_iszero(p->placement->memory_nodes))
                hwloc_bitmap_zero(placement->memory_nodes);
        free(entry->reason);
        entry->reason = reason;
        hn_placement_free(entry->placement);
        entry->placement = HN_TAKE(placement);
        return hn_ledger_put(ledger, entry, json_object_to_json_string(explanation));
}

static int replan(const struct hn_adoption *adoption, struct hn_ledger *ledger, enum hn_standing standing,
                  struct hn_entry **entry)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_CLEANUP(end_replanning) struct replanning p = { .adoption = adoption, .placement = (*entry)->placement };
        int r = 0, outcome;

        if (adoption->cgroup && hn_resident_read(adoption->root, adoption->cgroup->scope, &resident) == -ENOMEM)
                r = -ENOMEM;
        if (r >= 0)
                r = hn_adopt_scene(adoption, ledger, &resident, &p.scene);
        if (r >= 0)
                r = decide(&p, &p.decision);
        if (r < 0)
                return r;
        outcome = standing == HN_HOMELESS ? weigh_homeless(&p) : weigh_narrowed(&p);
        if (outcome != HN_REPLAN_LEAVES && outcome != HN_REPLAN_SHIFTS)
                return outcome;
        r = put(&p, ledger, *entry);
        return r < 0 ? r : outcome;
}

int hn_replan(const struct hn_adoption *adoption, struct hn_ledger *ledger, enum hn_standing standing,
              struct hn_entry **entry)
{
        int r = replan(adoption, ledger, standing, entry);

        hn_request_unbind_ours(adoption->request);
        return r;
}

int hn_replan_widen(const struct hn_host *host, const struct hn_request *request, struct hn_ledger *ledger,
                    struct hn_entry *entry)
{
        struct hn_placement *wider = NULL;
        int r = hn_home_widen(host, request, entry->placement, &wider);

        if (r < 0 || !wider)
                return r < 0 ? r : HN_REPLAN_STAYS;
        hn_placement_free(entry->placement);
        entry->placement = wider;
        r = hn_ledger_put(ledger, entry, NULL);
        return r < 0 ? r : HN_REPLAN_WIDENS;
}
