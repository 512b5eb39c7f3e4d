/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which guests live, told by one look at machine.slice instead of a file of /proc for each of hundreds: a scope
 * is there as long as a process is in it.
 *
 * What may be wrong about it: ids come again after libvirt was restarted without guests, so a scope may belong to
 * another guest of the same name, and a process may have got the PID of a QEMU that is gone.  An entry left behind
 * is taken for a living one only where both meet, and then its memory is kept for nobody until that scope ends:
 * nothing is promised twice.
 */
#pragma once

#include "model/root.h"

struct hn_living {
        char **scopes; /* sorted */
        size_t n_scopes;
        int proc;      /* -1: there is none */
};

/* An empty answer where there is no machine.slice (another init, an odd partition).  -ENOMEM. */
int hn_living_read(const struct hn_root *root, struct hn_living *ret);
void hn_living_clear(struct hn_living *living);
#define HN_LIVING HN_CLEANUP(hn_living_clear)

/* Is a scope of this name there, and a process of this number?  `unit` may be NULL.  False says nothing. */
bool hn_living_has(const struct hn_living *living, const char *unit, int pid);
