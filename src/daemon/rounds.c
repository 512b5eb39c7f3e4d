/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/rounds.h"

#include <errno.h>

#include "daemon/balancing.h"
#include "daemon/loop.h"
#include "daemon/occupied.h"
#include "model/clock.h"

struct hn_rounds {
        struct hn_connection *connection;
        struct hn_asking *asking;
        struct hn_mover *mover;       /* NULL: nobody is moved */
        struct hn_balancing *balancing;
        struct hn_timer *period, *guard;
        unsigned period_ms;
};

static uint64_t now_us(void *data)
{
        (void) data;
        return hn_monotonic_us();
}

/* ---- the mover */

static int begin(void *data, const struct hn_move *moves, size_t n)
{
        const struct hn_rounds *rounds = data;
        HN_FREE struct hn_move_order *orders = calloc(n + 1, sizeof *orders);

        if (!orders)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                orders[i] = (struct hn_move_order) {
                        .uuid = moves[i].to->uuid, .to = moves[i].to, .kind = moves[i].kind,
                        .memory_kib = moves[i].memory_kib, .reason = moves[i].reason,
                };
        return hn_mover_begin(rounds->mover, orders, n);
}

static const char *refusal(void *data)
{
        const struct hn_rounds *rounds = data;

        return hn_mover_refusal(rounds->mover);
}

static bool is_moving(void *data, const char *uuid)
{
        const struct hn_rounds *rounds = data;

        return hn_mover_has(rounds->mover, uuid);
}

static uint64_t kib_per_second(void *data)
{
        const struct hn_rounds *rounds = data;

        return hn_mover_kib_per_second(rounds->mover);
}

static int occupied(void *data, const char *uuid, const char **ret_why)
{
        const struct hn_rounds *rounds = data;

        return hn_occupied(rounds->asking, rounds->connection, uuid, ret_why);
}

/* ---- when */

static void on_guard(void *data)
{
        struct hn_rounds *rounds = data;
        unsigned wait_ms = hn_balancing_watch(rounds->balancing);

        if (wait_ms)
                hn_timer_once(rounds->guard, wait_ms);
}

static void on_period(void *data)
{
        struct hn_rounds *rounds = data;

        hn_balancing_turn(rounds->balancing);
        hn_timer_once(rounds->period, rounds->period_ms);
        on_guard(rounds);
}

void hn_rounds_configure(struct hn_rounds *rounds, const struct hn_policy *policy)
{
        hn_balancing_configure(rounds->balancing, policy);
        if (rounds->mover)
                hn_mover_limit(rounds->mover, (uint64_t) policy->balance.rate_mib << 10);
        rounds->period_ms = policy->balance.period_seconds * 1000;
        hn_timer_once(rounds->period, rounds->period_ms);
}

int hn_rounds_new(struct hn_keeper *keeper, struct hn_connection *connection, struct hn_asking *asking,
                  struct hn_mover *mover, const struct hn_policy *policy, struct hn_rounds **ret)
{
        HN_ROUNDS struct hn_rounds *rounds = calloc(1, sizeof *rounds);
        const struct hn_balancing_door door = {
                .data = rounds, .now_us = now_us, .begin = mover ? begin : NULL, .refusal = refusal, .moves = is_moving,
                .kib_per_second = kib_per_second, .occupied = occupied,
        };
        int r;

        if (!rounds)
                return -ENOMEM;
        rounds->connection = connection;
        rounds->asking = asking;
        rounds->mover = mover;
        r = hn_balancing_new(keeper, &door, &rounds->balancing);
        if (r >= 0 && mover)
                r = hn_mover_listen(mover, hn_balancing_ended, rounds->balancing);
        if (r >= 0)
                r = hn_timer_new(on_period, rounds, &rounds->period);
        if (r >= 0)
                r = hn_timer_new(on_guard, rounds, &rounds->guard);
        if (r < 0)
                return r;
        hn_rounds_configure(rounds, policy);
        hn_timer_once(rounds->period, 0);
        *ret = HN_TAKE(rounds);
        return 0;
}

void hn_rounds_free(struct hn_rounds *rounds)
{
        if (!rounds)
                return;
        hn_timer_free(rounds->period);
        hn_timer_free(rounds->guard);
        hn_balancing_free(rounds->balancing);
        free(rounds);
}
