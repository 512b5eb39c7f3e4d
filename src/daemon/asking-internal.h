/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What asking.c (questions and answers), asking-thread.c (who asks) and asking-slow.c (telling what takes long) share.
 */
#pragma once

#include <pthread.h>

#include "daemon/asking.h"
#include "daemon/known.h"

struct question {
        struct question *next;
        struct hn_question asked;
        char uuid[HN_UUID_LENGTH + 1];
        virDomainPtr domain; /* to knock at; NULL: there is none */
        bool gone;           /* libvirt has it no more */
        uint64_t begun_us;
        bool told;
        bool awaited, done; /* by the loop, which does not turn meanwhile */
};

struct line {
        struct question *first, **end;
};

struct hn_asking {
        const struct hn_root *root;
        unsigned slow_ms;
        struct hn_readable *readable;
        struct hn_timer *slow;
        struct hn_known known;
        bool watched; /* the timer is set */
        bool told;    /* that all threads wait */

        pthread_mutex_t lock; /* for what follows */
        pthread_cond_t ended;    /* a thread, or a question that is awaited */
        int fd;
        unsigned n_threads;
        bool closing;
        bool abandoned;          /* the last thread frees */
        char *uri;               /* NULL: libvirt is away; written by the loop alone */
        virConnectPtr spare;     /* a thread's that ended, for the next one; may be NULL */
        struct line waiting, answered;
        struct question *under_way[HN_ASKING_THREADS]; /* NULL: none */
};

/* Looks in that time whether something takes long. */
void hn_asking_watch(struct hn_asking *asking, unsigned wait_ms);
void hn_asking_on_slow(void *data);

/* Something that was told to take long is answered. */
void hn_asking_tell_answered(const struct hn_asking *asking, const struct question *question);

void hn_line_append(struct line *line, struct question *question);
struct question *hn_line_take(struct line *line, struct question **at);

/* Not under the lock: the last reference closes the connection. */
void hn_question_hang_up(struct question *question);
void hn_question_free(struct question *question);

/* Under the lock.  One domain's questions wait for each other: somebody who holds it holds up one thread. */
bool hn_asking_is_under_way(const struct hn_asking *asking, const char *uuid);

/* Under the lock.  Where there is a thread already, what waits comes to it. */
int hn_asking_provide_thread(struct hn_asking *asking);

/* When there are no threads. */
void hn_asking_destroy(struct hn_asking *asking);
