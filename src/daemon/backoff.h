/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Waiting longer from try to try: first, twice that, …, at most `most_ms`.
 */
#pragma once

struct hn_backoff {
        unsigned first_ms, most_ms;
        unsigned last_ms; /* 0: none yet, or reset */
};

/* What to wait before the next try. */
static inline unsigned hn_backoff_next(struct hn_backoff *backoff)
{
        unsigned wait_ms = backoff->last_ms ? backoff->last_ms : backoff->first_ms;

        if (backoff->last_ms)
                wait_ms = wait_ms > backoff->most_ms / 2 ? backoff->most_ms : wait_ms * 2;
        backoff->last_ms = wait_ms;
        return wait_ms;
}

static inline void hn_backoff_reset(struct hn_backoff *backoff)
{
        backoff->last_ms = 0;
}
