/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Seats of guests that run: their placement says where they are, its promises how much of them is where.
 */
#include "decide/field.h"

#include <errno.h>

#include "decide/fit.h"

/* Of a guest's memory at least so much must be elsewhere for anybody to care: QEMU's own pages lie where they will. */
#define AWAY_SHARE 0.01

static size_t at_of(const struct hn_field *field, unsigned os)
{
        int at = hn_host_at(field->input->host, os);

        return at < 0 ? SIZE_MAX : (size_t) at;
}

/* ---- why not */

static bool bound_by_user(const struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++)
                if (request->cells[i].bound)
                        return true;
        return request->numatune_user || request->numatune_nodes;
}

/* QEMU binds memory that is plugged in later to the node that the live XML names for its cell (DESIGN fact 10). */
static bool grows_bound(const struct hn_balance_guest *guest)
{
        const struct hn_request *request = guest->request;
        uint64_t now_kib = request->memory_kib;

        for (size_t i = 0; i < request->n_cells; i++)
                now_kib = hn_add(now_kib, request->cells[i].devices_kib);
        return guest->shape->n_cells > 1 && request->memory_max_kib > now_kib;
}

/* Bound cells keep their order for ever: where it is not ascending already, nothing can be told. */
static bool in_order(const struct hn_host *host, const struct hn_placement *placement)
{
        int last = -1;

        HN_IDSET_FOREACH(os, placement->home) {
                int at = hn_host_at(host, (unsigned) os);

                if (at < 0 || host->nodes[at].role != HN_NODE_HOME)
                        return false;
        }
        for (size_t i = 0; i < placement->n_cells; i++) {
                if (hwloc_bitmap_first(placement->cells[i].nodes) < last)
                        return false;
                last = hwloc_bitmap_first(placement->cells[i].nodes);
        }
        return true;
}

const char *hn_stand_fixed(const struct hn_host *host, const struct hn_balance_guest *guest)
{
        const struct hn_request *request = guest->request;

        if (!request->managed_type || request->wishes.off || request->placement_auto || !guest->shape
            || !guest->placement->n_cells || guest->placement->n_cells != guest->shape->n_cells)
                return "it is not homenode's to place";
        if (bound_by_user(request))
                return "its XML says where its memory is";
        if (request->vcpu_cpuset || request->n_vcpu_pins)
                return "its XML says where its vCPUs are";
        if (grows_bound(guest))
                return "memory may be plugged into its bound cells";
        if (guest->held)
                return "it is busy with something else";
        return in_order(host, guest->placement) ? NULL : "its cells are not in the order of their nodes";
}

const char *hn_stand_immovable(const struct hn_balance_guest *guest)
{
        const struct hn_request *request = guest->request;

        if (guest->immovable)
                return guest->immovable;
        if (request->memory_encrypted)
                return "its memory is encrypted";
        if (request->memory_locked)
                return "its memory is locked";
        if (request->n_hostdevs)
                return "a device of the host is passed through to it";
        for (size_t i = 0; i < request->n_interfaces; i++) {
                if (request->interfaces[i].kind == HN_INTERFACE_HOSTDEV)
                        return "a card of the host is passed through to it";
                if (request->interfaces[i].kind == HN_INTERFACE_VHOSTUSER)
                        return "its memory is shared with a vhost-user process";
        }
        for (size_t i = 0; i < request->n_disks; i++) {
                if (request->disks[i].kind == HN_DISK_NVME)
                        return "a drive of the host is passed through to it";
                if (request->disks[i].kind == HN_DISK_VHOSTUSER)
                        return "its memory is shared with a vhost-user process";
        }
        return NULL;
}

/* ---- seats */

/* One seat for each promise: a guest on one node, over all of its nodes, or only counted. */
static void seats_of_promises(const struct hn_field *field, struct hn_stand *stand)
{
        const struct hn_placement *placement = stand->placement;

        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *p = &placement->promises[i];
                size_t at = at_of(field, p->node);

                if (at != SIZE_MAX)
                        stand->seats[stand->n_seats++] = (struct hn_seat) {
                                .at = at, .kind = hn_ground_kind(field->ground, p->page_kib),
                                .vcpus_milli = p->vcpus_milli, .memory_kib = p->memory_kib,
                        };
        }
}

/* A cell's part of what was promised on its node, and of the ordinary memory there that is nobody's part. */
static struct hn_seat seat_of_cell(const struct hn_field *field, const struct hn_stand *stand, size_t cell)
{
        const struct hn_placement *placement = stand->placement;
        const struct hn_shape_cell *shapes = stand->guest->shape->cells;
        unsigned node = (unsigned) hwloc_bitmap_first(placement->cells[cell].nodes);
        uint64_t page_kib = shapes[cell].page_kib, own = placement->cells[cell].memory_kib, sum = 0;
        struct hn_seat seat = { .cell = cell, .at = at_of(field, node), .kind = hn_ground_kind(field->ground, page_kib),
                                .vcpus_milli = hn_idset_count(placement->cells[cell].vcpus) * UINT64_C(1000) };
        bool first = true, ordinary = false;

        for (size_t i = 0; i < placement->n_cells; i++) {
                if (hwloc_bitmap_first(placement->cells[i].nodes) != (int) node)
                        continue;
                if (shapes[i].page_kib == page_kib)
                        sum = hn_add(sum, placement->cells[i].memory_kib);
                ordinary |= !shapes[i].page_kib;
                first &= i >= cell;
        }
        if (sum)
                seat.memory_kib = (uint64_t) ((double) hn_placement_memory_kib(placement, node, page_kib)
                                              * ((double) own / (double) sum));
        if (first && !ordinary)
                seat.overhead_kib = hn_placement_memory_kib(placement, node, 0);
        return seat;
}

static int by_value(const void *a, const void *b)
{
        size_t x = *(const size_t *) a, y = *(const size_t *) b;

        return (x > y) - (x < y);
}

static void list_nodes(struct hn_stand *stand)
{
        size_t n = 0;

        for (size_t i = 0; i < stand->n_seats; i++)
                stand->nodes[i] = stand->seats[i].at;
        qsort(stand->nodes, stand->n_seats, sizeof *stand->nodes, by_value);
        for (size_t i = 0; i < stand->n_seats; i++)
                if (!n || stand->nodes[n - 1] != stand->nodes[i])
                        stand->nodes[n++] = stand->nodes[i];
        stand->n_nodes = n;
}

/* pinning="core": each host core that a vCPU has for itself once, however many of its vCPUs share it. */
static size_t count_cores(const struct hn_field *field, const struct hn_placement *placement)
{
        size_t n = 0;

        for (size_t i = 0; i < placement->n_vcpu_cpus; i++) {
                const struct hn_core *core = hn_ground_core(field->ground, placement->vcpu_cpus[i].cpus);
                bool again = false;

                for (size_t j = 0; core && !again && j < i; j++)
                        again = hn_ground_core(field->ground, placement->vcpu_cpus[j].cpus) == core;
                n += core && !again;
        }
        return n;
}

/* What it demands of its vCPUs, and how busy that makes it. */
static void demand(struct hn_stand *stand)
{
        double asked = (double) stand->asked_milli / 1000, busy = stand->guest->busy_cpus;
        double wants = !(busy >= 0) || busy > asked ? asked : busy, active = wants < 1 ? wants : 1;
        double part = hn_demand_part(busy, stand->asked_milli, HN_DEMAND_FLOOR);

        if (busy >= 0 && active < HN_ACTIVITY_FLOOR)
                active = HN_ACTIVITY_FLOOR;
        if (!(busy >= 0))
                active = 1;
        stand->weight_parts = (uint64_t) (hn_weight(stand->placement->priority) * active * 1024 + 0.5);
        stand->weight = (double) stand->weight_parts / 1024;
        stand->milli = 0;
        for (size_t i = 0; i < stand->n_seats; i++) {
                struct hn_seat *seat = &stand->seats[i];

                seat->vcpus_milli = (uint64_t) ((double) seat->vcpus_milli * part + 0.5);
                stand->milli += seat->vcpus_milli;
        }
}

int hn_stand_seats(const struct hn_field *field, struct hn_stand *stand)
{
        const struct hn_placement *placement = stand->placement;
        size_t most = placement->n_promises > placement->n_cells ? placement->n_promises : placement->n_cells;
        struct hn_seat *seats = calloc(most + 1, sizeof *seats);
        size_t *nodes = calloc(most + 1, sizeof *nodes);

        if (!seats || !nodes) {
                free(seats);
                free(nodes);
                return -ENOMEM;
        }
        free(stand->seats);
        free(stand->nodes);
        stand->seats = seats;
        stand->nodes = nodes;
        stand->n_seats = 0;
        stand->spread = !placement->n_cells;
        for (size_t i = 0; i < placement->n_cells; i++)
                stand->spread |= hwloc_bitmap_weight(placement->cells[i].nodes) != 1;
        if (stand->spread || placement->n_cells == 1 || !stand->guest->shape
            || stand->guest->shape->n_cells != placement->n_cells)
                seats_of_promises(field, stand);
        else
                for (size_t i = 0; i < placement->n_cells; i++) {
                        struct hn_seat seat = seat_of_cell(field, stand, i);

                        if (seat.at != SIZE_MAX)
                                stand->seats[stand->n_seats++] = seat;
                }
        stand->asked_milli = 0;
        for (size_t i = 0; i < stand->n_seats; i++)
                stand->asked_milli += stand->seats[i].vcpus_milli;
        list_nodes(stand);
        stand->n_cores = stand->n_nodes == 1 ? count_cores(field, placement) : 0;
        demand(stand);
        return 0;
}

/* ---- memory that is elsewhere */

static bool at_home(const struct hn_stand *stand, size_t at)
{
        for (size_t i = 0; i < stand->n_nodes; i++)
                if (stand->nodes[i] == at)
                        return true;
        return false;
}

/* One cell with the share `outside` of its memory where the guest's memory outside its home is. */
static size_t scatter(const struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seat,
                      double outside, struct hn_seat *ret)
{
        const uint64_t *resident = stand->guest->resident_kib;
        size_t n = 0;

        ret[n] = *seat;
        ret[n++].memory_kib = (uint64_t) ((double) seat->memory_kib * (1 - outside));
        for (size_t at = 0; at < field->n_nodes; at++)
                if (resident[at] && !at_home(stand, at))
                        ret[n++] = (struct hn_seat) {
                                .cell = seat->cell, .at = at, .kind = seat->kind,
                                .memory_kib = (uint64_t) ((double) seat->memory_kib * outside
                                                          * ((double) resident[at] / (double) stand->outside_kib)),
                        };
        return n;
}

void hn_stand_away(struct hn_field *field, struct hn_stand *stand)
{
        const uint64_t *resident = stand->guest->resident_kib;
        struct hn_score home, away;
        double outside;
        size_t n = 0;

        stand->away = 0;
        stand->resident_kib = stand->outside_kib = 0;
        for (size_t i = 0; !resident && i < stand->n_seats; i++)
                stand->resident_kib = hn_add(stand->resident_kib, stand->seats[i].memory_kib);
        for (size_t at = 0; resident && at < field->n_nodes; at++) {
                stand->resident_kib = hn_add(stand->resident_kib, resident[at]);
                if (!at_home(stand, at))
                        stand->outside_kib = hn_add(stand->outside_kib, resident[at]);
        }
        outside = stand->outside_kib ? (double) stand->outside_kib / (double) stand->resident_kib : 0;
        if (outside < AWAY_SHARE || !stand->n_seats)
                return;
        for (size_t i = 0; i < stand->n_seats; i++)
                n += scatter(field, stand, &stand->seats[i], outside, &field->trial[n]);
        field->ground->weight = stand->weight;
        hn_score_seats(field->ground, field->trial, n, field->tallies, &away);
        hn_score_seats(field->ground, stand->seats, stand->n_seats, field->tallies, &home);
        if (away.terms[HN_TERM_REMOTE] > home.terms[HN_TERM_REMOTE])
                stand->away = away.terms[HN_TERM_REMOTE] - home.terms[HN_TERM_REMOTE];
}
