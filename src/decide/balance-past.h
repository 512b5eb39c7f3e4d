/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What earlier moves mean for the next ones.  Only the files of the balancer include this.
 */
#pragma once

#include "decide/balance.h"

/* Is it left alone still?  Twice as long with each move of a streak. */
bool hn_balance_rests(const struct hn_balance_record *record, const struct hn_balance_policy *policy, uint64_t now_us);

/* Moves of its streak, as far as they still count. */
unsigned hn_balance_streak(const struct hn_balance_record *record, uint64_t now_us);

/* Is this the home that it did not come to lately?  Twice as long with each failure. */
bool hn_balance_avoids(const struct hn_balance_record *record, const struct hn_balance_policy *policy,
                       hwloc_const_bitmap_t home, uint64_t now_us);
