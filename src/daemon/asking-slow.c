/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Telling what takes long.
 */
#include "act/journal.h"
#include "daemon/asking-internal.h"
#include "daemon/connection.h"
#include "model/clock.h"

static void tell(const struct hn_asking *asking, int priority, const struct question *question, const char *all,
                 const char *one)
{
        virDomainPtr domain = hn_known_find(&asking->known, question->uuid);
        const char *name = domain ? virDomainGetName(domain) : NULL;

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

void hn_asking_watch(struct hn_asking *asking, unsigned wait_ms)
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

void hn_asking_on_slow(void *data)
{
        struct hn_asking *asking = data;
        struct slow slow = { 0 };

        asking->watched = false;
        (void) pthread_mutex_lock(&asking->lock);
        find_slow(asking, &slow);
        (void) pthread_mutex_unlock(&asking->lock);
        for (size_t i = 0; i < slow.n; i++)
                tell(asking, LOG_WARNING, slow.list[i], "does not answer for all domains: somebody holds one of them",
                     "libvirt does not answer for it: somebody holds it; the others go on");
        if (slow.all && !asking->told)
                hn_journal(asking->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "libvirt answers none of %u questions: the other domains wait as well", HN_ASKING_THREADS);
        asking->told |= slow.all;
        if (slow.more)
                hn_asking_watch(asking, slow.wait_ms);
}

void hn_asking_tell_answered(const struct hn_asking *asking, const struct question *question)
{
        tell(asking, LOG_INFO, question, "answers for all domains again", "libvirt answers for it again");
}
