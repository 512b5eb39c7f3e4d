/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A guest that runs and that the ledger does not know: nobody could place it at its start, or homenode came later.
 */
#pragma once

#include "act/cpuset.h"
#include "model/resident.h"
#include "store/ledger.h"
#include "store/scene.h"

struct hn_adoption {
        const struct hn_root *root;
        struct hn_request *request;           /* of the live XML; what homenode bound counts as bound while it is decided on */
        const struct hn_guest_cgroup *cgroup; /* NULL: none of its own */
        int pid;
        uint64_t start_ticks;
        bool only_placed;                     /* nothing is written where it would be left to libvirt (again) */
};

/* Decides and puts the entry into the ledger, whose lock is held: the home is where most of its memory is already, if
 * the decision can be had there.  The memory set is placed only where no more than HN_KEEP_NARROW_KIB lies elsewhere;
 * else it is left open, and its pages are another's business.  *ret: the entry, unmanaged where the guest is left to
 * libvirt.  1: it would be left to
 * libvirt, and `only_placed`: nothing is written, and *ret stays.  Errors of looking at the host, deciding, writing. */
int hn_adopt(const struct hn_adoption *adoption, struct hn_ledger *ledger, struct hn_entry **ret);

/* For deciding on a guest that runs: binds its cells to the nodes that homenode wrote (they are, whatever is decided
 * now; hn_request_unbind_ours when that is done), takes nodes that are no homes now out of its wish as long as others are left, and gathers the scene, the
 * ledger's others in it and the memory that the guest itself holds, its huge pages too, counted as free, for it is to be
 * had where it is.  `resident` may be empty. */
int hn_adopt_scene(const struct hn_adoption *adoption, struct hn_ledger *ledger, const struct hn_resident *resident,
                   struct hn_scene **ret);
