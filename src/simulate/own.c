/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "simulate/own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "simulate/request.h"

static void clear_guest(struct hn_own_guest *guest)
{
        hn_request_free(guest->request);
        hn_shape_free(guest->shape);
        hn_placement_free(guest->placement);
}

static int own_open(const struct hn_world *world, void **ret)
{
        struct hn_own *own = calloc(1, sizeof *own);

        (void) world;
        if (!own)
                return -ENOMEM;
        *ret = own;
        return 0;
}

static void own_close(void *state)
{
        struct hn_own *own = state;

        if (!own)
                return;
        for (size_t i = 0; i < own->n; i++)
                clear_guest(&own->guests[i]);
        free(own->guests);
        free(own->placements);
        hn_balance_past_clear(&own->past);
        free(own);
}

static int make_room(struct hn_own *own)
{
        size_t room = own->room ? 2 * own->room : 64;

        if (own->n < own->room)
                return 0;
        struct hn_own_guest *guests = reallocarray(own->guests, room, sizeof *guests);
        if (!guests)
                return -ENOMEM;
        own->guests = guests;
        const struct hn_placement **placements = reallocarray(own->placements, room, sizeof *placements);
        if (!placements)
                return -ENOMEM;
        own->placements = placements;
        own->room = room;
        return 0;
}

static struct hn_request *request_of(const struct hn_trace_guest *guest, size_t number)
{
        struct hn_request *request = hn_trace_request_new();

        if (!request)
                return NULL;
        hn_trace_request_fill(request, guest);
        (void) snprintf(request->uuid, sizeof request->uuid, "00000000-0000-4000-8000-%012zx",
                        number & 0xffffffffffffu);
        return request;
}

/* What the daemon would have measured: all that is wanted, whether it is had or waited for. */
static int measure(const struct hn_own *own, const struct hn_world *world, struct hn_load *load)
{
        int r = 0;

        for (size_t i = 0; r >= 0 && i < own->n; i++) {
                const struct hn_request *request = own->guests[i].request;
                struct hn_guest_load guest = { .run_cpus = request->vcpus_max * world->busy };

                memcpy(guest.uuid, request->uuid, sizeof guest.uuid);
                r = hn_load_add_guest(load, &guest);
        }
        return r;
}

static int own_place(void *state, const struct hn_world *world, const struct hn_trace_guest *guest, size_t number,
                     struct hn_spot **ret)
{
        struct hn_own *own = state;
        HN_DECISION struct hn_decision *decision = NULL;
        HN_REQUEST struct hn_request *request = request_of(guest, number);
        HN_LOAD struct hn_load *load = calloc(1, sizeof *load);
        int r = request && load ? make_room(own) : -ENOMEM;
        const struct hn_situation situation = { .host = world->host, .policy = world->policy, .load = load,
                                                .placements = own->placements, .n_placements = own->n };

        if (r >= 0)
                r = measure(own, world, load);
        if (r >= 0)
                r = hn_decide(&situation, request, &decision);
        if (r >= 0)
                r = hn_own_spot(world, guest, decision->placement, ret);
        if (r < 0)
                return r;
        own->placements[own->n] = decision->placement;
        own->guests[own->n++] = (struct hn_own_guest) { .number = number, .request = HN_TAKE(request),
                                                        .shape = HN_TAKE(decision->shape),
                                                        .placement = HN_TAKE(decision->placement) };
        return 0;
}

static void own_gone(void *state, const struct hn_resident *resident)
{
        struct hn_own *own = state;

        for (size_t i = 0; i < own->n; i++)
                if (own->guests[i].number == resident->number) {
                        hn_balance_forget(&own->past, own->guests[i].request->uuid);
                        clear_guest(&own->guests[i]);
                        own->guests[i] = own->guests[--own->n];
                        own->placements[i] = own->placements[own->n];
                        return;
                }
}

const struct hn_contender hn_contender_homenode = {
        .name = "homenode",
        .summary = "as homenode decides at start, with what it has promised; guests are moved while they run",
        .open = own_open,
        .close = own_close,
        .place = own_place,
        .gone = own_gone,
        .balance = hn_own_balance,
        .period_s = 10,
};

const struct hn_contender hn_contender_homenode_start = {
        .name = "homenode-start",
        .summary = "the same, without the daemon: no guest is moved",
        .open = own_open,
        .close = own_close,
        .place = own_place,
        .gone = own_gone,
};
