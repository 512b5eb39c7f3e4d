/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/gather.h"

#include <errno.h>
#include <string.h>

#include "decide/fit.h"
#include "decide/shape.h"

#define WANTED (sizeof ((struct hn_gathered *) NULL)->wanted / sizeof (struct hn_balance_wanted))

/* Of a guest that is just being started no more is known than what it was promised. */
static const struct hn_request nobody = { .id = -1 };

void hn_gathered_clear(struct hn_gathered *gathered)
{
        for (size_t i = 0; i < gathered->n; i++) {
                hn_shape_free(gathered->shapes[i]);
                free(gathered->resident[i]);
        }
        free(gathered->guests);
        free(gathered->leaving_kib);
        free(gathered->coming_kib);
        free(gathered->shapes);
        free(gathered->resident);
        hn_entries_free(gathered->entries, gathered->n_entries);
        *gathered = (struct hn_gathered) { 0 };
}

/* ---- one guest */

/* It runs wherever libvirt put it, for want of room for a home, or its home has gone. */
static bool wants_home(const struct hn_guest *guest)
{
        const struct hn_entry *entry = guest->entry;

        if (guest->request->wishes.off || guest->request->placement_auto || !guest->cgroup)
                return false;
        if (entry->managed)
                return guest->nowhere_told;
        return guest->tried && !(entry->reason && (strcmp(entry->reason, HN_REASON_GIVEN_BACK) == 0 ||
                                                   strcmp(entry->reason, HN_REASON_OPTED_OUT) == 0));
}

/* Being started or looked at anew, moved, fought about with somebody else, or not to be moved by the mover. */
static bool is_held(const struct hn_gather_source *source, const struct hn_guest *guest)
{
        return guest->entry->state != HN_ENTRY_STARTED || !guest->cgroup || guest->contest.told ||
               guest->stands_in != source->generation || source->moves(source->data, guest->uuid) ||
               (!source->urgent && (guest->request->n_plugged || hn_guest_meter_busy(&guest->meter) < 0));
}

/* What a move has yet to take along of ordinary memory; a guest that does not tell is taken to hold all that it was
 * promised. */
static void add_under_way(const struct hn_gather_source *source, const struct hn_guest *guest, const uint64_t *resident,
                          struct hn_gathered *gathered)
{
        const struct hn_moving *moving = guest->entry->moving;
        const struct hn_host *host = source->reading->host;

        if (!moving || !source->moves(source->data, guest->uuid))
                return;
        for (size_t at = 0; at < host->n_nodes; at++) {
                uint64_t from = hn_placement_memory_kib(moving->from, host->nodes[at].os, 0);
                uint64_t to = hn_placement_memory_kib(moving->to, host->nodes[at].os, 0);
                uint64_t leaves = hn_subtract(from, to);
                uint64_t held = resident ? resident[at] : from;

                held = hn_subtract(held, to);
                gathered->leaving_kib[at] = hn_add(gathered->leaving_kib[at], leaves < held ? leaves : held);
                held = resident && resident[at] > from ? resident[at] : from;
                gathered->coming_kib[at] = hn_add(gathered->coming_kib[at], hn_subtract(to, held));
        }
}

static int add_guest(const struct hn_gather_source *source, const struct hn_guest *guest, struct hn_gathered *gathered)
{
        struct hn_balance_guest *to = &gathered->guests[gathered->input.n_guests];
        struct hn_balance_input *input = &gathered->input;
        size_t i = gathered->n++;
        const struct hn_request *request = guest->request;
        bool wanted = wants_home(guest) && input->n_wanted < WANTED;
        int r = 0;

        if (guest->entry->managed || wanted)
                r = hn_shape_running(source->reading->host, request, &gathered->shapes[i]);
        if (r >= 0)
                r = hn_meter_resident(guest, source->reading->host, &gathered->resident[i]);
        if (r < 0)
                return r;
        add_under_way(source, guest, gathered->resident[i], gathered);
        if (wanted) {
                gathered->wanted[input->n_wanted++] = (struct hn_balance_wanted) { request, gathered->shapes[i] };
                return 0;
        }
        *to = (struct hn_balance_guest) {
                .request = request, .shape = guest->entry->managed ? gathered->shapes[i] : NULL,
                .placement = guest->entry->placement, .busy_cpus = hn_guest_meter_busy(&guest->meter),
                .resident_kib = gathered->resident[i], .held = is_held(source, guest),
        };
        input->n_guests++;
        return 0;
}

/* ---- all of them */

static bool is_known(void *data, const char *uuid)
{
        const struct hn_guest *guest = hn_guests_find(data, uuid);

        return guest && guest->entry && guest->request;
}

/* What is promised is not to be given away, whoever it was promised to. */
static void add_others(struct hn_gathered *gathered)
{
        for (size_t i = 0; i < gathered->n_entries; i++)
                gathered->guests[gathered->input.n_guests++] = (struct hn_balance_guest) {
                        .request = &nobody, .placement = gathered->entries[i]->placement, .busy_cpus = -1, .held = true,
                };
}

static int begin(const struct hn_gather_source *source, struct hn_gathered *gathered)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        size_t n = source->guests->n;
        int r = hn_ledger_open(source->root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_load_others(ledger, is_known, (void *) source->guests, &gathered->entries,
                                          &gathered->n_entries);
        if (r < 0)
                return r;
        gathered->guests = calloc(n + gathered->n_entries + 1, sizeof *gathered->guests);
        gathered->shapes = calloc(n + 1, sizeof *gathered->shapes);
        gathered->resident = calloc(n + 1, sizeof *gathered->resident);
        gathered->leaving_kib = calloc(source->reading->host->n_nodes + 1, sizeof *gathered->leaving_kib);
        gathered->coming_kib = calloc(source->reading->host->n_nodes + 1, sizeof *gathered->coming_kib);
        return gathered->guests && gathered->shapes && gathered->resident && gathered->leaving_kib && gathered->coming_kib
                       ? 0
                       : -ENOMEM;
}

int hn_gather(const struct hn_gather_source *source, struct hn_gathered *ret)
{
        HN_GATHERED struct hn_gathered gathered = { 0 };
        int r = begin(source, &gathered);

        for (size_t i = 0; r >= 0 && i < source->guests->n; i++)
                if (source->guests->list[i]->entry && source->guests->list[i]->request)
                        r = add_guest(source, source->guests->list[i], &gathered);
        if (r < 0)
                return r;
        add_others(&gathered);
        hn_reading_credit_pages(source->reading, source->guests);
        *ret = gathered;
        gathered = (struct hn_gathered) { 0 };
        ret->input.host = source->reading->host;
        ret->input.load = source->reading->load;
        ret->input.free_kib = source->reading->free_kib;
        ret->input.leaving_kib = ret->leaving_kib;
        ret->input.coming_kib = ret->coming_kib;
        ret->input.policy = source->policy;
        ret->input.past = source->past;
        ret->input.guests = ret->guests;
        ret->input.wanted = ret->wanted;
        ret->input.copy_kib_per_second = source->copy_kib_per_second;
        ret->input.now_us = source->now_us;
        return 0;
}
