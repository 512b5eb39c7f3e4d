/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `homenode top`: nodes and guests, read again and again.  Reading (top-read.c), figures (top-rows.c), columns and
 * sorting (top-columns.c) and lines of text (top-page.c) know nothing of terminals; top-screen.c and top-draw.c show
 * the lines.
 *
 * Each reading reads cheap files alone (DESIGN fact 15), never numa_maps, and needs no daemon.
 */
#pragma once

#include <limits.h>

#include "command/status.h"
#include "command/table.h"
#include "model/load-guest.h"

/* ---- reading (top-read.c) */

/* What is kept of a guest from one reading to the next. */
struct hn_top_known {
        char *key;                   /* its unit, or its UUID */
        char *scope, *threads;       /* paths below /sys; NULL: not found */
        struct hn_guest_meter meter; /* not smoothed: what lies between the last two readings */
};

struct hn_top {
        const struct hn_root *root;
        struct hn_status status;     /* as of the last reading */
        struct hn_top_known *known;  /* of status.guests, in their order */
        struct hn_cpu_times times;
        uint64_t read_us;            /* CLOCK_MONOTONIC; 0: nothing was read yet */
        bool daemon_told, daemon_lives; /* the latter is known, and is so */
};

/* Reads once: figures that are differences come with the second time.  -ENOMEM: what is there is of no use any more. */
int hn_top_read(struct hn_top *top);
void hn_top_clear(struct hn_top *top);
#define HN_TOP HN_CLEANUP(hn_top_clear)

/* ---- figures (top-rows.c) */

struct hn_top_row {
        const struct hn_guest_status *guest;
        char state[32];
        /* negative: not known.  Percent of one CPU … */
        double used, ready;
        /* … and of the time */
        double cpu_pressure, memory_pressure, io_pressure;
        double local_percent, moved_percent;
        uint64_t local_kib, remote_kib;
        bool has_local;  /* those two are known */
        unsigned vcpus;  /* 0: not known */
};

/* The figures of one guest; it must outlive them. */
void hn_top_row(const struct hn_guest_status *guest, const struct hn_guest_meter *meter, struct hn_top_row *ret);

/* Of all guests of the last reading; the caller frees.  -ENOMEM. */
int hn_top_rows(const struct hn_top *top, struct hn_top_row **ret);

/* How much of a move is done, by where the guest's memory is; negative: it can't be told. */
double hn_top_moved_percent(const struct hn_moving *moving, const struct hn_resident *resident);

/* ---- columns (top-columns.c).  Their names are those of esxtop where that has the figure. */

enum hn_top_column {
        HN_TOP_GUEST, HN_TOP_STATE, HN_TOP_PRIORITY, HN_TOP_VCPUS, HN_TOP_USED, HN_TOP_READY, HN_TOP_CPU_PRESSURE,
        HN_TOP_MEMORY_PRESSURE, HN_TOP_IO_PRESSURE, HN_TOP_HOME, HN_TOP_MOVES, HN_TOP_REMOTE, HN_TOP_LOCAL,
        HN_TOP_LOCALITY, HN_TOP_COLUMNS,
};

struct hn_top_sort {
        enum hn_top_column by;
        bool reversed;
};

extern const struct hn_column hn_top_columns[HN_TOP_COLUMNS];

/* The column of that title, with or without "%", or word ("used"); HN_TOP_COLUMNS: there is none. */
enum hn_top_column hn_top_column_named(const char *name);

/* The column that a key sorts by; HN_TOP_COLUMNS: none. */
enum hn_top_column hn_top_column_of_key(int key);

/* What a column tells, the word for --sort and the key that sorts by it: a line each; the caller frees; NULL without
 * memory. */
char *hn_top_legend(void);

/* What stands in a cell; the caller frees; NULL without memory. */
char *hn_top_cell(const struct hn_top_row *row, enum hn_top_column column);

/* Numbers descend, what is worse comes first, guests by name where all else is equal; what is not known comes last,
 * reversed or not. */
void hn_top_order(struct hn_top_row *rows, size_t n, const struct hn_top_sort *sort);

/* ---- text (top-page.c) */

struct hn_top_page {
        char *text;
        char **head;  /* the banner, what is missing, nodes, and last the titles of guests' columns */
        size_t n_head;
        char **body;  /* a line a guest, in the order of … */
        size_t n_body;
        struct hn_top_row *rows; /* … these */
};

#define HN_TOP_WIDE UINT_MAX

/* The first line: time of day, how many guests, and by what they are sorted; the caller frees; NULL without memory. */
char *hn_top_banner(const struct hn_top *top, const struct hn_top_sort *sort);

/* `width`: columns of the terminal; those of the tables that are of less importance are left out where it does not do.
 * -ENOMEM. */
int hn_top_page(const struct hn_top *top, const struct hn_top_sort *sort, const char *banner, unsigned width,
                struct hn_top_page *ret);
void hn_top_page_clear(struct hn_top_page *page);
#define HN_TOP_PAGE HN_CLEANUP(hn_top_page_clear)

/* ---- JSON (top-json.c): -ENOMEM */
int hn_top_to_json(const struct hn_top *top, const struct hn_top_sort *sort, struct json_object **ret);

/* ---- the screen (top-screen.c) */

struct hn_top_plan {
        unsigned interval_ms;
        uint64_t count;      /* readings to be shown; 0: no end */
        struct hn_top_sort sort;
};

/* Until it is ended by key, signal or count.  -EOPNOTSUPP: this terminal can't; -ENOMEM and others.  *ret_signal: the
 * signal that ended it and that the program is to die of, 0: none. */
int hn_top_screen(struct hn_top *top, struct hn_top_plan *plan, int *ret_signal);
