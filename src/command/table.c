/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/table.h"

#include <errno.h>
#include <string.h>

#include "command/display.h"
#include "model/array.h"

#define GAP 2u

struct hn_table {
        const struct hn_column *columns;
        size_t n_columns;
        unsigned *widths;
        char **texts; /* n_rows × n_columns */
        size_t n_rows;
};

struct hn_table *hn_table_new(const struct hn_column *columns, size_t n_columns)
{
        HN_TABLE struct hn_table *table = calloc(1, sizeof *table);

        if (!table)
                return NULL;
        table->columns = columns;
        table->n_columns = n_columns;
        table->widths = calloc(n_columns, sizeof *table->widths);
        if (!table->widths)
                return NULL;
        for (size_t i = 0; i < n_columns; i++)
                table->widths[i] = hn_display_width(columns[i].title);
        return HN_TAKE(table);
}

void hn_table_free(struct hn_table *table)
{
        if (!table)
                return;
        for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
                free(table->texts[i]);
        free(table->texts);
        free(table->widths);
        free(table);
}

int hn_table_add(struct hn_table *table, const char *const *texts)
{
        char **texts_now = hn_array_grow(table->texts, table->n_rows, table->n_columns * sizeof *texts_now);

        if (!texts_now)
                return -ENOMEM;
        table->texts = texts_now;
        char **row = table->texts + table->n_rows++ * table->n_columns;
        for (size_t i = 0; i < table->n_columns; i++) {
                row[i] = hn_display_escape(texts[i] ? texts[i] : "");
                if (!row[i])
                        return -ENOMEM;
                unsigned width = hn_display_width(row[i]);
                if (width > table->widths[i])
                        table->widths[i] = width;
        }
        return 0;
}

/* printf's own padding counts bytes; and "%*s" ends at INT_MAX. */
static void blanks(unsigned n, FILE *out)
{
        while (n-- > 0)
                (void) fputc(' ', out);
}

static void print_line(const struct hn_table *table, const char *const *texts, FILE *out)
{
        unsigned owed = 0; /* blanks that only count if something follows */

        for (size_t i = 0; i < table->n_columns; i++) {
                unsigned rest = table->widths[i] - hn_display_width(texts[i]);

                if (!*texts[i]) {
                        owed += table->widths[i] + GAP;
                        continue;
                }
                blanks(owed + (table->columns[i].right ? rest : 0), out);
                (void) fputs(texts[i], out);
                owed = GAP + (table->columns[i].right ? 0 : rest);
        }
        (void) fputc('\n', out);
}

void hn_table_print(const struct hn_table *table, FILE *out)
{
        HN_FREE const char **titles = calloc(table->n_columns, sizeof *titles);

        for (size_t i = 0; titles && i < table->n_columns; i++)
                titles[i] = table->columns[i].title;
        if (titles)
                print_line(table, titles, out);
        for (size_t i = 0; i < table->n_rows; i++)
                print_line(table, (const char *const *) table->texts + i * table->n_columns, out);
}
