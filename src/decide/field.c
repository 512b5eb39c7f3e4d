/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/field.h"

#include <errno.h>
#include <string.h>

#include "decide/fit.h"

/* Shares of guests are summed up as integers: parts of 2^20, weights in parts of 1024. */
#define SHARE_ONE UINT64_C(1048576)
#define WEIGHT_ONE UINT64_C(1024)

static void end_stand(struct hn_stand *stand)
{
        free(stand->seats);
        free(stand->nodes);
        free(stand->device);
}

void hn_field_free(struct hn_field *field)
{
        if (!field)
                return;
        for (size_t i = 0; i < field->n_stands; i++)
                end_stand(&field->stands[i]);
        hn_ground_free(field->ground);
        free(field->nodes);
        free(field->rooms);
        free(field->promised);
        free(field->stands);
        free(field->tallies);
        free(field->trial);
        free(field);
}

/* ---- lifting and putting down */

static uint64_t share_of(uint64_t part, uint64_t whole)
{
        uint64_t share = whole ? (uint64_t) ((double) part / (double) whole * (double) SHARE_ONE + 0.5) : 0;

        return share < SHARE_ONE ? share : SHARE_ONE;
}

/* What the ground says of a node follows from what is put down there. */
static void update(struct hn_field *field, size_t at)
{
        const struct hn_field_node *sums = &field->nodes[at];
        struct hn_ground_node *g = &field->ground->nodes[at];

        g->demand_milli = hn_add(sums->busy_milli, sums->milli);
        g->crowd_cpu = (double) sums->cpu_parts / (double) (SHARE_ONE * WEIGHT_ONE);
        g->crowd_memory = (double) sums->memory_parts / (double) (SHARE_ONE * WEIGHT_ONE);
        g->left_kib = hn_subtract(sums->left_kib, field->promised[at * field->n_pages]);
        for (size_t i = at * field->n_pages; i < (at + 1) * field->n_pages; i++)
                field->ground->rooms[i] = hn_subtract(field->rooms[i], field->promised[i]);
}

/* Unsigned arithmetic that wraps: what was added is taken off again. */
static void add_seats(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats, bool put)
{
        uint64_t memory = 0, milli = 0, sign = put ? 1 : UINT64_MAX;

        for (size_t i = 0; i < stand->n_seats; i++) {
                memory = hn_add(memory, seats[i].memory_kib);
                milli += seats[i].vcpus_milli;
        }
        for (size_t i = 0; i < stand->n_seats; i++) {
                const struct hn_seat *seat = &seats[i];
                struct hn_field_node *sums = &field->nodes[seat->at];
                uint64_t *promised = &field->promised[seat->at * field->n_pages];
                uint64_t ordinary = seat->overhead_kib + (seat->kind ? 0 : seat->memory_kib);

                sums->milli += sign * seat->vcpus_milli;
                sums->cpu_parts += sign * stand->weight_parts * share_of(seat->vcpus_milli, milli);
                sums->memory_parts += sign * stand->weight_parts * share_of(ordinary, memory);
                promised[0] += sign * ordinary;
                if (seat->kind)
                        promised[seat->kind] += sign * seat->memory_kib;
        }
        if (stand->n_seats)
                field->nodes[seats[0].at].own_cores += sign * stand->n_cores;
        for (size_t i = 0; i < stand->n_seats; i++)
                update(field, seats[i].at);
}

void hn_field_lift(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats)
{
        add_seats(field, stand, seats, false);
}

void hn_field_put(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats)
{
        add_seats(field, stand, seats, true);
}

/* ---- looking */

static void set_devices(struct hn_field *field, const struct hn_stand *stand, bool on)
{
        for (size_t at = 0; stand->device && at < field->n_nodes; at++)
                field->ground->nodes[at].device = on ? stand->device[at] : 0;
}

void hn_field_score(struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats,
                    struct hn_score *ret)
{
        field->ground->weight = stand->weight;
        set_devices(field, stand, true);
        hn_score_seats(field->ground, seats, stand->n_seats, field->tallies, ret);
        set_devices(field, stand, false);
        field->scored++;
}

void hn_field_score_all(struct hn_field *field)
{
        for (size_t i = 0; i < field->n_stands; i++) {
                struct hn_stand *stand = &field->stands[i];

                hn_field_lift(field, stand, stand->seats);
                hn_field_score(field, stand, stand->seats, &stand->score);
                hn_field_put(field, stand, stand->seats);
                stand->score.terms[HN_TERM_REMOTE] += stand->away;
                stand->score.total += stand->away;
        }
}

bool hn_field_fits(const struct hn_field *field, const struct hn_stand *stand, const struct hn_seat *seats)
{
        if (stand->n_cores
            && field->nodes[seats[0].at].own_cores + stand->n_cores > field->input->host->nodes[seats[0].at].n_cores)
                return false;
        for (size_t i = 0; i < stand->n_seats; i++) {
                size_t at = seats[i].at;
                uint64_t milli = 0, ordinary = 0, huge = 0;

                for (size_t j = 0; j < stand->n_seats; j++) {
                        const struct hn_seat *seat = &seats[j];

                        if (seat->at != at)
                                continue;
                        milli += seat->vcpus_milli;
                        ordinary = hn_add(ordinary, hn_add(seat->overhead_kib, seat->kind ? 0 : seat->memory_kib));
                        huge = hn_add(huge, seat->kind == seats[i].kind ? seat->memory_kib : 0);
                }
                if (ordinary > field->ground->rooms[at * field->n_pages])
                        return false;
                if (seats[i].kind && huge > field->ground->rooms[at * field->n_pages + seats[i].kind])
                        return false;
                /* by what it may come to demand, not by what it demands now */
                if ((double) milli * (double) stand->asked_milli
                    > (double) field->ground->nodes[at].capacity_milli * (double) stand->milli * (1 + 1e-3))
                        return false;
        }
        return true;
}

void hn_field_seats(const struct hn_stand *stand, const size_t *nodes, size_t k, struct hn_seat *ret)
{
        memcpy(ret, stand->seats, stand->n_seats * sizeof *ret);
        for (size_t i = 0; i < stand->n_seats; i++) {
                size_t rank = 0;

                while (k > 1 && rank + 1 < k && stand->nodes[rank] != ret[i].at)
                        rank++;
                ret[i].at = nodes[rank];
        }
}

int hn_field_settle(struct hn_field *field, struct hn_stand *stand, const struct hn_placement *placement)
{
        int r;

        stand->placement = placement;
        r = hn_stand_seats(field, stand);
        if (r >= 0)
                stand->away = 0;
        return r;
}

/* ---- laying it out */

static bool knows_page(const struct hn_shape *shape, uint64_t page_kib)
{
        for (size_t i = 0; i < shape->n_cells; i++)
                if (shape->cells[i].page_kib == page_kib)
                        return true;
        return false;
}

/* A shape of one cell per page size that guests have: it makes the ground know them all. */
static int collect_pages(const struct hn_balance_input *input, struct hn_shape *shape)
{
        for (size_t i = 0; i < input->n_guests; i++) {
                const struct hn_placement *placement = input->guests[i].placement;

                for (size_t j = 0; j < placement->n_promises; j++) {
                        struct hn_shape_cell *more;

                        if (knows_page(shape, placement->promises[j].page_kib))
                                continue;
                        more = reallocarray(shape->cells, shape->n_cells + 1, sizeof *more);
                        if (!more)
                                return -ENOMEM;
                        shape->cells = more;
                        shape->cells[shape->n_cells++] =
                                (struct hn_shape_cell) { .page_kib = placement->promises[j].page_kib };
                }
        }
        return 0;
}

/* The ground without any guest. */
static int lay_ground(struct hn_field *field)
{
        const struct hn_balance_input *input = field->input;
        struct hn_situation situation = { .host = input->host, .policy = input->policy, .load = input->load };
        struct hn_request nobody = { .wishes.priority = HN_PRIORITY_NORMAL };
        struct hn_shape shape = { 0 };
        int r = collect_pages(input, &shape);

        if (r >= 0)
                r = hn_ground_new(&situation, &nobody, &shape, &field->ground);
        free(shape.cells);
        return r;
}

static int lay_nodes(struct hn_field *field)
{
        size_t n = field->n_nodes, n_pages = field->n_pages = field->ground->n_pages;

        field->nodes = calloc(n + 1, sizeof *field->nodes);
        field->rooms = calloc(n * n_pages + 1, sizeof *field->rooms);
        field->promised = calloc(n * n_pages + 1, sizeof *field->promised);
        field->tallies = calloc(n + 1, sizeof *field->tallies);
        if (!field->nodes || !field->rooms || !field->promised || !field->tallies)
                return -ENOMEM;
        memcpy(field->rooms, field->ground->rooms, n * n_pages * sizeof *field->rooms);
        for (size_t at = 0; at < n; at++) {
                field->nodes[at].busy_milli = field->ground->nodes[at].demand_milli;
                field->nodes[at].left_kib = field->ground->nodes[at].left_kib;
        }
        return 0;
}

static int find_devices(struct hn_field *field, struct hn_stand *stand)
{
        const struct hn_request *request = stand->guest->request;
        bool any = false;

        if (!request->n_hostdevs && !request->n_interfaces && !request->n_disks)
                return 0;
        hn_ground_devices(field->ground, request);
        for (size_t at = 0; at < field->n_nodes; at++)
                any |= field->ground->nodes[at].device > 0;
        if (!any)
                return 0;
        stand->device = calloc(field->n_nodes + 1, sizeof *stand->device);
        if (!stand->device)
                return -ENOMEM;
        for (size_t at = 0; at < field->n_nodes; at++)
                stand->device[at] = field->ground->nodes[at].device;
        set_devices(field, stand, false);
        return 0;
}

static int lay_stand(struct hn_field *field, size_t i)
{
        struct hn_stand *stand = &field->stands[i];
        int r;

        stand->guest = &field->input->guests[i];
        stand->placement = stand->guest->placement;
        stand->fixed = hn_stand_fixed(field->input->host, stand->guest);
        stand->immovable = hn_stand_immovable(stand->guest);
        r = hn_stand_seats(field, stand);
        if (r >= 0)
                r = find_devices(field, stand);
        if (r >= 0)
                hn_field_put(field, stand, stand->seats);
        return r;
}

/* The share of memory that is promised: the same wherever guests are. */
static void fill(struct hn_field *field)
{
        for (size_t kind = 0; kind < field->n_pages; kind++) {
                double total = 0, room = 0;

                for (size_t at = 0; at < field->n_nodes; at++) {
                        if (!field->ground->nodes[at].capacity_milli)
                                continue;
                        total += (double) field->ground->totals[at * field->n_pages + kind];
                        room += (double) field->ground->rooms[at * field->n_pages + kind];
                }
                field->ground->fill[kind] = total > 0 ? 1 - room / total : 0;
        }
}

static int make_trial(struct hn_field *field)
{
        size_t most = 1;

        for (size_t i = 0; i < field->n_stands; i++) {
                const struct hn_stand *stand = &field->stands[i];
                size_t n = stand->n_seats * (stand->guest->resident_kib ? field->n_nodes + 1 : 1);

                most = n > most ? n : most;
        }
        field->trial = calloc(most, sizeof *field->trial);
        return field->trial ? 0 : -ENOMEM;
}

int hn_field_new(const struct hn_balance_input *input, struct hn_field **ret)
{
        HN_FIELD struct hn_field *field = calloc(1, sizeof *field);
        int r;

        if (!field)
                return -ENOMEM;
        field->input = input;
        field->n_nodes = input->host->n_nodes;
        r = lay_ground(field);
        if (r >= 0)
                r = lay_nodes(field);
        if (r < 0)
                return r;
        field->stands = calloc(input->n_guests + 1, sizeof *field->stands);
        if (!field->stands)
                return -ENOMEM;
        for (; r >= 0 && field->n_stands < input->n_guests; field->n_stands++)
                r = lay_stand(field, field->n_stands);
        if (r >= 0)
                r = make_trial(field);
        if (r < 0)
                return r;
        fill(field);
        for (size_t i = 0; i < field->n_stands; i++)
                hn_stand_away(field, &field->stands[i]);
        *ret = HN_TAKE(field);
        return 0;
}
