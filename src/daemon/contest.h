/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Not fighting: what is found changed is put right once; where it is changed again and again, somebody else means it,
 * and we wait longer each time (1 s, 2, 4 … 5 min).  Said once when it begins, and once when it has settled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hn_contest {
        uint64_t last_us; /* the last repair (hn_monotonic_us); 0: none yet */
        unsigned wait_ms; /* to be waited after it */
        unsigned repairs; /* in a row */
        bool told;
};

enum hn_contest_news { HN_CONTEST_NO_NEWS, HN_CONTEST_BEGUN, HN_CONTEST_SETTLED };

/* How long a repair has to wait; 0: not at all. */
unsigned hn_contest_wait_ms(const struct hn_contest *contest, uint64_t now_us);

/* A repair was made. */
enum hn_contest_news hn_contest_repaired(struct hn_contest *contest, uint64_t now_us);

/* A look found all right. */
enum hn_contest_news hn_contest_right(struct hn_contest *contest, uint64_t now_us);
