/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/plan-text.h"

#include <errno.h>

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

/* One row; a set that is NULL leaves its column empty. */
static int add_row(struct hn_table *table, const char *name, unsigned vcpus, uint64_t memory_kib,
                   hwloc_const_bitmap_t nodes, hwloc_const_bitmap_t cpus, const char *why)
{
        HN_FREE char *nodes_text = hn_display_set(nodes), *cpus_text = hn_display_set(cpus);
        char count[16], size[HN_TEXT_SIZE];

        if (!nodes_text || !cpus_text)
                return -ENOMEM;
        (void) snprintf(count, sizeof count, "%u", vcpus);
        const char *texts[COLUMNS] = {
                [DOMAIN] = name, [VCPUS] = count, [MEMORY] = hn_text_size(memory_kib, size),
                [NODES] = nodes_text, [CPUS] = cpus_text, [WHY] = why,
        };
        return hn_table_add(table, texts);
}

static int add_cell(struct hn_table *table, const struct hn_placed_cell *cell)
{
        char name[32];

        (void) snprintf(name, sizeof name, "  cell %u", cell->id);
        return add_row(table, name, hn_idset_count(cell->vcpus), cell->memory_kib, cell->nodes, cell->cpus,
                       NULL);
}

static int add_domain(struct hn_table *table, const struct hn_planned *domain)
{
        const struct hn_request *request = domain->request;
        const struct hn_decision *decision = domain->decision;
        const struct hn_placement *placement = decision->placement;
        HN_BITMAP hwloc_bitmap_t cpus = hn_placement_cpus(placement);
        HN_FREE char *why = NULL;
        const char *refused = decision->verdict == HN_REFUSED ? "refused: " : "";
        bool placed = decision->verdict == HN_PLACED;
        int r;

        if (!cpus || asprintf(&why, "%s%s", refused, decision->reason) < 0)
                return -ENOMEM;
        r = add_row(table, request->name, request->vcpus_max, request->memory_kib,
                    placed ? placement->home : NULL, placed ? cpus : NULL, why);
        for (size_t i = 0; r >= 0 && placement->n_cells > 1 && i < placement->n_cells; i++)
                r = add_cell(table, &placement->cells[i]);
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
