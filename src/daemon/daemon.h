/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The daemon as a whole: what there is, made and taken down in order.
 */
#pragma once

#include "act/cgroup-io.h"
#include "daemon/connection.h"
#include "daemon/defining.h"
#include "daemon/keeping.h"
#include "daemon/rounds.h"
#include "model/root.h"

struct hn_daemon {
        struct hn_root root;
        struct hn_cgroup_io io;
        struct hn_loop *loop;
        struct hn_work *work;
        struct hn_asking *asking;
        struct hn_connection *connection;
        struct hn_definitions *definitions;
        struct hn_defining *defining;
        struct hn_timer *renewal; /* of nodes in definitions */
        struct hn_timer *shedding; /* of what only starting took */
        struct hn_keeping *keeping;
        struct hn_rounds *rounds;
};

/* Everything up to connecting; says in the journal what the host lacks. */
int hn_daemon_open(struct hn_daemon *ret);

/* False: a thread waits for libvirt still, so what it may use yet stays, and the process had better end at once. */
bool hn_daemon_close(struct hn_daemon *daemon);

/* Until it is told to stop; tells the service manager. */
int hn_daemon_run(struct hn_daemon *daemon);
