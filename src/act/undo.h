/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Giving a running guest back to libvirt: its cpusets, affinities and scope as those of a guest never touched.
 */
#pragma once

#include "act/actions.h"
#include "model/domain.h"

struct hn_undone {
        unsigned users;    /* thread groups left alone: the user pinned them */
        unsigned failed;
        int error;         /* the first failure's */
        bool memory_stays; /* its bound cells would come to be bound elsewhere: the memory set is as it was */
};

/* `request` is the live XML's.  `setter` NULL: by files alone, so that the scope's memory set stays.  The ledger is the
 * caller's business: to be told first, or whoever reads it confines the guest again.  Goes on after a failure.
 * -ENOENT: no such guest, or without cgroups of its own; -ENOMEM. */
int hn_undo_running(const struct hn_cgroup_io *io, const struct hn_unit_setter *setter,
                    const struct hn_request *request, int pid, struct hn_undone *ret);
