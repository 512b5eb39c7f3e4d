/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define WORD sizeof(uint64_t)
#define SET_WORDS (HN_IDSET_LIMIT / 8 / sizeof(unsigned long))
#define NO_TEXT UINT64_MAX

_Static_assert(sizeof(unsigned long) <= WORD, "a set's part fits a word");

static int reserve(struct hn_words *words, size_t n)
{
        if (words->room - words->n < n) {
                size_t room = 2 * words->room + n + 64;
                uint64_t *more = reallocarray(words->words, room, WORD);

                if (!more)
                        return -ENOMEM;
                words->words = more;
                words->room = room;
        }
        return 0;
}

int hn_words_add(struct hn_words *words, uint64_t word)
{
        int r = reserve(words, 1);

        if (r >= 0)
                words->words[words->n++] = word;
        return r;
}

void hn_words_clear(struct hn_words *words)
{
        free(words->words);
        *words = (struct hn_words) { 0 };
}

int hn_words_add_numbers(struct hn_words *words, const uint64_t *numbers, size_t n)
{
        int r = reserve(words, n);

        if (r >= 0 && n > 0) {
                memcpy(&words->words[words->n], numbers, n * WORD);
                words->n += n;
        }
        return r;
}

/* Its length in bytes, then the bytes, filled up with zeros. */
int hn_words_add_text(struct hn_words *words, const char *text)
{
        size_t length = text ? strlen(text) : 0, n = (length + WORD - 1) / WORD;
        int r = hn_words_add(words, text ? length : NO_TEXT);

        if (r >= 0)
                r = reserve(words, n);
        if (r < 0 || n == 0)
                return r;
        words->words[words->n + n - 1] = 0;
        memcpy(&words->words[words->n], text, length);
        words->n += n;
        return 0;
}

/* How many parts of it there are, which is the first that is not empty, then those: most sets have one. */
int hn_words_add_set(struct hn_words *words, hwloc_const_bitmap_t set)
{
        int n = hwloc_bitmap_nr_ulongs(set), first = 0, r;

        if (n < 0)
                return -EINVAL;
        while (first < n && !hwloc_bitmap_to_ith_ulong(set, (unsigned) first))
                first++;
        r = HN_WORDS_ADD(words, (uint64_t) (n - first), (uint64_t) first);
        for (int i = first; r >= 0 && i < n; i++)
                r = hn_words_add(words, hwloc_bitmap_to_ith_ulong(set, (unsigned) i));
        return r;
}

/* ---- and back */

void hn_words_fail(struct hn_word_reader *reader, int error)
{
        if (!reader->error)
                reader->error = error;
        reader->left = 0;
}

uint64_t hn_words_take(struct hn_word_reader *reader, uint64_t limit)
{
        if (reader->left == 0 || *reader->words > limit) {
                hn_words_fail(reader, -EBADMSG);
                return 0;
        }
        reader->left--;
        return *reader->words++;
}

size_t hn_words_take_count(struct hn_word_reader *reader, size_t limit)
{
        size_t n = hn_words_take(reader, limit);

        if (n > reader->left) {
                hn_words_fail(reader, -EBADMSG);
                return 0;
        }
        return n;
}

/* Moves on by so many bytes: where they are, or NULL. */
static const char *skip(struct hn_word_reader *reader, uint64_t length)
{
        const char *bytes = (const char *) reader->words;
        size_t n = length / WORD + (length % WORD > 0);

        if (reader->error || n > reader->left) {
                hn_words_fail(reader, -EBADMSG);
                return NULL;
        }
        reader->words += n;
        reader->left -= n;
        return bytes;
}

char *hn_words_take_text(struct hn_word_reader *reader)
{
        uint64_t length = hn_words_take(reader, NO_TEXT);
        const char *bytes = reader->error || length == NO_TEXT ? NULL : skip(reader, length);
        char *text;

        if (!bytes)
                return NULL;
        if (memchr(bytes, '\0', length)) {
                hn_words_fail(reader, -EBADMSG);
                return NULL;
        }
        text = strndup(bytes, length);
        if (!text)
                hn_words_fail(reader, -ENOMEM);
        return text;
}

void hn_words_take_bytes(struct hn_word_reader *reader, char *bytes, size_t length)
{
        const char *from = hn_words_take(reader, NO_TEXT) == length ? skip(reader, length) : NULL;

        if (from)
                memcpy(bytes, from, length);
        else
                hn_words_fail(reader, -EBADMSG);
}

void hn_words_take_set(struct hn_word_reader *reader, unsigned limit, hwloc_bitmap_t *set)
{
        uint64_t n = hn_words_take(reader, SET_WORDS), first = hn_words_take(reader, SET_WORDS - n);

        if (!*set)
                *set = hwloc_bitmap_alloc();
        if (!*set)
                hn_words_fail(reader, -ENOMEM);
        for (uint64_t i = first; !reader->error && i < first + n; i++) {
                unsigned long part = (unsigned long) hn_words_take(reader, ULONG_MAX);

                if (hwloc_bitmap_set_ith_ulong(*set, (unsigned) i, part) < 0)
                        hn_words_fail(reader, -ENOMEM);
        }
        if (!reader->error && limit < HN_IDSET_LIMIT && hwloc_bitmap_last(*set) >= (int) limit)
                hn_words_fail(reader, -EBADMSG);
}

/* ---- files */

static uint64_t mix(uint64_t hash, uint64_t word)
{
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        return hash ^ hash >> 29;
}

uint64_t hn_words_checksum(const uint64_t *words, size_t n)
{
        uint64_t hash = n;

        for (const char *p = PACKAGE_VERSION; *p; p++)
                hash = mix(hash, (unsigned char) *p);
        for (size_t i = 0; i < n; i++)
                hash = mix(hash, words[i]);
        return hash;
}

bool hn_words_valid(const uint64_t *words, size_t n, uint64_t magic)
{
        return n >= HN_WORDS_HEAD && words[0] == magic &&
               words[1] == hn_words_checksum(words + HN_WORDS_HEAD, n - HN_WORDS_HEAD);
}

int hn_words_read(const struct hn_root *root, size_t limit, uint64_t **ret, size_t *ret_n, const char *path)
{
        HN_CLOSE int fd = hn_root_open_file(root, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, "%s", path);
        HN_FREE uint64_t *words = NULL;
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) ||
            st.st_size <= 0 || st.st_size > (off_t) (limit * WORD) || st.st_size % (off_t) WORD)
                return -EBADMSG;
        words = malloc((size_t) st.st_size);
        if (!words)
                return -ENOMEM;
        if (read(fd, words, (size_t) st.st_size) != st.st_size)
                return -EBADMSG;
        *ret = HN_TAKE(words);
        *ret_n = (size_t) st.st_size / WORD;
        return 0;
}

int hn_words_write(const struct hn_root *root, size_t limit, struct hn_words *words, uint64_t magic, const char *path)
{
        if (words->n > limit)
                return -EFBIG;
        words->words[0] = magic;
        words->words[1] = hn_words_checksum(words->words + HN_WORDS_HEAD, words->n - HN_WORDS_HEAD);
        return hn_root_replace(root, (const char *) words->words, words->n * WORD, 0600, "%s", path);
}
