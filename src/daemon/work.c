/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <string.h>

#include "daemon/loop.h"
#include "model/clock.h"

#define HANDLER_LIMIT 8

struct item {
        char uuid[HN_UUID_LENGTH + 1];
        unsigned matters;
        uint64_t due_ms;
};

struct hn_work {
        struct hn_timer *timer;
        struct item *items; /* in the order they were marked */
        size_t n, room;
        struct {
                unsigned matters;
                hn_work_handler *handler;
                void *data;
        } handlers[HANDLER_LIMIT];
        size_t n_handlers;
};

static uint64_t now_ms(void)
{
        return hn_monotonic_us() / 1000;
}

/* Sets the timer for the item that is due first. */
static void arm(struct hn_work *work)
{
        uint64_t first_ms = UINT64_MAX, present_ms = now_ms();

        for (size_t i = 0; i < work->n; i++)
                if (work->items[i].due_ms < first_ms)
                        first_ms = work->items[i].due_ms;
        if (work->n == 0)
                hn_timer_clear(work->timer);
        else if (first_ms <= present_ms)
                hn_timer_once(work->timer, 0);
        else
                hn_timer_once(work->timer,
                              first_ms - present_ms > INT_MAX ? INT_MAX : (unsigned) (first_ms - present_ms));
}

static void turn(void *data)
{
        struct hn_work *work = data;
        uint64_t present_ms = now_ms();
        struct item item;
        size_t at = 0;

        while (at < work->n && work->items[at].due_ms > present_ms)
                at++;
        if (at == work->n) {
                arm(work);
                return;
        }
        item = work->items[at];
        memmove(&work->items[at], &work->items[at + 1], (work->n - at - 1) * sizeof item);
        work->n--;
        for (size_t i = 0; i < work->n_handlers; i++)
                if (item.matters & work->handlers[i].matters)
                        work->handlers[i].handler(work->handlers[i].data, item.uuid,
                                                  item.matters & work->handlers[i].matters);
        /* The XML of each domain comes and goes on the heap. */
        if (work->n == 0)
                (void) malloc_trim(0);
        arm(work);
}

int hn_work_new(struct hn_work **ret)
{
        HN_WORK struct hn_work *work = calloc(1, sizeof *work);
        int r;

        if (!work)
                return -ENOMEM;
        r = hn_timer_new(turn, work, &work->timer);
        if (r >= 0)
                *ret = HN_TAKE(work);
        return r;
}

void hn_work_free(struct hn_work *work)
{
        if (!work)
                return;
        hn_timer_free(work->timer);
        free(work->items);
        free(work);
}

int hn_work_subscribe(struct hn_work *work, unsigned matters, hn_work_handler *handler, void *data)
{
        if (work->n_handlers == HANDLER_LIMIT)
                return -ENOSPC;
        work->handlers[work->n_handlers].matters = matters;
        work->handlers[work->n_handlers].handler = handler;
        work->handlers[work->n_handlers].data = data;
        work->n_handlers++;
        return 0;
}

static int obtain(struct hn_work *work, const char *uuid, struct item **ret)
{
        for (size_t i = 0; i < work->n; i++)
                if (strcmp(work->items[i].uuid, uuid) == 0) {
                        *ret = &work->items[i];
                        return 0;
                }
        if (work->n == work->room) {
                size_t room = work->room ? work->room * 2 : 16;
                struct item *more = reallocarray(work->items, room, sizeof *more);

                if (!more)
                        return -ENOMEM;
                work->items = more;
                work->room = room;
        }
        *ret = &work->items[work->n++];
        **ret = (struct item) { .due_ms = UINT64_MAX };
        (void) strcpy((*ret)->uuid, uuid);
        return 0;
}

int hn_work_mark_later(struct hn_work *work, const char *uuid, unsigned matters, unsigned wait_ms)
{
        uint64_t due_ms = now_ms() + wait_ms;
        struct item *item;
        int r;

        if (*uuid && strlen(uuid) != HN_UUID_LENGTH)
                return -EINVAL;
        r = obtain(work, uuid, &item);
        if (r < 0)
                return r;
        item->matters |= matters;
        if (due_ms < item->due_ms)
                item->due_ms = due_ms;
        arm(work);
        return 0;
}

int hn_work_mark(struct hn_work *work, const char *uuid, unsigned matters)
{
        return hn_work_mark_later(work, uuid, matters, 0);
}

size_t hn_work_count(const struct hn_work *work)
{
        return work->n;
}
