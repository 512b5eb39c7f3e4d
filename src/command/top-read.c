/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/top.h"

#include <errno.h>
#include <string.h>

#include "act/cpuset.h"
#include "model/clock.h"
#include "model/text.h"
#include "store/published.h"

#define UNSMOOTHED_US 1u /* a window that any interval fills: the last one counts alone */

static void clear_known(struct hn_top_known *known)
{
        free(known->key);
        free(known->scope);
        free(known->threads);
        hn_guest_meter_clear(&known->meter);
        *known = (struct hn_top_known) { 0 };
}

static void free_known(struct hn_top_known *known, size_t n)
{
        for (size_t i = 0; known && i < n; i++)
                clear_known(&known[i]);
        free(known);
}

static const char *key_of(const struct hn_guest_status *guest)
{
        return guest->unit ? guest->unit : guest->entry ? guest->entry->placement->uuid : guest->name;
}

static int by_key(const void *a, const void *b)
{
        return strcmp(((const struct hn_top_known *) a)->key, ((const struct hn_top_known *) b)->key);
}

static int find_dirs(const struct hn_root *root, const struct hn_guest_status *guest, struct hn_top_known *known)
{
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;
        int r;

        free(HN_TAKE(known->scope));
        r = hn_guest_find_scope(root, guest, &known->scope);
        if (r >= 0)
                r = hn_guest_cgroup_of_scope(root, known->scope, &cgroup);
        if (r >= 0)
                known->threads = HN_TAKE(cgroup->threads);
        return r == -ENOMEM ? r : 0;
}

/* A guest whose cgroups go while it is read is one that has no figures. */
static int read_guest(const struct hn_top *top, const struct hn_status *status, struct hn_guest_status *guest,
                      struct hn_top_known *known)
{
        HN_USAGE struct hn_guest_usage usage = { 0 };
        int r = known->threads ? 0 : find_dirs(top->root, guest, known);

        if (r >= 0)
                r = hn_guest_read_memory(top->root, status->host, known->scope, guest);
        if (r < 0)
                return r;
        r = known->threads ? hn_usage_read_cpu(top->root, known->scope, known->threads, &usage) : -ENOENT;
        if (r >= 0)
                return hn_guest_meter_add(&known->meter, &usage, hn_monotonic_us(), UNSMOOTHED_US);
        hn_guest_meter_clear(&known->meter);
        free(HN_TAKE(known->threads));
        return r == -ENOMEM ? r : 0;
}

/* Takes what is known of a guest out of the last reading's, which is sorted by key. */
static int take_known(struct hn_top_known *last, size_t n_last, const char *key, struct hn_top_known *ret)
{
        const struct hn_top_known like = { .key = (char *) key };
        struct hn_top_known *old = n_last ? bsearch(&like, last, n_last, sizeof *last, by_key) : NULL;

        *ret = (struct hn_top_known) { .key = strdup(key) };
        if (!ret->key)
                return -ENOMEM;
        if (old) {
                ret->scope = HN_TAKE(old->scope);
                ret->threads = HN_TAKE(old->threads);
                ret->meter = old->meter;
                old->meter = (struct hn_guest_meter) { 0 };
        }
        return 0;
}

static int read_guests(struct hn_top *top, struct hn_status *status, struct hn_top_known **ret)
{
        struct hn_top_known *known = calloc(status->n_guests + 1, sizeof *known);
        size_t n_last = top->status.n_guests;
        int r = known ? 0 : -ENOMEM;

        if (r >= 0 && n_last > 0)
                qsort(top->known, n_last, sizeof *top->known, by_key);
        for (size_t i = 0; r >= 0 && i < status->n_guests; i++)
                r = take_known(top->known, n_last, key_of(&status->guests[i]), &known[i]);
        for (size_t i = 0; r >= 0 && i < status->n_guests; i++)
                r = read_guest(top, status, &status->guests[i], &known[i]);
        if (r < 0) {
                free_known(known, status->n_guests);
                return r;
        }
        *ret = known;
        return 0;
}

/* How busy nodes were since the last reading. */
static int read_load(struct hn_top *top, struct hn_status *status, uint64_t now_us)
{
        HN_CPU_TIMES struct hn_cpu_times times = { 0 };
        int r = hn_cpu_times_read(top->root, &times);

        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return hn_status_fault(status, "load of nodes is not known: /proc/stat can't be read (%s)", strerror(-r));
        if (top->read_us && now_us > top->read_us) {
                status->load_interval_ms = (unsigned) ((now_us - top->read_us + 500) / 1000);
                for (size_t at = 0; status->host && at < status->host->n_nodes; at++)
                        status->nodes[at].busy_cpus = hn_cpu_times_busy(&top->times, &times, status->host->nodes[at].cpus);
        }
        hn_cpu_times_clear(&top->times);
        top->times = times;
        times = (struct hn_cpu_times) { 0 };
        return 0;
}

int hn_top_read(struct hn_top *top)
{
        HN_STATUS struct hn_status status = { 0 };
        struct hn_top_known *known = NULL;
        uint64_t now_us = hn_monotonic_us();
        int r = hn_status_read_again(top->root, &top->status, &status);

        if (r >= 0)
                r = read_load(top, &status, now_us);
        if (r >= 0)
                r = read_guests(top, &status, &known);
        if (r < 0)
                return r;
        free_known(top->known, top->status.n_guests);
        hn_status_clear(&top->status);
        top->known = known;
        top->status = status;
        top->read_us = now_us;
        top->daemon_told = hn_published_lives(top->root, &top->daemon_lives) >= 0;
        status = (struct hn_status) { 0 };
        return 0;
}

void hn_top_clear(struct hn_top *top)
{
        free_known(top->known, top->status.n_guests);
        hn_status_clear(&top->status);
        hn_cpu_times_clear(&top->times);
        *top = (struct hn_top) { 0 };
}
