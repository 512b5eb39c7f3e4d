/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One guest in detail for people: its cells, then what holds it and by whom.
 */
#include <errno.h>
#include <string.h>

#include "command/display.h"
#include "command/status.h"
#include "command/table.h"
#include "model/text.h"

static const struct hn_column cell_columns[] = {
        { "CELL", true }, { "VCPUS", false }, { "MEMORY", true }, { "NODES", false }, { "CPUS", false },
        { "GUEST HAS THERE", true }, { "LOCAL", true },
};
#define CELL_COLUMNS (sizeof cell_columns / sizeof *cell_columns)

/* What the kernel counts cheaply is the whole guest's: with several cells a page on a cell's node may be another
 * cell's, so only a single cell's locality can be told. */
static int add_cell(struct hn_table *table, const struct hn_guest_status *guest, const struct hn_placed_cell *cell)
{
        HN_FREE char *vcpus = hn_display_set(cell->vcpus), *nodes = hn_display_set(cell->nodes),
                     *cpus = hn_display_set(cell->cpus);
        double locality = guest->entry->placement->n_cells == 1 ? hn_guest_locality(guest) : -1;
        char id[16], memory[HN_TEXT_SIZE], there[HN_TEXT_SIZE], local[32];

        if (!vcpus || !nodes || !cpus)
                return -ENOMEM;
        (void) snprintf(id, sizeof id, "%u", cell->id);
        (void) snprintf(local, sizeof local, "%.1f%%", locality < 100 && locality > 99.9 ? 99.9 : locality);
        return hn_table_add(table, (const char *[CELL_COLUMNS]) {
                id, vcpus, hn_text_size(cell->memory_kib, memory), nodes, cpus,
                guest->read_us ? hn_text_size(hn_resident_sum_kib(&guest->resident, cell->nodes), there) : "-",
                locality < 0 ? "-" : local,
        });
}

static int print_cells(const struct hn_guest_status *guest, FILE *out)
{
        HN_TABLE struct hn_table *table = hn_table_new(cell_columns, CELL_COLUMNS);
        const struct hn_placement *placement = guest->entry->placement;
        int r = table ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++)
                r = add_cell(table, guest, &placement->cells[i]);
        if (r >= 0)
                hn_table_print(table, out);
        return r;
}

/* "vCPUs 0-3", "vCPU 2", "iothread 1", "cell 0's memory" */
static char *pin_title(const struct hn_pinned *pin)
{
        HN_FREE char *members = NULL;

        if (pin->members && hn_idset_format(pin->members, &members) < 0)
                return NULL;
        switch (*pin->what) {
        case 'v':
                return pin->id >= 0 ? hn_text_print("vCPU %d", pin->id)
                       : members    ? hn_text_print(strpbrk(members, ",-") ? "vCPUs %s" : "vCPU %s", members)
                                    : strdup("all other vCPUs");
        case 'i':
                return hn_text_print("iothread %d", pin->id);
        case 'c':
                return hn_text_print("cell %d's memory", pin->id);
        default:
                return strdup(pin->what);
        }
}

static int add_pin(struct hn_table *table, const struct hn_pinned *pin)
{
        bool memory = *pin->what == 'm' || *pin->what == 'c';
        HN_FREE char *title = pin_title(pin), *set = memory ? NULL : hn_display_set(pin->set);
        HN_FREE char *to = memory ? hn_text_nodes(pin->set)
                           : set  ? hn_text_print(strpbrk(set, ",-") ? "CPUs %s" : "CPU %s", set)
                                  : NULL;

        if (!title || !to)
                return -ENOMEM;
        return hn_table_add(table, (const char *[]) { title, to, pin->by_user ? "user" : "homenode" });
}

static int print_pins(const struct hn_guest_status *guest, FILE *out)
{
        static const struct hn_column columns[] = { { "HELD", false }, { "TO", false }, { "BY", false } };
        HN_TABLE struct hn_table *table = hn_table_new(columns, 3);
        HN_PINS struct hn_pins pins = { 0 };
        int r = table ? hn_pins_of(guest, &pins) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < pins.n; i++)
                r = add_pin(table, &pins.all[i]);
        if (r < 0)
                return r;
        if (pins.n > 0) {
                (void) fputc('\n', out);
                hn_table_print(table, out);
        }
        if (!pins.known)
                (void) fprintf(out, "What the user pinned is not known: libvirt's record of it can't be read.\n");
        return 0;
}

int hn_status_cells_text(const struct hn_guest_status *guest, FILE *out)
{
        HN_FREE char *safe = hn_display_escape(guest->name);
        int r = safe ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        (void) fprintf(out, "\n%s\n", safe);
        if (guest->entry && guest->entry->placement->n_cells > 0)
                r = print_cells(guest, out);
        return r < 0 ? r : print_pins(guest, out);
}
