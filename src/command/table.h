/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tables for people: columns as wide as what stands in them, by display width, two blanks between, none at
 * the end of a line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/cleanup.h"

struct hn_column {
        const char *title;
        bool right;       /* numbers: aligned to the right */
        unsigned least;   /* at least so wide, whatever stands in it */
        unsigned shrinks; /* where there is not enough room it may be cut to that; 0: it is not cut */
        unsigned rank;    /* where there is not enough room the highest one is left out first; 0: never */
};

struct hn_table;

/* `columns` are not copied. NULL without memory. */
struct hn_table *hn_table_new(const struct hn_column *columns, size_t n_columns);
void hn_table_free(struct hn_table *table);
HN_DEFINE_CLEANUP(struct hn_table *, hn_table_free, hn_cleanup_table)
#define HN_TABLE HN_CLEANUP(hn_cleanup_table)

/* Adds a row of n_columns texts, copied and with control characters escaped; NULL: nothing in that cell.
 * -ENOMEM. */
int hn_table_add(struct hn_table *table, const char *const *texts);

/* Makes it fit on a line of so many columns, as far as its columns' shrinks and ranks allow: of those that have a rank no
 * more are left out than must be, then what shrinks gets what is left.  Called once, when all rows are there. */
void hn_table_fit(struct hn_table *table, unsigned width);

/* Titles and rows; `out` keeps the error if writing fails. */
void hn_table_print(const struct hn_table *table, FILE *out);
