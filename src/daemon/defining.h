/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Definitions on the daemon's loop: fed by the queue of work; each is looked at in a thread, which has the turn but
 * while it waits for libvirt.
 */
#pragma once

#include "daemon/connection.h"
#include "daemon/define.h"

struct hn_defining {
        struct hn_definitions *definitions;
        struct hn_work *work;
        struct hn_connection *connection;
        struct hn_asking *asking;
};

/* All of these must outlive it. */
int hn_defining_new(struct hn_definitions *definitions, struct hn_work *work, struct hn_connection *connection,
                    struct hn_asking *asking, struct hn_defining **ret);
void hn_defining_free(struct hn_defining *defining);
HN_DEFINE_CLEANUP(struct hn_defining *, hn_defining_free, hn_cleanup_defining)
#define HN_DEFINING HN_CLEANUP(hn_cleanup_defining)

/* libvirt's door to definitions, for threads that have the turn: it is given meanwhile. */
struct hn_definition_door hn_defining_door(void);
