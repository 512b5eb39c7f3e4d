/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/planner.h"

#include <errno.h>
#include <string.h>

#include "decide/balance-past.h"
#include "decide/fit.h"

void hn_planner_free(struct hn_planner *planner)
{
        if (!planner)
                return;
        for (size_t i = 0; i < HN_PARTS; i++) {
                free(planner->best.parts[i].nodes);
                free(planner->trial.parts[i].nodes);
                free(planner->seats[i]);
        }
        hn_field_free(planner->field);
        for (size_t i = 0; i < planner->n_decisions; i++)
                hn_decision_free(planner->decisions[i]);
        free(planner->guests);
        free(planner->nodes);
        free(planner->others);
        free(planner->leaving_kib);
        free(planner->coming_kib);
        free(planner);
}

static size_t most_seats(const struct hn_field *field)
{
        size_t most = 1;

        for (size_t i = 0; i < field->n_stands; i++)
                most = field->stands[i].n_seats > most ? field->stands[i].n_seats : most;
        return most;
}

static int make_scratch(struct hn_planner *planner)
{
        size_t n = planner->field->n_nodes + 1, most = most_seats(planner->field);

        planner->nodes = calloc(n, sizeof *planner->nodes);
        planner->leaving_kib = calloc(n, sizeof *planner->leaving_kib);
        planner->coming_kib = calloc(n, sizeof *planner->coming_kib);
        if (!planner->nodes || !planner->leaving_kib || !planner->coming_kib)
                return -ENOMEM;
        for (size_t at = 0; at < planner->field->n_nodes; at++) {
                planner->leaving_kib[at] = planner->input->leaving_kib ? planner->input->leaving_kib[at] : 0;
                planner->coming_kib[at] = planner->input->coming_kib ? planner->input->coming_kib[at] : 0;
        }
        for (size_t i = 0; i < HN_PARTS; i++) {
                planner->best.parts[i].nodes = calloc(n, sizeof *planner->nodes);
                planner->trial.parts[i].nodes = calloc(n, sizeof *planner->nodes);
                planner->seats[i] = calloc(most, sizeof **planner->seats);
                if (!planner->best.parts[i].nodes || !planner->trial.parts[i].nodes || !planner->seats[i])
                        return -ENOMEM;
        }
        return 0;
}

/* Where those that are about to start would come to lie now: there they count, so that what room was made for them is
 * not given to others before they have it. */
static int add_wanted(struct hn_planner *planner, const struct hn_balance_input *input)
{
        size_t n_wanted = input->n_wanted < HN_STARTS ? input->n_wanted : HN_STARTS, n = input->n_guests;
        struct hn_situation situation = { .host = input->host, .policy = input->policy, .load = input->load };
        int r = 0;

        planner->others = calloc(n + HN_STARTS + HN_PARTS, sizeof *planner->others);
        planner->guests = calloc(n + HN_STARTS, sizeof *planner->guests);
        if (!planner->others || !planner->guests)
                return -ENOMEM;
        if (n)
                memcpy(planner->guests, input->guests, n * sizeof *planner->guests);
        situation.placements = planner->others;
        for (; situation.n_placements < n; situation.n_placements++)
                planner->others[situation.n_placements] = input->guests[situation.n_placements].placement;
        for (size_t i = 0; r >= 0 && i < n_wanted; i++) {
                struct hn_request request = *input->wanted[i].request;
                struct hn_decision *decision = NULL;

                request.wishes.spanning_forbidden = false; /* it would be refused: room is what it wants */
                r = hn_decide(&situation, &request, &decision);
                if (r < 0)
                        return r;
                planner->decisions[planner->n_decisions++] = decision;
                planner->others[situation.n_placements++] = decision->placement;
                planner->guests[n + i] = (struct hn_balance_guest) {
                        .request = input->wanted[i].request, .shape = input->wanted[i].shape,
                        .placement = decision->placement, .busy_cpus = -1, .held = true,
                };
        }
        planner->n_running = n;
        planner->own = *input;
        planner->own.guests = planner->guests;
        planner->own.n_guests = n + n_wanted;
        planner->input = &planner->own;
        return 0;
}

int hn_planner_new(const struct hn_balance_input *input, struct hn_moves *moves, struct hn_planner **ret)
{
        HN_PLANNER struct hn_planner *planner = calloc(1, sizeof *planner);
        int r;

        if (!planner)
                return -ENOMEM;
        planner->policy = &input->policy->balance;
        planner->moves = moves;
        planner->threshold = planner->policy->threshold_percent / 100.0;
        if (planner->threshold < HN_LEAST_GAIN)
                planner->threshold = HN_LEAST_GAIN;
        r = add_wanted(planner, input);
        if (r >= 0)
                r = hn_field_new(planner->input, &planner->field);
        if (r >= 0)
                r = make_scratch(planner);
        if (r < 0)
                return r;
        *ret = HN_TAKE(planner);
        return 0;
}

/* ---- what may be */

bool hn_planner_may(const struct hn_planner *planner, const struct hn_stand *stand)
{
        const struct hn_balance_past *past = planner->input->past;

        if (stand->fixed || (!planner->high && stand->placement->priority == HN_PRIORITY_HIGH))
                return false;
        return !past || !past->n
               || !hn_balance_rests(hn_balance_recall(past, stand->placement->uuid), planner->policy,
                                    planner->input->now_us);
}

bool hn_planner_open(const struct hn_planner *planner, const struct hn_stand *stand, size_t at)
{
        const struct hn_node *node = &planner->input->host->nodes[at];
        hwloc_const_bitmap_t wished = stand->guest->request->wishes.nodes;

        return node->role == HN_NODE_HOME && (!wished || hwloc_bitmap_isset(wished, node->os))
               && (!planner->input->free_kib || planner->input->free_kib[at] >= 2 * hn_short_kib(planner, at));
}

bool hn_planner_takes(const struct hn_planner *planner, const struct hn_stand *stand, const struct hn_seat *seats)
{
        const uint64_t *free_kib = planner->input->free_kib;

        for (size_t i = 0; free_kib && !stand->immovable && i < stand->n_seats; i++) {
                uint64_t comes_kib = hn_short_kib(planner, seats[i].at);

                if (seats[i].at == stand->seats[i].at)
                        continue;
                for (size_t j = 0; j < stand->n_seats; j++)
                        if (seats[j].at == seats[i].at && stand->seats[j].at != seats[i].at && !seats[j].kind)
                                comes_kib = hn_add(comes_kib, seats[j].memory_kib);
                if (free_kib[seats[i].at] < comes_kib)
                        return false;
        }
        return true;
}

bool hn_planner_goes_first(const struct hn_planner *planner, const struct hn_stand *stand, const struct hn_seat *seats)
{
        return planner->input->free_kib ? hn_planner_takes(planner, stand, seats)
                                        : hn_field_fits(planner->field, stand, seats);
}

bool hn_planner_avoids(const struct hn_planner *planner, const struct hn_stand *stand, const size_t *nodes, size_t k)
{
        const struct hn_balance_record *record = hn_balance_recall(planner->input->past, stand->placement->uuid);
        HN_BITMAP hwloc_bitmap_t home = record && record->failed ? hwloc_bitmap_alloc() : NULL;

        if (!record || !record->failed)
                return false;
        for (size_t i = 0; home && i < k; i++)
                if (hwloc_bitmap_set(home, planner->input->host->nodes[nodes[i]].os) < 0)
                        return true;
        return !home || hn_balance_avoids(record, planner->policy, home, planner->input->now_us);
}

double hn_planner_extra(const struct hn_planner *planner, const struct hn_stand *stand)
{
        return planner->threshold
               * hn_balance_streak(hn_balance_recall(planner->input->past, stand->placement->uuid),
                                   planner->input->now_us);
}

/* ---- what it costs */

static bool among(const struct hn_seat *seats, size_t n, size_t at)
{
        for (size_t i = 0; i < n; i++)
                if (seats[i].at == at)
                        return true;
        return false;
}

uint64_t hn_planner_copied_kib(const struct hn_planner *planner, const struct hn_stand *stand,
                               const struct hn_seat *seats)
{
        const uint64_t *resident = stand->guest->resident_kib;
        uint64_t kib = 0, changed = 0, all = 0;

        if (stand->immovable)
                return 0;
        if (resident && (stand->spread || stand->n_nodes == 1)) {
                for (size_t at = 0; at < planner->field->n_nodes; at++)
                        if (!among(seats, stand->n_seats, at))
                                kib = hn_add(kib, resident[at]);
                return kib;
        }
        for (size_t i = 0; i < stand->n_seats; i++) {
                all = hn_add(all, stand->seats[i].memory_kib);
                if (seats[i].at != stand->seats[i].at)
                        changed = hn_add(changed, stand->seats[i].memory_kib);
        }
        if (!resident || !all)
                return changed;
        kib = stand->resident_kib - stand->outside_kib;
        return hn_add(stand->outside_kib, hn_part_of(kib, (double) changed / (double) all));
}

double hn_planner_copy_seconds(const struct hn_planner *planner, uint64_t memory_kib)
{
        uint64_t rate = planner->input->copy_kib_per_second;

        return (double) memory_kib / (double) (rate ? rate : HN_COPY_KIB_PER_SECOND);
}

/* CPUs go first: half of the time, on average, an access goes back to where the memory was. */
double hn_planner_cost(const struct hn_planner *planner, const struct hn_stand *stand, const struct hn_seat *seats)
{
        double seconds = hn_planner_copy_seconds(planner, hn_planner_copied_kib(planner, stand, seats)), remote = 0;

        for (size_t i = 0; stand->milli && i < stand->n_seats; i++)
                remote += planner->field->ground->slow[seats[i].at * planner->field->n_nodes + stand->seats[i].at]
                          * ((double) seats[i].vcpus_milli / (double) stand->milli);
        return seconds * HN_MOVE_COPY_SHARE
               + stand->weight * (HN_MOVE_FIXED_SECONDS + seconds * (HN_MOVE_STALL_SHARE + remote / 2));
}

double hn_planner_net(const struct hn_planner *planner, double gain, double cost)
{
        return planner->policy->payback_seconds ? gain - cost / planner->policy->payback_seconds : -1;
}

/* ---- proposals */

void hn_planner_begin(struct hn_planner *planner, enum hn_move_kind kind)
{
        planner->trial.kind = kind;
        planner->trial.n = 0;
        planner->trial.for_start = false;
}

void hn_planner_part(struct hn_planner *planner, size_t guest, const size_t *nodes, size_t k)
{
        struct hn_part *part = &planner->trial.parts[planner->trial.n++];

        part->guest = guest;
        part->k = k;
        part->widen = -1;
        part->gather = false;
        memcpy(part->nodes, nodes, k * sizeof *nodes);
}

void hn_planner_offer(struct hn_planner *planner, double gain, double cost)
{
        struct hn_proposal kept = planner->best;

        planner->trial.gain = gain;
        planner->trial.cost = cost;
        planner->trial.net = hn_planner_net(planner, gain, cost);
        if (planner->best.n && planner->trial.net <= planner->best.net)
                return;
        planner->best = planner->trial;
        planner->trial = kept;
}
