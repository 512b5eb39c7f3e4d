/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asking libvirt apart from the loop: whoever asks about a domain waits without a limit while somebody holds it, a hook
 * or a long job, and neither the other guests nor the watchdog can wait with them.  A few threads ask, made when there
 * is something to ask and gone when there is nothing; answers come back to the loop.  A question that takes long is
 * told in the journal, and when its answer comes.
 *
 * Whoever looks a held domain up holds libvirt's list of domains as well: then nobody can define or undefine any other,
 * and who tries keeps all others out (tried with 9.0; virDomainObjListFindByUUID).  Asking for its state by
 * virDomainListGetStats waits without that.  So each question about a domain begins by knocking in this way; that takes
 * a virDomainPtr, which events and the list of all domains give without looking up.
 */
#pragma once

#include <libvirt/libvirt.h>

#include "daemon/loop.h"
#include "model/domain.h"
#include "model/root.h"

/* All knock by one connection.  libvirt takes 5 requests of one at once (max_client_requests), and with so many it hears
 * no more of it, not even that it is alive. */
#define HN_ASKING_THREADS 4u

struct hn_question {
        const char *uuid;       /* of the domain it is about; "": of all */
        virConnectPtr libvirt;  /* to ask by, a reference of its own is held; NULL: a connection of the thread's own */
        void *data;
        /* In a thread, without the turn; touches nothing that is the loop's.  `libvirt` NULL: it is away. */
        void (*ask)(void *data, virConnectPtr libvirt);
        void (*answered)(void *data); /* in the loop; may be NULL */
        void (*free)(void *data); /* after that, or instead, when asking is closed: in any thread */
};

struct hn_asking;

/* `root` (for the journal) must outlive it.  `slow_ms`: after that much a question takes long. */
int hn_asking_new(const struct hn_root *root, unsigned slow_ms, struct hn_asking **ret);
#define HN_ASKING_SLOW_MS 10000u

/* Threads connect to this one from now on, one each: where several share a connection and one of them waits, libvirt's
 * client (before 10.0) may leave the others' questions unsent until something else comes, 5 s later (tried). */
void hn_asking_use(struct hn_asking *asking, const char *uri);

/* libvirt told of this domain; it told of all there are; it is away, and they are known no more. */
void hn_asking_meet(struct hn_asking *asking, virDomainPtr domain);
void hn_asking_met_all(struct hn_asking *asking);
void hn_asking_forget(struct hn_asking *asking);

/* Has it asked, as soon as a thread is free and nothing else is asked about that domain.  Takes over `data` when it
 * succeeds.  -EAGAIN: there is no thread, or libvirt has not told of the domain yet; -ENOMEM. */
int hn_asking_ask(struct hn_asking *asking, const struct hn_question *question);

/* The same, and waits for the answer, which is `data`'s: it stays the caller's.  `answered` is not called.
 * -ETIME: it takes longer, and `data` is taken over; -EBUSY: something is asked about this domain, or waits to be. */
int hn_asking_wait(struct hn_asking *asking, const struct hn_question *question, unsigned wait_ms);

/* Asks what waits yet; no answer is given any more.  False: that takes longer than a second, and the threads stay, with
 * what they use; the process had better end.  NULL: true. */
bool hn_asking_close(struct hn_asking *asking);
