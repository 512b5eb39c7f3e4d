/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/own.h"

#include <errno.h>

#include "decide/fit.h"

/* A call of the balancer under way. */
struct balancing {
        struct hn_own *own;
        const struct hn_world *world;
        size_t *residents;              /* of each of our guests: index into the world's */
        struct hn_balance_guest *guests;
        uint64_t *freed_kib, *taken_kib; /* by `at`: by moves accepted so far */
        uint64_t now_us;
};

static void end_balancing(struct balancing *b)
{
        free(b->residents);
        free(b->guests);
        free(b->freed_kib);
        free(b->taken_kib);
}

static void find_residents(const struct balancing *b)
{
        for (size_t i = 0; i < b->own->n; i++)
                for (size_t j = 0; j < b->world->n_residents; j++)
                        if (b->world->residents[j].number == b->own->guests[i].number)
                                b->residents[i] = j;
}

static int begin(struct balancing *b)
{
        size_t n = b->own->n, n_nodes = b->world->host->n_nodes;

        b->residents = calloc(n + 1, sizeof *b->residents);
        b->guests = calloc(n + 1, sizeof *b->guests);
        b->freed_kib = calloc(n_nodes + 1, sizeof *b->freed_kib);
        b->taken_kib = calloc(n_nodes + 1, sizeof *b->taken_kib);
        if (!b->residents || !b->guests || !b->freed_kib || !b->taken_kib)
                return -ENOMEM;
        find_residents(b);
        for (size_t i = 0; i < n; i++) {
                const struct hn_own_guest *guest = &b->own->guests[i];
                const struct hn_resident *resident = &b->world->residents[b->residents[i]];

                b->guests[i] = (struct hn_balance_guest) {
                        .request = guest->request, .shape = guest->shape, .placement = guest->placement,
                        .busy_cpus = resident->guest->vcpus * b->world->busy,
                        .held = resident->from && b->world->now_s < resident->copied_s,
                };
        }
        return 0;
}

/* Moves of a group are made in their order: each has to find room when its turn comes. */
static bool has_room(const struct balancing *b, size_t resident, const struct hn_spot *spot)
{
        const struct hn_spot *now = b->world->residents[resident].spot;

        for (size_t at = 0; at < spot->n_nodes; at++) {
                uint64_t room = hn_subtract(hn_world_room_kib(b->world, at) + b->freed_kib[at], b->taken_kib[at]);

                if (hn_spot_memory_kib(spot, at) > room + hn_spot_memory_kib(now, at))
                        return false;
        }
        return true;
}

/* Takes the placement over. */
static int accept(struct balancing *b, struct hn_move *move, struct hn_world_move *ret, bool *ret_moved)
{
        struct hn_own_guest *guest = &b->own->guests[move->guest];
        size_t resident = b->residents[move->guest];
        HN_SPOT struct hn_spot *spot = NULL;
        int r = hn_own_spot(b->world, b->world->residents[resident].guest, move->to, &spot);

        if (r < 0)
                return r;
        *ret_moved = has_room(b, resident, spot);
        r = hn_balance_note(&b->own->past, guest->request->uuid, move->to->home, *ret_moved, b->now_us);
        if (r < 0 || !*ret_moved)
                return r;
        for (size_t at = 0; at < spot->n_nodes; at++) {
                b->freed_kib[at] += hn_spot_memory_kib(b->world->residents[resident].spot, at);
                b->taken_kib[at] += hn_spot_memory_kib(spot, at);
        }
        hn_placement_free(guest->placement);
        guest->placement = HN_TAKE(move->to);
        b->own->placements[move->guest] = guest->placement;
        *ret = (struct hn_world_move) { .resident = resident, .spot = HN_TAKE(spot) };
        return 0;
}

/* A group that does not come to its end leaves the rest of the moves to the next call. */
static int take_over(struct balancing *b, struct hn_moves *moves, struct hn_world_move *ret, size_t limit)
{
        bool moved = true;
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; r >= 0 && moved && i < moves->n && n < limit; i++) {
                r = accept(b, &moves->list[i], &ret[n], &moved);
                n += r >= 0 && moved;
        }
        return n ? (int) n : r;
}

int hn_own_balance(void *state, const struct hn_world *world, struct hn_world_move *ret, size_t limit)
{
        struct hn_own *own = state;
        HN_CLEANUP(end_balancing) struct balancing b = { .own = own, .world = world,
                                                         .now_us = (uint64_t) (world->now_s * 1e6) };
        HN_MOVES struct hn_moves moves = { 0 };
        int r = begin(&b);
        const struct hn_balance_input input = { .host = world->host, .policy = world->policy, .guests = b.guests,
                                                .n_guests = own->n, .past = &own->past, .now_us = b.now_us };

        if (r >= 0)
                r = hn_balance(&input, &moves);
        return r < 0 ? r : take_over(&b, &moves, ret, limit);
}
