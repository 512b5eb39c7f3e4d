/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two guests that change places: where there is no room for one alone, or where one alone would make it no better.
 */
#include "decide/planner.h"

#include "decide/fit.h"

/* Only the guests that are worst off look for another to change places with … */
#define SEEKERS 16u

/* … and so many pairs are scored in full: a pair takes about a microsecond. */
#define PAIRS 1000u

struct pairing {
        struct hn_planner *planner;
        struct hn_stand *a, *b;
        size_t guest_a, guest_b;
        size_t scored;
};

static bool can(const struct hn_planner *planner, const struct hn_stand *stand)
{
        return stand->n_nodes == 1 && !stand->immovable && hn_planner_may(planner, stand);
}

/* The guests with the highest scores, the first among equals. */
static size_t find_seekers(const struct hn_planner *planner, size_t *ret)
{
        const struct hn_field *field = planner->field;
        size_t n = 0;

        for (size_t i = 0; i < field->n_stands; i++) {
                const struct hn_stand *stand = &field->stands[i];
                size_t j;

                if (stand->score.total <= planner->threshold
                    || (n == SEEKERS && stand->score.total <= field->stands[ret[n - 1]].score.total)
                    || !can(planner, stand))
                        continue;
                for (j = n < SEEKERS ? n++ : n - 1; j > 0; j--) {
                        if (field->stands[ret[j - 1]].score.total >= stand->score.total)
                                break;
                        ret[j] = ret[j - 1];
                }
                ret[j] = i;
        }
        return n;
}

/* The CPU terms of a node with `in` there in place of `out`, against those now: part of the sum over all guests. */
static double cpu_change(const struct hn_field *field, size_t at, const struct hn_stand *out, const struct hn_stand *in)
{
        const struct hn_ground_node *g = &field->ground->nodes[at];
        struct hn_ground_node rest = *g;

        rest.demand_milli = hn_subtract(g->demand_milli, out->milli);
        rest.crowd_cpu = g->crowd_cpu - out->weight;
        return hn_score_cpu(&rest, in->weight, in->milli) - hn_score_cpu(&rest, out->weight, out->milli);
}

/* More than this it can't gain: no term is below 0. */
static double most(const struct pairing *p)
{
        double others = p->a->score.total - p->a->score.terms[HN_TERM_CPU] + p->b->score.total
                        - p->b->score.terms[HN_TERM_CPU];

        return others - cpu_change(p->planner->field, p->a->nodes[0], p->a, p->b)
               - cpu_change(p->planner->field, p->b->nodes[0], p->b, p->a);
}

static double best_so_far(const struct hn_planner *planner)
{
        return planner->best.n && planner->best.net > planner->threshold ? planner->best.net : planner->threshold;
}

/* Both put down, one after the other: what the sum over all guests gets more by them.  They are lifted before and
 * after.  Negative: no room. */
static double put_both(struct pairing *p, const struct hn_seat *seats_a, const struct hn_seat *seats_b, bool check)
{
        struct hn_field *field = p->planner->field;
        struct hn_score a, b;
        double sum = -1;

        if (check && !hn_field_fits(field, p->a, seats_a))
                return -1;
        hn_field_score(field, p->a, seats_a, &a);
        hn_field_put(field, p->a, seats_a);
        if (!check || hn_field_fits(field, p->b, seats_b)) {
                hn_field_score(field, p->b, seats_b, &b);
                sum = a.total + b.total;
        }
        hn_field_lift(field, p->a, seats_a);
        return sum;
}

/* May the one go while the other is still there?  Both are lifted before and after. */
static bool goes_first(const struct pairing *p, const struct hn_stand *first, const struct hn_seat *seats,
                       const struct hn_stand *last)
{
        bool goes;

        hn_field_put(p->planner->field, last, last->seats);
        goes = hn_planner_goes_first(p->planner, first, seats);
        hn_field_lift(p->planner->field, last, last->seats);
        return goes;
}

/* The guest that goes first is named first. */
static void offer(struct pairing *p, bool a_first, double gain, double cost)
{
        struct hn_planner *planner = p->planner;

        hn_planner_begin(planner, HN_MOVE_SWAP);
        for (int i = 0; i < 2; i++)
                if ((i == 0) == a_first)
                        hn_planner_part(planner, p->guest_a, &p->b->nodes[0], 1);
                else
                        hn_planner_part(planner, p->guest_b, &p->a->nodes[0], 1);
        hn_planner_offer(planner, gain, cost);
}

static void look_at(struct pairing *p)
{
        struct hn_planner *planner = p->planner;
        struct hn_field *field = planner->field;
        size_t at_a = p->a->nodes[0], at_b = p->b->nodes[0];
        double before, after, gain, cost;
        bool a_first, b_first;

        hn_field_seats(p->a, &at_b, 1, planner->seats[0]);
        hn_field_seats(p->b, &at_a, 1, planner->seats[1]);
        hn_field_lift(field, p->a, p->a->seats);
        hn_field_lift(field, p->b, p->b->seats);
        before = put_both(p, p->a->seats, p->b->seats, false) + p->a->away + p->b->away;
        after = put_both(p, planner->seats[0], planner->seats[1], true);
        a_first = after >= 0 && goes_first(p, p->a, planner->seats[0], p->b);
        b_first = after >= 0 && !a_first && goes_first(p, p->b, planner->seats[1], p->a);
        hn_field_put(field, p->b, p->b->seats);
        hn_field_put(field, p->a, p->a->seats);
        p->scored++;
        gain = before - after;
        if ((!a_first && !b_first) || gain <= best_so_far(planner))
                return;
        cost = hn_planner_cost(planner, p->a, planner->seats[0]) + hn_planner_cost(planner, p->b, planner->seats[1]);
        if (hn_planner_net(planner, gain, cost) <= best_so_far(planner)
            || hn_planner_net(planner, gain, cost) <= planner->threshold + hn_planner_extra(planner, p->a)
                                                               + hn_planner_extra(planner, p->b)
            || hn_planner_avoids(planner, p->a, &at_b, 1) || hn_planner_avoids(planner, p->b, &at_a, 1))
                return;
        offer(p, a_first, gain, cost);
}

static void look_for_partner(struct pairing *p)
{
        const struct hn_planner *planner = p->planner;
        struct hn_field *field = planner->field;

        for (p->guest_b = 0; p->guest_b < field->n_stands && p->scored < PAIRS; p->guest_b++) {
                p->b = &field->stands[p->guest_b];
                if (p->b->n_nodes != 1 || p->b->nodes[0] == p->a->nodes[0] || most(p) <= best_so_far(planner)
                    || !can(planner, p->b) || !hn_planner_open(planner, p->a, p->b->nodes[0])
                    || !hn_planner_open(planner, p->b, p->a->nodes[0]))
                        continue;
                look_at(p);
        }
}

void hn_look_swaps(struct hn_planner *planner)
{
        size_t seekers[SEEKERS], n = find_seekers(planner, seekers);
        struct pairing p = { .planner = planner };

        for (size_t i = 0; i < n; i++) {
                p.guest_a = seekers[i];
                p.a = &planner->field->stands[seekers[i]];
                look_for_partner(&p);
        }
}
