/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/guard.h"

#include <errno.h>
#include <string.h>

#include "decide/fit.h"

/* Widening a guest's memory set takes systemd up to a second on a busy host. */
#define AHEAD_US 2000000.0

#define NEAR_WAIT_MS 1000u
#define SHORT_WAIT_MS 250u

struct hn_guarded_node {
        unsigned os;
        uint64_t short_kib, near_kib;
        uint64_t free_kib, at_us; /* as of the last look */
        uint64_t ahead_kib;       /* what will be left, if it goes on like that */
};

void hn_guard_clear(struct hn_guard *guard)
{
        free(guard->nodes);
        *guard = (struct hn_guard) { 0 };
}

static void see(struct hn_guarded_node *node, uint64_t free_kib, uint64_t now_us)
{
        double fall = 0;

        if (node->at_us && now_us > node->at_us && free_kib < node->free_kib)
                fall = (double) (node->free_kib - free_kib) / (double) (now_us - node->at_us) * AHEAD_US;
        node->ahead_kib = hn_subtract(free_kib, fall < (double) free_kib ? (uint64_t) fall : free_kib);
        node->free_kib = free_kib;
        node->at_us = now_us;
}

static const struct hn_guarded_node *find(const struct hn_guard *guard, unsigned os)
{
        for (size_t i = 0; i < guard->n; i++)
                if (guard->nodes[i].os == os)
                        return &guard->nodes[i];
        return NULL;
}

int hn_guard_set(struct hn_guard *guard, const struct hn_policy *policy, const struct hn_reading *reading,
                 uint64_t now_us)
{
        const struct hn_host *host = reading->host;
        struct hn_guarded_node *nodes = calloc(host->n_nodes + 1, sizeof *nodes);
        size_t n = 0;

        if (!nodes)
                return -ENOMEM;
        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_node *node = &host->nodes[at];
                const struct hn_guarded_node *was = find(guard, node->os);

                if (node->role != HN_NODE_HOME || !node->memory_kib)
                        continue;
                if (was)
                        nodes[n] = *was;
                nodes[n].os = node->os;
                nodes[n].short_kib = hn_reserve_kib(policy, node);
                nodes[n].near_kib = hn_add(node->memory_kib / 100 * policy->headroom_percent, nodes[n].short_kib);
                see(&nodes[n++], reading->free_kib[at], now_us);
        }
        free(guard->nodes);
        guard->nodes = nodes;
        guard->n = n;
        return 0;
}

enum hn_guard_level hn_guard_look(struct hn_guard *guard, const struct hn_root *root, uint64_t now_us)
{
        enum hn_guard_level level = HN_GUARD_EASY;

        for (size_t i = 0; i < guard->n; i++) {
                struct hn_guarded_node *node = &guard->nodes[i];
                uint64_t free_kib;

                /* what a reading just said is not asked for again */
                if (now_us > node->at_us && hn_node_free_now(root, node->os, &free_kib) >= 0)
                        see(node, free_kib, now_us);
                if (node->ahead_kib < node->short_kib)
                        level = HN_GUARD_SHORT;
                else if (level == HN_GUARD_EASY && node->free_kib < node->near_kib)
                        level = HN_GUARD_NEAR;
        }
        return level;
}

unsigned hn_guard_wait_ms(enum hn_guard_level level)
{
        return level == HN_GUARD_SHORT ? SHORT_WAIT_MS : level == HN_GUARD_NEAR ? NEAR_WAIT_MS : 0;
}

void hn_guard_foresee(const struct hn_guard *guard, struct hn_reading *reading)
{
        for (size_t at = 0; at < reading->host->n_nodes; at++) {
                const struct hn_guarded_node *node = find(guard, reading->host->nodes[at].os);

                if (node && node->ahead_kib < reading->free_kib[at])
                        reading->free_kib[at] = node->ahead_kib;
        }
}
