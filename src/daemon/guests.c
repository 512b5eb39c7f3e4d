/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/guests.h"

#include <string.h>

#include "model/array.h"

static void clear(struct hn_guest *guest)
{
        hn_entry_free(guest->entry);
        hn_request_free(guest->request);
        hn_guest_cgroup_free(guest->cgroup);
        hn_guest_meter_clear(&guest->meter);
}

static void begin(struct hn_guest *guest, const char *uuid, int pid, uint64_t start_ticks)
{
        *guest = (struct hn_guest) { .pid = pid, .start_ticks = start_ticks };
        (void) snprintf(guest->uuid, sizeof guest->uuid, "%s", uuid);
}

struct hn_guest *hn_guests_find(const struct hn_guests *guests, const char *uuid)
{
        for (size_t i = 0; i < guests->n; i++)
                if (strcmp(guests->list[i]->uuid, uuid) == 0)
                        return guests->list[i];
        return NULL;
}

struct hn_guest *hn_guests_obtain(struct hn_guests *guests, const char *uuid, int pid, uint64_t start_ticks)
{
        struct hn_guest *guest = hn_guests_find(guests, uuid), **list;

        if (guest && guest->pid == pid && guest->start_ticks == start_ticks)
                return guest;
        if (guest) {
                char own[HN_UUID_LENGTH + 1];

                memcpy(own, guest->uuid, sizeof own); /* `uuid` may be the guest's own */
                clear(guest);
                begin(guest, own, pid, start_ticks);
                return guest;
        }
        list = hn_array_grow(guests->list, guests->n, sizeof(struct hn_guest *));
        if (!list)
                return NULL;
        guests->list = list;
        guest = calloc(1, sizeof *guest);
        if (!guest)
                return NULL;
        begin(guest, uuid, pid, start_ticks);
        guests->list[guests->n++] = guest;
        return guest;
}

void hn_guests_remove(struct hn_guests *guests, const char *uuid)
{
        for (size_t i = 0; i < guests->n; i++)
                if (strcmp(guests->list[i]->uuid, uuid) == 0) {
                        clear(guests->list[i]);
                        free(guests->list[i]);
                        guests->list[i] = guests->list[--guests->n];
                        return;
                }
}

void hn_guests_clear(struct hn_guests *guests)
{
        while (guests->n)
                hn_guests_remove(guests, guests->list[0]->uuid);
        free(guests->list);
        *guests = (struct hn_guests) { 0 };
}

/* Without memory they count as bound where they were at the start, which only makes its memory set wider. */
static void settle_bound(struct hn_guest *guest)
{
        if (guest->entry && guest->request)
                (void) hn_entry_settle_bound(guest->entry, guest->request);
}

void hn_guest_take_entry(struct hn_guest *guest, struct hn_entry *entry)
{
        hn_entry_free(guest->entry);
        guest->entry = entry;
        settle_bound(guest);
}

void hn_guest_take_request(struct hn_guest *guest, struct hn_request *request)
{
        hn_request_free(guest->request);
        guest->request = request;
        settle_bound(guest);
}
