/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ledger's index, /run/homenode/ledger.index: what is in the entries' files, so that hundreds of them need not be
 * opened at every start.  It is a cache and no record: a file counts as the index has it only while inode, size and
 * time of change are the same, and whatever is odd about the index makes it count for nothing.
 *
 *   words (model/words.h): magic, checksum of the rest, then for each entry by UUID: inode, size, ctime in ns, n, n words
 *   of the entry
 */
#pragma once

#include <sys/stat.h>

#include "store/ledger.h"

#define HN_INDEX_FILE "/ledger.index"
#define HN_INDEX_SLACK 8u /* so many files have to be read before the index is worth writing anew */

/* What tells a version of a file from any other. */
struct hn_stamp {
        uint64_t inode, size, changed_ns;
};

struct hn_stamp hn_stamp_of(const struct stat *st);

/* An entry with the stamp of the file that it was in. */
struct hn_stamped {
        struct hn_entry *entry;
        struct hn_stamp stamp;
        const uint64_t *words; /* the index's own, where the entry came from there */
        size_t n_words;
};

struct hn_index;

/* The index in the folder that holds the ledger's lock.  -ENOENT, -EBADMSG (also one that others may write),
 * -ENOMEM. */
int hn_index_read(const struct hn_root *base, struct hn_index **ret);
int hn_index_parse(uint64_t *words, size_t n, struct hn_index **ret); /* takes `words` over, also on failure */
void hn_index_free(struct hn_index *index);
HN_DEFINE_CLEANUP(struct hn_index *, hn_index_free, hn_cleanup_index)
#define HN_INDEX HN_CLEANUP(hn_cleanup_index)

/* The entry of that UUID as the file of that stamp has it, or as much of it as hn_ledger_load_room gives; its words live
 * as long as the index.  -ENOENT: it is not known (`index` may be NULL); -EBADMSG, -ENOMEM. */
int hn_index_get(const struct hn_index *index, const char *uuid, const struct hn_stamp *stamp, bool room_only,
                 struct hn_stamped *ret);

/* A file that changed as late as that may change again within one tick of the clock, its stamp staying as it is. */
bool hn_stamp_settled(const struct hn_stamp *stamp, uint64_t now_ns);
uint64_t hn_stamp_now_ns(void);

/* Writes the index of these entries (in UUID order) but those that move or whose files have not settled.  The caller holds the
 * ledger's lock. */
int hn_index_write(const struct hn_root *base, const struct hn_stamped *entries, size_t n, uint64_t now_ns);
