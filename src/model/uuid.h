/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * UUIDs as text, in one form: those of domains, and the one that tells this boot from any other.
 */
#pragma once

#include "model/root.h"

#define HN_UUID_LENGTH 36

/* 36 characters, hexadecimal digits and dashes where they belong: what may become a file name.
 * `ret` gets it in lower case.  -EINVAL. */
int hn_uuid_canonical(const char *text, char ret[HN_UUID_LENGTH + 1]);

/* The kernel's id of this boot.  -EINVAL: it is no UUID; otherwise as hn_root_read_line. */
int hn_boot_id(const struct hn_root *root, char ret[HN_UUID_LENGTH + 1]);
