/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A keeper over a recorded tree, with libvirt's part played by the test.
 */
#pragma once

#include "daemon/keeper.h"
#include "unit/support/entry.h"
#include "unit/support/guest.h"

#define WEB_UNIT "machine-qemu\\x2d7\\x2dweb.scope"
#define WEB_PID 4242
#define WEB_TICKS 99u
#define DB_UNIT "machine-qemu\\x2d8\\x2ddb.scope"
#define DB_PID 4343
#define DB_TICKS 88u
#define THREADS GUEST_THREADS(WEB_UNIT)
#define JOURNAL "/run/homenode/journal"

struct kept {
        struct tree tree;
        struct hn_keeper *keeper;
        char *xml;          /* the live XML of whatever is asked for; NULL: it does not run */
        char *db_xml;       /* that of db; NULL: there is web only */
        int xml_error;      /* libvirt can't tell; 0: it can */
        unsigned asked;     /* how often another look was asked for */
        unsigned last_wait_ms;
        void (*on_again)(struct kept *kept); /* what happens just then; NULL: nothing */
        char last_uuid[HN_UUID_LENGTH + 1];
};

/* A host of nodes 0-3 with CPUs 0-1, 2-3, 4-5, 6-7, and the guest "web" (UUID_A, vCPUs 0-1) running on it; its ledger
 * entry, where it is given one, places it on node 2.  The keeper has looked at the host. */
int kept_set_up(void **state);
int kept_tear_down(void **state);

/* web on CPUs 4-5 of node 2, as after the first looks and what systemd does then; nothing has been asked for. */
void kept_settle(struct kept *kept);

/* The live XML, with these elements in it. */
void kept_set_xml(struct kept *kept, const char *elements);

/* Writes web's entry; the drop-in too where `dropin`. */
void kept_put_entry(struct kept *kept, enum hn_entry_state state, bool dropin);
struct hn_entry *kept_entry(struct kept *kept);
struct hn_entry *kept_entry_of(struct kept *kept, const char *uuid);

/* The ledger has from now on that it was given back, as `homenode undo` does. */
void kept_give_back(struct kept *kept, const char *uuid);

/* Another guest, "db" (UUID_B, like web), as kept_settle leaves it: on CPUs 6-7 of node 3. */
void kept_settle_db(struct kept *kept);

/* What systemd and the kernel would do about the scope: opens its CPUs. */
void kept_open_scope(struct kept *kept);

/* Begins to count what is written, made and removed below the cgroups, /run and /proc of the tree; how much so far. */
int kept_count_writes(struct kept *kept);
unsigned kept_writes(int fd);
