/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CPUs and memory nodes of a scope, which is systemd's: through its unit properties (DESIGN fact 14).
 *
 * In a recorded tree nothing is asked of the running systemd: what would be set is added to /run/homenode/units there,
 * a line per call: "UNIT AllowedCPUs=LIST AllowedMemoryNodes=LIST", what is left as it is left out.
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

#define HN_UNITS_FILE "/run/homenode/units"

struct hn_systemd;

/* `address` NULL: the system bus; else where to find a systemd ("unix:path=…"), without a bus between.  Connects when
 * something is asked first, and again after a failure.  `root` must outlive it. */
int hn_systemd_new(const struct hn_root *root, const char *address, struct hn_systemd **ret);
void hn_systemd_free(struct hn_systemd *systemd);
HN_DEFINE_CLEANUP(struct hn_systemd *, hn_systemd_free, hn_cleanup_systemd)
#define HN_SYSTEMD HN_CLEANUP(hn_cleanup_systemd)

/* Sets AllowedCPUs and AllowedMemoryNodes until the unit ends, in one call; a NULL set stays as it is.  systemd
 * answers before the cgroup says so: that is to be looked up there a moment later.  Waits at most `wait_us`.
 * -EINVAL: an empty set (clearing leaves what is in force as it was, DESIGN fact 4) or no unit's name; -ENOENT: no
 * such unit; -ETIMEDOUT: it may still come to be; -ENOTCONN and others: systemd can't be reached. */
int hn_unit_set(struct hn_systemd *systemd, const char *unit, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes,
                uint64_t wait_us);

/* What the properties say, which is what systemd will write again at the next change; empty: nothing.  In a recorded
 * tree -ENOENT.  Errors as above. */
int hn_unit_get(struct hn_systemd *systemd, const char *unit, hwloc_bitmap_t *ret_cpus, hwloc_bitmap_t *ret_nodes,
                uint64_t wait_us);

/* A set in systemd's form (its cpu_set_to_dbus): member n is bit n % 8 of byte n / 8, as many bytes as there are
 * members for.  The caller frees.  -EINVAL: infinite. */
int hn_unit_mask(hwloc_const_bitmap_t set, uint8_t **ret, size_t *ret_n);
int hn_unit_unmask(const uint8_t *mask, size_t n, hwloc_bitmap_t *ret);
