/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plan as people read it: a table, then for each domain which terms decided and what came second.
 */
#pragma once

#include "decide/decide.h"

struct hn_planned {
        struct hn_request *request;
        struct hn_decision *decision;
};

/* -ENOMEM. */
int hn_plan_text(const struct hn_planned *domains, size_t n_domains, FILE *out);
