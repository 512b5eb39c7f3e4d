/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves in words.
 */
#include "decide/planner.h"

#include <errno.h>

#include "decide/place.h"
#include "model/text.h"

/* What fell most of this guest's own terms; HN_TERMS: none, the others gain. */
static enum hn_term fell_most(const struct hn_move *move)
{
        enum hn_term best = HN_TERMS;
        double most = 0;

        for (int term = 0; term < HN_TERMS; term++)
                if (move->before.terms[term] - move->after.terms[term] > most) {
                        most = move->before.terms[term] - move->after.terms[term];
                        best = (enum hn_term) term;
                }
        return best;
}

static const char *reason(const struct hn_move *move)
{
        static const char *const words[HN_TERMS + 1] = {
                [HN_TERM_REMOTE] = "its vCPUs are nearer to its memory there",
                [HN_TERM_CPU] = "less CPU demand there",
                [HN_TERM_MEMORY] = "more memory is left there",
                [HN_TERM_DEVICE] = "nearer to its devices",
        };
        const char *word = words[fell_most(move)];

        return word ? word : "the others gain by it";
}

static const struct hn_placement *of(const struct hn_planner *planner, const struct hn_proposal *proposal, size_t part)
{
        return planner->input->guests[proposal->parts[part].guest].placement;
}

/* "from node 0 to node 2" */
static char *way(const struct hn_planner *planner, const struct hn_move *move)
{
        HN_FREE char *from = hn_text_nodes(planner->input->guests[move->guest].placement->home);
        HN_FREE char *to = hn_text_nodes(move->to->home);

        return from && to ? hn_text_print("from %s to %s", from, to) : NULL;
}

static int say_spill(const struct hn_planner *planner, const struct hn_proposal *proposal, const struct hn_move *move,
                     const char *path, char **ret)
{
        HN_FREE char *home = hn_text_nodes(of(planner, proposal, 0)->home);
        HN_FREE char *wide = hn_text_nodes(move->to->memory_nodes);

        if (!home || !wide)
                return -ENOMEM;
        if (proposal->parts[0].widen < 0)
                return hn_text_add(ret, "%s: memory runs short", path);
        return hn_text_add(ret, "memory from %s besides: it runs short on %s", wide, home);
}

static int say_why(const struct hn_planner *planner, const struct hn_proposal *proposal, const struct hn_move *move,
                   const char *path, char **ret)
{
        if (move->kind == HN_MOVE_SPILL)
                return say_spill(planner, proposal, move, path, ret);
        if (move->kind == HN_MOVE_GATHER)
                return hn_text_add(ret, "its memory comes home");
        if (move->kind == HN_MOVE_SWAP)
                return hn_text_add(ret, "%s, in exchange with \"%s\"", path,
                                   of(planner, proposal, move->guest == proposal->parts[0].guest)->name);
        if (move->kind != HN_MOVE_ROOM)
                return hn_text_add(ret, "%s: %s", path, reason(move));
        if (!proposal->for_start && move->guest == proposal->parts[proposal->n - 1].guest)
                return hn_text_add(ret, "%s: the others have made room", path);
        return hn_text_add(ret, "%s: gives way to a guest that would lie across nodes", path);
}

static int say_numbers(const struct hn_move *move, char **ret)
{
        char size[HN_TEXT_SIZE];

        if (move->kind == HN_MOVE_SPILL)
                return 0;
        if (!move->memory_kib)
                return hn_text_add(ret, "expected slowdown %.2f less over all guests", move->gain);
        return hn_text_add(ret, "expected slowdown %.2f less over all guests; %s to copy, pays back in %.1f s",
                           move->gain, hn_text_size(move->memory_kib, size), (double) move->pays_back_us / 1e6);
}

int hn_move_say(const struct hn_planner *planner, const struct hn_proposal *proposal, const struct hn_move *move,
                char **ret)
{
        HN_FREE char *path = way(planner, move), *text = NULL;
        int r = path ? say_why(planner, proposal, move, path, &text) : -ENOMEM;

        if (r >= 0)
                r = say_numbers(move, &text);
        if (r >= 0)
                *ret = HN_TAKE(text);
        return r;
}
