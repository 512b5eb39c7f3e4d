/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/thread.h"

#include <signal.h>
#include <stdbool.h>

#define US_PER_S 1000000u
#define NS_PER_US 1000u

static int set_attributes(pthread_attr_t *attributes, size_t stack_bytes, bool detached)
{
        int r = detached ? pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED) : 0;

        return r || !stack_bytes ? r : pthread_attr_setstacksize(attributes, stack_bytes);
}

int hn_thread_start(hn_thread_call *call, void *data, size_t stack_bytes, pthread_t *ret)
{
        pthread_attr_t attributes;
        pthread_t thread;
        sigset_t all, before;
        int r = pthread_attr_init(&attributes);

        if (r)
                return -r;
        r = set_attributes(&attributes, stack_bytes, !ret);
        if (r == 0) {
                (void) sigfillset(&all);
                (void) pthread_sigmask(SIG_SETMASK, &all, &before);
                r = pthread_create(&thread, &attributes, call, data);
                (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
        (void) pthread_attr_destroy(&attributes);
        if (r == 0 && ret)
                *ret = thread;
        return -r;
}

void hn_thread_condition(pthread_cond_t *condition)
{
        pthread_condattr_t attributes;

        (void) pthread_condattr_init(&attributes);
        (void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void) pthread_cond_init(condition, &attributes);
        (void) pthread_condattr_destroy(&attributes);
}

struct timespec hn_thread_until(uint64_t wait_us)
{
        struct timespec until;
        uint64_t us;

        (void) clock_gettime(CLOCK_MONOTONIC, &until);
        us = (uint64_t) until.tv_nsec / NS_PER_US + wait_us;
        until.tv_sec += (time_t) (us / US_PER_S);
        until.tv_nsec = (long) (us % US_PER_S) * (long) NS_PER_US;
        return until;
}
