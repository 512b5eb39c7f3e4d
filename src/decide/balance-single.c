/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves of one guest: all of it to another node; one or more of its cells, their order kept; or only its memory.
 */
#include "decide/planner.h"

#include <string.h>

#include "decide/fit.h"

/* An immovable guest may go where so much of its memory is already. */
#define HELD_SHARE 0.9

/* One guest being looked at: it is lifted. */
struct look {
        struct hn_planner *planner;
        struct hn_stand *stand;
        size_t guest;
        const struct hn_part *not_this; /* of the runner-up: the home that was chosen; NULL: an ordinary look */
        size_t *second, second_k;
        double second_gain;
};

/* What a move has to come to for us to look closer. */
static double least(const struct look *look)
{
        const struct hn_planner *planner = look->planner;

        if (look->not_this)
                return look->second_k ? look->second_gain : 0;
        return planner->best.n && planner->best.net > planner->threshold ? planner->best.net : planner->threshold;
}

static bool is(const struct hn_part *part, const size_t *nodes, size_t k)
{
        return part->k == k && memcmp(part->nodes, nodes, k * sizeof *nodes) == 0;
}

static enum hn_move_kind kind_of(const struct hn_stand *stand, const struct hn_seat *seats)
{
        size_t changed = 0;

        if (stand->spread || stand->n_nodes == 1)
                return HN_MOVE_GUEST;
        for (size_t i = 0; i < stand->n_seats; i++)
                changed += seats[i].at != stand->seats[i].at;
        return changed == 1 ? HN_MOVE_CELL : HN_MOVE_ROTATE;
}

/* Looks at a home; k nodes as it has now, or one. */
static void look_at(struct look *look, const size_t *nodes, size_t k)
{
        struct hn_planner *planner = look->planner;
        struct hn_seat *seats = planner->seats[0];
        struct hn_score score;
        double gain, cost;

        if (look->not_this && is(look->not_this, nodes, k))
                return;
        hn_field_seats(look->stand, nodes, k, seats);
        if (!hn_field_fits(planner->field, look->stand, seats) || !hn_planner_takes(planner, look->stand, seats))
                return;
        hn_field_score(planner->field, look->stand, seats, &score);
        gain = look->stand->score.total - score.total;
        if (gain <= least(look) || hn_planner_avoids(planner, look->stand, nodes, k))
                return;
        if (look->not_this) {
                look->second_gain = gain;
                look->second_k = k;
                memcpy(look->second, nodes, k * sizeof *nodes);
                return;
        }
        cost = hn_planner_cost(planner, look->stand, seats);
        if (hn_planner_net(planner, gain, cost) <= least(look)
            || hn_planner_net(planner, gain, cost) <= planner->threshold + hn_planner_extra(planner, look->stand))
                return;
        hn_planner_begin(planner, kind_of(look->stand, seats));
        hn_planner_part(planner, look->guest, nodes, k);
        hn_planner_offer(planner, gain, cost);
}

/* Is its memory there already, as far as that matters? */
static bool holds_it(const struct hn_stand *stand, size_t at)
{
        const uint64_t *resident = stand->guest->resident_kib;

        return resident && (double) resident[at] >= HELD_SHARE * (double) stand->resident_kib;
}

/* All of it on one node.  By the CPU term alone most nodes are out of the question: no term is below 0. */
static void look_at_nodes(struct look *look)
{
        const struct hn_field *field = look->planner->field;
        const struct hn_stand *stand = look->stand;

        for (size_t at = 0; at < field->n_nodes; at++) {
                double cpu;

                if (stand->n_nodes == 1 && stand->nodes[0] == at)
                        continue;
                cpu = hn_score_cpu(&field->ground->nodes[at], stand->weight, stand->milli);
                if (stand->score.total - cpu <= least(look) || !hn_planner_open(look->planner, stand, at))
                        continue;
                if (!stand->immovable || holds_it(stand, at))
                        look_at(look, &at, 1);
        }
}

static bool has(const size_t *nodes, size_t k, size_t at)
{
        for (size_t i = 0; i < k; i++)
                if (nodes[i] == at)
                        return true;
        return false;
}

/* The guest's nodes without the one at `out` and with `in`, ascending. */
static void replace(const struct hn_stand *stand, size_t out, size_t in, size_t *ret)
{
        size_t n = 0;
        bool put = false;

        for (size_t i = 0; i < stand->n_nodes; i++) {
                if (i == out)
                        continue;
                if (!put && stand->nodes[i] > in) {
                        ret[n++] = in;
                        put = true;
                }
                ret[n++] = stand->nodes[i];
        }
        if (!put)
                ret[n++] = in;
}

/* One of its nodes for another. */
static void look_at_neighbours(struct look *look)
{
        const struct hn_stand *stand = look->stand;
        size_t *nodes = look->planner->nodes;

        for (size_t out = 0; out < stand->n_nodes; out++)
                for (size_t in = 0; in < look->planner->field->n_nodes; in++) {
                        if (has(stand->nodes, stand->n_nodes, in) || !hn_planner_open(look->planner, stand, in))
                                continue;
                        replace(stand, out, in, nodes);
                        look_at(look, nodes, stand->n_nodes);
                }
}

/* Both of its nodes for two others: with one at a time it would have to lie far apart in between. */
static void look_at_pairs(struct look *look)
{
        const struct hn_stand *stand = look->stand;
        size_t *nodes = look->planner->nodes, n = look->planner->field->n_nodes;

        for (size_t a = 0; a < n; a++)
                for (size_t b = a + 1; b < n; b++) {
                        if (has(stand->nodes, 2, a) || has(stand->nodes, 2, b)
                            || !hn_planner_open(look->planner, stand, a) || !hn_planner_open(look->planner, stand, b))
                                continue;
                        nodes[0] = a;
                        nodes[1] = b;
                        look_at(look, nodes, 2);
                }
}

static void look_everywhere(struct look *look)
{
        const struct hn_stand *stand = look->stand;

        if (stand->spread || stand->n_nodes == 1) {
                look_at_nodes(look);
                return;
        }
        if (stand->immovable)
                return;
        look_at_neighbours(look);
        if (stand->n_nodes == 2)
                look_at_pairs(look);
}

/* Is there room for what would come, and will there still be some? */
static bool takes_in(const struct hn_planner *planner, const struct hn_stand *stand)
{
        const uint64_t *free_kib = planner->input->free_kib;

        for (size_t i = 0; free_kib && i < stand->n_nodes; i++)
                if (free_kib[stand->nodes[i]]
                    < hn_add(stand->outside_kib, 2 * hn_short_kib(planner, stand->nodes[i])))
                        return false;
        return true;
}

/* Wider than its home, and not for what may be plugged in: that set is as it should be. */
static bool is_wide(const struct hn_stand *stand)
{
        return !hn_growth_kib(stand->guest->request)
               && !hwloc_bitmap_isincluded(stand->placement->memory_nodes, stand->placement->home);
}

/* Its memory comes home: for what it gains, or because the memory set was widened and need not be any more. */
static void look_at_home(struct look *look)
{
        struct hn_planner *planner = look->planner;
        const struct hn_stand *stand = look->stand;
        double threshold, cost;
        bool wide = is_wide(stand);

        if (stand->immovable || (!wide && !(stand->away > 0)) || !takes_in(planner, stand)
            || hn_planner_avoids(planner, stand, stand->nodes, stand->n_nodes))
                return;
        cost = hn_planner_cost(planner, stand, stand->seats);
        threshold = wide ? 0 : planner->threshold * HN_GATHER_PART;
        if (!wide && hn_planner_net(planner, stand->away, cost) <= threshold)
                return;
        hn_planner_begin(planner, HN_MOVE_GATHER);
        hn_planner_part(planner, look->guest, stand->nodes, stand->n_nodes);
        planner->trial.parts[0].gather = true;
        hn_planner_offer(planner, stand->away, cost);
}

void hn_look_single(struct hn_planner *planner)
{
        struct hn_field *field = planner->field;

        for (size_t i = 0; i < field->n_stands; i++) {
                struct look look = { .planner = planner, .guest = i, .stand = &field->stands[i] };
                bool homeless = look.stand->away > 0 || is_wide(look.stand);

                if ((look.stand->score.total <= least(&look) && !homeless) || !hn_planner_may(planner, look.stand))
                        continue;
                hn_field_lift(field, look.stand, look.stand->seats);
                if (homeless)
                        look_at_home(&look);
                look_everywhere(&look);
                hn_field_put(field, look.stand, look.stand->seats);
        }
}

size_t hn_look_second(struct hn_planner *planner, size_t guest, const struct hn_part *best, size_t *nodes,
                      double *ret_gain)
{
        struct look look = { .planner = planner, .guest = guest, .stand = &planner->field->stands[guest],
                             .not_this = best, .second = nodes };

        look_everywhere(&look);
        *ret_gain = look.second_gain;
        return look.second_k;
}
