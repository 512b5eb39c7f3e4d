/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/plan-text.h"

#include <errno.h>
#include <string.h>

#include "command/table.h"
#include "command/display.h"
#include "decide/explain.h"
#include "model/text.h"

enum { DOMAIN, VCPUS, MEMORY, NODES, CPUS, WHY, COLUMNS };

static const struct hn_column columns[COLUMNS] = {
        [DOMAIN] = { .title = "DOMAIN" }, [VCPUS] = { .title = "VCPUS", .right = true },
        [MEMORY] = { .title = "MEMORY", .right = true }, [NODES] = { .title = "NODES" },
        [CPUS] = { .title = "CPUS" }, [WHY] = { .title = "WHY" },
};

/* One row; nodes that are NULL leave their column empty. */
static int add_row(struct hn_table *table, const char *name, unsigned vcpus, uint64_t memory_kib,
                   hwloc_const_bitmap_t nodes, const char *cpus, const char *why)
{
        HN_FREE char *nodes_text = hn_display_set(nodes);
        char count[16], size[HN_TEXT_SIZE];

        if (!nodes_text)
                return -ENOMEM;
        (void) snprintf(count, sizeof count, "%u", vcpus);
        const char *texts[COLUMNS] = {
                [DOMAIN] = name, [VCPUS] = count, [MEMORY] = hn_text_size(memory_kib, size),
                [NODES] = nodes_text, [CPUS] = cpus, [WHY] = why,
        };
        return hn_table_add(table, texts);
}

/* A cell's CPUs; where vCPUs have their own, "0-1 2-3": vCPU by vCPU, those with the same ones once. */
static char *format_cpus(const struct hn_placement *placement, const struct hn_placed_cell *cell)
{
        HN_FREE char *text = NULL;
        hwloc_const_bitmap_t last = NULL;

        if (!placement->n_vcpu_cpus)
                return hn_display_set(cell->cpus);
        HN_IDSET_FOREACH(vcpu, cell->vcpus) {
                hwloc_const_bitmap_t cpus = hn_placement_vcpu(placement, (unsigned) vcpu);
                HN_FREE char *set = NULL, *longer = NULL;

                if (!cpus || (last && hwloc_bitmap_isequal(cpus, last)))
                        continue;
                last = cpus;
                set = hn_display_set(cpus);
                longer = set ? hn_text_print("%s%s%s", text ? text : "", text ? " " : "", set) : NULL;
                if (!longer)
                        return NULL;
                free(text);
                text = HN_TAKE(longer);
        }
        return text ? HN_TAKE(text) : hn_display_set(cell->cpus);
}

static int add_cell(struct hn_table *table, const struct hn_placement *placement, const struct hn_placed_cell *cell)
{
        HN_FREE char *cpus = format_cpus(placement, cell);
        char name[32];

        if (!cpus)
                return -ENOMEM;
        (void) snprintf(name, sizeof name, "  cell %u", cell->id);
        return add_row(table, name, hn_idset_count(cell->vcpus), cell->memory_kib, cell->nodes, cpus, NULL);
}

/* All CPUs of a domain; of one with a single cell as if that had a row. */
static char *format_domain_cpus(const struct hn_decision *decision)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL;

        if (decision->verdict != HN_PLACED)
                return strdup("-");
        if (decision->placement->n_cells == 1)
                return format_cpus(decision->placement, &decision->placement->cells[0]);
        cpus = hn_placement_cpus(decision->placement);
        return cpus ? hn_display_set(cpus) : NULL;
}

static int add_domain(struct hn_table *table, const struct hn_planned *domain)
{
        const struct hn_request *request = domain->request;
        const struct hn_decision *decision = domain->decision;
        const struct hn_placement *placement = decision->placement;
        HN_FREE char *cpus = format_domain_cpus(decision), *why = NULL;
        const char *refused = decision->verdict == HN_REFUSED ? "refused: " : "";
        int r;

        if (!cpus || asprintf(&why, "%s%s", refused, decision->reason) < 0)
                return -ENOMEM;
        r = add_row(table, request->name, request->vcpus_max, request->memory_kib,
                    decision->verdict == HN_PLACED ? placement->home : NULL, cpus, why);
        for (size_t i = 0; r >= 0 && placement->n_cells > 1 && i < placement->n_cells; i++)
                r = add_cell(table, placement, &placement->cells[i]);
        return r;
}

/* Which terms decided and what came second; of a domain without a home the table says all. */
static int print_why(const struct hn_planned *domain, bool first, FILE *out)
{
        HN_FREE char *name = hn_display_escape(domain->request->name), *sentence = NULL;

        if (!name || hn_explain_sentence(domain->decision, &sentence) < 0)
                return -ENOMEM;
        (void) fprintf(out, "%s%s: %s\n", first ? "\n" : "", name, sentence);
        return 0;
}

int hn_plan_text(const struct hn_planned *domains, size_t n_domains, FILE *out)
{
        HN_TABLE struct hn_table *table = hn_table_new(columns, COLUMNS);
        bool first = true;
        int r = table ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n_domains; i++)
                r = add_domain(table, &domains[i]);
        if (r < 0)
                return r;
        hn_table_print(table, out);
        for (size_t i = 0; r >= 0 && i < n_domains; i++) {
                if (domains[i].decision->verdict != HN_PLACED)
                        continue;
                r = print_why(&domains[i], first, out);
                first = false;
        }
        return r;
}
