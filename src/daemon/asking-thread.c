/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The threads that ask.
 */
#include <string.h>
#include <sys/eventfd.h>

#include "daemon/asking-internal.h"
#include "daemon/opening.h"
#include "daemon/thread.h"
#include "model/clock.h"

#define STACK (512u << 10) /* what is not used costs nothing; deciding on a definition may load hwloc */

/* ---- questions */

void hn_line_append(struct line *line, struct question *question)
{
        question->next = NULL;
        *line->end = question;
        line->end = &question->next;
}

struct question *hn_line_take(struct line *line, struct question **at)
{
        struct question *question = *at;

        *at = question->next;
        if (!*at)
                line->end = at;
        return question;
}

/* One domain's questions wait for each other: somebody who holds it holds up one thread. */
bool hn_asking_is_under_way(const struct hn_asking *asking, const char *uuid)
{
        for (size_t i = 0; i < HN_ASKING_THREADS; i++)
                if (asking->under_way[i] && strcmp(asking->under_way[i]->uuid, uuid) == 0)
                        return true;
        return false;
}

/* NULL: there is none that can be asked now. */
static struct question *next_question(struct hn_asking *asking)
{
        struct question **at = &asking->waiting.first;

        while (*at && hn_asking_is_under_way(asking, (*at)->uuid))
                at = &(*at)->next;
        return *at ? hn_line_take(&asking->waiting, at) : NULL;
}

/* Not under the lock: the last reference closes the connection. */
void hn_question_hang_up(struct question *question)
{
        if (question->domain)
                (void) virDomainFree(HN_TAKE(question->domain));
        if (question->asked.libvirt)
                (void) virConnectClose(HN_TAKE(question->asked.libvirt));
}

void hn_question_free(struct question *question)
{
        hn_question_hang_up(question);
        question->asked.free(question->asked.data);
        free(question);
}

/* ---- threads */

void hn_asking_destroy(struct hn_asking *asking)
{
        while (asking->answered.first)
                hn_question_free(hn_line_take(&asking->answered, &asking->answered.first));
        if (asking->spare)
                (void) virConnectClose(asking->spare);
        if (asking->fd >= 0)
                (void) close(asking->fd);
        free(asking->uri);
        (void) pthread_cond_destroy(&asking->ended);
        (void) pthread_mutex_destroy(&asking->lock);
        free(asking);
}

static struct question **free_place(struct hn_asking *asking)
{
        size_t at = 0;

        while (asking->under_way[at])
                at++; /* there are as many as threads */
        return &asking->under_way[at];
}

/* Waits while somebody holds the domain.  False: libvirt does not have it; what it can't tell (its driver for tests) it
 * says when it is asked. */
static bool knock(virDomainPtr domain)
{
        virDomainPtr list[] = { domain, NULL };
        virDomainStatsRecordPtr *records = NULL;
        int n = virDomainListGetStats(list, VIR_DOMAIN_STATS_STATE, &records, 0);

        if (n >= 0)
                virDomainStatsRecordListFree(records);
        return n != 0;
}

/* *own: the thread's connection, which was good for the last question.  It stays NULL where there is none to be had, or
 * it is not wanted. */
static void dial(struct hn_asking *asking, bool wanted, virConnectPtr *own)
{
        HN_FREE char *uri = NULL, *message = NULL;

        (void) pthread_mutex_lock(&asking->lock);
        if (!*own)
                *own = HN_TAKE(asking->spare);
        uri = wanted && asking->uri ? strdup(asking->uri) : NULL;
        (void) pthread_mutex_unlock(&asking->lock);
        if (*own && (!uri || virConnectIsAlive(*own) != 1))
                (void) virConnectClose(HN_TAKE(*own));
        if (!*own && uri)
                (void) hn_open_libvirt(NULL, uri, own, &message);
}

/* Under the lock, which it gives up meanwhile. */
static void answer(struct hn_asking *asking, struct question *question, virConnectPtr *own)
{
        struct question **place = free_place(asking);

        question->begun_us = hn_monotonic_us();
        *place = question;
        (void) pthread_mutex_unlock(&asking->lock);
        question->gone = question->domain && !knock(question->domain);
        /* One that broke meanwhile has not told whether the domain is held. */
        bool told = !question->domain || virConnectIsAlive(virDomainGetConnect(question->domain)) == 1;
        if (!question->asked.libvirt)
                dial(asking, told, own);
        question->asked.ask(question->asked.data, question->asked.libvirt ? question->asked.libvirt : *own);
        if (!question->gone) /* else the loop has to know yet which */
                hn_question_hang_up(question);
        (void) pthread_mutex_lock(&asking->lock);
        *place = NULL;
        if (question->awaited) {
                question->done = true;
                (void) pthread_cond_broadcast(&asking->ended);
                return;
        }
        hn_line_append(&asking->answered, question);
        (void) eventfd_write(asking->fd, 1);
}

/* Leaves the next thread one connection.  What is to be closed; NULL: nothing. */
static virConnectPtr put_by(struct hn_asking *asking, virConnectPtr *own)
{
        if (asking->closing)
                return *own ? HN_TAKE(*own) : HN_TAKE(asking->spare);
        if (*own && !asking->spare)
                asking->spare = HN_TAKE(*own);
        return HN_TAKE(*own);
}

static void *run(void *data)
{
        struct hn_asking *asking = data;
        struct question *question;
        virConnectPtr own = NULL, unused = NULL;
        bool last;

        (void) pthread_mutex_lock(&asking->lock);
        do {
                while ((question = next_question(asking)))
                        answer(asking, question, &own);
                unused = put_by(asking, &own);
                if (unused) {
                        (void) pthread_mutex_unlock(&asking->lock);
                        (void) virConnectClose(unused);
                        (void) pthread_mutex_lock(&asking->lock);
                }
        } while (unused);
        last = --asking->n_threads == 0 && asking->abandoned;
        (void) pthread_cond_broadcast(&asking->ended);
        (void) pthread_mutex_unlock(&asking->lock);
        if (last)
                hn_asking_destroy(asking);
        return NULL;
}

/* Under the lock.  Where there is a thread already, it comes to it. */
int hn_asking_provide_thread(struct hn_asking *asking)
{
        int r;

        if (asking->n_threads == HN_ASKING_THREADS)
                return 0;
        asking->n_threads++;
        r = hn_thread_start(run, asking, STACK, NULL);
        if (r < 0)
                asking->n_threads--;
        return asking->n_threads ? 0 : r;
}
