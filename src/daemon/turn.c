/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/turn.h"

#include <pthread.h>

/* As a process has one loop, so it has one turn. */
static struct {
        pthread_mutex_t lock;
        pthread_cond_t given;
        unsigned long next, served; /* numbers drawn, as in a shop */
} turn = { .lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER };

void hn_turn_take(void)
{
        unsigned long own;

        (void) pthread_mutex_lock(&turn.lock);
        own = turn.next++;
        while (turn.served != own)
                (void) pthread_cond_wait(&turn.given, &turn.lock);
        (void) pthread_mutex_unlock(&turn.lock);
}

void hn_turn_give(void)
{
        (void) pthread_mutex_lock(&turn.lock);
        turn.served++;
        (void) pthread_cond_broadcast(&turn.given);
        (void) pthread_mutex_unlock(&turn.lock);
}
