/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/top.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "command/display.h"
#include "model/text.h"

/* In the order of the screen.  A number's width is such that it seldom changes: columns stay where they are. */
const struct hn_column hn_top_columns[HN_TOP_COLUMNS] = {
        [HN_TOP_GUEST] = { .title = "GUEST", .shrinks = 12 },
        [HN_TOP_STATE] = { .title = "STATE", .least = 10, .rank = 6 },
        [HN_TOP_PRIORITY] = { .title = "PRIO", .least = 6, .rank = 10 },
        [HN_TOP_VCPUS] = { .title = "VCPU", .right = true, .rank = 9 },
        [HN_TOP_USED] = { .title = "%USED", .right = true, .least = 6, .rank = 3 },
        [HN_TOP_READY] = { .title = "%RDY", .right = true, .least = 5, .rank = 4 },
        [HN_TOP_CPU_PRESSURE] = { .title = "%PCPU", .right = true, .rank = 11 },
        [HN_TOP_MEMORY_PRESSURE] = { .title = "%PMEM", .right = true, .rank = 12 },
        [HN_TOP_IO_PRESSURE] = { .title = "%PIO", .right = true, .least = 5, .rank = 13 },
        [HN_TOP_HOME] = { .title = "NHN", .least = 4, .rank = 1 },
        [HN_TOP_MOVES] = { .title = "NMIG", .right = true, .rank = 8 },
        [HN_TOP_REMOTE] = { .title = "NRMEM", .right = true, .least = 6, .rank = 5 },
        [HN_TOP_LOCAL] = { .title = "NLMEM", .right = true, .least = 6, .rank = 7 },
        [HN_TOP_LOCALITY] = { .title = "N%L", .right = true, .least = 5, .rank = 2 },
};

static const struct {
        const char *word; /* for --sort */
        char key;         /* 0: none */
        bool ascending;   /* that way round what is wanted first comes first */
        const char *legend;
} about[HN_TOP_COLUMNS] = {
        [HN_TOP_GUEST] = { "guest", 'N', true, "the guest's name" },
        [HN_TOP_STATE] = { "state", 0, true, "placed, starting, moving and how far, opted out, given back, left to libvirt" },
        [HN_TOP_PRIORITY] = { "priority", 0, false, "of its wishes: high, normal, low" },
        [HN_TOP_VCPUS] = { "vcpus", 'C', false, "vCPUs that are on line" },
        [HN_TOP_USED] = { "used", 'U', false, "CPU time used, all threads: 100 is one CPU" },
        [HN_TOP_READY] = { "ready", 'R', false, "could run and waited for a CPU, all threads: 100 is one thread all the time" },
        [HN_TOP_CPU_PRESSURE] = { "cpu-pressure", 'P', false, "share of the time in which some thread waited for a CPU" },
        [HN_TOP_MEMORY_PRESSURE] = { "memory-pressure", 0, false, "the same for memory" },
        [HN_TOP_IO_PRESSURE] = { "io-pressure", 0, false, "the same for input and output" },
        [HN_TOP_HOME] = { "home", 'H', true, "home nodes; 0>2 moves from node 0 to node 2" },
        [HN_TOP_MOVES] = { "moves", 'G', false, "moves to another home since it runs" },
        [HN_TOP_REMOTE] = { "remote", 'M', false, "memory that is not at home, MiB" },
        [HN_TOP_LOCAL] = { "local", 'B', false, "memory at home, MiB" },
        [HN_TOP_LOCALITY] = { "locality", 'L', true, "share of its memory that is at home" },
};

enum hn_top_column hn_top_column_named(const char *name)
{
        for (enum hn_top_column c = 0; c < HN_TOP_COLUMNS; c++) {
                const char *title = hn_top_columns[c].title;

                if (strcasecmp(name, about[c].word) == 0 || strcasecmp(name, title) == 0 ||
                    (*title == '%' && strcasecmp(name, title + 1) == 0))
                        return c;
        }
        return HN_TOP_COLUMNS;
}

enum hn_top_column hn_top_column_of_key(int key)
{
        for (enum hn_top_column c = 0; c < HN_TOP_COLUMNS; c++)
                if (about[c].key && about[c].key == key)
                        return c;
        return HN_TOP_COLUMNS;
}

char *hn_top_legend(void)
{
        HN_FREE char *text = strdup("");

        for (enum hn_top_column c = 0; text && c < HN_TOP_COLUMNS; c++) {
                char *longer = hn_text_print("%s  %-6s %-16s %c  %s\n", text, hn_top_columns[c].title, about[c].word,
                                             about[c].key ? about[c].key : ' ', about[c].legend);

                if (!longer)
                        return NULL;
                free(text);
                text = longer;
        }
        return HN_TAKE(text);
}

/* ---- cells */

static const struct hn_entry *entry_of(const struct hn_top_row *row)
{
        return row->guest->entry;
}

static char *format_home(const struct hn_entry *entry)
{
        const struct hn_moving *moving = entry ? entry->moving : NULL;
        HN_FREE char *from = moving ? hn_display_set(moving->from->home) : NULL;
        HN_FREE char *to = hn_display_set(moving ? moving->to->home : entry ? entry->placement->home : NULL);

        if (!to || (moving && !from))
                return NULL;
        return moving && strcmp(from, to) != 0 ? hn_text_print("%s>%s", from, to) : HN_TAKE(to);
}

static char *format_percent(double value)
{
        if (value < 0)
                return strdup("-");
        return hn_text_print("%.1f", value);
}

static char *format_mib(const struct hn_top_row *row, uint64_t kib)
{
        return row->has_local ? hn_text_print("%" PRIu64, kib / 1024) : strdup("-");
}

char *hn_top_cell(const struct hn_top_row *row, enum hn_top_column column)
{
        const struct hn_entry *entry = entry_of(row);

        switch (column) {
        case HN_TOP_GUEST:
                return strdup(row->guest->name);
        case HN_TOP_STATE:
                return strdup(row->state);
        case HN_TOP_PRIORITY:
                return strdup(entry ? hn_priority_name(entry->placement->priority) : "-");
        case HN_TOP_VCPUS:
                return row->vcpus ? hn_text_print("%u", row->vcpus) : strdup("-");
        case HN_TOP_USED:
                return format_percent(row->used);
        case HN_TOP_READY:
                return format_percent(row->ready);
        case HN_TOP_CPU_PRESSURE:
                return format_percent(row->cpu_pressure);
        case HN_TOP_MEMORY_PRESSURE:
                return format_percent(row->memory_pressure);
        case HN_TOP_IO_PRESSURE:
                return format_percent(row->io_pressure);
        case HN_TOP_HOME:
                return format_home(entry);
        case HN_TOP_MOVES:
                return entry ? hn_text_print("%u", entry->moved.count) : strdup("-");
        case HN_TOP_REMOTE:
                return format_mib(row, row->remote_kib);
        case HN_TOP_LOCAL:
                return format_mib(row, row->local_kib);
        case HN_TOP_LOCALITY:
                /* 99.97 is not 100 */
                return format_percent(row->local_percent < 100 && row->local_percent > 99.9 ? 99.9 : row->local_percent);
        case HN_TOP_COLUMNS:
        default:
                return strdup("");
        }
}

/* ---- sorting */

/* A number to sort by; negative: not known.  Texts are compared by themselves. */
static double number_of(const struct hn_top_row *row, enum hn_top_column column)
{
        const struct hn_entry *entry = entry_of(row);

        switch (column) {
        case HN_TOP_PRIORITY:
                return entry ? (double) entry->placement->priority : -1;
        case HN_TOP_VCPUS:
                return row->vcpus ? (double) row->vcpus : -1;
        case HN_TOP_USED:
                return row->used;
        case HN_TOP_READY:
                return row->ready;
        case HN_TOP_CPU_PRESSURE:
                return row->cpu_pressure;
        case HN_TOP_MEMORY_PRESSURE:
                return row->memory_pressure;
        case HN_TOP_IO_PRESSURE:
                return row->io_pressure;
        case HN_TOP_HOME:
                return entry ? hwloc_bitmap_first(entry->placement->home) : -1;
        case HN_TOP_MOVES:
                return entry ? (double) entry->moved.count : -1;
        case HN_TOP_REMOTE:
                return row->has_local ? (double) row->remote_kib : -1;
        case HN_TOP_LOCAL:
                return row->has_local ? (double) row->local_kib : -1;
        case HN_TOP_LOCALITY:
                return row->local_percent;
        case HN_TOP_GUEST:
        case HN_TOP_STATE:
        case HN_TOP_COLUMNS:
        default:
                return 0;
        }
}

static int compare_numbers(double a, double b, bool ascending)
{
        if ((a < 0) != (b < 0))
                return a < 0 ? 1 : -1;
        return a == b || a < 0 ? 0 : ((a < b) == ascending ? -1 : 1);
}

static int compare(const void *a, const void *b, void *data)
{
        const struct hn_top_row *x = a, *y = b;
        const struct hn_top_sort *sort = data;
        bool ascending = about[sort->by].ascending != sort->reversed;
        int r = compare_numbers(number_of(x, sort->by), number_of(y, sort->by), ascending);
        int texts = sort->by == HN_TOP_STATE   ? strcmp(x->state, y->state)
                    : sort->by == HN_TOP_GUEST ? strcmp(x->guest->name, y->guest->name)
                                               : 0;

        if (r == 0)
                r = ascending ? texts : -texts;
        return r ? r : strcmp(x->guest->name, y->guest->name);
}

void hn_top_order(struct hn_top_row *rows, size_t n, const struct hn_top_sort *sort)
{
        struct hn_top_sort by = *sort;

        if (n > 0)
                qsort_r(rows, n, sizeof *rows, compare, &by);
}
