/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/opening.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>
#include <sys/eventfd.h>

#include "daemon/thread.h"

/* A libvirt that is not heard of for 20 s is gone: without this a call would wait for ever. */
#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 3u

struct hn_opening {
        pthread_mutex_t lock;
        bool done, abandoned; /* by the thread, by the loop: whoever comes second frees */
        int fd;
        hn_open_call *open;
        void *open_data;
        char *uri;
        int r;
        virConnectPtr connection;
        char *message;
        struct hn_readable *readable;
};

int hn_open_libvirt(void *data, const char *uri, virConnectPtr *ret, char **ret_message)
{
        virConnectPtr connection = virConnectOpen(uri);
        const char *message;
        (void) data;

        if (connection) {
                /* Drivers that live in this process have none. */
                (void) virConnectSetKeepAlive(connection, KEEPALIVE_S, KEEPALIVE_COUNT);
                *ret = connection;
                return 0;
        }
        message = virGetLastErrorMessage();
        *ret_message = message ? strdup(message) : NULL;
        return -EIO;
}

static void destroy(struct hn_opening *opening)
{
        if (opening->connection)
                (void) virConnectClose(opening->connection);
        if (opening->fd >= 0)
                (void) close(opening->fd);
        (void) pthread_mutex_destroy(&opening->lock);
        free(opening->message);
        free(opening->uri);
        free(opening);
}
HN_DEFINE_CLEANUP(struct hn_opening *, destroy, cleanup_opening)

static void *run(void *data)
{
        struct hn_opening *opening = data;
        virConnectPtr connection = NULL;
        char *message = NULL;
        int r = opening->open(opening->open_data, opening->uri, &connection, &message);
        bool abandoned;

        (void) pthread_mutex_lock(&opening->lock);
        opening->r = r;
        opening->connection = connection;
        opening->message = message;
        opening->done = true;
        abandoned = opening->abandoned;
        if (!abandoned)
                (void) eventfd_write(opening->fd, 1);
        (void) pthread_mutex_unlock(&opening->lock);
        if (abandoned)
                destroy(opening);
        return NULL;
}

int hn_opening_start(hn_open_call *open, void *open_data, const char *uri, hn_loop_call *call, void *data,
                     struct hn_opening **ret)
{
        HN_CLEANUP(cleanup_opening) struct hn_opening *opening = calloc(1, sizeof *opening);
        int r;

        if (!opening)
                return -ENOMEM;
        (void) pthread_mutex_init(&opening->lock, NULL);
        opening->open = open;
        opening->open_data = open_data;
        opening->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        opening->uri = strdup(uri);
        if (opening->fd < 0 || !opening->uri)
                return -ENOMEM;
        r = hn_readable_new(opening->fd, call, data, &opening->readable);
        if (r < 0)
                return r;
        r = hn_thread_start(run, opening, 0, NULL);
        if (r < 0) {
                hn_readable_free(opening->readable);
                return r;
        }
        *ret = HN_TAKE(opening);
        return 0;
}

int hn_opening_take(struct hn_opening *opening, virConnectPtr *ret, char **ret_message)
{
        int r = -EAGAIN;

        (void) pthread_mutex_lock(&opening->lock);
        if (opening->done)
                r = opening->r;
        if (r == 0)
                *ret = HN_TAKE(opening->connection);
        else if (r != -EAGAIN)
                *ret_message = HN_TAKE(opening->message);
        (void) pthread_mutex_unlock(&opening->lock);
        return r;
}

void hn_opening_free(struct hn_opening *opening)
{
        bool done;

        if (!opening)
                return;
        hn_readable_free(opening->readable);
        (void) pthread_mutex_lock(&opening->lock);
        opening->abandoned = true;
        done = opening->done;
        (void) pthread_mutex_unlock(&opening->lock);
        if (done)
                destroy(opening);
}
