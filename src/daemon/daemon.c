/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "act/journal.h"
#include "daemon/check.h"
#include "daemon/loop.h"
#include "model/clock.h"

static void on_signal(void *data, enum hn_signal signal)
{
        struct hn_daemon *daemon = data;

        if (signal == HN_SIGNAL_STOP) {
                (void) sd_notify(0, "STOPPING=1");
                hn_loop_stop(daemon->loop);
                return;
        }
        /* Configuration is read at each decision: looking again is all that reloading takes. */
        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) hn_monotonic_us());
        hn_connection_mark_all(daemon->connection);
        (void) sd_notify(0, "READY=1");
}

static int tell_lacks(const struct hn_root *root)
{
        HN_LACKS struct hn_lacks lacks = { 0 };
        int r = hn_check_host(root, &lacks);

        for (size_t i = 0; r >= 0 && i < lacks.n; i++)
                hn_journal(root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL, "missing: %s: %s",
                           lacks.lacks[i].what, lacks.lacks[i].consequence);
        return r;
}

int hn_daemon_open(struct hn_daemon *ret)
{
        const struct hn_connection_source source = { 0 };
        int r;

        *ret = (struct hn_daemon) { .root.fd = -1 };
        r = hn_root_open(NULL, &ret->root);
        if (r >= 0)
                r = hn_loop_open(on_signal, ret, &ret->loop);
        if (r >= 0)
                r = tell_lacks(&ret->root);
        if (r >= 0)
                r = hn_work_new(&ret->work);
        if (r >= 0)
                r = hn_connection_new(&ret->root, ret->work, &source, &ret->connection);
        return r;
}

void hn_daemon_close(struct hn_daemon *daemon)
{
        hn_connection_free(daemon->connection);
        hn_work_free(daemon->work);
        hn_loop_close(daemon->loop);
        hn_root_close(&daemon->root);
}

int hn_daemon_run(struct hn_daemon *daemon)
{
        (void) sd_notify(0, "READY=1");
        return hn_loop_run(daemon->loop);
}
