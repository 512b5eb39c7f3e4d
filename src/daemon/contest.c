/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/contest.h"

#define FIRST_MS 1000u
#define MOST_MS (5u * 60u * 1000u)
#define QUIET_MS 10000u /* a change that comes later than this after a repair is another matter … */
#define REPAIRS_TO_TELL 3u

/* … unless we waited long ourselves. */
static uint64_t quiet_us(const struct hn_contest *contest)
{
        uint64_t quiet_ms = 2 * (uint64_t) contest->wait_ms;

        return (quiet_ms > QUIET_MS ? quiet_ms : QUIET_MS) * 1000u;
}

unsigned hn_contest_wait_ms(const struct hn_contest *contest, uint64_t now_us)
{
        uint64_t due_us = contest->last_us + (uint64_t) contest->wait_ms * 1000u;

        if (contest->last_us == 0 || now_us >= due_us)
                return 0;
        return (unsigned) ((due_us - now_us + 999u) / 1000u);
}

enum hn_contest_news hn_contest_repaired(struct hn_contest *contest, uint64_t now_us)
{
        bool again = contest->last_us != 0 && now_us - contest->last_us <= quiet_us(contest);

        contest->repairs = again ? contest->repairs + 1 : 1;
        if (!again)
                contest->wait_ms = FIRST_MS;
        else
                contest->wait_ms = contest->wait_ms > MOST_MS / 2 ? MOST_MS : 2 * contest->wait_ms;
        contest->last_us = now_us;
        if (contest->repairs < REPAIRS_TO_TELL || contest->told)
                return HN_CONTEST_NO_NEWS;
        contest->told = true;
        return HN_CONTEST_BEGUN;
}

enum hn_contest_news hn_contest_right(struct hn_contest *contest, uint64_t now_us)
{
        bool told = contest->told;

        if (contest->last_us == 0 || now_us - contest->last_us <= quiet_us(contest))
                return HN_CONTEST_NO_NEWS;
        *contest = (struct hn_contest) { 0 };
        return told ? HN_CONTEST_SETTLED : HN_CONTEST_NO_NEWS;
}
