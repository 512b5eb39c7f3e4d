/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/policy.h"

void hn_policy_defaults(struct hn_policy *ret)
{
        *ret = (struct hn_policy) {
                .smt_percent = 25,
                .headroom_percent = 20,
                .reserve_percent = 5,
                .reserve_max_kib = UINT64_C(1) << 20,
                .overhead_first_kib = UINT64_C(32) << 10,
                .overhead_per_gib_kib = UINT64_C(8) << 10,
                .definition = HN_DEFINITION_AUTO,
                .renew_seconds = 300,
                .balance = { .period_seconds = 10, .moves = 2, .threshold_percent = 15, .payback_seconds = 120,
                             .cooldown_seconds = 60 },
        };
}
