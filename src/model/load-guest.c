/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/load-guest.h"

#include <errno.h>
#include <string.h>

/* What lies between two readings. */
struct span {
        double us;
        uint64_t now_us, window_us;
};

/* Rise of a counter as a share of the time; false: nothing can be said.  Waiting is summed up over threads, of which
 * some may have ended. */
static bool rise(const struct span *span, uint64_t from, uint64_t to, double *ret)
{
        if (from == HN_USAGE_UNKNOWN || to == HN_USAGE_UNKNOWN)
                return false;
        *ret = to > from ? (double) (to - from) / span->us : 0;
        return true;
}

static void add_rise(const struct span *span, uint64_t from, uint64_t to, struct hn_gauge *gauge)
{
        double value;

        if (rise(span, from, to, &value))
                hn_gauge_add(gauge, value, span->now_us, span->window_us);
}

static const struct hn_usage_group *find_usage(const struct hn_guest_usage *usage, const struct hn_usage_group *like)
{
        for (size_t i = 0; i < usage->n_groups; i++)
                if (usage->groups[i].kind == like->kind && usage->groups[i].number == like->number)
                        return &usage->groups[i];
        return NULL;
}

static struct hn_metered_group find_metered(const struct hn_guest_meter *meter, const struct hn_usage_group *like)
{
        for (size_t i = 0; i < meter->n_groups; i++)
                if (meter->groups[i].kind == like->kind && meter->groups[i].number == like->number)
                        return meter->groups[i];
        return (struct hn_metered_group) { .kind = like->kind, .number = like->number };
}

/* Gauges of the groups that are there now; those that are new begin with their second reading. */
static void add_groups(const struct span *span, const struct hn_guest_meter *meter, const struct hn_guest_usage *usage,
                       struct hn_metered_group *groups, double *ret_run, double *ret_wait)
{
        *ret_run = 0;
        *ret_wait = -1;
        for (size_t i = 0; i < usage->n_groups; i++) {
                const struct hn_usage_group *to = &usage->groups[i], *from = find_usage(&meter->last, to);
                double value;

                groups[i] = find_metered(meter, to);
                if (!from)
                        continue;
                add_rise(span, from->cpu_us, to->cpu_us, &groups[i].run);
                add_rise(span, from->wait_us, to->wait_us, &groups[i].wait);
                add_rise(span, from->pressure_us, to->pressure_us, &groups[i].pressure);
                if (rise(span, from->cpu_us, to->cpu_us, &value))
                        *ret_run += value;
                if (rise(span, from->wait_us, to->wait_us, &value))
                        *ret_wait = (*ret_wait > 0 ? *ret_wait : 0) + value;
        }
}

static int measure(struct hn_guest_meter *meter, const struct hn_guest_usage *usage, const struct span *span)
{
        struct hn_metered_group *groups = calloc(usage->n_groups + 1, sizeof *groups);
        double run, wait;

        if (!groups)
                return -ENOMEM;
        add_groups(span, meter, usage, groups, &run, &wait);
        free(meter->groups);
        meter->groups = groups;
        meter->n_groups = usage->n_groups;
        hn_gauge_add(&meter->run, run, span->now_us, span->window_us);
        if (wait >= 0)
                hn_gauge_add(&meter->wait, wait, span->now_us, span->window_us);
        add_rise(span, meter->last.cpu_pressure_us, usage->cpu_pressure_us, &meter->cpu_pressure);
        add_rise(span, meter->last.memory_pressure_us, usage->memory_pressure_us, &meter->memory_pressure);
        add_rise(span, meter->last.io_pressure_us, usage->io_pressure_us, &meter->io_pressure);
        return 0;
}

int hn_guest_meter_add(struct hn_guest_meter *meter, struct hn_guest_usage *usage, uint64_t now_us,
                       uint64_t window_us)
{
        struct span span = { .now_us = now_us, .window_us = window_us };
        int r = 0;

        if (meter->started && now_us <= meter->last_us) {
                hn_usage_clear(usage);
                return 0;
        }
        span.us = (double) (now_us - meter->last_us);
        if (meter->started)
                r = measure(meter, usage, &span);
        if (r < 0)
                return r;
        hn_usage_clear(&meter->last);
        meter->last = *usage;
        *usage = (struct hn_guest_usage) { 0 };
        meter->last_us = now_us;
        meter->started = true;
        return 0;
}

void hn_guest_meter_clear(struct hn_guest_meter *meter)
{
        free(meter->groups);
        hn_usage_clear(&meter->last);
        *meter = (struct hn_guest_meter) { 0 };
}

double hn_guest_meter_busy(const struct hn_guest_meter *meter)
{
        return meter->run.n ? meter->run.level + meter->wait.level : -1;
}

/* Isolated CPUs of the node are not among those that its capacity counts. */
static double share_on(hwloc_const_bitmap_t cpus, const struct hn_node *node)
{
        unsigned n = 0, there = 0;

        if (!cpus || !hwloc_bitmap_intersects(cpus, node->cpus))
                return 0;
        HN_IDSET_FOREACH(cpu, cpus) {
                n++;
                there += hwloc_bitmap_isset(node->cpus, (unsigned) cpu) != 0;
        }
        return (double) there / n;
}

static double promised_share(const struct hn_placement *placement, unsigned node)
{
        double all = 0;

        for (size_t i = 0; i < placement->n_promises; i++)
                all += placement->promises[i].vcpus_milli;
        return all > 0 ? hn_placement_milli(placement, node) / all : 0;
}

double hn_usage_on_node(const struct hn_guest_usage *from, const struct hn_guest_usage *to,
                        const struct hn_placement *placement, const struct hn_node *node)
{
        double sum_us = 0, share = placement->n_cells ? 0 : promised_share(placement, node->os);

        for (size_t i = 0; i < to->n_groups; i++) {
                const struct hn_usage_group *group = &to->groups[i], *before = from ? find_usage(from, group) : NULL;
                uint64_t before_us = before ? before->cpu_us : 0;

                if (placement->n_cells)
                        share = share_on(group->kind == HN_GROUP_VCPU ? hn_placement_vcpu(placement, group->number)
                                                                      : placement->emulator_cpus, node);
                if (share > 0 && group->cpu_us > before_us)
                        sum_us += share * (double) (group->cpu_us - before_us);
        }
        return sum_us;
}

static double told(const struct hn_gauge *gauge)
{
        return gauge->n ? gauge->level : -1;
}

bool hn_guest_meter_load(const struct hn_guest_meter *meter, const char *uuid, struct hn_guest_load *ret)
{
        if (!meter->run.n)
                return false;
        *ret = (struct hn_guest_load) {
                .run_cpus = meter->run.level,
                .wait_cpus = told(&meter->wait),
                .trend_cpus = (meter->run.trend + meter->wait.trend) * 60,
                .cpu_pressure = told(&meter->cpu_pressure),
                .memory_pressure = told(&meter->memory_pressure),
                .io_pressure = told(&meter->io_pressure),
        };
        (void) snprintf(ret->uuid, sizeof ret->uuid, "%s", uuid);
        return true;
}
