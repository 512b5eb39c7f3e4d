/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/turns.h"

#include "unit/support/test.h"

static void no_signal(void *data, enum hn_signal signal)
{
        (void) data;
        (void) signal;
}

static void stop(void *data)
{
        struct turns *turns = data;

        hn_loop_stop(turns->loop);
}

void turns_open(struct turns *turns)
{
        if (turns->loop)
                return;
        assert_int_equal(hn_loop_open(no_signal, NULL, &turns->loop), 0);
        assert_int_equal(hn_timer_new(stop, turns, &turns->end), 0);
}

void turns_close(struct turns *turns)
{
        hn_timer_free(turns->end);
        hn_loop_close(turns->loop);
}

void turns_run(struct turns *turns, unsigned wait_ms)
{
        hn_timer_once(turns->end, wait_ms);
        assert_int_equal(hn_loop_run(turns->loop), 0);
        hn_timer_clear(turns->end);
}
