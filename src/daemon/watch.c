/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "model/array.h"
#include "model/text.h"

#define WATCHED (IN_MODIFY | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR)
#define FILES "cpuset." /* the only ones whose change is news: balloons and weights change as well */

struct folder {
        int wd;
        char uuid[HN_UUID_LENGTH + 1];
};

struct hn_watch {
        const struct hn_root *root;
        int fd;
        struct folder *folders;
        size_t n;
};

int hn_watch_new(const struct hn_root *root, struct hn_watch **ret)
{
        HN_WATCH struct hn_watch *watch = calloc(1, sizeof *watch);

        if (!watch)
                return -ENOMEM;
        watch->root = root;
        watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (watch->fd < 0)
                return -errno;
        *ret = HN_TAKE(watch);
        return 0;
}

void hn_watch_free(struct hn_watch *watch)
{
        if (!watch)
                return;
        if (watch->fd >= 0)
                (void) close(watch->fd);
        free(watch->folders);
        free(watch);
}

int hn_watch_fd(const struct hn_watch *watch)
{
        return watch->fd;
}

size_t hn_watch_count(const struct hn_watch *watch)
{
        return watch->n;
}

static struct folder *find(struct hn_watch *watch, int wd)
{
        for (size_t i = 0; i < watch->n; i++)
                if (watch->folders[i].wd == wd)
                        return &watch->folders[i];
        return NULL;
}

static int add(struct hn_watch *watch, const char *uuid, const char *dir)
{
        struct folder *folder;
        int wd;

        folder = hn_array_grow(watch->folders, watch->n, sizeof *folder);
        if (!folder)
                return -ENOMEM;
        watch->folders = folder;
        wd = hn_root_watch(watch->root, watch->fd, WATCHED, "%s", dir);
        if (wd < 0)
                return wd == -ENOENT || wd == -ENOTDIR ? 0 : wd; /* gone meanwhile */
        folder = find(watch, wd);
        if (!folder)
                folder = &watch->folders[watch->n++];
        folder->wd = wd;
        (void) snprintf(folder->uuid, sizeof folder->uuid, "%s", uuid);
        return 0;
}

int hn_watch_guest(struct hn_watch *watch, const char *uuid, const char *scope, const char *threads,
                   const struct hn_groups *groups)
{
        int error = add(watch, uuid, scope), r = add(watch, uuid, threads);

        if (error >= 0)
                error = r;
        for (size_t i = 0; i < groups->n; i++) {
                HN_FREE char *dir = hn_text_print("%s/%s", threads, groups->list[i].name);

                r = dir ? add(watch, uuid, dir) : -ENOMEM;
                if (error >= 0)
                        error = r;
        }
        return error;
}

int hn_watch_slice(struct hn_watch *watch)
{
        return add(watch, "", "/sys/fs/cgroup/machine.slice");
}

static void drop(struct hn_watch *watch, const struct folder *folder)
{
        size_t at = (size_t) (folder - watch->folders);

        watch->folders[at] = watch->folders[--watch->n];
}

void hn_watch_forget(struct hn_watch *watch, const char *uuid)
{
        for (size_t i = watch->n; i-- > 0;)
                if (strcmp(watch->folders[i].uuid, uuid) == 0) {
                        (void) inotify_rm_watch(watch->fd, watch->folders[i].wd);
                        drop(watch, &watch->folders[i]);
                }
}

static void tell(struct hn_watch *watch, const struct inotify_event *event, hn_watch_call *call, void *data)
{
        char uuid[HN_UUID_LENGTH + 1];
        struct folder *folder;

        if (event->mask & IN_Q_OVERFLOW) {
                call(data, NULL, HN_WATCH_LOST);
                return;
        }
        folder = find(watch, event->wd);
        if (!folder)
                return;
        memcpy(uuid, folder->uuid, sizeof uuid); /* the call may change the list */
        if (event->mask & IN_IGNORED) {
                drop(watch, folder);
                call(data, uuid, HN_WATCH_LOST);
        } else if (event->mask & IN_CREATE && event->mask & IN_ISDIR) {
                call(data, uuid, HN_WATCH_NEW);
        } else if (event->mask & IN_MODIFY && event->len && strncmp(event->name, FILES, strlen(FILES)) == 0) {
                call(data, uuid, HN_WATCH_CHANGED);
        }
}

void hn_watch_read(struct hn_watch *watch, hn_watch_call *call, void *data)
{
        union {
                struct inotify_event event; /* for its alignment */
                char bytes[16384];
        } buffer;
        ssize_t n;

        while ((n = read(watch->fd, buffer.bytes, sizeof buffer.bytes)) > 0)
                for (ssize_t at = 0; at < n;) {
                        struct inotify_event event;

                        memcpy(&event, buffer.bytes + at, sizeof event);
                        tell(watch, (const struct inotify_event *) (const void *) (buffer.bytes + at), call, data);
                        at += (ssize_t) (sizeof event + event.len);
                }
}
