/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/balance.h"

#include <errno.h>

#include "decide/planner.h"

const char *hn_move_kind_name(enum hn_move_kind kind)
{
        static const char *const names[] = {
                [HN_MOVE_GUEST] = "guest", [HN_MOVE_CELL] = "cell", [HN_MOVE_ROTATE] = "rotate",
                [HN_MOVE_SWAP] = "swap", [HN_MOVE_ROOM] = "room", [HN_MOVE_GATHER] = "gather",
                [HN_MOVE_SPILL] = "spill",
        };

        return (unsigned) kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* The best there is now: one guest is moved rather than two or more; guests of high priority last. */
static bool find(struct hn_planner *planner)
{
        planner->best.n = 0;
        hn_look_spill(planner);
        for (unsigned pass = 0; pass < 2 && !planner->best.n; pass++) {
                planner->high = pass == 1;
                hn_look_single(planner);
                if (!planner->best.n)
                        hn_look_swaps(planner);
        }
        if (!planner->best.n)
                hn_look_room(planner);
        return planner->best.n > 0;
}

/* A proposal that does not come to anything takes its guests out of the game: so it ends, but each costs a round. */
#define REFUSALS 8u

static int plan(struct hn_planner *planner)
{
        unsigned groups = 0, refused = 0;
        int r = 0;

        hn_field_score_all(planner->field);
        while (r >= 0 && groups < planner->policy->moves && refused < REFUSALS && find(planner)) {
                r = hn_accept(planner);
                groups += r > 0;
                refused += r == 0;
        }
        return r < 0 ? r : 0;
}

int hn_balance(const struct hn_balance_input *input, struct hn_moves *ret)
{
        HN_MOVES struct hn_moves moves = { 0 };
        HN_PLANNER struct hn_planner *planner = NULL;
        int r = hn_planner_new(input, &moves, &planner);

        if (r >= 0)
                r = plan(planner);
        if (r < 0)
                return r;
        moves.scored = planner->field->scored;
        *ret = moves;
        moves = (struct hn_moves) { 0 };
        return 0;
}

/* Guests are put down one by one: what each adds to the sum is its score among those that are there already. */
int hn_balance_total(const struct hn_balance_input *input, struct hn_score *ret)
{
        HN_FIELD struct hn_field *field = NULL;
        struct hn_score sum = { 0 };
        int r = hn_field_new(input, &field);

        if (r < 0)
                return r;
        for (size_t i = 0; i < field->n_stands; i++)
                hn_field_lift(field, &field->stands[i], field->stands[i].seats);
        for (size_t i = 0; i < field->n_stands; i++) {
                struct hn_stand *stand = &field->stands[i];
                struct hn_score score;

                hn_field_score(field, stand, stand->seats, &score);
                hn_field_put(field, stand, stand->seats);
                score.terms[HN_TERM_REMOTE] += stand->away;
                score.total += stand->away;
                for (int term = 0; term < HN_TERMS; term++)
                        sum.terms[term] += score.terms[term];
                sum.total += score.total;
        }
        *ret = sum;
        return 0;
}
