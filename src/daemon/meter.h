/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Metering: what the running guests use, what keeps the nodes' CPUs busy besides, and how much memory is left, read
 * once in a period from the cheap files alone (DESIGN fact 15).
 */
#pragma once

#include "daemon/guests.h"
#include "model/host.h"
#include "model/load.h"

struct hn_reading {
        struct hn_host *host; /* as it is now, pools too; free memory with what guests hold of their promises */
        uint64_t *free_kib;   /* by `at`: free and reclaimable by the kernel's figures */
        struct hn_load *load; /* smoothed … */
        bool measured;        /* … but of the first reading, which tells no load */
};

void hn_reading_clear(struct hn_reading *reading);
#define HN_READING HN_CLEANUP(hn_reading_clear)

struct hn_meter;

/* The root must outlive it.  -ENOMEM. */
int hn_meter_new(const struct hn_root *root, struct hn_meter **ret);
void hn_meter_free(struct hn_meter *meter);
HN_DEFINE_CLEANUP(struct hn_meter *, hn_meter_free, hn_cleanup_meter)
#define HN_METER HN_CLEANUP(hn_cleanup_meter)

/* Reads host and guests, whose own meters go on.  now_us: hn_monotonic_us.  Errors are those of reading the host;
 * a guest that can't be read is left out. */
int hn_meter_read(struct hn_meter *meter, const struct hn_guests *guests, uint64_t now_us, struct hn_reading *ret);

/* Where a guest's memory was at the last reading, by the host's `at`; the caller frees.  NULL (with 0): not told.
 * -ENOMEM. */
int hn_meter_resident(const struct hn_guest *guest, const struct hn_host *host, uint64_t **ret);

/* Counts the huge pages that guests hold as free, as a scene does (store/scene.h). */
void hn_reading_credit_pages(struct hn_reading *reading, const struct hn_guests *guests);
