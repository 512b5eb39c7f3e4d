/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Making room: guests give way to one that lies across nodes though one would hold it, or that is about to start and
 * would come to lie so, or find no room at all.  It must be worth it for all of them together.
 */
#include "decide/planner.h"

#include "decide/fit.h"

/* Guests that lie across nodes are looked at in this number per round: each costs a look at every node. */
#define STUCK 8u

/* Room for one guest being looked for: it is lifted. */
struct making {
        struct hn_planner *planner;
        const struct hn_stand *stand;
        size_t guest;
        bool starts;             /* it does not run yet: it need not be moved itself */
        double now;              /* its score where it is, or where it would come to lie */
        size_t victims[HN_PARTS], n;
        size_t to[HN_PARTS];     /* nodes they go to, by `at` */
};

/* What it lacks on a node of each page size together; 0: nothing.  False: it never fits there. */
static bool lacks(const struct making *m, size_t at, uint64_t *ret_kib, size_t *ret_kind)
{
        const struct hn_field *field = m->planner->field;
        const struct hn_ground *ground = field->ground;
        size_t short_of = 0;

        *ret_kib = 0;
        if (m->stand->asked_milli > ground->nodes[at].capacity_milli)
                return false;
        for (size_t kind = 0; kind < field->n_pages; kind++) {
                uint64_t kib = 0, lack;

                for (size_t i = 0; i < m->stand->n_seats; i++) {
                        const struct hn_seat *seat = &m->stand->seats[i];

                        kib = hn_add(kib, kind ? 0 : seat->overhead_kib);
                        kib = hn_add(kib, seat->kind == kind ? seat->memory_kib : 0);
                }
                if (kib > ground->totals[at * field->n_pages + kind])
                        return false;
                lack = hn_subtract(kib, ground->rooms[at * field->n_pages + kind]);
                if (!lack)
                        continue;
                *ret_kib = lack;
                *ret_kind = kind;
                short_of++;
        }
        return short_of < 2; /* of two sorts of memory at once: nobody is looked for */
}

static uint64_t held_kib(const struct hn_stand *stand, size_t kind)
{
        uint64_t kib = 0;

        for (size_t i = 0; i < stand->n_seats; i++)
                if (stand->seats[i].kind == kind)
                        kib = hn_add(kib, stand->seats[i].memory_kib);
        return kib;
}

static bool gives_way(const struct making *m, size_t guest, size_t at)
{
        const struct hn_stand *stand = &m->planner->field->stands[guest];

        for (size_t i = 0; i < m->n; i++)
                if (m->victims[i] == guest)
                        return false;
        return guest != m->guest && stand->n_nodes == 1 && stand->nodes[0] == at && !stand->immovable
               && stand->placement->priority <= m->stand->placement->priority && hn_planner_may(m->planner, stand);
}

/* The smallest guest that makes up for the lack, else the largest: as few as possible are disturbed. */
static size_t find_victim(const struct making *m, size_t at, uint64_t lack_kib, size_t kind)
{
        const struct hn_field *field = m->planner->field;
        uint64_t best_kib = 0;
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < field->n_stands; i++) {
                uint64_t kib = held_kib(&field->stands[i], kind);

                if (!kib || !gives_way(m, i, at))
                        continue;
                if (best != SIZE_MAX && (best_kib >= lack_kib ? kib < lack_kib || kib >= best_kib : kib <= best_kib))
                        continue;
                best = i;
                best_kib = kib;
        }
        return best;
}

/* Room for one that gives way: it leaves before the one that runs and gets its room. */
static bool takes_in(const struct making *m, const struct hn_stand *stand, const struct hn_seat *seats)
{
        struct hn_field *field = m->planner->field;
        bool takes;

        if (!hn_field_fits(field, stand, seats))
                return false;
        if (m->starts)
                return hn_planner_takes(m->planner, stand, seats);
        hn_field_put(field, m->stand, m->stand->seats);
        takes = hn_planner_goes_first(m->planner, stand, seats);
        hn_field_lift(field, m->stand, m->stand->seats);
        return takes;
}

/* The best other home for a guest that is lifted; SIZE_MAX: none.  *ret_more: how much worse it is there. */
static size_t find_home(const struct making *m, const struct hn_stand *stand, size_t from, double *ret_more)
{
        struct hn_planner *planner = m->planner;
        struct hn_field *field = planner->field;
        struct hn_score here, there;
        size_t best = SIZE_MAX;

        hn_field_score(field, stand, stand->seats, &here);
        for (size_t at = 0; at < field->n_nodes; at++) {
                if (at == from || !hn_planner_open(planner, stand, at) || hn_planner_avoids(planner, stand, &at, 1))
                        continue;
                hn_field_seats(stand, &at, 1, planner->seats[0]);
                if (!takes_in(m, stand, planner->seats[0]))
                        continue;
                hn_field_score(field, stand, planner->seats[0], &there);
                if (best != SIZE_MAX && there.total - here.total >= *ret_more)
                        continue;
                best = at;
                *ret_more = there.total - here.total;
        }
        if (best != SIZE_MAX)
                hn_field_seats(stand, &best, 1, planner->seats[0]);
        return best;
}

/* Guests leave the node until it holds the one that room is made for.  Those that left stand elsewhere then.  False:
 * it can't be had. */
static bool clear_node(struct making *m, size_t at, double *ret_more, double *ret_cost)
{
        struct hn_planner *planner = m->planner;
        struct hn_field *field = planner->field;
        uint64_t lack_kib;
        size_t kind = 0;

        while (lacks(m, at, &lack_kib, &kind)) {
                struct hn_stand *stand;
                size_t victim;
                double more = 0;

                if (!lack_kib)
                        return m->n > 0;
                victim = m->n + 1 < HN_PARTS ? find_victim(m, at, lack_kib, kind) : SIZE_MAX;
                if (victim == SIZE_MAX)
                        return false;
                stand = &field->stands[victim];
                hn_field_lift(field, stand, stand->seats);
                m->to[m->n] = find_home(m, stand, at, &more);
                if (m->to[m->n] == SIZE_MAX) {
                        hn_field_put(field, stand, stand->seats);
                        return false;
                }
                *ret_more += more - stand->away;
                *ret_cost += hn_planner_cost(planner, stand, planner->seats[0]);
                hn_field_put(field, stand, planner->seats[0]);
                m->victims[m->n++] = victim;
        }
        return false;
}

static void put_back(struct making *m)
{
        struct hn_planner *planner = m->planner;

        while (m->n > 0) {
                struct hn_stand *stand = &planner->field->stands[m->victims[--m->n]];

                hn_field_seats(stand, &m->to[m->n], 1, planner->seats[0]);
                hn_field_lift(planner->field, stand, planner->seats[0]);
                hn_field_put(planner->field, stand, stand->seats);
        }
}

static void look_at(struct making *m, size_t at)
{
        struct hn_planner *planner = m->planner;
        double more = 0, cost = 0, gain;
        struct hn_score score;

        m->n = 0;
        if (clear_node(m, at, &more, &cost)) {
                hn_field_seats(m->stand, &at, 1, planner->seats[1]);
                hn_field_score(planner->field, m->stand, planner->seats[1], &score);
                gain = m->now - score.total - more;
                if (!m->starts)
                        cost += hn_planner_cost(planner, m->stand, planner->seats[1]);
                if (hn_planner_net(planner, gain, cost) > planner->threshold) {
                        hn_planner_begin(planner, HN_MOVE_ROOM);
                        for (size_t i = 0; i < m->n; i++)
                                hn_planner_part(planner, m->victims[i], &m->to[i], 1);
                        hn_planner_part(planner, m->guest, &at, 1);
                        planner->trial.for_start = m->starts;
                        hn_planner_offer(planner, gain, cost);
                }
        }
        put_back(m);
}

static void look_at_nodes(struct making *m)
{
        const struct hn_planner *planner = m->planner;

        for (size_t at = 0; at < planner->field->n_nodes; at++)
                if (hn_planner_open(planner, m->stand, at) && !hn_planner_avoids(planner, m->stand, &at, 1))
                        look_at(m, at);
}

/* Guests that lie spread over several nodes, or will once they start; those cut into cells are bound to as many nodes as
 * they have.  Those that are about to start go first: they can still be had in one piece without copying. */
void hn_look_room(struct hn_planner *planner)
{
        struct hn_field *field = planner->field;
        unsigned seen = 0;

        for (size_t i = field->n_stands; i-- > 0 && seen < STUCK;) {
                struct making m = { .planner = planner, .stand = &field->stands[i], .guest = i,
                                    .starts = i >= planner->n_running };
                const struct hn_request *request = m.stand->guest->request;

                if (!m.stand->spread || m.stand->n_nodes < 2)
                        continue;
                if (m.starts && (!request->managed_type || request->wishes.off || request->placement_auto))
                        continue;
                if (!m.starts && (m.stand->immovable || !hn_planner_may(planner, m.stand)))
                        continue;
                seen++;
                m.now = m.stand->score.total;
                hn_field_lift(field, m.stand, m.stand->seats);
                look_at_nodes(&m);
                hn_field_put(field, m.stand, m.stand->seats);
                if (m.starts && planner->best.n)
                        return;
        }
}
