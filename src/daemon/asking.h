/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Asking libvirt apart from the loop: whoever asks about a domain waits without a limit while somebody holds it, a hook
 * or a long job, and neither the other guests nor the watchdog can wait with them.  A few threads ask, made when there
 * is something to ask and gone when there is nothing; answers come back to the loop.  A question that takes long is
 * told in the journal, and when its answer comes.
 */
#pragma once

#include <libvirt/libvirt.h>

#include "daemon/loop.h"
#include "model/domain.h"
#include "model/root.h"

/* libvirt takes 5 requests of one connection at once (max_client_requests), and with so many it hears no more of it,
 * not even that it is alive: one is left for the loop's own. */
#define HN_ASKING_THREADS 4u

struct hn_question {
        const char *uuid;       /* of the domain it is about; "": of all */
        virConnectPtr libvirt;  /* a reference of its own is held; may be NULL in tests */
        void *data;
        /* In a thread, without the turn; touches nothing that is the loop's. */
        void (*ask)(void *data, virConnectPtr libvirt);
        void (*slow)(void *data); /* in the loop, once, when it takes long; may be NULL */
        void (*answered)(void *data); /* in the loop; may be NULL */
        void (*free)(void *data); /* after that, or instead, when asking is closed: in any thread */
};

struct hn_asking;

/* `root` (for the journal) must outlive it.  `slow_ms`: after that much a question takes long. */
int hn_asking_new(const struct hn_root *root, unsigned slow_ms, struct hn_asking **ret);
#define HN_ASKING_SLOW_MS 10000u

/* Has it asked, as soon as a thread is free and nothing else is asked about that domain.  Takes over `data` when it succeeds.  -ENOMEM, -EAGAIN: no thread. */
int hn_asking_ask(struct hn_asking *asking, const struct hn_question *question);

/* The same, and waits for the answer, which is `data`'s: it stays the caller's.  `slow` and `answered` are not called.
 * -ETIME: it takes longer, and `data` is taken over; -EBUSY: this domain is being asked about. */
int hn_asking_wait(struct hn_asking *asking, const struct hn_question *question, unsigned wait_ms);

/* Asks what waits yet; no answer is given any more.  False: that takes longer than a second, and the threads stay, with
 * what they use; the process had better end.  NULL: true. */
bool hn_asking_close(struct hn_asking *asking);
