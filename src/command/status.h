/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `homenode status` shows: nodes and guests as they are now, from the ledger, the kernel's figures and libvirt's
 * records of running guests.  What can't be read is said and left out; the rest is there.
 */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "model/cputime.h"
#include "model/host.h"
#include "model/resident.h"
#include "store/ledger.h"

struct hn_node_status {
        double busy_cpus;      /* negative: not known */
        uint64_t promised_kib; /* of ordinary pages */
        unsigned promised_vcpus_milli;
        unsigned n_guests;     /* that have it as a home, or are promised something there */
};

enum hn_guest_state {
        HN_GUEST_STARTING,   /* reserved: its start has not ended */
        HN_GUEST_RUNNING,    /* placed */
        HN_GUEST_COUNTED,    /* the ledger has it, and leaves it to libvirt */
        HN_GUEST_NOT_PLACED, /* it runs, and the ledger knows nothing of it */
        HN_GUEST_NOT_KNOWN,  /* it runs, and the ledger can't be read */
};

struct hn_guest_status {
        enum hn_guest_state state;
        const struct hn_entry *entry; /* NULL: none */
        char *name;
        char *unit;                   /* may be NULL */
        struct hn_request *live;      /* what libvirt has for it now; NULL: not known */
        struct hn_resident resident;
        uint64_t read_us;             /* CLOCK_BOOTTIME of that reading; 0: there is none … */
        char *unread;                 /* … because of this; else NULL, or what is not in the figures */
};

struct hn_status {
        struct hn_host *host;         /* NULL: it can't be read */
        struct hn_node_status *nodes; /* by `at` */
        unsigned load_interval_ms;    /* 0: load was not measured */
        struct hn_entry **entries;
        size_t n_entries;
        char boot_id[HN_UUID_LENGTH + 1];
        bool ledger_read, records_read;
        struct hn_guest_status *guests;
        size_t n_guests;
        char *faults;                 /* what can't be read, a line each; NULL: nothing */
        bool partial;                 /* something of it that was asked for is missing */
};

/* Looks at all; `load_interval_ms` is slept (0: no load).  -ENOMEM. */
int hn_status_read(const struct hn_root *root, unsigned load_interval_ms, struct hn_status *ret);
void hn_status_clear(struct hn_status *status);
#define HN_STATUS HN_CLEANUP(hn_status_clear)

/* Adds the guests that run, the ledger's and others, by name (status-guests.c). */
int hn_status_read_guests(const struct hn_root *root, struct hn_status *status);

/* ---- for whoever looks again and again.  Load and guests' memory are not read, nor libvirt's records but for a guest that
 * has no entry and is new: what `before` (zeroed: nothing) has of the others is taken out of it. */
int hn_status_read_again(const struct hn_root *root, struct hn_status *before, struct hn_status *ret);
int hn_status_list_guests(const struct hn_root *root, struct hn_status *before, struct hn_status *status);

/* A guest's scope, as a path below /sys; the caller frees.  -ENOENT. */
int hn_guest_find_scope(const struct hn_root *root, const struct hn_guest_status *guest, char **ret);

/* Adds where its memory is, or why that is not known; `scope` NULL: there is none.  -ENOMEM. */
int hn_guest_read_memory(const struct hn_root *root, const struct hn_host *host, const char *scope,
                         struct hn_guest_status *guest);

/* Adds to status->faults. */
int hn_status_fault(struct hn_status *status, const char *format, ...) HN_PRINTF(2, 3);

/* "" where it is not known. */
const char *hn_guest_uuid(const struct hn_guest_status *guest);

/* The guest of that UUID, or else of that name; NULL: none. */
const struct hn_guest_status *hn_status_find(const struct hn_status *status, const char *domain);

/* Share of the resident memory that is at home, in percent; negative: not known, or there is no home. */
double hn_guest_locality(const struct hn_guest_status *guest);

/* ---- what holds a guest where it is (status-pins.c) */
struct hn_pinned {
        const char *what;       /* "vcpu", "vcpus", "emulator", "iothread", "memory", "cell" */
        int id;                 /* of the vCPU, iothread or cell; -1: none */
        hwloc_bitmap_t members; /* "vcpus": which; else NULL */
        hwloc_bitmap_t set;     /* CPUs; nodes of "memory" and "cell" */
        bool by_user;
};

struct hn_pins {
        struct hn_pinned *all;
        size_t n;
        bool known; /* false: libvirt's record can't be read, the user's are missing */
};

int hn_pins_of(const struct hn_guest_status *guest, struct hn_pins *ret); /* -ENOMEM */
void hn_pins_clear(struct hn_pins *pins);
#define HN_PINS HN_CLEANUP(hn_pins_clear)

/* ---- showing it.  `shown`: the guests that are wanted, NULL for all and the nodes; each -ENOMEM */
struct hn_shown {
        const struct hn_guest_status **guests;
        size_t n_guests;
        bool all;
};
int hn_status_to_json(const struct hn_status *status, const struct hn_shown *shown, struct json_object **ret);
/* What they have in common with other reports: "faults" and "read_at"; "nodes", where there is a host; of a guest "moves",
 * "moving" and "last_move". */
int hn_status_add_faults(const struct hn_status *status, struct json_object *json);
int hn_status_add_nodes(const struct hn_status *status, struct json_object *json);
int hn_status_add_moves(const struct hn_entry *entry, struct json_object *json);
int hn_status_text(const struct hn_status *status, const struct hn_shown *shown, FILE *out);
int hn_status_cells_text(const struct hn_guest_status *guest, FILE *out); /* one guest in detail */

const char *hn_guest_state_name(enum hn_guest_state state);
const char *hn_node_role_name(enum hn_node_role role);

/* What homenode is doing with the guest, or did last; the caller frees; NULL without memory. */
char *hn_status_action(const struct hn_entry *entry);

/* Was the entry written in this boot?  Else its time says nothing. */
bool hn_status_of_this_boot(const struct hn_status *status, const struct hn_entry *entry);
