/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/reach.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "act/libvirt.h"

#define OPEN_WAIT_S 20       /* a daemon that systemd starts for us, with many guests */
#define KEEPALIVE_S 5        /* calls to one that hangs end after four times that */
#define KEEPALIVE_COUNT 3u

struct opening {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool done, abandoned; /* whoever comes second frees */
        virConnectPtr libvirt;
        char *message;
};

static void destroy(struct opening *opening)
{
        if (opening->libvirt)
                (void) virConnectClose(opening->libvirt);
        free(opening->message);
        (void) pthread_cond_destroy(&opening->changed);
        (void) pthread_mutex_destroy(&opening->lock);
        free(opening);
}

/* What libvirt has to say is said by us, with what it is about. */
static void say_nothing(void *data, virErrorPtr error)
{
        (void) data;
        (void) error;
}

static void *open_it(void *data)
{
        struct opening *opening = data;
        virConnectPtr libvirt = virConnectOpen(hn_libvirt_uri());
        const char *message = libvirt ? NULL : virGetLastErrorMessage();
        bool abandoned;

        (void) pthread_mutex_lock(&opening->lock);
        opening->libvirt = libvirt;
        opening->message = message ? strdup(message) : NULL;
        opening->done = true;
        abandoned = opening->abandoned;
        (void) pthread_cond_signal(&opening->changed);
        (void) pthread_mutex_unlock(&opening->lock);
        if (abandoned)
                destroy(opening);
        return NULL;
}

static int new_opening(struct opening **ret)
{
        struct opening *opening = calloc(1, sizeof *opening);
        pthread_condattr_t attributes;

        if (!opening)
                return -ENOMEM;
        (void) pthread_condattr_init(&attributes);
        (void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void) pthread_cond_init(&opening->changed, &attributes);
        (void) pthread_condattr_destroy(&attributes);
        (void) pthread_mutex_init(&opening->lock, NULL);
        *ret = opening;
        return 0;
}

static bool wait_for(struct opening *opening)
{
        struct timespec until;
        bool done;
        int r = 0;

        (void) clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += OPEN_WAIT_S;
        (void) pthread_mutex_lock(&opening->lock);
        while (!opening->done && r == 0)
                r = pthread_cond_timedwait(&opening->changed, &opening->lock, &until);
        done = opening->done;
        opening->abandoned = !done;
        (void) pthread_mutex_unlock(&opening->lock);
        return done;
}

static const char *open_connection(virConnectPtr *ret, char **ret_message)
{
        struct opening *opening = NULL;
        pthread_t thread;

        if (new_opening(&opening) < 0)
                return "out of memory";
        if (pthread_create(&thread, NULL, open_it, opening) != 0) {
                destroy(opening);
                return "no thread can be had";
        }
        (void) pthread_detach(thread);
        if (!wait_for(opening))
                return "it does not answer";
        *ret = HN_TAKE(opening->libvirt);
        *ret_message = HN_TAKE(opening->message);
        destroy(opening);
        return *ret ? NULL : "no message";
}

int hn_reach_libvirt(virConnectPtr *ret, char **ret_fault)
{
        HN_FREE char *message = NULL;
        virConnectPtr libvirt = NULL;
        const char *fault;

        virSetErrorFunc(NULL, say_nothing);
        (void) virEventRegisterDefaultImpl(); /* keepalive wants one; calls see to it themselves while they wait */
        fault = open_connection(&libvirt, &message);
        if (!fault) {
                (void) virConnectSetKeepAlive(libvirt, KEEPALIVE_S, KEEPALIVE_COUNT);
                *ret = libvirt;
                return 0;
        }
        *ret_fault = strdup(message ? message : fault);
        return *ret_fault ? 0 : -ENOMEM;
}
