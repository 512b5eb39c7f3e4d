/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Confining a running guest to its placement: CPU sets of its thread cgroups, then the scope opened again.
 */
#pragma once

#include "act/cpuset.h"

struct hn_confined {
        unsigned threads;      /* cgroups of vCPUs, emulator and iothreads that say what was decided */
        unsigned users;        /* left alone: pinned by the user */
        unsigned failed;
        int error;             /* the first failure's */
        bool memory_in_force;  /* the scope's effective memory set is hn_keep_nodes', as far as that is to be had */
};

/* Puts the placement's CPU sets into force for what the user left open, sets the affinity of threads that
 * something else holds elsewhere, and then takes CPUs off the scope (DESIGN fact 4).  Goes on after a failure:
 * each thread that sits right is worth it.  Errors: the folder of thread cgroups can't be read, -ENOMEM. */
int hn_confine(const struct hn_root *root, const struct hn_guest_cgroup *cgroup, const struct hn_placement *placement,
               const struct hn_request *request, struct hn_confined *ret);
