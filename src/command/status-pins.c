/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What holds a guest where it is, and by whom: the user's pins are those in libvirt's record that homenode's mark does
 * not name, homenode's are its placement's for what the user left open.
 */
#include <errno.h>

#include "command/status.h"

static int add(struct hn_pins *pins, const char *what, int id, hwloc_const_bitmap_t set, bool by_user)
{
        struct hn_pinned *more;

        if (!set || hwloc_bitmap_iszero(set))
                return 0;
        more = reallocarray(pins->all, pins->n + 1, sizeof *more);
        if (!more)
                return -ENOMEM;
        pins->all = more;
        more[pins->n] = (struct hn_pinned) { .what = what, .id = id, .set = hwloc_bitmap_dup(set), .by_user = by_user };
        return more[pins->n++].set ? 0 : -ENOMEM;
}

static int add_users(const struct hn_request *live, struct hn_pins *pins)
{
        int r = add(pins, "vcpus", -1, live->vcpu_cpuset, true);

        for (size_t i = 0; r >= 0 && i < live->n_vcpu_pins; i++)
                r = add(pins, "vcpu", (int) live->vcpu_pins[i].id, live->vcpu_pins[i].cpus, true);
        if (r >= 0)
                r = add(pins, "emulator", -1, live->emulator_pin, true);
        for (size_t i = 0; r >= 0 && i < live->n_iothread_pins; i++)
                r = add(pins, "iothread", (int) live->iothread_pins[i].id, live->iothread_pins[i].cpus, true);
        if (r >= 0)
                r = add(pins, "memory", -1, live->numatune_nodes, true);
        for (size_t i = 0; r >= 0 && i < live->n_cells; i++)
                r = add(pins, "cell", (int) i, live->cells[i].bound, true);
        return r;
}

static bool pinned_by_user(const struct hn_request *live, unsigned vcpu)
{
        for (size_t i = 0; live && i < live->n_vcpu_pins; i++)
                if (live->vcpu_pins[i].id == vcpu)
                        return true;
        return live && live->vcpu_cpuset;
}

/* The vCPUs of a cell that float on its CPUs, as one; those with CPUs of their own, one by one. */
static int add_cell(const struct hn_placement *placement, const struct hn_placed_cell *cell,
                    const struct hn_request *live, struct hn_pins *pins)
{
        HN_BITMAP hwloc_bitmap_t floating = hwloc_bitmap_alloc();
        size_t n;
        int r = 0;

        if (!floating)
                return -ENOMEM;
        HN_IDSET_FOREACH(vcpu, cell->vcpus) {
                hwloc_const_bitmap_t cpus = hn_placement_vcpu(placement, (unsigned) vcpu);

                if (pinned_by_user(live, (unsigned) vcpu))
                        continue;
                if (cpus != cell->cpus)
                        r = add(pins, "vcpu", vcpu, cpus, false);
                else if (hwloc_bitmap_set(floating, (unsigned) vcpu) < 0)
                        r = -ENOMEM;
                if (r < 0)
                        return r;
        }
        if (hwloc_bitmap_iszero(floating))
                return 0;
        n = pins->n;
        r = add(pins, "vcpus", -1, cell->cpus, false);
        if (r >= 0 && pins->n > n)
                pins->all[n].members = HN_TAKE(floating);
        return r;
}

static int add_ours(const struct hn_placement *placement, const struct hn_request *live, struct hn_pins *pins)
{
        int r = 0;

        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++)
                r = add_cell(placement, &placement->cells[i], live, pins);
        if (r >= 0 && placement->n_cells > 0 && !(live && (live->emulator_pin || live->vcpu_cpuset)))
                r = add(pins, "emulator", -1, placement->emulator_cpus, false);
        if (r >= 0)
                r = add(pins, "memory", -1, placement->memory_nodes, false);
        for (size_t i = 0; r >= 0 && live && i < live->n_cells; i++)
                r = add(pins, "cell", (int) i, live->cells[i].ours, false);
        return r;
}

int hn_pins_of(const struct hn_guest_status *guest, struct hn_pins *ret)
{
        HN_PINS struct hn_pins pins = { .known = guest->live };
        int r = guest->live ? add_users(guest->live, &pins) : 0;

        if (r >= 0 && guest->entry && guest->entry->managed)
                r = add_ours(guest->entry->placement, guest->live, &pins);
        if (r < 0)
                return r;
        *ret = pins;
        pins = (struct hn_pins) { 0 };
        return 0;
}

void hn_pins_clear(struct hn_pins *pins)
{
        for (size_t i = 0; i < pins->n; i++) {
                hwloc_bitmap_free(pins->all[i].members);
                hwloc_bitmap_free(pins->all[i].set);
        }
        free(pins->all);
        *pins = (struct hn_pins) { 0 };
}
