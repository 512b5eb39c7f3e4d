/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What libvirt keeps about each running guest, for itself: read where libvirt is not asked, or does not answer.
 */
#pragma once

#include "model/domain.h"
#include "model/root.h"

#define HN_RECORDS "/run/libvirt/qemu"

/* May a file of that folder be a record? */
bool hn_record_is(const char *file);

/* One that is just being written, or of a form that is not ours to know, is as good as none: -ENOENT, -EINVAL and
 * others. */
int hn_record_read(const struct hn_root *root, const char *file, struct hn_request **ret);
