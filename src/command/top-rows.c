/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/top.h"

#include <errno.h>
#include <string.h>

double hn_top_moved_percent(const struct hn_moving *moving, const struct hn_resident *resident)
{
        HN_BITMAP hwloc_bitmap_t left = hwloc_bitmap_alloc(), gained = hwloc_bitmap_alloc();
        hwloc_const_bitmap_t from = moving->from->home, to = moving->to->home;
        bool everywhere = hwloc_bitmap_iszero(from) || hwloc_bitmap_isequal(from, to);
        double left_kib, gained_kib;

        if (!left || !gained || hwloc_bitmap_andnot(left, from, to) < 0 || hwloc_bitmap_andnot(gained, to, from) < 0)
                return -1;
        /* from no home, or only its memory: what is not there yet may be on any other node */
        if (everywhere) {
                gained_kib = (double) hn_resident_sum_kib(resident, to);
                left_kib = (double) hn_resident_sum_kib(resident, NULL) - gained_kib;
        } else if (hwloc_bitmap_iszero(left) || hwloc_bitmap_iszero(gained)) {
                return -1;
        } else {
                gained_kib = (double) hn_resident_sum_kib(resident, gained);
                left_kib = (double) hn_resident_sum_kib(resident, left);
        }
        return left_kib + gained_kib > 0 ? 100 * gained_kib / (left_kib + gained_kib) : -1;
}

static const char *left_to_libvirt(const struct hn_entry *entry)
{
        const char *reason = entry->reason ? entry->reason : "";

        if (strcmp(reason, HN_REASON_GIVEN_BACK) == 0)
                return "given back";
        return strstr(reason, "opted out") ? "opted out" : hn_guest_state_name(HN_GUEST_COUNTED);
}

static void name_state(struct hn_top_row *row)
{
        const struct hn_entry *entry = row->guest->entry;

        if (entry && entry->moving && row->moved_percent >= 0)
                (void) snprintf(row->state, sizeof row->state, "%s %.0f%%",
                                entry->moving->back ? "moving back" : "moving", row->moved_percent);
        else
                (void) snprintf(row->state, sizeof row->state, "%s",
                                entry && entry->moving                    ? "moving"
                                : row->guest->state == HN_GUEST_COUNTED ? left_to_libvirt(entry)
                                                                        : hn_guest_state_name(row->guest->state));
}

static double percent(const struct hn_gauge *gauge)
{
        return gauge->n ? 100 * gauge->level : -1;
}

/* Those that are on line now; where they can't be counted, those of the placement. */
static unsigned count_vcpus(const struct hn_guest_status *guest, const struct hn_guest_meter *meter)
{
        unsigned n = 0;

        for (size_t i = 0; i < meter->last.n_groups; i++)
                n += meter->last.groups[i].kind == HN_GROUP_VCPU;
        for (size_t i = 0; !n && guest->entry && i < guest->entry->placement->n_cells; i++)
                n += hn_idset_count(guest->entry->placement->cells[i].vcpus);
        return n;
}

void hn_top_row(const struct hn_guest_status *guest, const struct hn_guest_meter *meter, struct hn_top_row *ret)
{
        const struct hn_entry *entry = guest->entry;
        struct hn_top_row row = {
                .guest = guest,
                .used = percent(&meter->run),
                .ready = percent(&meter->wait),
                .cpu_pressure = percent(&meter->cpu_pressure),
                .memory_pressure = percent(&meter->memory_pressure),
                .io_pressure = percent(&meter->io_pressure),
                .local_percent = hn_guest_locality(guest),
                .moved_percent = -1,
                .vcpus = count_vcpus(guest, meter),
        };

        row.has_local = guest->read_us && entry && !hwloc_bitmap_iszero(entry->placement->home);
        if (row.has_local) {
                row.local_kib = hn_resident_sum_kib(&guest->resident, entry->placement->home);
                row.remote_kib = hn_resident_sum_kib(&guest->resident, NULL) - row.local_kib;
        }
        if (entry && entry->moving && guest->read_us)
                row.moved_percent = hn_top_moved_percent(entry->moving, &guest->resident);
        name_state(&row);
        *ret = row;
}

int hn_top_rows(const struct hn_top *top, struct hn_top_row **ret)
{
        struct hn_top_row *rows = calloc(top->status.n_guests + 1, sizeof *rows);

        if (!rows)
                return -ENOMEM;
        for (size_t i = 0; i < top->status.n_guests; i++)
                hn_top_row(&top->status.guests[i], &top->known[i].meter, &rows[i]);
        *ret = rows;
        return 0;
}
