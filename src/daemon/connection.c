/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/connection.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "act/journal.h"

/* A libvirt that does not answer for 20 s is gone: without this a call would wait for ever. */
#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 3u
#define EVENT_LIMIT 16

struct hn_connection {
        const struct hn_root *root;
        struct hn_work *work;
        char *uri;
        hn_open_call *open;
        void *open_data;
        struct hn_backoff backoff;
        struct hn_timer *retry;     /* opens again */
        struct hn_timer *closing;   /* closes what libvirt says is broken: not from within its callback */
        struct hn_opening *opening; /* NULL: none under way */
        virConnectPtr libvirt;      /* NULL: none */
        int events[EVENT_LIMIT];
        size_t n_events;
        bool told;                  /* that it is away */
};

/* ---- events: they only mark */

static void mark(struct hn_connection *connection, virDomainPtr domain, unsigned matters)
{
        char uuid[VIR_UUID_STRING_BUFLEN];

        if (virDomainGetUUIDString(domain, uuid) < 0)
                return;
        (void) hn_work_mark(connection->work, uuid, matters);
}

static unsigned matters_of(int event, int detail)
{
        switch (event) {
        case VIR_DOMAIN_EVENT_DEFINED:
                return HN_LOOK_DEFINITION |
                       (detail == VIR_DOMAIN_EVENT_DEFINED_ADDED ? HN_LOOK_ADDED : HN_LOOK_UPDATED);
        case VIR_DOMAIN_EVENT_UNDEFINED:
                return HN_LOOK_DEFINITION | HN_LOOK_UNDEFINED;
        case VIR_DOMAIN_EVENT_STARTED:
        case VIR_DOMAIN_EVENT_SUSPENDED:
        case VIR_DOMAIN_EVENT_RESUMED:
        case VIR_DOMAIN_EVENT_CRASHED:
                return HN_LOOK_RUNNING;
        case VIR_DOMAIN_EVENT_STOPPED:
                return HN_LOOK_GONE | HN_LOOK_DEFINITION;
        default:
                return 0;
        }
}

static int on_lifecycle(virConnectPtr libvirt, virDomainPtr domain, int event, int detail, void *data)
{
        unsigned matters = matters_of(event, detail);
        (void) libvirt;

        if (matters)
                mark(data, domain, matters);
        return 0;
}

static void on_tunable(virConnectPtr libvirt, virDomainPtr domain, virTypedParameterPtr parameters, int n, void *data)
{
        (void) libvirt;
        (void) parameters;
        (void) n;
        mark(data, domain, HN_LOOK_RUNNING);
}

/* Live, or in the definition: libvirt does not say which. */
static void on_metadata(virConnectPtr libvirt, virDomainPtr domain, int type, const char *uri, void *data)
{
        (void) libvirt;
        (void) type;
        (void) uri;
        mark(data, domain, HN_LOOK_RUNNING | HN_LOOK_DEFINITION);
}

static void on_device(virConnectPtr libvirt, virDomainPtr domain, const char *alias, void *data)
{
        (void) libvirt;
        (void) alias;
        mark(data, domain, HN_LOOK_RUNNING);
}

static void on_memory(virConnectPtr libvirt, virDomainPtr domain, const char *alias, unsigned long long size, void *data)
{
        (void) size;
        on_device(libvirt, domain, alias, data);
}

static void on_reboot(virConnectPtr libvirt, virDomainPtr domain, void *data)
{
        (void) libvirt;
        mark(data, domain, HN_LOOK_RUNNING);
}

/* libvirt's events that say what happened to a guest.  The first can't be done without. */
static const struct {
        int id;
        virConnectDomainEventGenericCallback call;
} hearings[] = {
        { VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle) },
        { VIR_DOMAIN_EVENT_ID_TUNABLE, VIR_DOMAIN_EVENT_CALLBACK(on_tunable) },
        { VIR_DOMAIN_EVENT_ID_METADATA_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(on_metadata) },
        { VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(on_device) },
        { VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_device) },
        { VIR_DOMAIN_EVENT_ID_MEMORY_DEVICE_SIZE_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(on_memory) },
        { VIR_DOMAIN_EVENT_ID_REBOOT, VIR_DOMAIN_EVENT_CALLBACK(on_reboot) },
};
#define N_HEARINGS (sizeof hearings / sizeof *hearings)
_Static_assert(N_HEARINGS <= EVENT_LIMIT, "room for each event's id");

static int hear(struct hn_connection *connection)
{
        for (size_t i = 0; i < N_HEARINGS; i++) {
                int id = virConnectDomainEventRegisterAny(connection->libvirt, NULL, hearings[i].id,
                                                          hearings[i].call, connection, NULL);

                if (id >= 0)
                        connection->events[connection->n_events++] = id;
                else if (i == 0)
                        return -EIO;
        }
        return 0;
}

/* ---- coming and going */

static void on_close(virConnectPtr libvirt, int reason, void *data)
{
        struct hn_connection *connection = data;
        (void) libvirt;
        (void) reason;

        hn_timer_once(connection->closing, 0);
}

static void hang_up(struct hn_connection *connection)
{
        if (!connection->libvirt)
                return;
        for (size_t i = 0; i < connection->n_events; i++)
                (void) virConnectDomainEventDeregisterAny(connection->libvirt, connection->events[i]);
        connection->n_events = 0;
        (void) virConnectUnregisterCloseCallback(connection->libvirt, on_close);
        (void) virConnectClose(connection->libvirt);
        connection->libvirt = NULL;
}

/* Said once for each absence. */
static void try_later(struct hn_connection *connection, const char *why)
{
        if (!connection->told) {
                connection->told = true;
                hn_journal(connection->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "libvirt (%s) is away: %s; trying again until it is back", connection->uri, why);
                (void) sd_notifyf(0, "STATUS=Waiting for libvirt: %s", why);
        }
        hn_timer_once(connection->retry, hn_backoff_next(&connection->backoff));
}

static void close_broken(void *data)
{
        struct hn_connection *connection = data;

        if (!connection->libvirt)
                return;
        hang_up(connection);
        try_later(connection, "the connection broke");
}

static const char *libvirt_message(void)
{
        const char *message = virGetLastErrorMessage();

        return message ? message : "no message";
}

static int greet(struct hn_connection *connection)
{
        /* Drivers that live in this process have neither. */
        (void) virConnectSetKeepAlive(connection->libvirt, KEEPALIVE_S, KEEPALIVE_COUNT);
        (void) virConnectRegisterCloseCallback(connection->libvirt, on_close, connection, NULL);
        return hear(connection);
}

static void opened(void *data)
{
        struct hn_connection *connection = data;
        HN_FREE char *message = NULL;
        int r = hn_opening_take(connection->opening, &connection->libvirt, &message);

        if (r == -EAGAIN)
                return;
        hn_opening_free(HN_TAKE(connection->opening));
        if (r < 0) {
                try_later(connection, message ? message : strerror(-r));
                return;
        }
        if (greet(connection) < 0) {
                message = strdup(libvirt_message());
                hang_up(connection);
                try_later(connection, message ? message : "no memory");
                return;
        }
        hn_backoff_reset(&connection->backoff);
        connection->told = false;
        hn_journal(connection->root, LOG_INFO, HN_DAEMON_IDENTIFIER, NULL, NULL, "connected to libvirt (%s)",
                   connection->uri);
        (void) sd_notifyf(0, "STATUS=Connected to libvirt (%s)", connection->uri);
        hn_connection_mark_all(connection);
}

static void open_again(void *data)
{
        struct hn_connection *connection = data;
        int r;

        if (connection->libvirt || connection->opening)
                return;
        r = hn_opening_start(connection->open, connection->open_data, connection->uri, opened, connection,
                             &connection->opening);
        if (r < 0)
                try_later(connection, strerror(-r));
}

/* ---- for the others */

virConnectPtr hn_connection_get(const struct hn_connection *connection)
{
        return connection->libvirt;
}

virDomainPtr hn_connection_domain(const struct hn_connection *connection, const char *uuid, bool *ret_gone)
{
        virDomainPtr domain = connection->libvirt ? virDomainLookupByUUIDString(connection->libvirt, uuid) : NULL;

        *ret_gone = !domain && connection->libvirt && virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
        return domain;
}

void hn_connection_mark_all(struct hn_connection *connection)
{
        virDomainPtr *domains = NULL;
        int n;

        if (!connection->libvirt)
                return;
        (void) hn_work_mark(connection->work, "", HN_LOOK_HOST);
        n = virConnectListAllDomains(connection->libvirt, &domains, 0);
        if (n < 0) {
                hn_journal(connection->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL,
                           "listing the domains: %s", libvirt_message());
                hn_timer_once(connection->closing, 0);
                return;
        }
        for (int i = 0; i < n; i++) {
                mark(connection, domains[i], HN_LOOK_RUNNING | HN_LOOK_DEFINITION);
                (void) virDomainFree(domains[i]);
        }
        free(domains);
}

static int fill(struct hn_connection *connection, const struct hn_connection_source *source)
{
        const char *uri = source->uri ? source->uri : hn_libvirt_uri();
        int r;

        connection->open = source->open ? source->open : hn_open_libvirt;
        connection->open_data = source->open_data;
        connection->backoff = source->backoff;
        if (connection->backoff.first_ms == 0)
                connection->backoff = (struct hn_backoff) { .first_ms = 1000, .most_ms = 60000 };
        connection->uri = strdup(uri);
        if (!connection->uri)
                return -ENOMEM;
        r = hn_timer_new(open_again, connection, &connection->retry);
        return r < 0 ? r : hn_timer_new(close_broken, connection, &connection->closing);
}

int hn_connection_new(const struct hn_root *root, struct hn_work *work, const struct hn_connection_source *source,
                      struct hn_connection **ret)
{
        HN_CONNECTION struct hn_connection *connection = calloc(1, sizeof *connection);
        int r;

        if (!connection)
                return -ENOMEM;
        connection->root = root;
        connection->work = work;
        r = fill(connection, source);
        if (r < 0)
                return r;
        hn_timer_once(connection->retry, 0);
        *ret = HN_TAKE(connection);
        return 0;
}

void hn_connection_free(struct hn_connection *connection)
{
        if (!connection)
                return;
        hn_opening_free(connection->opening);
        hang_up(connection);
        hn_timer_free(connection->retry);
        hn_timer_free(connection->closing);
        free(connection->uri);
        free(connection);
}
