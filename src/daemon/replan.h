/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A running guest whose home lost CPUs or memory: it is decided on anew, as at a start, and the ledger gets the answer.
 * When it leaves is decide/stay.h's rule; keep.h's brings it about: CPUs at once, memory as far as that holds nothing
 * up.  A guest whose memory set was left open keeps it so.
 */
#pragma once

#include "daemon/adopt.h"
#include "decide/stay.h"

enum hn_replanned {
        HN_REPLAN_STAYS,
        HN_REPLAN_LEAVES,  /* for another home */
        HN_REPLAN_SHIFTS,  /* to other CPUs of its home */
        HN_REPLAN_WIDENS,  /* stays, and gets CPUs of its home besides */
        HN_REPLAN_NOWHERE, /* it is homeless, and there is no room for it anywhere; nothing has changed */
};

/* `entry` is the ledger's, whose lock is held; replaced (in the ledger too) where something changes.  Returns an enum
 * hn_replanned; errors as hn_adopt. */
int hn_replan(const struct hn_adoption *adoption, struct hn_ledger *ledger, enum hn_standing standing,
              struct hn_entry **entry);

/* Gives a guest that stays the CPUs that its home has got since (decide/widen.h).  `entry` as above.  Returns
 * HN_REPLAN_STAYS or HN_REPLAN_WIDENS; -ENOMEM, and those of writing the ledger. */
int hn_replan_widen(const struct hn_host *host, const struct hn_request *request, struct hn_ledger *ledger,
                    struct hn_entry *entry);
