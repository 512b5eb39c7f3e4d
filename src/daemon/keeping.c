/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/keeping.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>

#include "act/journal.h"
#include "act/scope.h"
#include "daemon/occupied.h"
#include "daemon/orders.h"

#define VERSION_WAIT_US 2000000u /* for systemd, which is busy when a host boots */
#define LATER_MS 5000u           /* there was no memory, no thread or no connection, or it is not known yet */
#define TROUBLE_MS 60000u        /* libvirt is there, but does not tell */

/* A guest that libvirt is asked about. */
struct look {
        struct hn_keeping *keeping; /* the loop's */
        char uuid[HN_UUID_LENGTH + 1];
        int r;
        char *xml; /* live */
};

struct hn_keeping {
        struct hn_work *work;
        struct hn_connection *connection;
        struct hn_asking *asking;
        struct hn_keeper *keeper;
        struct hn_timer *sweep;
        struct hn_readable *watch;
        struct hn_mover *mover;       /* NULL: it could not be had */
        struct hn_readable *moved;
        struct hn_orders *orders;
        struct hn_readable *ordered;
        struct hn_timer *turn;
        struct look *answer;          /* while the keeper looks */
};

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

static int occupied(void *data, const char *uuid, const char **ret_why)
{
        const struct hn_keeping *keeping = data;

        return hn_occupied(keeping->asking, keeping->connection, uuid, ret_why);
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
        const struct hn_orders_door door = { .data = keeping, .occupied = occupied };
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
                r = hn_orders_new(keeping->keeper, keeping->mover, &door, &keeping->orders);
        return r < 0 ? r : hn_readable_new(hn_orders_fd(keeping->orders), on_order, keeping, &keeping->ordered);
}

struct hn_mover *hn_keeping_mover(const struct hn_keeping *keeping)
{
        return keeping->mover;
}

/* ---- asking */

/* Only libvirt's own word counts for a guest that does not run. */
static int error_of(virConnectPtr libvirt)
{
        if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
                return -ENOENT;
        return virConnectIsAlive(libvirt) == 1 ? -EIO : -ENOTCONN;
}

static int read_live(virConnectPtr libvirt, const char *uuid, char **ret)
{
        HN_VIRDOMAIN virDomainPtr domain = virDomainLookupByUUIDString(libvirt, uuid);
        char *text;
        int active;

        if (!domain)
                return error_of(libvirt);
        active = virDomainIsActive(domain);
        if (active <= 0)
                return active < 0 ? error_of(libvirt) : -ENOENT;
        text = virDomainGetXMLDesc(domain, 0);
        if (!text)
                return error_of(libvirt);
        *ret = text;
        return 0;
}

static void ask(void *data, virConnectPtr libvirt)
{
        struct look *look = data;

        look->r = libvirt ? read_live(libvirt, look->uuid, &look->xml) : -ENOTCONN;
}

static void answered(void *data)
{
        struct look *look = data;
        struct hn_keeping *keeping = look->keeping;

        keeping->answer = look;
        hn_keeper_look(keeping->keeper, look->uuid);
        keeping->answer = NULL;
        if (look->r == -EIO || look->r == -ENOTCONN)
                (void) hn_work_mark_later(keeping->work, look->uuid, HN_LOOK_RUNNING,
                                          look->r == -EIO ? TROUBLE_MS : LATER_MS);
        turn(keeping);
        hn_work_done(keeping->work, look->uuid);
}

static void free_look(void *data)
{
        struct look *look = data;

        free(look->xml);
        free(look);
}

/* While libvirt is away nothing is due: all is marked when it is back. */
static bool begin_look(struct hn_keeping *keeping, const char *uuid)
{
        bool present = hn_connection_get(keeping->connection);
        struct look *look = present ? calloc(1, sizeof *look) : NULL;
        const struct hn_question question = {
                .uuid = uuid, .data = look, .ask = ask, .answered = answered, .free = free_look,
        };

        if (!present)
                return false;
        if (look) {
                look->keeping = keeping;
                (void) snprintf(look->uuid, sizeof look->uuid, "%s", uuid);
        }
        if (look && hn_asking_ask(keeping->asking, &question) >= 0)
                return true;
        free(look);
        (void) hn_work_mark_later(keeping->work, uuid, HN_LOOK_RUNNING, LATER_MS);
        return false;
}

/* ---- the keeper's door */

/* It looks when the answer is there. */
static int live_xml(void *data, const char *uuid, char **ret)
{
        const struct hn_keeping *keeping = data;
        struct look *answer = keeping->answer;

        if (!answer || strcmp(answer->uuid, uuid) != 0)
                return -ENOTCONN;
        if (answer->r >= 0)
                *ret = HN_TAKE(answer->xml);
        return answer->r;
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

static bool on_work(void *data, const char *uuid, unsigned matters)
{
        struct hn_keeping *keeping = data;

        if (matters & HN_LOOK_HOST)
                look_at_host(keeping);
        if (matters & HN_LOOK_GONE)
                hn_keeper_gone(keeping->keeper, uuid);
        if (matters & HN_LOOK_RUNNING && begin_look(keeping, uuid))
                return true;
        turn(keeping);
        return false;
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
                   struct hn_asking *asking, struct hn_keeping **ret)
{
        HN_KEEPING struct hn_keeping *keeping = calloc(1, sizeof *keeping);
        const struct hn_running_door door = { .data = keeping, .live_xml = live_xml, .again = look_again };
        int r;

        if (!keeping)
                return -ENOMEM;
        keeping->work = work;
        keeping->connection = connection;
        keeping->asking = asking;
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
