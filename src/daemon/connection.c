/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <libvirt/virterror.h>
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>

#include "act/journal.h"
#include "daemon/hearing.h"

struct hn_connection {
        const struct hn_root *root;
        struct hn_work *work;
        struct hn_asking *asking;
        char *uri;
        hn_open_call *open;
        void *open_data;
        struct hn_backoff backoff;
        struct hn_timer *retry;      /* opens again */
        struct hn_opening *opening;  /* NULL: none under way */
        int closed_fd;               /* libvirt says that the connection broke, in whatever thread notices */
        struct hn_readable *closed;
        virConnectPtr libvirt;       /* NULL: none */
        struct hn_hearing hearing;
        struct hn_ears ears;
        unsigned serial;             /* of connections: an answer may come from the one before */
        bool listing, list_again;    /* which domains there are is asked for; asked for once more meanwhile */
        bool told;                   /* that it is away */
};

/* ---- hanging up */

static const char *libvirt_message(void)
{
        const char *message = virGetLastErrorMessage();

        return message ? message : "no message";
}

struct farewell {
        virConnectPtr libvirt;
        struct hn_ears ears;
};

static void on_close(virConnectPtr libvirt, int reason, void *fd)
{
        (void) libvirt;
        (void) reason;
        (void) eventfd_write((int) (intptr_t) fd, 1);
}

/* Those of drivers that live in this process, and never close, stay. */
static void close_fd(void *fd)
{
        (void) close((int) (intptr_t) fd);
}

static void say_farewell(void *data, virConnectPtr libvirt)
{
        struct farewell *farewell = data;

        (void) virConnectUnregisterCloseCallback(libvirt, on_close);
        hn_hear_no_more(libvirt, &farewell->ears);
        (void) virConnectClose(HN_TAKE(farewell->libvirt));
}

/* `libvirt` is given up. */
static void hang_up(struct hn_asking *asking, virConnectPtr libvirt, const struct hn_ears *ears)
{
        struct farewell *farewell = calloc(1, sizeof *farewell);
        const struct hn_question question = {
                .uuid = "", .libvirt = libvirt, .data = farewell, .ask = say_farewell, .free = free,
        };

        if (farewell)
                *farewell = (struct farewell) { .libvirt = libvirt, .ears = *ears };
        if (farewell && hn_asking_ask(asking, &question) >= 0)
                return;
        (void) virConnectClose(libvirt);
        free(farewell);
}

static void leave(struct hn_connection *connection)
{
        connection->hearing.libvirt = NULL;
        hn_asking_forget(connection->asking);
        if (connection->libvirt)
                hang_up(connection->asking, HN_TAKE(connection->libvirt), &connection->ears);
        connection->ears.n = 0;
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

static void on_closed(void *data)
{
        struct hn_connection *connection = data;
        eventfd_t n;

        (void) eventfd_read(connection->closed_fd, &n);
        /* It may be the one before that breaks now. */
        if (!connection->libvirt || virConnectIsAlive(connection->libvirt) == 1)
                return;
        leave(connection);
        try_later(connection, "the connection broke");
}

/* ---- greeting: what is to be told us from now on */

struct greeting {
        struct hn_connection *connection; /* the loop's */
        struct hn_hearing *hearing;       /* the same */
        virConnectPtr libvirt;
        int closed_fd;
        struct hn_ears ears;
        int r;
        char *message;
};

static void greet(void *data, virConnectPtr libvirt)
{
        struct greeting *greeting = data;

        /* Drivers that live in this process never close. */
        if (virConnectRegisterCloseCallback(libvirt, on_close, (void *) (intptr_t) greeting->closed_fd, close_fd) >= 0)
                greeting->closed_fd = -1;
        greeting->r = hn_hear(libvirt, greeting->hearing, &greeting->ears);
        if (greeting->r < 0)
                greeting->message = strdup(libvirt_message());
}

static void greeted(void *data)
{
        struct greeting *greeting = data;
        struct hn_connection *connection = greeting->connection;

        if (greeting->r < 0 || virConnectIsAlive(greeting->libvirt) != 1) {
                connection->hearing.libvirt = NULL;
                hn_asking_forget(connection->asking);
                hang_up(connection->asking, HN_TAKE(greeting->libvirt), &greeting->ears);
                try_later(connection, greeting->message ? greeting->message : "the connection broke");
                return;
        }
        connection->libvirt = HN_TAKE(greeting->libvirt);
        connection->ears = greeting->ears;
        connection->serial++;
        hn_asking_use(connection->asking, connection->uri);
        hn_journal(connection->root, LOG_INFO, HN_DAEMON_IDENTIFIER, NULL, NULL, "connected to libvirt (%s)",
                   connection->uri);
        (void) sd_notifyf(0, "STATUS=Connected to libvirt (%s)", connection->uri);
        hn_connection_mark_all(connection);
}

static void free_greeting(void *data)
{
        struct greeting *greeting = data;

        if (greeting->libvirt)
                (void) virConnectClose(greeting->libvirt);
        if (greeting->closed_fd >= 0)
                (void) close(greeting->closed_fd);
        free(greeting->message);
        free(greeting);
}

static int begin_greeting(struct hn_connection *connection, virConnectPtr libvirt)
{
        struct greeting *greeting = calloc(1, sizeof *greeting);
        const struct hn_question question = {
                .uuid = "", .libvirt = libvirt, .data = greeting,
                .ask = greet, .answered = greeted, .free = free_greeting,
        };
        int r;

        if (!greeting) {
                (void) virConnectClose(libvirt);
                return -ENOMEM;
        }
        greeting->connection = connection;
        greeting->hearing = &connection->hearing;
        connection->hearing.libvirt = libvirt;
        greeting->libvirt = libvirt;
        greeting->closed_fd = fcntl(connection->closed_fd, F_DUPFD_CLOEXEC, 0);
        r = greeting->closed_fd < 0 ? -errno : hn_asking_ask(connection->asking, &question);
        if (r < 0)
                free_greeting(greeting);
        return r;
}

static void opened(void *data)
{
        struct hn_connection *connection = data;
        HN_FREE char *message = NULL;
        virConnectPtr libvirt = NULL;
        int r = hn_opening_take(connection->opening, &libvirt, &message);

        if (r == -EAGAIN)
                return;
        hn_opening_free(HN_TAKE(connection->opening));
        if (r >= 0)
                r = begin_greeting(connection, libvirt);
        if (r < 0)
                try_later(connection, message ? message : strerror(-r));
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

/* ---- which domains there are */

struct listing {
        struct hn_connection *connection; /* the loop's */
        unsigned serial;
        virDomainPtr *domains;
        int n;         /* < 0: they could not be listed */
        char *message; /* then; may be NULL */
};

static void list(void *data, virConnectPtr libvirt)
{
        struct listing *listing = data;

        listing->n = virConnectListAllDomains(libvirt, &listing->domains, 0);
        if (listing->n < 0)
                listing->message = strdup(libvirt_message());
}

static void list_failed(struct hn_connection *connection, const char *why)
{
        hn_journal(connection->root, LOG_WARNING, HN_DAEMON_IDENTIFIER, NULL, NULL, "listing the domains: %s", why);
        leave(connection);
        try_later(connection, why);
}

static void mark_listed(struct hn_connection *connection, const struct listing *listing)
{
        (void) hn_work_mark(connection->work, "", HN_LOOK_HOST);
        for (int i = 0; i < listing->n; i++) {
                char uuid[VIR_UUID_STRING_BUFLEN];

                if (virDomainGetUUIDString(listing->domains[i], uuid) < 0)
                        continue;
                hn_asking_meet(connection->asking, listing->domains[i]);
                (void) hn_work_mark(connection->work, uuid, HN_LOOK_RUNNING | HN_LOOK_DEFINITION);
        }
        hn_asking_met_all(connection->asking);
}

static void begin_listing(struct hn_connection *connection);

static void listed(void *data)
{
        struct listing *listing = data;
        struct hn_connection *connection = listing->connection;
        bool present = connection->libvirt && connection->serial == listing->serial;

        connection->listing = false;
        if (present && listing->n >= 0) {
                hn_backoff_reset(&connection->backoff);
                connection->told = false;
                mark_listed(connection, listing);
        } else if (present)
                list_failed(connection, listing->message ? listing->message : "no message");
        if (connection->libvirt && connection->list_again)
                begin_listing(connection);
}

static void free_listing(void *data)
{
        struct listing *listing = data;

        for (int i = 0; i < listing->n; i++)
                (void) virDomainFree(listing->domains[i]);
        free(listing->domains);
        free(listing->message);
        free(listing);
}

static void begin_listing(struct hn_connection *connection)
{
        struct listing *listing = calloc(1, sizeof *listing);
        const struct hn_question question = {
                .uuid = "", .libvirt = connection->libvirt, .data = listing,
                .ask = list, .answered = listed, .free = free_listing,
        };
        int r = -ENOMEM;

        connection->list_again = false;
        if (listing) {
                listing->connection = connection;
                listing->serial = connection->serial;
                r = hn_asking_ask(connection->asking, &question);
        }
        connection->listing = r >= 0;
        if (r >= 0)
                return;
        free(listing);
        list_failed(connection, strerror(-r));
}

/* ---- for the others */

virConnectPtr hn_connection_get(const struct hn_connection *connection)
{
        return connection->libvirt;
}

/* What has begun may have passed over a domain that came since. */
void hn_connection_mark_all(struct hn_connection *connection)
{
        if (!connection->libvirt)
                return;
        if (connection->listing)
                connection->list_again = true;
        else
                begin_listing(connection);
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
        connection->closed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!connection->uri || connection->closed_fd < 0)
                return -ENOMEM;
        r = hn_readable_new(connection->closed_fd, on_closed, connection, &connection->closed);
        return r < 0 ? r : hn_timer_new(open_again, connection, &connection->retry);
}

int hn_connection_new(const struct hn_root *root, struct hn_work *work, struct hn_asking *asking,
                      const struct hn_connection_source *source, struct hn_connection **ret)
{
        HN_CONNECTION struct hn_connection *connection = calloc(1, sizeof *connection);
        int r;

        if (!connection)
                return -ENOMEM;
        connection->root = root;
        connection->work = work;
        connection->asking = asking;
        connection->hearing = (struct hn_hearing) { .work = work, .asking = asking };
        connection->closed_fd = -1;
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
        leave(connection);
        hn_timer_free(connection->retry);
        hn_readable_free(connection->closed);
        if (connection->closed_fd >= 0)
                (void) close(connection->closed_fd);
        free(connection->uri);
        free(connection);
}
