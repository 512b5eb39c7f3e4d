/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Accepting: a proposal becomes moves with whole placements, made the way all placements are (place.h), and the field
 * changes accordingly.  What does not come out as proposed is taken back.
 */
#include "decide/fit.h"
#include "decide/planner.h"

#include <errno.h>
#include <string.h>

#include "decide/place.h"

/* An acceptance under way. */
struct accepting {
        struct hn_planner *planner;
        const struct hn_proposal *proposal;
        struct hn_move moves[HN_PARTS];
        const struct hn_placement *old[HN_PARTS];
        size_t n_settled;        /* parts whose stands have the new placement */
};

static void end_move(struct hn_move *move)
{
        for (size_t i = 0; i < move->n_cells; i++) {
                hwloc_bitmap_free(move->cells[i].from);
                hwloc_bitmap_free(move->cells[i].to);
        }
        free(move->cells);
        hn_placement_free(move->to);
        hwloc_bitmap_free(move->runner_up);
        free(move->reason);
}

void hn_moves_clear(struct hn_moves *moves)
{
        for (size_t i = 0; i < moves->n; i++)
                end_move(&moves->list[i]);
        free(moves->list);
        *moves = (struct hn_moves) { 0 };
}

static void end_accepting(struct accepting *a)
{
        for (size_t i = 0; i < HN_PARTS; i++)
                end_move(&a->moves[i]);
}

static struct hn_stand *stand_of(const struct accepting *a, size_t part)
{
        return &a->planner->field->stands[a->proposal->parts[part].guest];
}

/* ---- the new placement */

static int home_of(const struct accepting *a, size_t part, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t home = hwloc_bitmap_alloc();
        const struct hn_part *p = &a->proposal->parts[part];

        if (!home)
                return -ENOMEM;
        for (size_t i = 0; i < p->k; i++)
                if (hwloc_bitmap_set(home, a->planner->input->host->nodes[p->nodes[i]].os) < 0)
                        return -ENOMEM;
        *ret = HN_TAKE(home);
        return 0;
}

/* The placements of all others: those of this group as far as they have been made. */
static size_t list_others(const struct accepting *a, size_t part)
{
        const struct hn_field *field = a->planner->field;
        size_t n = 0;

        for (size_t i = 0; i < field->n_stands; i++) {
                bool ours = false;

                for (size_t j = 0; j < a->proposal->n; j++)
                        ours |= a->proposal->parts[j].guest == i;
                if (!ours)
                        a->planner->others[n++] = field->stands[i].placement;
        }
        for (size_t j = 0; j < part; j++)
                a->planner->others[n++] = a->moves[j].to;
        return n;
}

/* Cells stay together as they are, or their policies would not follow (DESIGN fact 10); a core of its own is not given
 * up for a move. */
static bool as_proposed(const struct accepting *a, size_t part, const struct hn_placement *to)
{
        const struct hn_stand *stand = stand_of(a, part);
        const struct hn_part *p = &a->proposal->parts[part];
        const struct hn_host *host = a->planner->input->host;

        if (!stand->placement->n_cells)
                return true; /* it had no room to start */
        if (to->n_cells != stand->placement->n_cells || (stand->placement->n_vcpu_cpus && !to->n_vcpu_cpus))
                return false;
        for (size_t i = 0; i < to->n_cells; i++) {
                int from = hn_host_at(host, (unsigned) hwloc_bitmap_first(stand->placement->cells[i].nodes)), rank = 0;

                while (p->k > 1 && (size_t) rank + 1 < p->k && stand->nodes[rank] != (size_t) from)
                        rank++;
                if (!hwloc_bitmap_isset(to->cells[i].nodes, host->nodes[p->nodes[rank]].os)
                    || hwloc_bitmap_weight(to->cells[i].nodes) != 1)
                        return false;
        }
        return true;
}

/* -ENOSPC: it can't be had. */
static int place(const struct accepting *a, size_t part, struct hn_placement **ret)
{
        const struct hn_balance_input *input = a->planner->input;
        const struct hn_stand *stand = stand_of(a, part);
        struct hn_situation situation = { .host = input->host, .policy = input->policy, .load = input->load,
                                          .placements = a->planner->others,
                                          .n_placements = list_others(a, part) };
        HN_PLACEMENT struct hn_placement *to = NULL;
        HN_BITMAP hwloc_bitmap_t home = NULL;
        struct hn_score score;
        int r = home_of(a, part, &home);

        if (r >= 0)
                r = hn_place_on(&situation, stand->guest->request, stand->guest->shape, home, &to, &score);
        if (r < 0)
                return r;
        if (!as_proposed(a, part, to))
                return -ENOSPC;
        *ret = HN_TAKE(to);
        return 0;
}

/* Is its memory set to hold it at home?  One that is open although its owner did not wish it so was left open because
 * its memory lay elsewhere; what may be plugged in has nodes of its own in it. */
static bool is_confined(const struct hn_stand *stand)
{
        return stand->guest->request->wishes.memory != HN_MEMORY_SOFT && !hn_growth_kib(stand->guest->request);
}

/* Only its memory set changes: wider by a node, or its home again. */
static int only_memory(const struct accepting *a, size_t part, struct hn_placement **ret)
{
        const struct hn_part *p = &a->proposal->parts[part];
        HN_PLACEMENT struct hn_placement *to = hn_placement_copy(stand_of(a, part)->placement);
        int r = 0;

        if (!to)
                return -ENOMEM;
        if (p->widen >= 0)
                r = hwloc_bitmap_set(to->memory_nodes, a->planner->input->host->nodes[p->widen].os);
        else if (is_confined(stand_of(a, part)))
                r = hwloc_bitmap_copy(to->memory_nodes, to->home);
        if (r < 0)
                return -ENOMEM;
        *ret = HN_TAKE(to);
        return 0;
}

/* ---- what the move says */

static int fill_cells(const struct accepting *a, size_t part, struct hn_move *move)
{
        const struct hn_stand *stand = stand_of(a, part);
        const struct hn_placement *from = stand->placement;
        uint64_t changed = 0, sum = 0;

        move->cells = calloc(from->n_cells + 1, sizeof *move->cells);
        if (!move->cells)
                return -ENOMEM;
        for (size_t i = 0; i < from->n_cells; i++) {
                struct hn_move_cell *cell = &move->cells[move->n_cells++];

                cell->id = from->cells[i].id;
                cell->from = hwloc_bitmap_dup(from->cells[i].nodes);
                cell->to = hwloc_bitmap_dup(move->to->cells[i].nodes);
                if (!cell->from || !cell->to)
                        return -ENOMEM;
                if (move->kind == HN_MOVE_GATHER || !hwloc_bitmap_isequal(cell->from, cell->to))
                        changed += from->cells[i].memory_kib;
        }
        /* what is copied comes from the cells that change, by their size */
        for (size_t i = 0; changed && i < move->n_cells; i++) {
                struct hn_move_cell *cell = &move->cells[i];

                if (move->kind != HN_MOVE_GATHER && hwloc_bitmap_isequal(cell->from, cell->to))
                        continue;
                cell->memory_kib = hn_part_of(move->memory_kib, (double) from->cells[i].memory_kib / (double) changed);
                sum += cell->memory_kib;
        }
        for (size_t i = 0; changed && i < move->n_cells && sum < move->memory_kib; i++)
                if (move->cells[i].memory_kib) {
                        move->cells[i].memory_kib += move->memory_kib - sum;
                        break;
                }
        return 0;
}

/* A year at most: rates and sizes come from outside. */
static uint64_t to_us(double seconds)
{
        return (uint64_t) ((seconds < 3.2e7 ? seconds : 3.2e7) * 1e6);
}

static void fill_cost(const struct accepting *a, size_t part, struct hn_move *move)
{
        const struct hn_proposal *proposal = a->proposal;
        double seconds = hn_planner_copy_seconds(a->planner, move->memory_kib);

        move->copy_us = to_us(seconds);
        move->stall_us = to_us(seconds * HN_MOVE_STALL_SHARE);
        move->gain = proposal->gain;
        move->cost = proposal->cost;
        if (proposal->gain > 0 && proposal->kind != HN_MOVE_SPILL)
                move->pays_back_us = to_us(proposal->cost / proposal->gain);
        move->before = stand_of(a, part)->score;
}

static int fill_second(const struct accepting *a, size_t part, struct hn_move *move)
{
        struct hn_planner *planner = a->planner;
        struct hn_field *field = planner->field;
        struct hn_stand *stand = stand_of(a, part);
        size_t *nodes = planner->trial.parts[0].nodes, k;

        if (part > 0 || stand->immovable || (move->kind != HN_MOVE_GUEST && move->kind != HN_MOVE_CELL
                                             && move->kind != HN_MOVE_ROTATE))
                return 0;
        hn_field_lift(field, stand, stand->seats);
        k = hn_look_second(planner, a->proposal->parts[0].guest, &a->proposal->parts[0], nodes,
                           &move->runner_up_gain);
        hn_field_put(field, stand, stand->seats);
        move->runner_up = k ? hwloc_bitmap_alloc() : NULL;
        for (size_t i = 0; move->runner_up && i < k; i++)
                if (hwloc_bitmap_set(move->runner_up, planner->input->host->nodes[nodes[i]].os) < 0)
                        return -ENOMEM;
        return k && !move->runner_up ? -ENOMEM : 0;
}

static int make_move(struct accepting *a, size_t part)
{
        const struct hn_part *p = &a->proposal->parts[part];
        struct hn_stand *stand = stand_of(a, part);
        struct hn_move *move = &a->moves[part];
        int r;

        move->kind = a->proposal->kind;
        move->guest = p->guest;
        r = p->gather || p->widen >= 0 ? only_memory(a, part, &move->to) : place(a, part, &move->to);
        if (r < 0)
                return r;
        if (p->gather)
                move->memory_kib = stand->outside_kib;
        else if (p->widen < 0) {
                hn_field_seats(stand, p->nodes, p->k, a->planner->seats[0]);
                move->memory_kib = hn_planner_copied_kib(a->planner, stand, a->planner->seats[0]);
        }
        fill_cost(a, part, move);
        r = fill_cells(a, part, move);
        if (r >= 0)
                r = fill_second(a, part, move);
        return r;
}

/* ---- the field */

static void lift_all(const struct accepting *a)
{
        for (size_t i = 0; i < a->proposal->n; i++)
                hn_field_lift(a->planner->field, stand_of(a, i), stand_of(a, i)->seats);
}

/* Puts them down one by one: their scores add up to what the sum over all guests gets more by them.  `away` is what
 * memory that lies elsewhere costs: only while it stays. */
static double put_all(const struct accepting *a)
{
        double sum = 0;

        for (size_t i = 0; i < a->proposal->n; i++) {
                struct hn_stand *stand = stand_of(a, i);
                struct hn_score score;

                hn_field_score(a->planner->field, stand, stand->seats, &score);
                hn_field_put(a->planner->field, stand, stand->seats);
                sum += score.total + stand->away;
        }
        return sum;
}

/* Changes the field; *ret_fell: what the sum over all guests fell by. */
static int settle(struct accepting *a, double *ret_fell)
{
        double before, after;
        int r = 0;

        lift_all(a);
        before = put_all(a);
        lift_all(a);
        for (size_t i = 0; r >= 0 && i < a->proposal->n; i++) {
                a->old[i] = stand_of(a, i)->placement;
                a->n_settled = i + 1;
                r = hn_field_settle(a->planner->field, stand_of(a, i), a->moves[i].to);
                if (r >= 0 && a->proposal->parts[i].widen >= 0)
                        hn_stand_away(a->planner->field, stand_of(a, i));
        }
        if (r < 0)
                return r;
        after = put_all(a);
        *ret_fell = before - after;
        return 0;
}

static int take_back(struct accepting *a)
{
        int r = 0;

        lift_all(a);
        for (size_t i = 0; r >= 0 && i < a->n_settled; i++) {
                r = hn_field_settle(a->planner->field, stand_of(a, i), a->old[i]);
                if (r >= 0)
                        hn_stand_away(a->planner->field, stand_of(a, i));
        }
        if (r < 0)
                return r;
        (void) put_all(a);
        return 0;
}

static void leave_alone(const struct accepting *a)
{
        for (size_t i = 0; i < a->proposal->n; i++)
                stand_of(a, i)->fixed = "it was looked at already";
}

static int append(struct accepting *a)
{
        struct hn_moves *moves = a->planner->moves;
        struct hn_move *more = reallocarray(moves->list, moves->n + a->proposal->n, sizeof *more);
        unsigned group;

        if (!more)
                return -ENOMEM;
        moves->list = more;
        group = moves->n ? more[moves->n - 1].group + 1 : 0;
        for (size_t i = 0; i < a->proposal->n; i++) {
                size_t guest = a->moves[i].guest;

                if (guest >= a->planner->n_running) {
                        /* it does not run, there is nothing to move: it is only counted where it will be */
                        struct hn_decision *decision = a->planner->decisions[guest - a->planner->n_running];
                        struct hn_placement *old = decision->placement;

                        decision->placement = a->moves[i].to;
                        a->moves[i].to = old;
                        continue;
                }
                a->moves[i].group = group;
                moves->list[moves->n++] = a->moves[i];
                a->moves[i] = (struct hn_move) { 0 };
        }
        return 0;
}

/* What it comes to must be what was promised of it. */
static bool delivers(const struct accepting *a, double fell)
{
        const struct hn_proposal *p = a->proposal;

        if (p->kind == HN_MOVE_SPILL || p->kind == HN_MOVE_GATHER)
                return true;
        return fell > 0 && hn_planner_net(a->planner, fell, p->cost) >= 0.9 * p->net;
}

int hn_accept(struct hn_planner *planner)
{
        HN_CLEANUP(end_accepting) struct accepting a = { .planner = planner, .proposal = &planner->best };
        double fell = 0;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < a.proposal->n; i++)
                r = make_move(&a, i);
        if (r == -ENOSPC) {
                leave_alone(&a);
                return 0;
        }
        if (r >= 0) {
                hn_spill_accepted(planner, a.proposal);
                r = settle(&a, &fell);
        }
        if (r < 0)
                return r;
        leave_alone(&a);
        if (!delivers(&a, fell))
                return take_back(&a);
        hn_field_score_all(planner->field);
        for (size_t i = 0; r >= 0 && i < a.proposal->n; i++) {
                a.moves[i].after = stand_of(&a, i)->score;
                r = hn_move_say(planner, a.proposal, &a.moves[i], &a.moves[i].reason);
        }
        if (r >= 0)
                r = append(&a);
        return r < 0 ? r : 1;
}
