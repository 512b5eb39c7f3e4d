/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/exact.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "decide/shape.h"
#include "simulate/request.h"

#define NODES_LIMIT 16u

/* A guest as it is cut. */
struct piece {
        size_t n_cells;
        double vcpus[NODES_LIMIT], of; /* of each cell, of the guest */
        uint64_t memory_kib[NODES_LIMIT];
        size_t at[NODES_LIMIT];        /* where each cell is now */
        double least;                  /* its slowdown can't be less */
};

struct exact {
        const struct hn_world *world;
        struct piece pieces[HN_EXACT_GUESTS];
        size_t n;
        double demand[NODES_LIMIT];
        uint64_t room_kib[NODES_LIMIT];
        bool flat;                     /* all nodes are alike and equally far */
        double least_after[HN_EXACT_GUESTS + 1]; /* sum of `least` of those from there on */
        double best;
        size_t tries;                  /* left */
};

static double access_cost(const struct exact *exact, size_t from, size_t to)
{
        unsigned distance = exact->world->host->distances[from * exact->world->host->n_nodes + to];

        return from == to ? 1 : 1 + (distance - HN_DISTANCE_LOCAL) * HN_WORLD_NS_PER_DISTANCE / HN_WORLD_LOCAL_NS;
}

static double wait(const struct exact *exact, size_t at)
{
        double u = exact->demand[at] / exact->world->nodes[at].capacity;

        return u > 1 ? u : 1;
}

/* As in cost.c, for cells that are whole. */
static double slowdown(const struct exact *exact, const struct piece *piece)
{
        double sum = 0;

        for (size_t i = 0; i < piece->n_cells; i++) {
                double others = 0;

                for (size_t j = 0; j < piece->n_cells; j++)
                        others += i == j ? 0 : access_cost(exact, piece->at[i], piece->at[j]);
                if (piece->n_cells > 1)
                        others = 1 - HN_WORLD_CROSS_SHARE
                                 + HN_WORLD_CROSS_SHARE * others / (double) (piece->n_cells - 1);
                sum += piece->vcpus[i] / piece->of * wait(exact, piece->at[i]) * (piece->n_cells > 1 ? others : 1);
        }
        return sum;
}

static double slowdown_so_far(const struct exact *exact, size_t n)
{
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += slowdown(exact, &exact->pieces[i]);
        return sum;
}

static bool alike(const struct piece *a, const struct piece *b)
{
        return a->n_cells == 1 && b->n_cells == 1 && a->memory_kib[0] == b->memory_kib[0] && !(a->of < b->of || a->of > b->of);
}

static bool is_empty(const struct exact *exact, size_t at)
{
        return exact->demand[at] <= 0;
}

static void put_guest(struct exact *exact, size_t i);

/* Tries all nodes for one cell and then for the rest. */
static void put_cell(struct exact *exact, size_t i, size_t cell)
{
        struct piece *piece = &exact->pieces[i];
        size_t n = exact->world->host->n_nodes, first = 0;

        if (cell == piece->n_cells) {
                put_guest(exact, i + 1);
                return;
        }
        if (cell)
                first = piece->at[cell - 1] + 1;
        else if (i && alike(piece, piece - 1))
                first = piece[-1].at[0];
        for (size_t at = first; at < n; at++) {
                bool was_empty = is_empty(exact, at);

                if (exact->world->nodes[at].capacity <= 0 || piece->memory_kib[cell] > exact->room_kib[at]
                    || piece->vcpus[cell] > exact->world->nodes[at].capacity)
                        continue;
                piece->at[cell] = at;
                exact->room_kib[at] -= piece->memory_kib[cell];
                exact->demand[at] += piece->vcpus[cell] * exact->world->busy;
                put_cell(exact, i, cell + 1);
                exact->demand[at] -= piece->vcpus[cell] * exact->world->busy;
                exact->room_kib[at] += piece->memory_kib[cell];
                if (was_empty && exact->flat) {
                        exact->demand[at] = 0;
                        return; /* one empty node is like the other */
                }
        }
}

static void put_guest(struct exact *exact, size_t i)
{
        double so_far = slowdown_so_far(exact, i);

        if (!exact->tries || so_far + exact->least_after[i] >= exact->best - 1e-9)
                return;
        exact->tries--;
        if (i == exact->n)
                exact->best = so_far;
        else
                put_cell(exact, i, 0);
}

static int cut(const struct exact *exact, struct hn_request *request, const struct hn_trace_guest *guest,
               struct piece *ret)
{
        HN_SHAPE struct hn_shape *shape = NULL;
        HN_FREE char *note = NULL;
        uint64_t overhead = hn_world_wanted_kib(exact->world, guest) - guest->memory_kib;
        int r;

        hn_trace_request_fill(request, guest);
        r = hn_shape_new(exact->world->host, exact->world->policy, request, &shape, &note);
        if (r < 0 || shape->n_cells > NODES_LIMIT)
                return r < 0 ? r : -E2BIG;
        *ret = (struct piece) { .n_cells = shape->n_cells, .of = guest->vcpus, .least = 1 };
        for (size_t i = 0; i < shape->n_cells; i++) {
                ret->vcpus[i] = hn_idset_count(shape->cells[i].vcpus);
                ret->memory_kib[i] = shape->cells[i].memory_kib + overhead / shape->n_cells
                                     + (i == 0 ? overhead % shape->n_cells : 0);
        }
        if (shape->n_cells > 1)
                ret->least = 1 + HN_WORLD_CROSS_SHARE * HN_WORLD_NS_PER_DISTANCE / HN_WORLD_LOCAL_NS;
        return 0;
}

/* The hard ones first; those that are alike stand together. */
static int harder(const void *a, const void *b)
{
        const struct piece *x = a, *y = b;

        if (x->n_cells != y->n_cells)
                return x->n_cells > y->n_cells ? -1 : 1;
        if (x->memory_kib[0] != y->memory_kib[0])
                return x->memory_kib[0] > y->memory_kib[0] ? -1 : 1;
        return (x->of < y->of) - (x->of > y->of);
}

static bool is_flat(const struct hn_world *world)
{
        size_t n = world->host->n_nodes;

        for (size_t i = 0; i < n * n; i++)
                if (i / n != i % n && world->host->distances[i] != world->host->distances[1])
                        return false;
        for (size_t at = 1; at < n; at++)
                if (world->nodes[at].usable_kib != world->nodes[0].usable_kib
                    || world->host->nodes[at].n_threads != world->host->nodes[0].n_threads
                    || world->host->nodes[at].n_cores != world->host->nodes[0].n_cores)
                        return false;
        return true;
}

int hn_exact_best(const struct hn_world *world, const struct hn_trace_guest *const *guests, size_t n, size_t tries,
                  double *ret)
{
        HN_FREE struct exact *exact = calloc(1, sizeof *exact);
        HN_REQUEST struct hn_request *request = hn_trace_request_new();
        int r = exact && request ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        if (n > HN_EXACT_GUESTS || world->host->n_nodes > NODES_LIMIT)
                return -E2BIG;
        *exact = (struct exact) { .world = world, .n = n, .best = (double) INFINITY, .tries = tries };
        exact->flat = is_flat(world);
        for (size_t at = 0; at < world->host->n_nodes; at++)
                exact->room_kib[at] = world->nodes[at].usable_kib;
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = cut(exact, request, guests[i], &exact->pieces[i]);
        if (r < 0)
                return r;
        qsort(exact->pieces, n, sizeof *exact->pieces, harder);
        for (size_t i = n; i-- > 0;)
                exact->least_after[i] = exact->least_after[i + 1] + exact->pieces[i].least;
        put_guest(exact, 0);
        if (!exact->tries)
                return -E2BIG;
        if (isinf(exact->best))
                return -ENOSPC;
        *ret = exact->best;
        return 0;
}
