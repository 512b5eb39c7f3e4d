/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue of what is to be looked at: per domain what happened, coalesced.  Callbacks of libvirt, inotify and
 * others only mark; the loop calls the handlers afterwards, one domain a turn.  What takes longer goes on apart from
 * the loop; the domain waits for it, the others don't.
 */
#pragma once

#include "model/domain.h"

enum hn_matter {
        HN_LOOK_DEFINITION = 1 << 0, /* the persistent definition came, changed or went */
        HN_LOOK_RUNNING = 1 << 1,    /* it started, or something of the running guest changed */
        HN_LOOK_GONE = 1 << 2,       /* it stopped */
        HN_LOOK_HOST = 1 << 3,       /* the host changed, or libvirt was connected to; the UUID is "" */
        /* beside HN_LOOK_DEFINITION: what libvirt said of it */
        HN_LOOK_ADDED = 1 << 4,
        HN_LOOK_UPDATED = 1 << 5,
        HN_LOOK_UNDEFINED = 1 << 6,
};

struct hn_work;

/* True: it is under way still, and hn_work_done says when it ends.  Until then nothing else is begun for that domain,
 * and what is marked meanwhile is looked at afterwards. */
typedef bool hn_work_handler(void *data, const char *uuid, unsigned matters);

int hn_work_new(struct hn_work **ret);
void hn_work_free(struct hn_work *work);
HN_DEFINE_CLEANUP(struct hn_work *, hn_work_free, hn_cleanup_work)
#define HN_WORK HN_CLEANUP(hn_cleanup_work)

/* Has a handler called for these matters, after those that were there before it.  It gets those of its own that
 * are marked, all at once.  -ENOSPC: there are as many as there can be. */
int hn_work_subscribe(struct hn_work *work, unsigned matters, hn_work_handler *handler, void *data);

/* Marks a domain ("": the host) at once, or in `wait_ms`.  What is marked already is looked at once, at the earlier of
 * both times.  -EINVAL: no UUID; -ENOMEM. */
int hn_work_mark(struct hn_work *work, const char *uuid, unsigned matters);
int hn_work_mark_later(struct hn_work *work, const char *uuid, unsigned matters, unsigned wait_ms);

/* What a handler said to be under way has ended: the handlers after it are called, here. */
void hn_work_done(struct hn_work *work, const char *uuid);

/* How many are marked or under way; for tests and for saying so. */
size_t hn_work_count(const struct hn_work *work);
