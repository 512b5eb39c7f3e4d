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

/* All that there is a copy of, or a note as below, each once; the caller frees.  Where the folder is missing: none. */
int hn_copies_list(const struct hn_root *root, char (**ret)[HN_UUID_LENGTH + 1], size_t *ret_n);

/* A definition that an administrator took homenode's part out of is left until it changes: UUID.left holds the
 * digest of its text, which does not depend on how the text is laid out. */
uint64_t hn_left_digest(const char *xml); /* never 0 */
int hn_left_put(const struct hn_root *root, const char *uuid, uint64_t digest);
bool hn_left_is(const struct hn_root *root, const char *uuid, uint64_t digest);
int hn_left_remove(const struct hn_root *root, const char *uuid);
