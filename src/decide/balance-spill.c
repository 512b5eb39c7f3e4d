/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes that run short of memory, whatever was promised: the guest of the lowest weight gets somewhere else to put what
 * it touches next (its memory set gets wider by the nearest node with room), or, where its memory is bound by policy
 * and a wider set does not help, it leaves.  Not by score: running out of memory is worse than slow.
 */
#include "decide/planner.h"

#include "decide/fit.h"

/* What may never be promised must be there. */
uint64_t hn_short_kib(const struct hn_planner *planner, size_t at)
{
        return hn_reserve_kib(planner->input->policy, &planner->input->host->nodes[at]);
}

static bool is_short(const struct hn_planner *planner, size_t at)
{
        const struct hn_node *node = &planner->input->host->nodes[at];

        return node->memory_kib && planner->input->free_kib[at] < hn_short_kib(planner, at);
}

/* Still, when what leaves it has left? */
static bool stays_short(const struct hn_planner *planner, size_t at)
{
        return hn_add(planner->input->free_kib[at], planner->leaving_kib[at]) < hn_short_kib(planner, at);
}

/* Enough that it is not short itself as soon as something comes. */
static bool has_room(const struct hn_planner *planner, size_t at, uint64_t kib)
{
        return planner->input->free_kib[at] >= hn_add(hn_add(kib, planner->coming_kib[at]),
                                                      2 * hn_short_kib(planner, at));
}

static uint64_t ordinary_kib(const struct hn_stand *stand, size_t at)
{
        uint64_t kib = 0;

        for (size_t i = 0; i < stand->n_seats; i++)
                if (stand->seats[i].at == at && !stand->seats[i].kind)
                        kib = hn_add(kib, stand->seats[i].memory_kib);
        return kib;
}

/* May its memory come to lie elsewhere as it is touched? */
static bool widens(const struct hn_stand *stand)
{
        return stand->guest->request->wishes.memory == HN_MEMORY_AUTO && stand->placement->n_cells == 1
               && !hwloc_bitmap_iszero(stand->placement->memory_nodes);
}

/* Has it got somewhere to go already? */
static bool has_outlet(const struct hn_planner *planner, const struct hn_stand *stand)
{
        HN_IDSET_FOREACH(os, stand->placement->memory_nodes) {
                int at = hn_host_at(planner->input->host, (unsigned) os);

                if (at >= 0 && !hwloc_bitmap_isset(stand->placement->home, (unsigned) os) && !is_short(planner, (size_t) at))
                        return true;
        }
        return false;
}

/* The lowest priority, then the least busy, then the largest. */
static bool goes_before(const struct hn_stand *a, const struct hn_stand *b, size_t at)
{
        if (a->placement->priority != b->placement->priority)
                return a->placement->priority < b->placement->priority;
        if (a->weight_parts != b->weight_parts)
                return a->weight_parts < b->weight_parts;
        return ordinary_kib(a, at) > ordinary_kib(b, at);
}

static const struct hn_stand *find_victim(const struct hn_planner *planner, size_t at, bool wide, size_t *ret_guest)
{
        const struct hn_stand *victim = NULL;

        for (size_t i = 0; i < planner->field->n_stands; i++) {
                const struct hn_stand *stand = &planner->field->stands[i];

                if (stand->fixed || !ordinary_kib(stand, at) || widens(stand) != wide
                    || (wide && has_outlet(planner, stand))
                    || (!wide && (stand->spread || stand->immovable || stand->n_nodes < 2)))
                        continue;
                if (victim && !goes_before(stand, victim, at))
                        continue;
                victim = stand;
                *ret_guest = i;
        }
        return victim;
}

/* May the guest's memory come to lie there besides? */
static bool is_other_home(const struct hn_planner *planner, const struct hn_stand *stand, size_t at)
{
        const struct hn_node *node = &planner->input->host->nodes[at];
        hwloc_const_bitmap_t wished = stand->guest->request->wishes.nodes;

        return node->role == HN_NODE_HOME && (!wished || hwloc_bitmap_isset(wished, node->os))
               && !hwloc_bitmap_isset(stand->placement->memory_nodes, node->os);
}

/* The nearest of the homes with room, the emptier among equals. */
static int find_room(const struct hn_planner *planner, const struct hn_stand *stand, size_t from)
{
        const double *slow = &planner->field->ground->slow[from * planner->field->n_nodes];
        const uint64_t *free_kib = planner->input->free_kib;
        int best = -1;

        for (size_t at = 0; at < planner->field->n_nodes; at++) {
                if (!is_other_home(planner, stand, at) || !has_room(planner, at, 0))
                        continue;
                if (best < 0 || slow[at] < slow[best]
                    || (!(slow[at] > slow[best]) && free_kib[at] > free_kib[best]))
                        best = (int) at;
        }
        return best;
}

/* The last resort where all nodes are about to run short: the one that has most left, if that is a good deal more.
 * Nobody is to be killed on a full node while another has memory. */
static int find_last_resort(const struct hn_planner *planner, const struct hn_stand *stand, size_t from)
{
        const uint64_t *free_kib = planner->input->free_kib;
        int best = -1;

        for (size_t at = 0; at < planner->field->n_nodes; at++)
                if (is_other_home(planner, stand, at) && free_kib[at] / 2 > free_kib[from]
                    && (best < 0 || free_kib[at] > free_kib[best]))
                        best = (int) at;
        return best;
}

static bool look_wider(struct hn_planner *planner, size_t at)
{
        size_t guest = 0;
        const struct hn_stand *stand = find_victim(planner, at, true, &guest);
        int outlet = stand ? find_room(planner, stand, at) : -1;

        if (stand && outlet < 0)
                outlet = find_last_resort(planner, stand, at);
        if (outlet < 0)
                return false;
        hn_planner_begin(planner, HN_MOVE_SPILL);
        hn_planner_part(planner, guest, stand->nodes, stand->n_nodes);
        planner->trial.parts[0].widen = outlet;
        hn_planner_offer(planner, 0, 0);
        return true;
}

/* The nodes of the guest with another one in place of `from`. */
static void replace(const struct hn_stand *stand, size_t from, size_t with, size_t *ret)
{
        size_t n = 0;
        bool put = false;

        for (size_t i = 0; i < stand->n_nodes; i++) {
                if (stand->nodes[i] == from)
                        continue;
                if (!put && stand->nodes[i] > with) {
                        ret[n++] = with;
                        put = true;
                }
                ret[n++] = stand->nodes[i];
        }
        if (!put)
                ret[n] = with;
}

/* A cell leaves: where all guests together are least slowed.  One after the other: that takes long, and others would go
 * for nothing while the first is on its way. */
static bool look_away(struct hn_planner *planner, size_t from)
{
        struct hn_field *field = planner->field;
        size_t guest = 0;
        const struct hn_stand *stand = stays_short(planner, from) ? find_victim(planner, from, false, &guest) : NULL;
        double best = 0;
        bool found = false;

        if (!stand)
                return false;
        hn_field_lift(field, stand, stand->seats);
        for (size_t at = 0; at < field->n_nodes; at++) {
                struct hn_score score;
                bool own = false;

                for (size_t i = 0; i < stand->n_nodes; i++)
                        own |= stand->nodes[i] == at;
                if (own || !hn_planner_open(planner, stand, at) || !has_room(planner, at, ordinary_kib(stand, from)))
                        continue;
                replace(stand, from, at, planner->nodes);
                hn_field_seats(stand, planner->nodes, stand->n_nodes, planner->seats[0]);
                if (!hn_field_fits(field, stand, planner->seats[0]))
                        continue;
                hn_field_score(field, stand, planner->seats[0], &score);
                if (found && score.total >= best)
                        continue;
                found = true;
                best = score.total;
                planner->best.n = 0;
                hn_planner_begin(planner, HN_MOVE_SPILL);
                hn_planner_part(planner, guest, planner->nodes, stand->n_nodes);
                hn_planner_offer(planner, stand->score.total - score.total,
                                 hn_planner_cost(planner, stand, planner->seats[0]));
        }
        hn_field_put(field, stand, stand->seats);
        return found;
}

void hn_spill_accepted(struct hn_planner *planner, const struct hn_proposal *proposal)
{
        const struct hn_part *part = &proposal->parts[0];
        const struct hn_stand *stand = &planner->field->stands[part->guest];
        const uint64_t *resident = stand->guest->resident_kib;

        if (proposal->kind != HN_MOVE_SPILL || part->widen >= 0)
                return;
        hn_field_seats(stand, part->nodes, part->k, planner->seats[0]);
        for (size_t i = 0; i < stand->n_seats; i++) {
                const struct hn_seat *from = &stand->seats[i], *to = &planner->seats[0][i];
                uint64_t leaves_kib = from->memory_kib;

                if (from->at == to->at || from->kind)
                        continue;
                if (resident && resident[from->at] < leaves_kib)
                        leaves_kib = resident[from->at];
                planner->leaving_kib[from->at] = hn_add(planner->leaving_kib[from->at], leaves_kib);
                planner->coming_kib[to->at] = hn_add(planner->coming_kib[to->at], to->memory_kib);
        }
}

/* One at a time: the shortest node first. */
void hn_look_spill(struct hn_planner *planner)
{
        const uint64_t *free_kib = planner->input->free_kib;

        for (size_t at = 0; free_kib && at < planner->field->n_nodes; at++)
                if (planner->input->host->nodes[at].role == HN_NODE_HOME && is_short(planner, at)
                    && (look_wider(planner, at) || look_away(planner, at)))
                        return;
}
