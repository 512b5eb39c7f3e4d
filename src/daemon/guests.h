/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The running guests that the daemon looks after, and what it knows of each.
 */
#pragma once

#include "act/cpuset.h"
#include "daemon/contest.h"
#include "model/load-guest.h"
#include "store/ledger.h"

struct hn_guest {
        char uuid[HN_UUID_LENGTH + 1];
        int pid;
        uint64_t start_ticks;
        struct hn_entry *entry;         /* the ledger's, as of the last look; NULL: none */
        struct hn_request *request;     /* of the live XML, as of the last look; cells that homenode bound: where they are
                                         * bound by now (hn_entry_settle_bound) */
        struct hn_guest_cgroup *cgroup; /* NULL: not found */
        struct hn_contest contest;
        struct hn_guest_meter meter;    /* of what it uses (daemon/meter.h) */
        uint64_t layout;                /* tells one set of thread groups from another; 0: to be looked at anew */
        unsigned stands_in;             /* the host (outlook.generation) on which its home was looked at; 0: none */
        bool tried;                     /* it was decided on, and left to libvirt where it is; till there is room */
        bool memory_told, homeless_told, failure_told, nowhere_told; /* said once in the journal */
};

struct hn_guests {
        struct hn_guest **list;
        size_t n;
};

struct hn_guest *hn_guests_find(const struct hn_guests *guests, const char *uuid);

/* The guest of that UUID, new where it is not there.  One whose QEMU is another than before begins anew: what was
 * known of the old one is dropped.  NULL without memory. */
struct hn_guest *hn_guests_obtain(struct hn_guests *guests, const char *uuid, int pid, uint64_t start_ticks);
void hn_guests_remove(struct hn_guests *guests, const char *uuid);
void hn_guests_clear(struct hn_guests *guests);

/* Take over what they are given. */
void hn_guest_take_entry(struct hn_guest *guest, struct hn_entry *entry);
void hn_guest_take_request(struct hn_guest *guest, struct hn_request *request);
