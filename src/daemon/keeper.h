/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Looking at one running guest after another: taking it over from the hook or adopting it, keeping its placement in
 * force, giving it back where its owner says so, forgetting it when its QEMU is gone.  Knows libvirt and the event
 * loop by a door only.
 */
#pragma once

#include "act/cgroup-io.h"
#include "act/unit.h"
#include "daemon/guests.h"

#define HN_SWEEP_MS 30000u
#define HN_ROOM_WAIT_US 60000000u /* between two tries to place guests that there was no room for */

struct hn_running_door {
        void *data;
        /* The live XML; the caller frees.  -ENOENT: the domain does not run (or is no more); others: it can't be
         * told now, and all is looked at again when it can. */
        int (*live_xml)(void *data, const char *uuid, char **ret);
        /* The guest is to be looked at (again) in that time; "": the host. */
        void (*again)(void *data, const char *uuid, unsigned wait_ms);
};

struct hn_keeper;

/* `io` and its root must outlive it.  `bus_address` as for hn_systemd_new.  -ENOMEM and those of inotify. */
int hn_keeper_new(const struct hn_cgroup_io *io, const struct hn_running_door *door, const char *bus_address,
                  struct hn_keeper **ret);
void hn_keeper_free(struct hn_keeper *keeper);
HN_DEFINE_CLEANUP(struct hn_keeper *, hn_keeper_free, hn_cleanup_keeper)
#define HN_KEEPER HN_CLEANUP(hn_cleanup_keeper)

/* The guest runs: whatever is to be done about it.  In steady state it writes nothing. */
void hn_keeper_look(struct hn_keeper *keeper, const char *uuid);

/* libvirt says that it stopped.  Where its QEMU is there all the same (a crash that is preserved) nothing changes. */
void hn_keeper_gone(struct hn_keeper *keeper, const char *uuid);

/* Looks at the host.  True: it has changed (the first look included): all guests are marked, and definitions want to
 * be looked at. */
bool hn_keeper_look_at_host(struct hn_keeper *keeper);

/* Looks at the cgroups of all guests, at no XML; marks those that are to be looked at. */
void hn_keeper_sweep(struct hn_keeper *keeper);

/* Readable when cgroups changed; then hn_keeper_watched marks. */
int hn_keeper_fd(const struct hn_keeper *keeper);
void hn_keeper_watched(struct hn_keeper *keeper);

const struct hn_guests *hn_keeper_guests(const struct hn_keeper *keeper);
