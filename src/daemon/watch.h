/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Watching guests' cgroups: a new thread group, or a write to a cpuset file by anybody, us included.
 */
#pragma once

#include "model/domain.h"
#include "model/groups.h"

enum hn_watch_news {
        HN_WATCH_CHANGED, /* a cpuset file was written */
        HN_WATCH_NEW,     /* a thread group was made */
        HN_WATCH_LOST,    /* one went, and its watch with it; all with NULL for the UUID: events were lost */
};

struct hn_watch;
typedef void hn_watch_call(void *data, const char *uuid, enum hn_watch_news news);

int hn_watch_new(const struct hn_root *root, struct hn_watch **ret);
void hn_watch_free(struct hn_watch *watch);
HN_DEFINE_CLEANUP(struct hn_watch *, hn_watch_free, hn_cleanup_watch)
#define HN_WATCH HN_CLEANUP(hn_cleanup_watch)

/* Readable when there is news; stays the watch's. */
int hn_watch_fd(const struct hn_watch *watch);

/* Watches scope, level of threads and all groups of a guest; those that are watched already stay.  Goes on after a
 * failure and returns the first: -ENOSPC: the host's limit of watches (fs.inotify.max_user_watches). */
int hn_watch_guest(struct hn_watch *watch, const char *uuid, const char *scope, const char *threads,
                   const struct hn_groups *groups);

/* Watches machine.slice, whose UUID is "" in what is called; one that is not there yet is no error.  Doing it again is
 * no harm. */
int hn_watch_slice(struct hn_watch *watch);
void hn_watch_forget(struct hn_watch *watch, const char *uuid);

/* How many folders are watched; for tests. */
size_t hn_watch_count(const struct hn_watch *watch);

/* Reads what there is and calls for each guest and news; never waits. */
void hn_watch_read(struct hn_watch *watch, hn_watch_call *call, void *data);
