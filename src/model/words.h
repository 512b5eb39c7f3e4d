/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Records as 64-bit words of this machine, for caches in /run that are read at every start: in a tenth of the time or
 * less that their JSON takes.  Nobody's only copy of anything is written so: what is odd counts for nothing.
 */
#pragma once

#include "model/idset.h"
#include "model/root.h"

/* ---- writing: words that grow */
struct hn_words {
        uint64_t *words;
        size_t n, room;
};

void hn_words_clear(struct hn_words *words);
#define HN_WORDS HN_CLEANUP(hn_words_clear)

/* Each appends.  -ENOMEM; -EINVAL: an infinite set.  A text may be NULL. */
int hn_words_add(struct hn_words *words, uint64_t word);
int hn_words_add_numbers(struct hn_words *words, const uint64_t *numbers, size_t n);
int hn_words_add_text(struct hn_words *words, const char *text);
int hn_words_add_set(struct hn_words *words, hwloc_const_bitmap_t set);
#define HN_WORDS_ADD(words, ...) \
        hn_words_add_numbers(words, (const uint64_t[]) { __VA_ARGS__ }, \
                             sizeof (uint64_t[]) { __VA_ARGS__ } / sizeof(uint64_t))

/* ---- and back: the first fault stays in `error`, and everything after it reads as nothing */
struct hn_word_reader {
        const uint64_t *words;
        size_t left;
        int error; /* -EBADMSG, -ENOMEM */
};

void hn_words_fail(struct hn_word_reader *reader, int error);

/* The next word, which is at most `limit`. */
uint64_t hn_words_take(struct hn_word_reader *reader, uint64_t limit);

/* How many elements follow: no more than `limit`, nor than there are words left. */
size_t hn_words_take_count(struct hn_word_reader *reader, size_t limit);

/* A text of its own, or NULL, which is a fault only if `error` says so. */
char *hn_words_take_text(struct hn_word_reader *reader);

/* Bytes of a text of exactly that length. */
void hn_words_take_bytes(struct hn_word_reader *reader, char *bytes, size_t length);

/* Numbers below `limit` (at most HN_IDSET_LIMIT), into a new set where *set is NULL, else into the one that is there,
 * which is to be empty. */
void hn_words_take_set(struct hn_word_reader *reader, unsigned limit, hwloc_bitmap_t *set);

/* ---- files: magic, checksum of the rest, the rest */
#define HN_WORDS_HEAD 2u

/* Another version of the package has another checksum. */
uint64_t hn_words_checksum(const uint64_t *words, size_t n);

/* Are these the words of a whole file with that magic?  What is in it begins at HN_WORDS_HEAD. */
bool hn_words_valid(const uint64_t *words, size_t n, uint64_t magic);

/* All words of a file, head included, and not yet looked at; the caller frees.  -ENOENT and others: it can't be
 * opened; -EBADMSG: empty, odd in size, beyond `limit` words, not ours alone to write, or no file; -ENOMEM. */
int hn_words_read(const struct hn_root *root, size_t limit, uint64_t **ret, size_t *ret_n, const char *path);

/* Puts words into place whose head is still to be filled.  -EFBIG: more than `limit`; and those of hn_root_replace. */
int hn_words_write(const struct hn_root *root, size_t limit, struct hn_words *words, uint64_t magic, const char *path);
