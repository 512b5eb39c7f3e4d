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
        bool *hidden;
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
        table->hidden = calloc(n_columns, sizeof *table->hidden);
        if (!table->widths || !table->hidden)
                return NULL;
        for (size_t i = 0; i < n_columns; i++) {
                unsigned width = hn_display_width(columns[i].title);

                table->widths[i] = width > columns[i].least ? width : columns[i].least;
        }
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
        free(table->hidden);
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

/* How narrow a column can be made. */
static unsigned narrowest(const struct hn_table *table, size_t i)
{
        unsigned shrinks = table->columns[i].shrinks;

        return shrinks && shrinks < table->widths[i] ? shrinks : table->widths[i];
}

/* The line's width, as it is or with all that shrinks cut. */
static unsigned line_width(const struct hn_table *table, bool shrunk)
{
        unsigned width = 0;

        for (size_t i = 0; i < table->n_columns; i++)
                if (!table->hidden[i])
                        width += (width ? GAP : 0) + (shrunk ? narrowest(table, i) : table->widths[i]);
        return width;
}

/* False: all that are left have to stay. */
static bool hide_one(struct hn_table *table)
{
        size_t least = 0;
        unsigned rank = 0;

        for (size_t i = 0; i < table->n_columns; i++)
                if (!table->hidden[i] && table->columns[i].rank > rank) {
                        rank = table->columns[i].rank;
                        least = i;
                }
        if (rank)
                table->hidden[least] = true;
        return rank > 0;
}

void hn_table_fit(struct hn_table *table, unsigned width)
{
        while (line_width(table, true) > width)
                if (!hide_one(table))
                        break;
        for (size_t i = 0; i < table->n_columns; i++) {
                unsigned now = line_width(table, false), over = now > width ? now - width : 0;
                unsigned spare = table->widths[i] - narrowest(table, i);

                if (!table->hidden[i])
                        table->widths[i] -= over < spare ? over : spare;
        }
}

/* printf's own padding counts bytes; and "%*s" ends at INT_MAX. */
static void blanks(unsigned n, FILE *out)
{
        while (n-- > 0)
                (void) fputc(' ', out);
}

static void print_text(const char *text, unsigned width, FILE *out)
{
        HN_FREE char *cut = hn_display_width(text) > width ? hn_display_cut(text, width) : NULL;

        (void) fputs(cut ? cut : text, out);
}

static void print_line(const struct hn_table *table, const char *const *texts, FILE *out)
{
        unsigned owed = 0; /* blanks that only count if something follows */

        for (size_t i = 0; i < table->n_columns; i++) {
                unsigned all = table->widths[i], width = hn_display_width(texts[i]), rest = width < all ? all - width : 0;

                if (table->hidden[i])
                        continue;
                if (!*texts[i]) {
                        owed += all + GAP;
                        continue;
                }
                blanks(owed + (table->columns[i].right ? rest : 0), out);
                print_text(texts[i], all, out);
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
