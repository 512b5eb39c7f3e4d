/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <libxml/parser.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "act/journal.h"
#include "daemon/check.h"
#include "daemon/loop.h"
#include "daemon/shed.h"
#include "model/clock.h"
#include "store/config.h"
#include "store/copies.h"

#define SHED_AFTER_MS 20000u /* guests have been looked at once by then */
#define RENEWAL_LEAST_S 10u /* renew_seconds=0: they need not wait; but looking costs reading each definition */

static int tell_lacks(const struct hn_cgroup_io *io)
{
        HN_LACKS struct hn_lacks lacks = { 0 };
        int r = hn_check_host(io, &lacks);

        for (size_t i = 0; r >= 0 && i < lacks.n; i++)
                hn_journal(io->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL, "missing: %s: %s",
                           lacks.lacks[i].what, lacks.lacks[i].consequence);
        return r;
}

static int open_cgroups(const struct hn_root *root, struct hn_cgroup_io *ret)
{
        int r;

        *ret = hn_cgroup_files(root);
        r = hn_cgroup_use_library(ret);
        if (r < 0)
                hn_journal(root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "libcgroup can't be used: %s: cpusets are read and written by their files", strerror(-r));
        return tell_lacks(ret);
}

static void load_policy(const struct hn_root *root, bool say_faults, struct hn_policy *ret)
{
        HN_FREE char *faults = NULL;

        if (hn_config_load(root, ret, &faults) < 0)
                hn_policy_defaults(ret);
        if (say_faults && faults)
                hn_journal(root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL, "passed over in the configuration: %s",
                           faults);
}

/* ---- definitions */

/* Those that were rewritten: their nodes may have to be renewed, and they may have gone while nobody listened. */
static void mark_rewritten(struct hn_daemon *daemon)
{
        HN_FREE void *held = NULL;
        char (*uuids)[HN_UUID_LENGTH + 1] = NULL;
        size_t n = 0;

        if (!hn_connection_get(daemon->connection) || hn_copies_list(&daemon->root, &uuids, &n) < 0)
                return;
        held = uuids;
        for (size_t i = 0; i < n; i++)
                (void) hn_work_mark(daemon->work, uuids[i], HN_LOOK_DEFINITION);
}

static bool on_host(void *data, const char *uuid, unsigned matters)
{
        (void) uuid;
        (void) matters;
        mark_rewritten(data);
        return false;
}

static void renew(void *data)
{
        struct hn_daemon *daemon = data;
        struct hn_policy policy;

        load_policy(&daemon->root, false, &policy);
        mark_rewritten(daemon);
        hn_timer_once(daemon->renewal, (policy.renew_seconds < RENEWAL_LEAST_S ? RENEWAL_LEAST_S
                                                                               : policy.renew_seconds) * 1000);
}

static int open_definitions(struct hn_daemon *daemon)
{
        const struct hn_definition_door door = hn_defining_door();
        int r = hn_definitions_new(&daemon->root, &door, &daemon->definitions);

        if (r >= 0)
                r = hn_defining_new(daemon->definitions, daemon->work, daemon->connection, daemon->asking,
                                    &daemon->defining);
        if (r >= 0)
                r = hn_work_subscribe(daemon->work, HN_LOOK_HOST, on_host, daemon);
        if (r >= 0)
                r = hn_timer_new(renew, daemon, &daemon->renewal);
        if (r >= 0)
                renew(daemon);
        return r;
}

/* ---- the whole */

static void shed(void *data)
{
        (void) data;
        hn_shed_pages();
}

static void on_signal(void *data, enum hn_signal signal)
{
        struct hn_daemon *daemon = data;
        struct hn_policy policy;

        if (signal == HN_SIGNAL_STOP) {
                (void) sd_notify(0, "STOPPING=1");
                hn_loop_stop(daemon->loop);
                return;
        }
        /* Configuration is read at each decision but for balancing: looking again is all that reloading takes. */
        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) hn_monotonic_us());
        load_policy(&daemon->root, true, &policy);
        hn_connection_mark_all(daemon->connection);
        hn_rounds_configure(daemon->rounds, &policy);
        renew(daemon);
        (void) sd_notify(0, "READY=1");
}

int hn_daemon_open(struct hn_daemon *ret)
{
        const struct hn_connection_source source = { 0 };
        struct hn_policy policy;
        int r;

        *ret = (struct hn_daemon) { .root.fd = -1 };
        xmlInitParser(); /* by one thread, before there are others */
        r = hn_root_open(NULL, &ret->root);
        if (r >= 0)
                r = hn_loop_open(on_signal, ret, &ret->loop);
        if (r >= 0)
                r = open_cgroups(&ret->root, &ret->io);
        if (r >= 0)
                load_policy(&ret->root, true, &policy);
        if (r >= 0)
                r = hn_work_new(&ret->work);
        if (r >= 0)
                r = hn_asking_new(&ret->root, HN_ASKING_SLOW_MS, &ret->asking);
        if (r >= 0)
                r = hn_connection_new(&ret->root, ret->work, ret->asking, &source, &ret->connection);
        /* Of a domain that both are called for, what runs comes first. */
        if (r >= 0)
                r = hn_keeping_new(&ret->io, ret->work, ret->connection, ret->asking, &ret->keeping);
        if (r >= 0)
                r = hn_rounds_new(hn_keeping_keeper(ret->keeping), ret->connection, ret->asking,
                                  hn_keeping_mover(ret->keeping), &policy, &ret->rounds);
        if (r >= 0)
                r = open_definitions(ret);
        if (r >= 0)
                r = hn_timer_new(shed, NULL, &ret->shedding);
        if (r >= 0)
                hn_timer_once(ret->shedding, SHED_AFTER_MS);
        return r;
}

bool hn_daemon_close(struct hn_daemon *daemon)
{
        hn_timer_free(daemon->shedding);
        hn_timer_free(daemon->renewal);
        hn_rounds_free(daemon->rounds);
        hn_keeping_free(daemon->keeping);
        hn_connection_free(daemon->connection);
        if (!hn_asking_close(daemon->asking))
                return false;
        hn_defining_free(daemon->defining);
        hn_definitions_free(daemon->definitions);
        hn_work_free(daemon->work);
        hn_loop_close(daemon->loop);
        hn_root_close(&daemon->root);
        return true;
}

int hn_daemon_run(struct hn_daemon *daemon)
{
        (void) malloc_trim(0); /* 130 KiB that looking at the host took for a moment */
        (void) sd_notify(0, "READY=1");
        return hn_loop_run(daemon->loop);
}
