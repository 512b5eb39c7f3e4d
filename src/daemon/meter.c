/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/meter.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "decide/fit.h"
#include "model/clock.h"
#include "model/cputime.h"

/* Of a guest that has gone, or went elsewhere, nobody knows what it used where since the last reading: what its nodes
 * show then is passed over.  But not for ever where guests come and go all the time. */
#define PASSED_OVER 3u

struct node_meter {
        unsigned os;
        struct hn_gauge busy;
        unsigned passed;       /* readings in a row */
};

/* A guest of the last reading, and the nodes that it might run on. */
struct known {
        char uuid[HN_UUID_LENGTH + 1];
        hwloc_bitmap_t nodes;  /* OS indexes */
        bool seen;             /* in the reading under way */
};

struct hn_meter {
        const struct hn_root *root;
        struct hn_cpu_times times; /* of the last reading */
        uint64_t last_us;          /* 0: there was none */
        struct node_meter *nodes;
        size_t n_nodes;
        struct known *known;       /* in the guests' order */
        size_t n_known;
};

/* A reading under way. */
struct reading {
        struct hn_meter *meter;
        uint64_t now_us;
        struct hn_reading *to;
        struct hn_cpu_times times;
        double *used_us;           /* by `at`: by guests, since the last reading */
        uint64_t *held_kib;        /* by `at`: of what was promised there */
        struct known *known;       /* those of this reading; room for all guests */
        size_t n_known;
        hwloc_bitmap_t unsure;     /* nodes, by OS index, of which nobody knows who used them */
};

void hn_reading_clear(struct hn_reading *reading)
{
        hn_host_free(reading->host);
        free(reading->free_kib);
        hn_load_free(reading->load);
        *reading = (struct hn_reading) { 0 };
}

static void free_known(struct known *known, size_t n)
{
        for (size_t i = 0; i < n; i++)
                hwloc_bitmap_free(known[i].nodes);
        free(known);
}

static void end_reading(struct reading *r)
{
        free_known(r->known, r->n_known);
        hwloc_bitmap_free(r->unsure);
        hn_cpu_times_clear(&r->times);
        free(r->used_us);
        free(r->held_kib);
}

int hn_meter_new(const struct hn_root *root, struct hn_meter **ret)
{
        struct hn_meter *meter = calloc(1, sizeof *meter);

        if (!meter)
                return -ENOMEM;
        meter->root = root;
        *ret = meter;
        return 0;
}

void hn_meter_free(struct hn_meter *meter)
{
        if (!meter)
                return;
        hn_cpu_times_clear(&meter->times);
        free(meter->nodes);
        free_known(meter->known, meter->n_known);
        free(meter);
}

/* ---- guests */

static uint64_t page_kib_of(const struct hn_host *host, const struct hn_request *request)
{
        return hn_request_wants_huge_pages(request)
                       ? hn_page_kib(host, request, request->n_cells ? request->cells[0].page_kib : 0) : 0;
}

/* All that it ever used it used since the last reading. */
static bool is_new(const struct reading *r, const struct hn_guest *guest)
{
        long ticks = sysconf(_SC_CLK_TCK);
        uint64_t age_us, began_us = ticks > 0 ? guest->start_ticks / (uint64_t) ticks * 1000000u : 0;

        age_us = hn_subtract(hn_boottime_us(), began_us);
        return r->meter->last_us && age_us < r->now_us - r->meter->last_us;
}

static bool might_run(const struct hn_placement *placement, hwloc_const_bitmap_t cpus, const struct hn_node *node)
{
        return placement->n_cells ? hwloc_bitmap_intersects(cpus, node->cpus) != 0
                                  : hn_placement_milli(placement, node->os) > 0;
}

/* The nodes that a guest might run on; the caller frees; NULL without memory. */
static hwloc_bitmap_t nodes_of(const struct reading *r, const struct hn_placement *placement)
{
        HN_BITMAP hwloc_bitmap_t cpus = hn_placement_cpus(placement), nodes = hwloc_bitmap_alloc();

        if (!cpus || !nodes)
                return NULL;
        for (size_t at = 0; at < r->to->host->n_nodes; at++) {
                const struct hn_node *node = &r->to->host->nodes[at];

                if (might_run(placement, cpus, node) && hwloc_bitmap_set(nodes, node->os) < 0)
                        return NULL;
        }
        return HN_TAKE(nodes);
}

/* Guests keep their order, unless one of them goes. */
static struct known *find_known(const struct hn_meter *meter, const char *uuid, size_t likely)
{
        for (size_t i = likely; i < meter->n_known; i++)
                if (strcmp(meter->known[i].uuid, uuid) == 0)
                        return &meter->known[i];
        for (size_t i = 0; i < likely && i < meter->n_known; i++)
                if (strcmp(meter->known[i].uuid, uuid) == 0)
                        return &meter->known[i];
        return NULL;
}

/* Remembers where the guest might run.  Where that has changed since the last reading, or it ran then and was not read,
 * nobody is sure of those nodes. */
static int know(struct reading *r, const struct hn_guest *guest)
{
        struct known *was = find_known(r->meter, guest->uuid, r->n_known), *now = &r->known[r->n_known];

        now->nodes = nodes_of(r, guest->entry->placement);
        if (!now->nodes)
                return -ENOMEM;
        r->n_known++;
        memcpy(now->uuid, guest->uuid, sizeof now->uuid);
        if (was)
                was->seen = true;
        if (was ? hwloc_bitmap_isequal(was->nodes, now->nodes) && guest->meter.started : is_new(r, guest))
                return 0;
        if (hwloc_bitmap_or(r->unsure, r->unsure, now->nodes) < 0 ||
            (was && hwloc_bitmap_or(r->unsure, r->unsure, was->nodes) < 0))
                return -ENOMEM;
        return 0;
}

static int know_the_gone(struct reading *r)
{
        for (size_t i = 0; i < r->meter->n_known; i++) {
                struct known *known = &r->meter->known[i];

                if (!known->seen && hwloc_bitmap_or(r->unsure, r->unsure, known->nodes) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void add_used(struct reading *r, const struct hn_guest *guest, const struct hn_guest_usage *usage)
{
        const struct hn_guest_usage *from = guest->meter.started ? &guest->meter.last : NULL;

        if (!from && !is_new(r, guest))
                return;
        for (size_t at = 0; at < r->to->host->n_nodes; at++)
                r->used_us[at] += hn_usage_on_node(from, usage, guest->entry->placement, &r->to->host->nodes[at]);
}

/* No promise stands for more than was promised; a guest that does not tell is taken to hold it all. */
static void add_held(struct reading *r, const struct hn_guest *guest, const struct hn_guest_usage *usage)
{
        const struct hn_placement *placement = guest->entry->placement;

        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];
                int at = promise->page_kib ? -1 : hn_host_at(r->to->host, promise->node);
                uint64_t kib = usage->has_resident ? hn_resident_kib(&usage->resident, promise->node) : UINT64_MAX;

                if (at >= 0)
                        r->held_kib[at] = hn_add(r->held_kib[at], kib < promise->memory_kib ? kib : promise->memory_kib);
        }
}

static int read_guest(struct reading *r, struct hn_guest *guest)
{
        HN_USAGE struct hn_guest_usage usage = { 0 };
        int error;

        if (!guest->cgroup || !guest->request)
                return 0;
        error = hn_usage_read(r->meter->root, guest->cgroup->scope, guest->cgroup->threads,
                              page_kib_of(r->to->host, guest->request), &usage);
        if (error < 0)
                return error == -ENOMEM ? error : 0;
        if (guest->entry) {
                error = know(r, guest);
                if (error < 0)
                        return error;
                add_used(r, guest, &usage);
                add_held(r, guest, &usage);
        }
        return hn_guest_meter_add(&guest->meter, &usage, r->now_us, HN_LOAD_WINDOW_US);
}

static int add_guest_load(struct hn_load *load, const struct hn_guest *guest)
{
        struct hn_guest_load one;

        return hn_guest_meter_load(&guest->meter, guest->uuid, &one) ? hn_load_add_guest(load, &one) : 0;
}

/* ---- nodes */

static struct node_meter *find_node(struct hn_meter *meter, unsigned os)
{
        struct node_meter *more;

        for (size_t i = 0; i < meter->n_nodes; i++)
                if (meter->nodes[i].os == os)
                        return &meter->nodes[i];
        more = reallocarray(meter->nodes, meter->n_nodes + 1, sizeof *more);
        if (!more)
                return NULL;
        meter->nodes = more;
        more[meter->n_nodes] = (struct node_meter) { .os = os };
        return &more[meter->n_nodes++];
}

/* What is left of a node's busy CPUs without the guests that have their promises. */
static int read_node(struct reading *r, size_t at)
{
        const struct hn_node *node = &r->to->host->nodes[at];
        struct node_meter *meter = find_node(r->meter, node->os);
        double busy = -1;

        if (!meter)
                return -ENOMEM;
        meter->passed = hwloc_bitmap_isset(r->unsure, node->os) && meter->passed < PASSED_OVER ? meter->passed + 1 : 0;
        if (r->meter->last_us && !meter->passed)
                busy = hn_cpu_times_busy(&r->meter->times, &r->times, node->cpus);
        if (busy >= 0) {
                busy -= r->used_us[at] / (double) (r->now_us - r->meter->last_us);
                hn_gauge_add(&meter->busy, busy > 0 ? busy : 0, r->now_us, HN_LOAD_WINDOW_US);
        }
        return hn_load_add_node(r->to->load, node->os, meter->busy.level);
}

static int read_nodes(struct reading *r)
{
        int error = know_the_gone(r);

        for (size_t at = 0; error >= 0 && at < r->to->host->n_nodes; at++) {
                struct hn_node *node = &r->to->host->nodes[at];

                r->to->free_kib[at] = node->free_kib;
                hn_node_set_free(node, node->free_kib, r->held_kib[at]);
                error = read_node(r, at);
        }
        return error;
}

static void remember(struct reading *r)
{
        struct hn_meter *meter = r->meter;

        hn_cpu_times_clear(&meter->times);
        meter->times = r->times;
        r->times = (struct hn_cpu_times) { 0 };
        meter->last_us = r->now_us;
        free_known(meter->known, meter->n_known);
        meter->known = HN_TAKE(r->known);
        meter->n_known = r->n_known;
        r->n_known = 0;
}

static int begin(struct reading *r, size_t n_guests)
{
        size_t n;
        int error = hn_host_from_cache(r->meter->root, true, &r->to->host);

        if (error >= 0)
                error = hn_cpu_times_read(r->meter->root, &r->times);
        if (error < 0)
                return error;
        n = r->to->host->n_nodes;
        r->to->load = calloc(1, sizeof *r->to->load);
        r->to->free_kib = calloc(n + 1, sizeof *r->to->free_kib);
        r->used_us = calloc(n + 1, sizeof *r->used_us);
        r->held_kib = calloc(n + 1, sizeof *r->held_kib);
        r->known = calloc(n_guests + 1, sizeof *r->known);
        r->unsure = hwloc_bitmap_alloc();
        for (size_t i = 0; i < r->meter->n_known; i++)
                r->meter->known[i].seen = false;
        return r->to->load && r->to->free_kib && r->used_us && r->held_kib && r->known && r->unsure ? 0 : -ENOMEM;
}

int hn_meter_read(struct hn_meter *meter, const struct hn_guests *guests, uint64_t now_us, struct hn_reading *ret)
{
        HN_READING struct hn_reading to = { 0 };
        HN_CLEANUP(end_reading) struct reading r = { .meter = meter, .now_us = now_us, .to = &to };
        int error = meter->last_us && now_us <= meter->last_us ? -EAGAIN : begin(&r, guests->n);

        for (size_t i = 0; error >= 0 && i < guests->n; i++)
                error = read_guest(&r, guests->list[i]);
        if (error >= 0)
                error = read_nodes(&r);
        for (size_t i = 0; error >= 0 && i < guests->n; i++)
                error = add_guest_load(to.load, guests->list[i]);
        if (error < 0)
                return error;
        to.measured = meter->last_us != 0;
        remember(&r);
        *ret = to;
        to = (struct hn_reading) { 0 };
        return 0;
}

/* ---- for those who go by it */

int hn_meter_resident(const struct hn_guest *guest, const struct hn_host *host, uint64_t **ret)
{
        uint64_t *kib;

        *ret = NULL;
        if (!guest->meter.started || !guest->meter.last.has_resident)
                return 0;
        kib = calloc(host->n_nodes + 1, sizeof *kib);
        if (!kib)
                return -ENOMEM;
        for (size_t at = 0; at < host->n_nodes; at++)
                kib[at] = hn_resident_kib(&guest->meter.last.resident, host->nodes[at].os);
        *ret = kib;
        return 0;
}

void hn_reading_credit_pages(struct hn_reading *reading, const struct hn_guests *guests)
{
        for (size_t i = 0; i < guests->n; i++) {
                const struct hn_entry *entry = guests->list[i]->entry;

                for (size_t j = 0; entry && j < entry->placement->n_promises; j++) {
                        const struct hn_promise *promise = &entry->placement->promises[j];

                        if (promise->page_kib)
                                hn_host_credit_pages(reading->host, promise->node, promise->page_kib,
                                                     promise->memory_kib);
                }
        }
}
