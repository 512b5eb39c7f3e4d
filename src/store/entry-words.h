/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An entry as 64-bit words of this machine, for the ledger's index: read in a fiftieth of the time its JSON takes.
 */
#pragma once

#include "model/words.h"
#include "store/ledger.h"

/* Appends an entry.  -ENOMEM; -EINVAL: it has an infinite set, is `room_only`, or moves: that has soon changed. */
int hn_entry_to_words(const struct hn_entry *entry, struct hn_words *words);

/* An entry from exactly `n` words; its limits are those of hn_entry_parse.  -EBADMSG, -ENOMEM. */
int hn_entry_from_words(const uint64_t *words, size_t n, struct hn_entry **ret);

/* As much of it as hn_ledger_load_room gives; what follows in the words is not looked at. */
int hn_entry_room_from_words(const uint64_t *words, size_t n, struct hn_entry **ret);
