/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One entry of the ledger: its form on disk, and whether it still counts.
 *
 *   { "version": 1, "state": "reserved" | "started", "boot_id": "…", "written_us": 1,
 *     "domain_id": 7, "unit": "machine-….scope", "pid": 4711, "start_ticks": 99, "reason": "…",
 *                                                                             absent where not known
 *     "managed": true, "kept": false,
 *     "placement": { … },                                                     model/placement-json.c
 *     "moving": { "from": { … }, "to": { … }, "kind": "guest", "reason": "…", "began_us": 1, "turn": 0,
 *                 "narrowing": false, "back": false },
 *     "moved": { "count": 3, "ended_us": 1, "delivered": true, "result": "…" } }
 *                                                                             absent where there is none
 */
#pragma once

#include "store/ledger.h"

/* A guest of the 8,192 vCPUs we allow, each on a CPU of its own, takes 250 KiB, and three times as much while it moves;
 * the usual one takes 0.6. */
#define HN_ENTRY_LIMIT (1u << 20)

/* May this be the name of a unit, and so a part of a path? */
bool hn_entry_unit_valid(const char *unit);

/* Text to entry.  -EBADMSG: not an entry, or one of a domain without UUID; -ENOMEM. */
int hn_entry_parse(const char *text, size_t length, struct hn_entry **ret);

/* Entry to text; the caller frees.  -ENOMEM; -EINVAL: it is `room_only`. */
int hn_entry_format(const struct hn_entry *entry, char **ret_text, size_t *ret_length);

/* Does the entry count in this boot at this time (CLOCK_BOOTTIME)?  Looks below `root` for its QEMU or its
 * start. */
bool hn_entry_counts(const struct hn_root *root, const struct hn_entry *entry, const char *boot_id,
                     uint64_t now_us);
