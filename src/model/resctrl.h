/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory bandwidth and cache occupancy, where the processor measures them and resctrl is mounted: of the whole host, or
 * of one monitoring group (somebody else makes those, libvirt's <memorytune> and <cachetune> for instance).
 */
#pragma once

#include "model/host.h"

#define HN_RESCTRL "/sys/fs/resctrl"

struct hn_resctrl_domain {
        unsigned id;               /* of the L3 cache */
        int node;                  /* that it belongs to; -1: the host does not say */
        uint64_t occupancy_bytes;  /* UINT64_MAX: not measured, or not just now */
        uint64_t total_bytes, local_bytes; /* memory traffic since the group was made, and that to its own node */
};

struct hn_resctrl {
        struct hn_resctrl_domain *domains; /* ascending ids */
        size_t n;
};

/* `group`: a folder with mon_data below HN_RESCTRL ("mon_groups/web"), "": all that runs.  -ENOENT: not mounted, no such
 * group, or nothing is measured; -ENOMEM. */
int hn_resctrl_read(const struct hn_root *root, const struct hn_host *host, const char *group, struct hn_resctrl *ret);

void hn_resctrl_clear(struct hn_resctrl *resctrl);
#define HN_RESCTRL_READ HN_CLEANUP(hn_resctrl_clear)
