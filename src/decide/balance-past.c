/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/balance-past.h"

#include <errno.h>
#include <string.h>

#define SECOND_US UINT64_C(1000000)

/* A move counts for a streak until so long after it. */
#define STREAK_US (600 * SECOND_US)

/* What did not work is not tried again for a minute at least, whatever the cool-down. */
#define FAILED_SECONDS 60u

#define DOUBLINGS 6u

static int by_uuid(const void *key, const void *record)
{
        return strcmp(key, ((const struct hn_balance_record *) record)->uuid);
}

const struct hn_balance_record *hn_balance_recall(const struct hn_balance_past *past, const char *uuid)
{
        if (!past || !past->n)
                return NULL;
        return bsearch(uuid, past->records, past->n, sizeof *past->records, by_uuid);
}

static struct hn_balance_record *find_or_add(struct hn_balance_past *past, const char *uuid)
{
        struct hn_balance_record *record = (struct hn_balance_record *) hn_balance_recall(past, uuid);
        size_t i = past->n;

        if (record)
                return record;
        record = reallocarray(past->records, past->n + 1, sizeof *record);
        if (!record)
                return NULL;
        past->records = record;
        for (; i > 0 && strcmp(record[i - 1].uuid, uuid) > 0; i--)
                record[i] = record[i - 1];
        record[i] = (struct hn_balance_record) { 0 };
        memcpy(record[i].uuid, uuid, strlen(uuid) + 1);
        past->n++;
        return &record[i];
}

unsigned hn_balance_streak(const struct hn_balance_record *record, uint64_t now_us)
{
        uint64_t rested = record && now_us > record->moved_us ? (now_us - record->moved_us) / STREAK_US : 0;

        return record && record->streak > rested ? record->streak - (unsigned) rested : 0;
}

int hn_balance_note(struct hn_balance_past *past, const char *uuid, hwloc_const_bitmap_t home, bool delivered,
                    uint64_t now_us)
{
        HN_BITMAP hwloc_bitmap_t failed = delivered ? NULL : hwloc_bitmap_dup(home);
        struct hn_balance_record *record;

        if (strlen(uuid) > HN_UUID_LENGTH)
                return -EINVAL;
        record = !delivered && !failed ? NULL : find_or_add(past, uuid);
        if (!record)
                return -ENOMEM;
        record->streak = hn_balance_streak(record, now_us);
        record->streak += record->streak < DOUBLINGS;
        record->moved_us = now_us;
        hwloc_bitmap_free(record->failed);
        record->failed = HN_TAKE(failed);
        record->failures = delivered ? 0 : record->failures + (record->failures < DOUBLINGS);
        record->failed_us = delivered ? 0 : now_us;
        return 0;
}

void hn_balance_forget(struct hn_balance_past *past, const char *uuid)
{
        struct hn_balance_record *record = (struct hn_balance_record *) hn_balance_recall(past, uuid);

        if (!record)
                return;
        hwloc_bitmap_free(record->failed);
        past->n--;
        memmove(record, record + 1, (past->n - (size_t) (record - past->records)) * sizeof *record);
}

void hn_balance_past_clear(struct hn_balance_past *past)
{
        for (size_t i = 0; i < past->n; i++)
                hwloc_bitmap_free(past->records[i].failed);
        free(past->records);
        *past = (struct hn_balance_past) { 0 };
}

static bool within(uint64_t since_us, uint64_t seconds, unsigned doublings, uint64_t now_us)
{
        return now_us < since_us || now_us - since_us < seconds * SECOND_US << doublings;
}

bool hn_balance_rests(const struct hn_balance_record *record, const struct hn_balance_policy *policy, uint64_t now_us)
{
        return record && within(record->moved_us, policy->cooldown_seconds, record->streak ? record->streak - 1 : 0,
                                now_us);
}

bool hn_balance_avoids(const struct hn_balance_record *record, const struct hn_balance_policy *policy,
                       hwloc_const_bitmap_t home, uint64_t now_us)
{
        uint64_t seconds = policy->cooldown_seconds > FAILED_SECONDS ? policy->cooldown_seconds : FAILED_SECONDS;

        return record && record->failed && hwloc_bitmap_isequal(record->failed, home)
               && within(record->failed_us, seconds, record->failures, now_us);
}
