/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/balancing.h"

#include <errno.h>
#include <string.h>

#include "act/journal.h"
#include "daemon/connection.h"
#include "daemon/gather.h"
#include "daemon/guard.h"
#include "daemon/keeper-internal.h"
#include "daemon/publish.h"
#include "daemon/tell.h"

#define GROUPS_AT_ONCE 16u       /* guests that get more memory in one go */
#define FRUITLESS_US 10000000u   /* where nothing was to be had, it is tried again after */

struct hn_balancing {
        struct hn_keeper *keeper;
        struct hn_balancing_door door;
        struct hn_meter *meter;
        struct hn_publisher *publisher;
        struct hn_guard guard;
        struct hn_policy policy;
        struct hn_balance_past past;
        uint64_t spill_us;       /* not before; 0: at any time */
        bool wanted;             /* some guest waits for room */
        bool failure_told;
};

int hn_balancing_new(struct hn_keeper *keeper, const struct hn_balancing_door *door, struct hn_balancing **ret)
{
        HN_BALANCING struct hn_balancing *balancing = calloc(1, sizeof *balancing);
        int r;

        if (!balancing)
                return -ENOMEM;
        balancing->keeper = keeper;
        balancing->door = *door;
        hn_policy_defaults(&balancing->policy);
        r = hn_meter_new(keeper->root, &balancing->meter);
        if (r >= 0)
                r = hn_publisher_new(keeper->root, &balancing->publisher);
        if (r < 0)
                return r;
        *ret = HN_TAKE(balancing);
        return 0;
}

void hn_balancing_free(struct hn_balancing *balancing)
{
        if (!balancing)
                return;
        hn_meter_free(balancing->meter);
        hn_publisher_free(balancing->publisher);
        hn_guard_clear(&balancing->guard);
        hn_balance_past_clear(&balancing->past);
        free(balancing);
}

void hn_balancing_configure(struct hn_balancing *balancing, const struct hn_policy *policy)
{
        balancing->policy = *policy;
}

static uint64_t now(const struct hn_balancing *balancing)
{
        return balancing->door.now_us(balancing->door.data);
}

/* ---- telling */

static void tell(const struct hn_balancing *balancing, const struct hn_move *move, const char *before, const char *text)
{
        hn_tell_guest(balancing->keeper->root, move->to->name, move->to->home, "%s%s", before, text);
}

static void tell_failure(struct hn_balancing *balancing, int error)
{
        if (!balancing->failure_told)
                hn_journal(balancing->keeper->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "what runs can't be measured: %s", strerror(-error));
        balancing->failure_told = true;
}

/* ---- moving */

static void note(struct hn_balancing *balancing, const char *uuid, hwloc_const_bitmap_t home, bool delivered)
{
        (void) hn_balance_note(&balancing->past, uuid, home, delivered, now(balancing));
}

void hn_balancing_ended(void *data, const char *uuid, hwloc_const_bitmap_t home, bool delivered)
{
        struct hn_balancing *balancing = data;

        note(balancing, uuid, home, delivered);
        balancing->keeper->room |= delivered && balancing->wanted;
}

/* What is only not to be had just now is tried again in the next period; all else rests. */
static void refuse(struct hn_balancing *balancing, const struct hn_move *moves, size_t n, int error, const char *why)
{
        if (error == -EBUSY || error == -ETIME || error == -ENOMEM)
                return;
        for (size_t i = 0; i < n; i++) {
                tell(balancing, &moves[i], "not moved: ", why && *why ? why : strerror(-error));
                note(balancing, moves[i].to->uuid, moves[i].to->home, false);
        }
}

/* 1: begun. */
static int begin_group(struct hn_balancing *balancing, const struct hn_move *moves, size_t n)
{
        const struct hn_balancing_door *door = &balancing->door;
        int r;

        for (size_t i = 0; i < n; i++) {
                const char *why = NULL;

                r = moves[i].kind == HN_MOVE_SPILL ? 0 : door->occupied(door->data, moves[i].to->uuid, &why);
                if (r < 0 || why) {
                        refuse(balancing, moves, n, r < 0 ? r : -EAGAIN, why);
                        return 0;
                }
        }
        r = door->begin(door->data, moves, n);
        if (r < 0) {
                refuse(balancing, moves, n, r, door->refusal(door->data));
                return 0;
        }
        /* A memory set that only gets wider is nothing that goes on. */
        for (size_t i = 0; i < n; i++)
                if (moves[i].kind == HN_MOVE_SPILL && !door->moves(door->data, moves[i].to->uuid)) {
                        tell(balancing, &moves[i], "", moves[i].reason);
                        note(balancing, moves[i].to->uuid, moves[i].to->home, true);
                }
        return 1;
}

/* How many groups were begun. */
static unsigned begin_all(struct hn_balancing *balancing, const struct hn_moves *moves, bool only_spills)
{
        unsigned begun = 0;

        for (size_t i = 0, n; i < moves->n; i += n) {
                const struct hn_move *first = &moves->list[i];

                for (n = 1; i + n < moves->n && moves->list[i + n].group == first->group;)
                        n++;
                if (!only_spills || first->kind == HN_MOVE_SPILL)
                        begun += (unsigned) begin_group(balancing, first, n);
        }
        return begun;
}

/* Guests that are gone are forgotten. */
static void forget(struct hn_balancing *balancing)
{
        for (size_t i = balancing->past.n; i-- > 0;)
                if (!hn_guests_find(&balancing->keeper->guests, balancing->past.records[i].uuid))
                        hn_balance_forget(&balancing->past, balancing->past.records[i].uuid);
}

/* Returns how many groups of moves were begun. */
static int decide(struct hn_balancing *balancing, struct hn_reading *reading, bool only_spills)
{
        struct hn_policy policy = balancing->policy;
        const struct hn_balancing_door *door = &balancing->door;
        const struct hn_gather_source source = {
                .root = balancing->keeper->root, .guests = &balancing->keeper->guests, .reading = reading,
                .policy = &policy, .past = &balancing->past, .generation = balancing->keeper->outlook.generation,
                .moves = door->moves, .data = door->data, .copy_kib_per_second = door->kib_per_second(door->data),
                .now_us = now(balancing), .urgent = only_spills,
        };
        HN_GATHERED struct hn_gathered gathered = { 0 };
        HN_MOVES struct hn_moves moves = { 0 };
        int r;

        if (only_spills)
                policy.balance.moves = GROUPS_AT_ONCE;
        forget(balancing);
        r = hn_gather(&source, &gathered);
        if (r >= 0)
                r = hn_balance(&gathered.input, &moves);
        if (r < 0)
                return r;
        balancing->wanted = gathered.input.n_wanted > 0;
        return (int) begin_all(balancing, &moves, only_spills);
}

/* ---- when */

void hn_balancing_turn(struct hn_balancing *balancing)
{
        HN_READING struct hn_reading reading = { 0 };
        uint64_t now_us = now(balancing);
        int r = hn_meter_read(balancing->meter, &balancing->keeper->guests, now_us, &reading);

        if (r >= 0)
                r = hn_guard_set(&balancing->guard, &balancing->policy, &reading, now_us);
        if (r >= 0 && reading.measured)
                r = hn_publish(balancing->publisher, &reading);
        if (r >= 0 && reading.measured && balancing->door.begin && !balancing->policy.balance.off)
                r = decide(balancing, &reading, false);
        if (r < 0)
                tell_failure(balancing, r);
        else
                balancing->failure_told = false;
}

static void spill(struct hn_balancing *balancing, uint64_t now_us)
{
        HN_READING struct hn_reading reading = { 0 };
        int r = hn_meter_read(balancing->meter, &balancing->keeper->guests, now_us, &reading);

        if (r < 0)
                return;
        hn_guard_foresee(&balancing->guard, &reading);
        r = decide(balancing, &reading, true);
        balancing->spill_us = r > 0 ? 0 : now_us + FRUITLESS_US;
}

unsigned hn_balancing_watch(struct hn_balancing *balancing)
{
        uint64_t now_us = now(balancing);
        enum hn_guard_level level = hn_guard_look(&balancing->guard, balancing->keeper->root, now_us);

        if (level == HN_GUARD_SHORT && balancing->door.begin && now_us >= balancing->spill_us)
                spill(balancing, now_us);
        return hn_guard_wait_ms(level == HN_GUARD_SHORT && now_us < balancing->spill_us ? HN_GUARD_NEAR : level);
}
