/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The originals of rewritten definitions: one per domain, the text before homenode's first rewriting.  A safety
 * net: undo goes by the mark in the XML.  They hold passwords, as the definitions themselves do.
 */
#pragma once

#include "model/domain.h"
#include "model/root.h"

#define HN_COPIES_FOLDER "/var/lib/homenode/definitions" /* 0700; UUID.xml in it, 0600 */

/* Keeps a copy, in place of one that is there; it is on disk when this returns.  -EINVAL: no UUID; -ENOSPC and
 * others: it could not be kept, and what was there is as it was. */
int hn_copy_put(const struct hn_root *root, const char *uuid, const char *xml);

/* The caller frees.  -ENOENT. */
int hn_copy_get(const struct hn_root *root, const char *uuid, char **ret_xml);

/* Being gone already is success. */
int hn_copy_remove(const struct hn_root *root, const char *uuid);
