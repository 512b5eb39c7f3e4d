/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/loop.h"

#include <errno.h>
#include <limits.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#include "daemon/turn.h"

struct hn_timer {
        int id;
        bool once;
        hn_loop_call *call;
        void *data;
};

struct hn_readable {
        int id;
        hn_loop_call *call;
        void *data;
};

struct hn_loop {
        bool stopped;
        int signal_fd;
        struct hn_readable *signals;
        struct hn_timer *watchdog;
        hn_signal_call *call;
        void *data;
};

/* ---- timers */

static void timer_fired(int id, void *data)
{
        struct hn_timer *timer = data;

        if (timer->once)
                virEventUpdateTimeout(id, -1);
        hn_turn_take();
        timer->call(timer->data);
        hn_turn_give();
}

int hn_timer_new(hn_loop_call *call, void *data, struct hn_timer **ret)
{
        HN_FREE struct hn_timer *timer = calloc(1, sizeof *timer);

        if (!timer)
                return -ENOMEM;
        timer->call = call;
        timer->data = data;
        timer->id = virEventAddTimeout(-1, timer_fired, timer, NULL);
        if (timer->id < 0)
                return -ENOMEM;
        *ret = HN_TAKE(timer);
        return 0;
}

static void set(struct hn_timer *timer, unsigned wait_ms, bool once)
{
        timer->once = once;
        virEventUpdateTimeout(timer->id, wait_ms > INT_MAX ? INT_MAX : (int) wait_ms);
}

void hn_timer_once(struct hn_timer *timer, unsigned wait_ms)
{
        set(timer, wait_ms, true);
}

void hn_timer_every(struct hn_timer *timer, unsigned wait_ms)
{
        set(timer, wait_ms, false);
}

void hn_timer_clear(struct hn_timer *timer)
{
        virEventUpdateTimeout(timer->id, -1);
}

void hn_timer_free(struct hn_timer *timer)
{
        if (!timer)
                return;
        (void) virEventRemoveTimeout(timer->id);
        free(timer);
}

/* ---- descriptors */

static void became_readable(int id, int fd, int events, void *data)
{
        const struct hn_readable *readable = data;
        (void) id;
        (void) fd;
        (void) events;

        hn_turn_take();
        readable->call(readable->data);
        hn_turn_give();
}

int hn_readable_new(int fd, hn_loop_call *call, void *data, struct hn_readable **ret)
{
        HN_FREE struct hn_readable *readable = calloc(1, sizeof *readable);

        if (!readable)
                return -ENOMEM;
        readable->call = call;
        readable->data = data;
        readable->id = virEventAddHandle(fd, VIR_EVENT_HANDLE_READABLE, became_readable, readable, NULL);
        if (readable->id < 0)
                return -ENOMEM;
        *ret = HN_TAKE(readable);
        return 0;
}

void hn_readable_free(struct hn_readable *readable)
{
        if (!readable)
                return;
        (void) virEventRemoveHandle(readable->id);
        free(readable);
}

/* ---- the loop */

static void hear_signal(void *data)
{
        struct hn_loop *loop = data;
        struct signalfd_siginfo info;

        while (read(loop->signal_fd, &info, sizeof info) == sizeof info)
                loop->call(loop->data, info.ssi_signo == SIGHUP ? HN_SIGNAL_RELOAD : HN_SIGNAL_STOP);
}

static int open_signals(struct hn_loop *loop)
{
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGHUP);
        (void) sigaddset(&set, SIGINT);
        (void) sigaddset(&set, SIGTERM);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return loop->signal_fd < 0 ? -errno : hn_readable_new(loop->signal_fd, hear_signal, loop, &loop->signals);
}

static void feed_watchdog(void *data)
{
        (void) data;
        (void) sd_notify(0, "WATCHDOG=1");
}

/* Twice as often as asked for, as sd_watchdog_enabled(3) advises. */
static int open_watchdog(struct hn_loop *loop)
{
        uint64_t wait_us = 0;
        int r;

        if (sd_watchdog_enabled(0, &wait_us) <= 0)
                return 0;
        r = hn_timer_new(feed_watchdog, NULL, &loop->watchdog);
        if (r < 0)
                return r;
        wait_us /= 2000;
        hn_timer_every(loop->watchdog, wait_us > UINT_MAX ? UINT_MAX : wait_us < 1 ? 1 : (unsigned) wait_us);
        return 0;
}

static void say_nothing(void *data, virErrorPtr error)
{
        (void) data;
        (void) error;
}

int hn_loop_open(hn_signal_call *call, void *data, struct hn_loop **ret)
{
        HN_LOOP struct hn_loop *loop = calloc(1, sizeof *loop);
        int r;

        if (!loop)
                return -ENOMEM;
        *loop = (struct hn_loop) { .signal_fd = -1, .call = call, .data = data };
        virSetErrorFunc(NULL, say_nothing);
        if (virInitialize() < 0 || virEventRegisterDefaultImpl() < 0)
                return -EIO;
        r = open_signals(loop);
        if (r >= 0)
                r = open_watchdog(loop);
        if (r >= 0)
                *ret = HN_TAKE(loop);
        return r;
}

void hn_loop_close(struct hn_loop *loop)
{
        if (!loop)
                return;
        hn_readable_free(loop->signals);
        hn_timer_free(loop->watchdog);
        if (loop->signal_fd >= 0)
                (void) close(loop->signal_fd);
        free(loop);
}

int hn_loop_run(struct hn_loop *loop)
{
        loop->stopped = false;
        while (!loop->stopped)
                if (virEventRunDefaultImpl() < 0)
                        return -EIO;
        return 0;
}

void hn_loop_stop(struct hn_loop *loop)
{
        loop->stopped = true;
}
