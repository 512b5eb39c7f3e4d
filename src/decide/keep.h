/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Keeping a placement in force: what is wanted compared with what a guest's cgroups say comes to a list of actions,
 * none where all is right.  Giving a guest back to libvirt comes to such a list too.  Pure; act/actions.h does it.
 */
#pragma once

#include "model/groups.h"
#include "model/placement.h"

enum hn_act {
        HN_ACT_GROUP,    /* a thread cgroup's CPUs, and its threads' affinity where that differs then */
        HN_ACT_AFFINITY, /* the affinity of all its threads, whatever it is now */
        HN_ACT_SCOPE,    /* the scope's own cpuset.cpus opened, in its file */
        HN_ACT_UNIT,     /* the scope's CPUs and nodes, by systemd's properties in one call */
        HN_ACT_DROPIN,   /* the drop-in of the start goes */
};

/* Whose the scope is, and so how it is changed. */
enum hn_scope_way {
        HN_SCOPE_LEFT, /* not systemd's: libvirt's or the administrator's */
        HN_SCOPE_FILE, /* systemd's, but only files are to be written (the hook) */
        HN_SCOPE_UNIT, /* systemd's */
};

struct hn_action {
        enum hn_act act;
        char *group;          /* GROUP, AFFINITY: its folder below the level of threads */
        hwloc_bitmap_t cpus;  /* GROUP, AFFINITY, UNIT */
        hwloc_bitmap_t nodes; /* UNIT; NULL: as they are */
};

struct hn_actions {
        struct hn_action *list; /* in the order in which they are to be done */
        size_t n;
        unsigned right;      /* thread groups that are as they should be */
        unsigned users;      /* left alone: pinned by the user */
        unsigned unreadable; /* groups whose files can't be read … */
        int error;           /* … and why */
        bool homeless;       /* none of the CPUs or nodes wanted is to be had: another home has to be found */
        bool memory_waits;   /* the memory set is not as wanted, and can't be put right at once */
        bool memory_stays;   /* giving back: bound cells would come to be bound elsewhere */
};

void hn_actions_clear(struct hn_actions *actions);
#define HN_ACTIONS HN_CLEANUP(hn_actions_clear)

/* What else there is to know. */
struct hn_circumstances {
        enum hn_scope_way way;
        bool dropin;          /* the drop-in of the start is there still */
        uint64_t outside_kib; /* guest memory outside the wanted nodes; UINT64_MAX: not known */
        bool moving;          /* the mover is at it, and knows where bound cells come to be bound (move.h) */
        hwloc_const_bitmap_t all_cpus, all_nodes; /* every one that this host can have; NULL: not known */
};

/* So much may be left for the kernel to move when a memory set is narrowed: it holds the guest up meanwhile (DESIGN
 * fact 11), 10 s for 950 MiB under emulation.  QEMU itself takes about as much. */
#define HN_KEEP_NARROW_KIB (64u << 10)

/* Adds the nodes that the XML itself names for memory: numatune, memnode (the user's and ours), memory devices.
 * -ENOMEM. */
int hn_keep_add_named(const struct hn_request *request, hwloc_bitmap_t nodes);

/* The memory set of the scope: the placement's, and what the XML itself binds to, or starts fail and a run-time
 * numatune does nothing (DESIGN fact 4); empty where the placement wants none.  -ENOMEM. */
int hn_keep_nodes(const struct hn_request *request, const struct hn_placement *placement, hwloc_bitmap_t *ret);

/* Those of them that the groups above leave to be had; may come out empty though some are wanted.  -ENOMEM. */
int hn_keep_nodes_left(const struct hn_groups *groups, const struct hn_request *request,
                       const struct hn_placement *placement, bool *ret_wanted, hwloc_bitmap_t *ret);

/* The nodes that memory is bound to by policy: memnode, the user's and ours, memory devices, and a strict numatune.
 * -ENOMEM. */
int hn_keep_bound(const struct hn_request *request, hwloc_bitmap_t *ret);

/* Is this thread group pinned by the user?  (libvirt takes <vcpu cpuset> for whatever has no pin of its own.) */
bool hn_keep_is_users(const struct hn_request *request, enum hn_group_kind kind, unsigned number);

/* What brings the placement into force: thread groups first (between the two they would be free to run anywhere),
 * then the scope.  Empty in steady state.  `request` is the live XML's: pins in it are the user's.  -ENOMEM. */
int hn_keep_plan(const struct hn_groups *groups, const struct hn_placement *placement,
                 const struct hn_request *request, const struct hn_circumstances *circumstances,
                 struct hn_actions *ret);

/* What gives the guest back as libvirt would have it: the scope opened first, then the groups that the user did not
 * pin, with their affinity.  -ENOMEM. */
int hn_undo_plan(const struct hn_groups *groups, const struct hn_request *request,
                 const struct hn_circumstances *circumstances, struct hn_actions *ret);
