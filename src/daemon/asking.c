/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/asking.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "act/journal.h"
#include "daemon/connection.h"
#include "daemon/thread.h"
#include "model/clock.h"
#include "store/ledger.h"

#define STACK (512u << 10) /* what is not used costs nothing; deciding on a definition may load hwloc */
#define CLOSE_WAIT_MS 1000u

struct question {
        struct question *next;
        struct hn_question asked;
        char uuid[HN_UUID_LENGTH + 1];
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
        bool watched; /* the timer is set */
        bool told;    /* that all threads wait */

        pthread_mutex_t lock; /* for what follows */
        pthread_cond_t ended;    /* a thread, or a question that is awaited */
        int fd;
        unsigned n_threads;
        bool abandoned;          /* the last thread frees */
        struct line waiting, answered;
        struct question *under_way[HN_ASKING_THREADS]; /* NULL: none */
};

/* ---- questions */

static void append(struct line *line, struct question *question)
{
        question->next = NULL;
        *line->end = question;
        line->end = &question->next;
}

static struct question *take_out(struct line *line, struct question **at)
{
        struct question *question = *at;

        *at = question->next;
        if (!*at)
                line->end = at;
        return question;
}

/* One domain's questions wait for each other: somebody who holds it holds up one thread. */
static bool is_under_way(const struct hn_asking *asking, const char *uuid)
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

        while (*at && is_under_way(asking, (*at)->uuid))
                at = &(*at)->next;
        return *at ? take_out(&asking->waiting, at) : NULL;
}

/* Not under the lock: the last reference closes the connection. */
static void hang_up(struct question *question)
{
        if (question->asked.libvirt)
                (void) virConnectClose(HN_TAKE(question->asked.libvirt));
}

static void free_question(struct question *question)
{
        hang_up(question);
        question->asked.free(question->asked.data);
        free(question);
}

static int make(const struct hn_question *asked, struct question **ret)
{
        struct question *question = calloc(1, sizeof *question);

        if (!question)
                return -ENOMEM;
        question->asked = *asked;
        (void) snprintf(question->uuid, sizeof question->uuid, "%s", asked->uuid);
        question->asked.uuid = question->uuid;
        if (asked->libvirt && virConnectRef(asked->libvirt) < 0) {
                free(question);
                return -EAGAIN;
        }
        *ret = question;
        return 0;
}

/* ---- threads */

static void destroy(struct hn_asking *asking)
{
        while (asking->answered.first)
                free_question(take_out(&asking->answered, &asking->answered.first));
        if (asking->fd >= 0)
                (void) close(asking->fd);
        (void) pthread_cond_destroy(&asking->ended);
        (void) pthread_mutex_destroy(&asking->lock);
        free(asking);
}
HN_DEFINE_CLEANUP(struct hn_asking *, destroy, cleanup_asking)

static struct question **free_place(struct hn_asking *asking)
{
        size_t at = 0;

        while (asking->under_way[at])
                at++; /* there are as many as threads */
        return &asking->under_way[at];
}

/* Under the lock, which it gives up meanwhile. */
static void answer(struct hn_asking *asking, struct question *question)
{
        struct question **place = free_place(asking);

        question->begun_us = hn_monotonic_us();
        *place = question;
        (void) pthread_mutex_unlock(&asking->lock);
        question->asked.ask(question->asked.data, question->asked.libvirt);
        hang_up(question);
        (void) pthread_mutex_lock(&asking->lock);
        *place = NULL;
        if (question->awaited) {
                question->done = true;
                (void) pthread_cond_broadcast(&asking->ended);
                return;
        }
        append(&asking->answered, question);
        (void) eventfd_write(asking->fd, 1);
}

static void *run(void *data)
{
        struct hn_asking *asking = data;
        struct question *question;
        bool last;

        (void) pthread_mutex_lock(&asking->lock);
        while ((question = next_question(asking)))
                answer(asking, question);
        last = --asking->n_threads == 0 && asking->abandoned;
        (void) pthread_cond_broadcast(&asking->ended);
        (void) pthread_mutex_unlock(&asking->lock);
        if (last)
                destroy(asking);
        return NULL;
}

/* Under the lock.  Where there is a thread already, it comes to it. */
static int provide_thread(struct hn_asking *asking)
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

/* ---- telling */

static void tell(const struct hn_asking *asking, int priority, const struct question *question, const char *all,
                 const char *one)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        const char *name = NULL;

        if (*question->uuid && hn_ledger_open(asking->root, NULL, &ledger) >= 0 &&
            hn_ledger_get(ledger, question->uuid, &entry) >= 0)
                name = entry->placement->name;
        hn_journal(asking->root, priority, HN_DAEMON_IDENTIFIER, name, NULL, "%s%s%s",
                   name ? name : *question->uuid ? question->uuid : "libvirt", *question->uuid ? ": " : " ",
                   *question->uuid ? one : all);
}

/* What is under way ends in the loop only, so it may be used without the lock. */
struct slow {
        struct question *list[HN_ASKING_THREADS]; /* not told yet */
        size_t n;
        bool all;      /* of the threads; and others wait */
        bool more;     /* may become slow yet: look again after that time */
        unsigned wait_ms;
};

static void watch(struct hn_asking *asking, unsigned wait_ms)
{
        hn_timer_once(asking->slow, wait_ms);
        asking->watched = true;
}

static void find_slow(struct hn_asking *asking, struct slow *ret)
{
        uint64_t now_us = hn_monotonic_us(), slow_us = (uint64_t) asking->slow_ms * 1000u, wait_us = slow_us;

        ret->all = ret->more = asking->waiting.first;
        for (size_t i = 0; i < HN_ASKING_THREADS; i++) {
                struct question *question = asking->under_way[i];
                uint64_t since_us = question ? now_us - question->begun_us : 0;

                ret->all &= question && since_us >= slow_us;
                if (!question || question->told)
                        continue;
                if (since_us >= slow_us) {
                        question->told = true;
                        ret->list[ret->n++] = question;
                        continue;
                }
                ret->more = true;
                wait_us = slow_us - since_us < wait_us ? slow_us - since_us : wait_us;
        }
        ret->wait_ms = (unsigned) ((wait_us + 999u) / 1000u);
}

static void on_slow(void *data)
{
        struct hn_asking *asking = data;
        struct slow slow = { 0 };

        asking->watched = false;
        (void) pthread_mutex_lock(&asking->lock);
        find_slow(asking, &slow);
        (void) pthread_mutex_unlock(&asking->lock);
        for (size_t i = 0; i < slow.n; i++) {
                tell(asking, LOG_WARNING, slow.list[i], "does not answer for all domains: somebody holds one of them",
                     "libvirt does not answer for it: somebody holds it; the others go on");
                if (slow.list[i]->asked.slow)
                        slow.list[i]->asked.slow(slow.list[i]->asked.data);
        }
        if (slow.all && !asking->told)
                hn_journal(asking->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "libvirt answers none of %u questions: the other domains wait as well", HN_ASKING_THREADS);
        asking->told |= slow.all;
        if (slow.more)
                watch(asking, slow.wait_ms);
}

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
                if (question->told)
                        tell(asking, LOG_INFO, question, "answers for all domains again", "libvirt answers for it again");
                if (question->asked.answered)
                        question->asked.answered(question->asked.data);
                free_question(question);
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
        r = hn_timer_new(on_slow, asking, &asking->slow);
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

/* Under the lock. */
static int put(struct hn_asking *asking, struct question *question)
{
        int r = provide_thread(asking);

        if (r >= 0)
                append(&asking->waiting, question);
        return r;
}

/* It was not put. */
static int give_up(struct question *question, int error)
{
        hang_up(question);
        free(question);
        return error;
}

int hn_asking_ask(struct hn_asking *asking, const struct hn_question *question)
{
        struct question *made = NULL;
        int r = make(question, &made);

        if (r < 0)
                return r;
        (void) pthread_mutex_lock(&asking->lock);
        r = put(asking, made);
        (void) pthread_mutex_unlock(&asking->lock);
        if (r < 0)
                return give_up(made, r);
        if (!asking->watched)
                watch(asking, asking->slow_ms);
        return 0;
}

int hn_asking_wait(struct hn_asking *asking, const struct hn_question *question, unsigned wait_ms)
{
        const struct timespec until = hn_thread_until(wait_ms * UINT64_C(1000));
        struct question *made = NULL;
        bool done = false;
        int r = make(question, &made);

        if (r < 0)
                return r;
        made->asked.slow = made->asked.answered = NULL;
        made->awaited = true;
        (void) pthread_mutex_lock(&asking->lock);
        r = is_under_way(asking, made->uuid) ? -EBUSY : put(asking, made);
        for (int waited = 0; r >= 0 && !made->done && waited == 0;)
                waited = pthread_cond_timedwait(&asking->ended, &asking->lock, &until);
        done = made->done;
        made->awaited = false;
        (void) pthread_mutex_unlock(&asking->lock);
        if (r < 0 || done)
                return give_up(made, r);
        if (!asking->watched)
                watch(asking, asking->slow_ms);
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
        (void) pthread_mutex_lock(&asking->lock);
        while (r == 0 && asking->n_threads)
                r = pthread_cond_timedwait(&asking->ended, &asking->lock, &until);
        ended = asking->n_threads == 0;
        asking->abandoned = !ended;
        (void) pthread_mutex_unlock(&asking->lock);
        if (ended)
                destroy(asking);
        return ended;
}
