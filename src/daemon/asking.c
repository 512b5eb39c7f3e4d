/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "daemon/asking-internal.h"
#include "daemon/thread.h"
#include "model/clock.h"

#define CLOSE_WAIT_MS 1000u

HN_DEFINE_CLEANUP(struct hn_asking *, hn_asking_destroy, cleanup_asking)

static int make(const struct hn_asking *asking, const struct hn_question *asked, struct question **ret)
{
        virDomainPtr domain = hn_known_find(&asking->known, asked->uuid);
        struct question *question;

        if (!domain && asking->uri && *asked->uuid && !asking->known.all)
                return -EAGAIN;
        question = calloc(1, sizeof *question);
        if (!question)
                return -ENOMEM;
        question->asked = *asked;
        (void) snprintf(question->uuid, sizeof question->uuid, "%s", asked->uuid);
        question->asked.uuid = question->uuid;
        if (asked->libvirt)
                (void) virConnectRef(asked->libvirt);
        if (domain && virDomainRef(domain) >= 0)
                question->domain = domain;
        *ret = question;
        return 0;
}

/* ---- answers */

static void on_answered(void *data)
{
        struct hn_asking *asking = data;
        struct question *question;
        struct line answered;
        eventfd_t n;

        (void) eventfd_read(asking->fd, &n);
        (void) pthread_mutex_lock(&asking->lock);
        answered = asking->answered;
        asking->answered.first = NULL;
        asking->answered.end = &asking->answered.first;
        (void) pthread_mutex_unlock(&asking->lock);
        for (question = answered.first; question; question = answered.first) {
                answered.first = question->next;
                asking->told = false;
                if (question->gone)
                        hn_known_remove(&asking->known, question->uuid, question->domain);
                if (question->told)
                        hn_asking_tell_answered(asking, question);
                if (question->asked.answered)
                        question->asked.answered(question->asked.data);
                hn_question_free(question);
        }
}

/* ---- for the others */

int hn_asking_new(const struct hn_root *root, unsigned slow_ms, struct hn_asking **ret)
{
        HN_CLEANUP(cleanup_asking) struct hn_asking *asking = calloc(1, sizeof *asking);
        int r;

        if (!asking)
                return -ENOMEM;
        asking->root = root;
        asking->slow_ms = slow_ms;
        (void) pthread_mutex_init(&asking->lock, NULL);
        hn_thread_condition(&asking->ended);
        asking->waiting.end = &asking->waiting.first;
        asking->answered.end = &asking->answered.first;
        asking->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (asking->fd < 0)
                return -errno;
        r = hn_timer_new(hn_asking_on_slow, asking, &asking->slow);
        if (r < 0)
                return r;
        r = hn_readable_new(asking->fd, on_answered, asking, &asking->readable);
        if (r < 0) {
                hn_timer_free(asking->slow);
                return r;
        }
        *ret = HN_TAKE(asking);
        return 0;
}

void hn_asking_meet(struct hn_asking *asking, virDomainPtr domain)
{
        hn_known_add(&asking->known, domain);
}

void hn_asking_met_all(struct hn_asking *asking)
{
        asking->known.all = true;
}

void hn_asking_use(struct hn_asking *asking, const char *uri)
{
        (void) pthread_mutex_lock(&asking->lock);
        free(asking->uri);
        asking->uri = uri ? strdup(uri) : NULL;
        (void) pthread_mutex_unlock(&asking->lock);
}

void hn_asking_forget(struct hn_asking *asking)
{
        hn_asking_use(asking, NULL);
        hn_known_clear(&asking->known);
}

/* Under the lock. */
static int put(struct hn_asking *asking, struct question *question)
{
        int r = hn_asking_provide_thread(asking);

        if (r >= 0)
                hn_line_append(&asking->waiting, question);
        return r;
}

/* It was not put. */
static int give_up(struct question *question, int error)
{
        hn_question_hang_up(question);
        free(question);
        return error;
}

int hn_asking_ask(struct hn_asking *asking, const struct hn_question *question)
{
        struct question *made = NULL;
        int r = make(asking, question, &made);

        if (r < 0)
                return r;
        (void) pthread_mutex_lock(&asking->lock);
        r = put(asking, made);
        (void) pthread_mutex_unlock(&asking->lock);
        if (r < 0)
                return give_up(made, r);
        if (!asking->watched)
                hn_asking_watch(asking, asking->slow_ms);
        return 0;
}

/* Under the lock. */
static bool waits(const struct hn_asking *asking, const char *uuid)
{
        for (const struct question *question = asking->waiting.first; question; question = question->next)
                if (strcmp(question->uuid, uuid) == 0)
                        return true;
        return false;
}

int hn_asking_wait(struct hn_asking *asking, const struct hn_question *question, unsigned wait_ms)
{
        const struct timespec until = hn_thread_until(wait_ms * UINT64_C(1000));
        struct question *made = NULL;
        bool done = false;
        int r = make(asking, question, &made);

        if (r < 0)
                return r;
        made->asked.answered = NULL;
        made->awaited = true;
        (void) pthread_mutex_lock(&asking->lock);
        r = hn_asking_is_under_way(asking, made->uuid) || waits(asking, made->uuid) ? -EBUSY : put(asking, made);
        for (int waited = 0; r >= 0 && !made->done && waited == 0;)
                waited = pthread_cond_timedwait(&asking->ended, &asking->lock, &until);
        done = made->done;
        made->awaited = false;
        (void) pthread_mutex_unlock(&asking->lock);
        if (r < 0 || done)
                return give_up(made, r);
        if (!asking->watched)
                hn_asking_watch(asking, asking->slow_ms);
        return -ETIME;
}

bool hn_asking_close(struct hn_asking *asking)
{
        const struct timespec until = hn_thread_until(CLOSE_WAIT_MS * UINT64_C(1000));
        bool ended;
        int r = 0;

        if (!asking)
                return true;
        hn_readable_free(asking->readable);
        hn_timer_free(asking->slow);
        hn_known_clear(&asking->known);
        (void) pthread_mutex_lock(&asking->lock);
        asking->closing = true;
        if (asking->spare) /* that may take as long as any question */
                (void) hn_asking_provide_thread(asking);
        while (r == 0 && asking->n_threads)
                r = pthread_cond_timedwait(&asking->ended, &asking->lock, &until);
        ended = asking->n_threads == 0;
        asking->abandoned = !ended;
        (void) pthread_mutex_unlock(&asking->lock);
        if (ended)
                hn_asking_destroy(asking);
        return ended;
}
