/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ledger: the record on disk of every placement that is planned or in force; one small JSON file per
 * domain UUID in /run/homenode/ledger, replaced atomically, under one lock (/run/homenode/lock).
 */
#pragma once

#include "model/placement.h"
#include "model/root.h"

enum hn_entry_state { HN_ENTRY_RESERVED, HN_ENTRY_STARTED };

/* A move under way (daemon/mover.h).  The entry's placement is where the guest goes, but for the memory set, which is
 * wide enough for where it was and where it goes, and the promises, which are those of both: so whoever looks only at
 * the placement finds nothing wrong, and whoever finds a move that nobody works on can go on with it. */
struct hn_moving {
        struct hn_placement *from; /* as it was in force before */
        struct hn_placement *to;   /* as it will be when all is done */
        char *kind;                /* hn_move_kind_name's */
        char *reason;              /* a sentence for people */
        uint64_t began_us;         /* CLOCK_BOOTTIME; the moves of one group have the same, others do not */
        unsigned turn;             /* its place in the group, from 0: it follows those before it */
        bool narrowing;            /* nothing is left to be moved: the memory set is to be that of `to` */
        bool back;                 /* it was called off: `to` is where the guest came from */
};

void hn_moving_free(struct hn_moving *moving);
HN_DEFINE_CLEANUP(struct hn_moving *, hn_moving_free, hn_cleanup_moving)
#define HN_MOVING HN_CLEANUP(hn_cleanup_moving)

/* What came of the moves of a guest since it runs. */
struct hn_moved {
        unsigned count;    /* that brought it, or its memory, home */
        uint64_t ended_us; /* the last one, whatever came of it; CLOCK_BOOTTIME; 0: there was none */
        bool delivered;
        char *result;      /* what came of that one, a sentence; NULL: there was none */
};

struct hn_entry {
        struct hn_placement *placement;
        enum hn_entry_state state;
        char boot_id[HN_UUID_LENGTH + 1]; /* set by hn_ledger_put */
        uint64_t written_us;    /* CLOCK_BOOTTIME; set by hn_ledger_put */
        long domain_id;         /* -1: none yet */
        char *unit;             /* the scope's unit name, NULL: none foreseen */
        int pid;                /* QEMU's, 0 while reserved */
        uint64_t start_ticks;   /* field 22 of /proc/PID/stat, tells a PID that came again; 0: not known */
        char *reason;           /* short; may be NULL */
        bool managed;           /* false: only counted */
        bool kept;              /* decided at migrate or restore: the following prepare keeps it */
        struct hn_moving *moving; /* NULL: it stays where it is */
        struct hn_moved moved;
        bool room_only;         /* from hn_ledger_load_room: nobody can write it back */
};

struct hn_ledger;

/* `dir` NULL: /run/homenode below root, made 0700 where missing; `root` must outlive the ledger.  Otherwise
 * a folder (of the running system, made where missing) with the entries themselves, or a copy of
 * /run/homenode, with lock and explain/ in it: the command's --ledger.  Such a folder may have been copied
 * from another host or boot: its entries count as they are. -EACCES, -EROFS, -ENOSPC and others: the folder
 * can't be had. */
int hn_ledger_open(const struct hn_root *root, const char *dir, struct hn_ledger **ret);
void hn_ledger_close(struct hn_ledger *ledger);
HN_DEFINE_CLEANUP(struct hn_ledger *, hn_ledger_close, hn_cleanup_ledger)
#define HN_LEDGER HN_CLEANUP(hn_cleanup_ledger)

/* Takes the lock, waiting at most wait_us (0: not at all).  -ETIME: somebody else has it still; others: the
 * lock file can't be made.  Having it already is success.  Closing unlocks, and so does the end of the
 * process. */
int hn_ledger_lock(struct hn_ledger *ledger, uint64_t wait_us);
void hn_ledger_unlock(struct hn_ledger *ledger);

/* All entries that count, by UUID: files that can't be read as entries are passed over (never an error),
 * entries of another boot, entries whose QEMU is gone and reservations older than HN_RESERVATION_US that no
 * start followed are left out, and removed if the lock is held.  A start may well take longer (terabytes
 * are preallocated, the host is loaded): as long as its scope or its QEMU is there, the reservation stands.
 * -ENOMEM, or the folder can't be read. */
#define HN_RESERVATION_US (120u * 1000000u)
int hn_ledger_load(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n);
void hn_entries_free(struct hn_entry **entries, size_t n);

/* The same in three quarters of the time, for deciding on somebody else: no more of an entry than the room that its
 * guest takes.  Reason, emulator_cpus, home, memory_nodes, the cells' nodes and what is known of moves are NULL, and what would write or show
 * such an entry refuses it (-EINVAL). */
int hn_ledger_load_room(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n);

/* The same but for those that are known (by UUID, as its file is named): their files are not read.  Needs no lock. */
typedef bool hn_ledger_known(void *data, const char *uuid);
int hn_ledger_load_others(struct hn_ledger *ledger, hn_ledger_known *known, void *data, struct hn_entry ***ret,
                          size_t *ret_n);

/* The same, and removes what no guest stands behind: entries that do not count or can't be read, explanations of
 * none, what writers that were killed left.  *ret_removed: how many files.  -ENOLCK: the lock is not held, or the
 * ledger is not this host's own. */
int hn_ledger_sweep(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n, unsigned *ret_removed);

/* One entry by UUID, whatever its state.  -ENOENT; -EBADMSG: it can't be read as one; -EINVAL: no UUID. */
int hn_ledger_get(struct hn_ledger *ledger, const char *uuid, struct hn_entry **ret);

/* Writes one entry, and its long explanation apart (NULL: the one that is there stays).  -ENOLCK: the lock
 * is not held; -EINVAL: no UUID, or what is in it could not be read back; -EFBIG.  An explanation that
 * can't be written is no failure: the entry counts. */
int hn_ledger_put(struct hn_ledger *ledger, const struct hn_entry *entry, const char *explanation);

/* A guest that is given back to libvirt while it runs stays in the ledger, counted and no longer managed, until it
 * stops: nobody places it again, and a move ends where it is.  `reason` is one of these.  Needs the lock; errors as get and put. */
#define HN_REASON_GIVEN_BACK "given back by the administrator"
#define HN_REASON_OPTED_OUT "opted out while it ran"
int hn_ledger_give_back(struct hn_ledger *ledger, const char *uuid, const char *reason);

/* A guest that homenode has moved has its cells bound no longer where its definition says: `ours` of the live XML's
 * cells becomes where they are bound by now, and while it moves where that may be (DESIGN fact 10).  Others stay as they
 * are.  -ENOMEM: some have changed. */
int hn_entry_settle_bound(const struct hn_entry *entry, struct hn_request *request);

/* Removes entry and explanation; being gone already is success.  Needs no lock.  -EINVAL: no UUID. */
int hn_ledger_remove(struct hn_ledger *ledger, const char *uuid);

/* The long explanation of an entry (text as it was put); the caller frees.  -ENOENT; -EINVAL: no UUID. */
int hn_ledger_explanation(struct hn_ledger *ledger, const char *uuid, char **ret);

void hn_entry_free(struct hn_entry *entry);
HN_DEFINE_CLEANUP(struct hn_entry *, hn_entry_free, hn_cleanup_entry)
#define HN_ENTRY HN_CLEANUP(hn_cleanup_entry)
