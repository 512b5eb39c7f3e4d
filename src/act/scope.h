/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The scope that systemd-machined makes for a guest: its name, known before it exists, and the drop-in
 * that puts the placement into force from the guest's first instruction (DESIGN facts 3 and 4).
 */
#pragma once

#include "model/host.h"
#include "model/placement.h"
#include "model/root.h"

#define HN_DROPIN_NAME "50-homenode.conf"
#define HN_SYSTEMD_MINIMUM 252u /* older ones are believed to refuse a transient unit with drop-ins */

/* "machine-qemu\x2d7\x2dweb.scope" for domain id 7 named "web", as libvirt and machined make it.
 * -EINVAL: no name can be foreseen (id < 0 or none that libvirt has, empty name).  The caller frees. */
int hn_scope_unit(long id, const char *name, char **ret);

/* May this text be the name of a guest's scope, and so of a folder?  Asked of what comes from a file. */
bool hn_scope_unit_valid(const char *unit);

/* Is it the scope of a guest of that name, whatever its id? */
bool hn_scope_unit_is_of(const char *unit, const char *name);

/* The scope's CPUs at start: the placement's and all that the XML itself asks for.  The caller frees.  -ENOMEM. */
int hn_scope_cpus(const struct hn_host *host, const struct hn_request *request,
                  const struct hn_placement *placement, hwloc_bitmap_t *ret);

/* Writes the drop-in: AllowedCPUs (left out if `cpus` is NULL or empty) and AllowedMemoryNodes (left out if
 * `nodes` is NULL or empty).  Atomic; with neither set the drop-in is removed.  -EINVAL: no scope's name;
 * -ENOENT: the host runs without systemd, for which /run/systemd/system is the sign (sd_booted(3)). */
int hn_dropin_write(const struct hn_root *root, const char *unit, hwloc_const_bitmap_t cpus,
                    hwloc_const_bitmap_t nodes);

bool hn_dropin_exists(const struct hn_root *root, const char *unit);

/* Removes the drop-in and its folder if that is empty then; being gone is success.  -EINVAL as above. */
int hn_dropin_remove(const struct hn_root *root, const char *unit);

/* The units that have such a drop-in; the caller frees with hn_units_free.  Where there is no folder: none. */
int hn_dropins_list(const struct hn_root *root, char ***ret_units, size_t *ret_n);
void hn_units_free(char **units, size_t n);

/* The running systemd's version, asked for once per boot over D-Bus within `wait_us` and kept in
 * /run/homenode/systemd-version.  -ENXIO where systemd does not answer, and in a recorded tree without that
 * file. */
int hn_systemd_version(const struct hn_root *root, uint64_t wait_us, unsigned *ret);

/* The version's first number: "257.8-1~deb13u2" is 257, "v258~rc1" is 258.  -EBADMSG. */
int hn_systemd_version_parse(const char *text, unsigned *ret);
