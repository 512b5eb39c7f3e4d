/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/work.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <string.h>

#include "daemon/loop.h"
#include "model/array.h"
#include "model/clock.h"

#define HANDLER_LIMIT 8

struct item {
        char uuid[HN_UUID_LENGTH + 1];
        unsigned matters; /* marked */
        uint64_t due_ms;
        bool under_way;
        unsigned left;    /* then: what was marked when that began … */
        size_t next;      /* … and which handler is the next to be called for it */
};

struct hn_work {
        struct hn_timer *timer;
        struct item *items; /* in the order they were marked */
        size_t n;
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

static struct item *find(const struct hn_work *work, const char *uuid)
{
        for (size_t i = 0; i < work->n; i++)
                if (strcmp(work->items[i].uuid, uuid) == 0)
                        return &work->items[i];
        return NULL;
}

static void take_out(struct hn_work *work, const struct item *item)
{
        size_t at = (size_t) (item - work->items);

        memmove(&work->items[at], &work->items[at + 1], (work->n - at - 1) * sizeof *item);
        work->n--;
}

/* Sets the timer for the item that is due first. */
static void arm(struct hn_work *work)
{
        uint64_t first_ms = UINT64_MAX, present_ms = now_ms();

        for (size_t i = 0; i < work->n; i++)
                if (!work->items[i].under_way && work->items[i].due_ms < first_ms)
                        first_ms = work->items[i].due_ms;
        if (first_ms == UINT64_MAX)
                hn_timer_clear(work->timer);
        else if (first_ms <= present_ms)
                hn_timer_once(work->timer, 0);
        else
                hn_timer_once(work->timer,
                              first_ms - present_ms > INT_MAX ? INT_MAX : (unsigned) (first_ms - present_ms));
}

/* Calls one handler after the other, until one takes longer.  They may mark, and that moves items. */
static void go_on(struct hn_work *work, const char *uuid)
{
        struct item *item = find(work, uuid);

        while (item && item->next < work->n_handlers) {
                unsigned matters = item->left & work->handlers[item->next].matters;
                size_t at = item->next++;

                if (matters && work->handlers[at].handler(work->handlers[at].data, uuid, matters)) {
                        arm(work);
                        return;
                }
                item = find(work, uuid);
        }
        if (item)
                item->under_way = false;
        if (item && !item->matters)
                take_out(work, item);
        /* The XML of each domain comes and goes on the heap. */
        if (work->n == 0)
                (void) malloc_trim(0);
        arm(work);
}

static void turn(void *data)
{
        struct hn_work *work = data;
        uint64_t present_ms = now_ms();
        struct item item;
        size_t at = 0;

        while (at < work->n && (work->items[at].under_way || work->items[at].due_ms > present_ms))
                at++;
        if (at == work->n) {
                arm(work);
                return;
        }
        item = work->items[at];
        item.left = item.matters;
        item.matters = 0;
        item.next = 0;
        item.due_ms = UINT64_MAX;
        item.under_way = true;
        take_out(work, &work->items[at]);
        work->items[work->n++] = item; /* behind those that wait */
        go_on(work, item.uuid);
}

void hn_work_done(struct hn_work *work, const char *uuid)
{
        const struct item *item = find(work, uuid);
        char own[HN_UUID_LENGTH + 1];

        if (!item || !item->under_way)
                return;
        memcpy(own, item->uuid, sizeof own); /* `uuid` may be the caller's to free */
        go_on(work, own);
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
        struct item *items;

        *ret = find(work, uuid);
        if (*ret)
                return 0;
        items = hn_array_grow(work->items, work->n, sizeof *items);
        if (!items)
                return -ENOMEM;
        work->items = items;
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
