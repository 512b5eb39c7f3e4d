/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * homenode plan: what would be decided for domains, and why; each reserves before the next.
 */
#include <errno.h>
#include <string.h>

#include "command/input.h"
#include "command/plan-text.h"
#include "command/report.h"
#include "command/where.h"
#include "decide/explain.h"
#include "model/json.h"

struct plan {
        struct hn_scene *scene;
        struct hn_planned *domains;
        size_t n_domains;
};

static void clear_plan(struct plan *plan)
{
        for (size_t i = 0; i < plan->n_domains; i++) {
                hn_decision_free(plan->domains[i].decision);
                hn_request_free(plan->domains[i].request);
        }
        free(plan->domains);
        hn_scene_free(plan->scene);
}

/* A refused domain would not start: it takes nothing.  Without the UUID, a copy of the same XML further on is
 * one guest more and not the same one decided on again. */
static int reserve(struct plan *plan, const struct hn_decision *decision)
{
        if (decision->verdict == HN_REFUSED)
                return 0;
        decision->placement->uuid[0] = '\0';
        return hn_scene_append(plan->scene, decision->placement);
}

static int plan_domain(struct plan *plan, const char *path)
{
        HN_DECISION struct hn_decision *decision = NULL;
        HN_INPUT struct hn_input input = { 0 };
        int r = hn_input_read(path, true, &input);

        if (r < 0)
                return HN_EXIT_FAILED;
        r = hn_where_decide(plan->scene, input.request, &decision);
        if (r >= 0)
                r = reserve(plan, decision);
        if (r < 0)
                return hn_complain("%s: %s", input.name, strerror(-r));
        plan->domains[plan->n_domains++] = (struct hn_planned) {
                .request = HN_TAKE(input.request),
                .decision = HN_TAKE(decision),
        };
        return HN_EXIT_DONE;
}

static int print_json(const struct plan *plan)
{
        HN_JSON struct json_object *array = json_object_new_array();
        int r = array ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < plan->n_domains; i++) {
                struct json_object *element = NULL;

                r = hn_explain_json(plan->domains[i].request, plan->domains[i].decision, &element);
                if (r >= 0 && json_object_array_add(array, element) < 0) {
                        json_object_put(element);
                        r = -ENOMEM;
                }
        }
        return r < 0 ? hn_complain("out of memory") : hn_report_json(array);
}

static int print_text(const struct plan *plan)
{
        if (plan->n_domains == 0)
                return HN_EXIT_DONE;
        return hn_plan_text(plan->domains, plan->n_domains, stdout) < 0 ? hn_complain("out of memory")
                                                                        : HN_EXIT_DONE;
}

static int plan_all(const struct hn_where *where, bool json, char *const *paths, size_t n_paths)
{
        HN_CLEANUP(clear_plan) struct plan plan = { 0 };
        int worst = HN_EXIT_DONE, r;

        if (hn_where_scene(where, &plan.scene) < 0)
                return HN_EXIT_FAILED;
        plan.domains = calloc(n_paths, sizeof *plan.domains);
        if (!plan.domains)
                return hn_complain("out of memory");
        for (size_t i = 0; i < n_paths; i++)
                if (plan_domain(&plan, paths[i]) != HN_EXIT_DONE)
                        worst = HN_EXIT_FAILED;
        r = json ? print_json(&plan) : print_text(&plan);
        return r == HN_EXIT_DONE ? worst : r;
}

int hn_command_plan(int argc, char **argv)
{
        struct hn_where where = { 0 };
        bool json = false;
        const struct hn_option table[] = {
                HN_WHERE_OPTIONS(where),
                { .name = "json", .flag = &json, .help = "print a JSON array" },
        };
        const struct hn_usage usage = {
                .command = "homenode plan",
                .operands = "DOMAIN.xml...",
                .summary = "Says what would be decided for domains, and why; each reserves before the next.",
                .options = table,
                .n_options = sizeof table / sizeof *table,
                .more = "\nDOMAIN.xml is a domain's XML as virsh dumpxml prints it, \"-\" standard input.\n",
        };
        int first, r;

        if (!hn_options_parse(&usage, false, argc, argv, &first, &r))
                return r;
        if (first == argc)
                return hn_usage_wrong(&usage, "no domain named");
        return plan_all(&where, json, argv + first, (size_t) (argc - first));
}
