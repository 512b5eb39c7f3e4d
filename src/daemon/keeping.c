/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/keeping.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>

#include "act/journal.h"
#include "act/scope.h"
#include "daemon/orders.h"

#define VERSION_WAIT_US 2000000u /* for systemd, which is busy when a host boots */

struct hn_keeping {
        struct hn_work *work;
        struct hn_connection *connection;
        struct hn_keeper *keeper;
        struct hn_timer *sweep;
        struct hn_readable *watch;
        struct hn_mover *mover;       /* NULL: it could not be had */
        struct hn_readable *moved;
        struct hn_orders *orders;
        struct hn_readable *ordered;
        struct hn_timer *turn;
};

static int live_xml(void *data, const char *uuid, char **ret)
{
        struct hn_keeping *keeping = data;
        bool gone = false;
        HN_VIRDOMAIN virDomainPtr domain = hn_connection_domain(keeping->connection, uuid, &gone);
        char *text;
        int active;

        if (!domain)
                return gone ? -ENOENT : -ENOTCONN;
        active = virDomainIsActive(domain);
        if (active <= 0)
                return active < 0 ? -ENOTCONN : -ENOENT;
        text = virDomainGetXMLDesc(domain, 0);
        if (!text)
                return -ENOTCONN;
        *ret = text;
        return 0;
}

static void look_again(void *data, const char *uuid, unsigned wait_ms)
{
        struct hn_keeping *keeping = data;

        (void) hn_work_mark_later(keeping->work, uuid, *uuid ? HN_LOOK_RUNNING : HN_LOOK_HOST, wait_ms);
}

/* Guests first: what is marked is looked at in that order. */
static void look_at_host(struct hn_keeping *keeping)
{
        if (hn_keeper_look_at_host(keeping->keeper))
                hn_connection_mark_all(keeping->connection);
}

/* ---- moves */

static void turn(void *data)
{
        struct hn_keeping *keeping = data;
        unsigned wait_ms;

        if (!keeping->mover)
                return;
        wait_ms = hn_mover_turn(keeping->mover);
        hn_orders_turn(keeping->orders);
        if (wait_ms)
                hn_timer_once(keeping->turn, wait_ms);
}

static void on_order(void *data)
{
        struct hn_keeping *keeping = data;

        hn_orders_read(keeping->orders);
        turn(keeping);
}

/* Guests are kept all the same where they can't be moved. */
static int open_mover(const struct hn_root *root, struct hn_keeping *keeping)
{
        int r = hn_mover_new(keeping->keeper, NULL, NULL, &keeping->mover);

        if (r < 0) {
                hn_journal(root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL, "guests are not moved: %s",
                           r == -EBUSY ? "another homenoded does that" : strerror(-r));
                return r == -ENOMEM ? r : 0;
        }
        r = hn_timer_new(turn, keeping, &keeping->turn);
        if (r >= 0)
                r = hn_readable_new(hn_mover_fd(keeping->mover), turn, keeping, &keeping->moved);
        if (r >= 0)
                r = hn_orders_new(keeping->keeper, keeping->mover, &keeping->orders);
        return r < 0 ? r : hn_readable_new(hn_orders_fd(keeping->orders), on_order, keeping, &keeping->ordered);
}

struct hn_mover *hn_keeping_mover(const struct hn_keeping *keeping)
{
        return keeping->mover;
}

static void on_work(void *data, const char *uuid, unsigned matters)
{
        struct hn_keeping *keeping = data;

        if (matters & HN_LOOK_HOST)
                look_at_host(keeping);
        if (matters & HN_LOOK_GONE)
                hn_keeper_gone(keeping->keeper, uuid);
        if (matters & HN_LOOK_RUNNING)
                hn_keeper_look(keeping->keeper, uuid);
        turn(keeping);
}

static void on_sweep(void *data)
{
        struct hn_keeping *keeping = data;

        look_at_host(keeping);
        hn_keeper_sweep(keeping->keeper);
}

static void on_watch(void *data)
{
        struct hn_keeping *keeping = data;

        hn_keeper_watched(keeping->keeper);
}

/* What the first hook of a boot would have to find out: it finds it on record. */
static void prepare_starts(const struct hn_root *root, struct hn_keeper *keeper)
{
        unsigned version = 0;

        (void) hn_keeper_look_at_host(keeper);
        (void) hn_systemd_version(root, VERSION_WAIT_US, &version);
}

int hn_keeping_new(const struct hn_cgroup_io *io, struct hn_work *work, struct hn_connection *connection,
                   struct hn_keeping **ret)
{
        HN_KEEPING struct hn_keeping *keeping = calloc(1, sizeof *keeping);
        const struct hn_running_door door = { .data = keeping, .live_xml = live_xml, .again = look_again };
        int r;

        if (!keeping)
                return -ENOMEM;
        keeping->work = work;
        keeping->connection = connection;
        r = hn_keeper_new(io, &door, NULL, &keeping->keeper);
        if (r >= 0)
                r = hn_timer_new(on_sweep, keeping, &keeping->sweep);
        if (r >= 0)
                r = hn_readable_new(hn_keeper_fd(keeping->keeper), on_watch, keeping, &keeping->watch);
        if (r >= 0)
                r = open_mover(io->root, keeping);
        if (r >= 0)
                r = hn_work_subscribe(work, HN_LOOK_RUNNING | HN_LOOK_GONE | HN_LOOK_HOST, on_work, keeping);
        if (r < 0)
                return r;
        prepare_starts(io->root, keeping->keeper);
        hn_timer_every(keeping->sweep, HN_SWEEP_MS);
        *ret = HN_TAKE(keeping);
        return 0;
}

struct hn_keeper *hn_keeping_keeper(const struct hn_keeping *keeping)
{
        return keeping->keeper;
}

void hn_keeping_free(struct hn_keeping *keeping)
{
        if (!keeping)
                return;
        hn_timer_free(keeping->sweep);
        hn_readable_free(keeping->watch);
        hn_readable_free(keeping->moved);
        hn_readable_free(keeping->ordered);
        hn_orders_free(keeping->orders);
        hn_timer_free(keeping->turn);
        hn_mover_free(keeping->mover);
        hn_keeper_free(keeping->keeper);
        free(keeping);
}
