/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/top.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "command/display.h"
#include "model/array.h"
#include "model/text.h"

/* ---- nodes */

enum { NODE, CPUS, BUSY, SHARE, MEMORY, USED, FREE, GUESTS, ROLE, NODE_COLUMNS };

static const struct hn_column node_columns[NODE_COLUMNS] = {
        [NODE] = { .title = "NODE", .right = true },
        [CPUS] = { .title = "CPUS", .right = true, .rank = 5 },
        [BUSY] = { .title = "BUSY", .right = true, .least = 5, .rank = 1 },
        [SHARE] = { .title = "%BUSY", .right = true, .rank = 7 },
        [MEMORY] = { .title = "MEMORY", .right = true, .least = 8, .rank = 4 },
        [USED] = { .title = "USED", .right = true, .least = 8, .rank = 6 },
        [FREE] = { .title = "FREE", .right = true, .least = 8, .rank = 2 },
        [GUESTS] = { .title = "GUESTS", .right = true, .rank = 3 },
        [ROLE] = { .title = "", .rank = 8 },
};

static int add_node(struct hn_table *table, const struct hn_status *status, size_t at)
{
        const struct hn_node *node = &status->host->nodes[at];
        double busy_cpus = status->nodes[at].busy_cpus;
        unsigned n_cpus = (unsigned) hn_idset_count(node->cpus);
        uint64_t used_kib = node->memory_kib > node->free_kib ? node->memory_kib - node->free_kib : 0;
        char os[16], cpus[16], busy[32], share[32], memory[HN_TEXT_SIZE], used[HN_TEXT_SIZE], left[HN_TEXT_SIZE], guests[16];
        bool known = busy_cpus >= 0 && n_cpus > 0;

        (void) snprintf(os, sizeof os, "%u", node->os);
        (void) snprintf(cpus, sizeof cpus, "%u", n_cpus);
        (void) snprintf(busy, sizeof busy, "%.1f", busy_cpus);
        (void) snprintf(share, sizeof share, "%.1f", known ? 100 * busy_cpus / n_cpus : 0);
        (void) snprintf(guests, sizeof guests, "%u", status->nodes[at].n_guests);
        return hn_table_add(table, (const char *[NODE_COLUMNS]) {
                [NODE] = os, [CPUS] = cpus, [BUSY] = known ? busy : "-", [SHARE] = known ? share : "-",
                [MEMORY] = hn_text_size(node->memory_kib, memory), [USED] = hn_text_size(used_kib, used),
                [FREE] = hn_text_size(node->free_kib, left), [GUESTS] = status->ledger_read ? guests : "-",
                [ROLE] = node->role == HN_NODE_HOME ? "" : hn_node_role_name(node->role),
        });
}

static int print_nodes(const struct hn_status *status, unsigned width, FILE *out)
{
        HN_TABLE struct hn_table *table = hn_table_new(node_columns, NODE_COLUMNS);
        int r = table ? 0 : -ENOMEM;

        for (size_t at = 0; r >= 0 && at < status->host->n_nodes; at++)
                r = add_node(table, status, at);
        if (r < 0)
                return r;
        hn_table_fit(table, width);
        hn_table_print(table, out);
        return 0;
}

/* ---- guests */

static int add_row(struct hn_table *table, const struct hn_top_row *row)
{
        char *cells[HN_TOP_COLUMNS];
        int r = 0;

        for (enum hn_top_column c = 0; c < HN_TOP_COLUMNS; c++) {
                cells[c] = hn_top_cell(row, c);
                r = cells[c] ? r : -ENOMEM;
        }
        if (r >= 0)
                r = hn_table_add(table, (const char *const *) cells);
        for (enum hn_top_column c = 0; c < HN_TOP_COLUMNS; c++)
                free(cells[c]);
        return r;
}

static int print_guests(const struct hn_top_row *rows, size_t n, unsigned width, FILE *out)
{
        HN_TABLE struct hn_table *table = hn_table_new(hn_top_columns, HN_TOP_COLUMNS);
        int r = table ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = add_row(table, &rows[i]);
        if (r < 0)
                return r;
        hn_table_fit(table, width);
        hn_table_print(table, out);
        return 0;
}

/* ---- lines */

char *hn_top_banner(const struct hn_top *top, const struct hn_top_sort *sort)
{
        size_t n = top->status.n_guests;
        time_t now = time(NULL);
        char clock[16] = "";
        struct tm local;

        if (!localtime_r(&now, &local) || strftime(clock, sizeof clock, "%T", &local) == 0)
                *clock = '\0';
        return hn_text_print("homenode top  %s  %zu guest%s, by %s%s", clock, n, n == 1 ? "" : "s",
                             hn_top_columns[sort->by].title, sort->reversed ? ", reversed" : "");
}

static int print_all(const struct hn_top *top, const struct hn_top_row *rows, const char *banner, unsigned width,
                     FILE *out)
{
        const struct hn_status *status = &top->status;

        (void) fprintf(out, "%s\n", banner);
        /* what is missing before the nodes: of those a small screen may not show all */
        if (status->faults)
                (void) fprintf(out, "%s\n", status->faults);
        if (top->daemon_told && !top->daemon_lives)
                (void) fprintf(out, "homenoded does not run, or has just been started: guests stay where they are\n");
        if (status->host && print_nodes(status, width, out) < 0)
                return -ENOMEM;
        (void) fputc('\n', out);
        return print_guests(rows, status->n_guests, width, out);
}

/* Cuts the text into its lines, in place; the last n_body of them are guests. */
static int split(struct hn_top_page *page, size_t n_body)
{
        size_t n = 0;

        for (char *line = page->text; *line;) {
                char **lines = hn_array_grow(page->head, n, sizeof *lines);
                size_t length = strcspn(line, "\n");

                if (!lines)
                        return -ENOMEM;
                page->head = lines;
                lines[n++] = line;
                line += length;
                if (*line)
                        *line++ = '\0';
        }
        page->n_head = n - n_body;
        page->body = page->head + page->n_head;
        page->n_body = n_body;
        return 0;
}

int hn_top_page(const struct hn_top *top, const struct hn_top_sort *sort, const char *banner, unsigned width,
                struct hn_top_page *ret)
{
        HN_TOP_PAGE struct hn_top_page page = { 0 };
        size_t length = 0;
        FILE *out;
        int r = hn_top_rows(top, &page.rows);

        if (r < 0)
                return r;
        hn_top_order(page.rows, top->status.n_guests, sort);
        out = open_memstream(&page.text, &length);
        if (!out)
                return -ENOMEM;
        r = print_all(top, page.rows, banner, width, out);
        if (fclose(out) != 0)
                r = -ENOMEM;
        if (r >= 0)
                r = split(&page, top->status.n_guests);
        if (r < 0)
                return r;
        *ret = page;
        page = (struct hn_top_page) { 0 };
        return 0;
}

void hn_top_page_clear(struct hn_top_page *page)
{
        free(page->text);
        free(page->head);
        free(page->rows);
        *page = (struct hn_top_page) { 0 };
}
