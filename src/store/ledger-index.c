/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/ledger-index.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "store/entry-words.h"

#define WORD sizeof(uint64_t)
#define MAGIC UINT64_C(0x34786469654e6d48) /* this form; another byte order reads another number */
#define ROW_WORDS 4u
#define WORDS_LIMIT ((16u << 20) / WORD)
#define SETTLE_NS UINT64_C(20000000) /* the kernel's time for files goes on every 1 to 10 ms */

struct row {
        char uuid[HN_UUID_LENGTH + 1];
        struct hn_stamp stamp;
        const uint64_t *words;
        size_t n;
};

struct hn_index {
        uint64_t *words;
        struct row *rows;
        size_t n;
};

struct hn_stamp hn_stamp_of(const struct stat *st)
{
        return (struct hn_stamp) {
                .inode = st->st_ino,
                .size = (uint64_t) st->st_size,
                .changed_ns = (uint64_t) st->st_ctim.tv_sec * UINT64_C(1000000000) + (uint64_t) st->st_ctim.tv_nsec,
        };
}

uint64_t hn_stamp_now_ns(void)
{
        struct timespec now = { 0 };

        (void) clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t) now.tv_sec * UINT64_C(1000000000) + (uint64_t) now.tv_nsec;
}

bool hn_stamp_settled(const struct hn_stamp *stamp, uint64_t now_ns)
{
        return stamp->changed_ns < now_ns && now_ns - stamp->changed_ns > SETTLE_NS;
}

void hn_index_free(struct hn_index *index)
{
        if (!index)
                return;
        free(index->words);
        free(index->rows);
        free(index);
}

/* One row at the beginning of `words`; its length in *ret_n. */
static int read_row(const uint64_t *words, size_t n, struct row *row, size_t *ret_n)
{
        const size_t uuid_words = (HN_UUID_LENGTH + WORD - 1) / WORD;

        if (n < uuid_words + ROW_WORDS)
                return -EBADMSG;
        memcpy(row->uuid, words, HN_UUID_LENGTH);
        row->uuid[HN_UUID_LENGTH] = '\0';
        words += uuid_words;
        row->stamp = (struct hn_stamp) { words[0], words[1], words[2] };
        row->words = words + ROW_WORDS;
        row->n = words[3];
        if (words[3] > n - uuid_words - ROW_WORDS)
                return -EBADMSG;
        *ret_n = uuid_words + ROW_WORDS + row->n;
        return 0;
}

static int read_rows(struct hn_index *index, const uint64_t *words, size_t n)
{
        size_t room = 0, length = 0;

        for (; n > 0; words += length, n -= length) {
                if (index->n == room) {
                        struct row *rows = reallocarray(index->rows, 2 * room + 64, sizeof *rows);

                        if (!rows)
                                return -ENOMEM;
                        index->rows = rows;
                        room = 2 * room + 64;
                }

                struct row *row = &index->rows[index->n];
                int r = read_row(words, n, row, &length);

                if (r < 0)
                        return r;
                if (index->n > 0 && strcmp(row[-1].uuid, row->uuid) >= 0)
                        return -EBADMSG;
                index->n++;
        }
        return 0;
}

int hn_index_parse(uint64_t *words, size_t n, struct hn_index **ret)
{
        HN_INDEX struct hn_index *index = calloc(1, sizeof *index);
        int r;

        if (!index) {
                free(words);
                return -ENOMEM;
        }
        index->words = words;
        if (!hn_words_valid(words, n, MAGIC))
                return -EBADMSG;
        r = read_rows(index, words + HN_WORDS_HEAD, n - HN_WORDS_HEAD);
        if (r < 0)
                return r;
        *ret = HN_TAKE(index);
        return 0;
}

int hn_index_read(const struct hn_root *base, struct hn_index **ret)
{
        uint64_t *words = NULL;
        size_t n = 0;
        int r = hn_words_read(base, WORDS_LIMIT, &words, &n, HN_INDEX_FILE);

        return r < 0 ? r : hn_index_parse(words, n, ret);
}

static int by_uuid(const void *uuid, const void *row)
{
        return strncmp(uuid, ((const struct row *) row)->uuid, HN_UUID_LENGTH);
}

int hn_index_get(const struct hn_index *index, const char *uuid, const struct hn_stamp *stamp, bool room_only,
                 struct hn_stamped *ret)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        const struct row *row;
        int r;

        if (!index || index->n == 0)
                return -ENOENT;
        row = bsearch(uuid, index->rows, index->n, sizeof *row, by_uuid);
        if (!row || row->stamp.inode != stamp->inode || row->stamp.size != stamp->size ||
            row->stamp.changed_ns != stamp->changed_ns)
                return -ENOENT;
        r = (room_only ? hn_entry_room_from_words : hn_entry_from_words)(row->words, row->n, &entry);
        if (r < 0)
                return r;
        if (strncmp(entry->placement->uuid, uuid, HN_UUID_LENGTH) != 0)
                return -EBADMSG;
        *ret = (struct hn_stamped) { HN_TAKE(entry), *stamp, row->words, row->n };
        return 0;
}

static int write_row(struct hn_words *words, const struct hn_stamped *from)
{
        const uint64_t head[] = { from->stamp.inode, from->stamp.size, from->stamp.changed_ns, 0 };
        uint64_t uuid[(HN_UUID_LENGTH + WORD - 1) / WORD] = { 0 };
        size_t length_at;
        int r = 0;

        memcpy(uuid, from->entry->placement->uuid, HN_UUID_LENGTH);
        for (size_t i = 0; r >= 0 && i < sizeof uuid / WORD; i++)
                r = hn_words_add(words, uuid[i]);
        for (size_t i = 0; r >= 0 && i < sizeof head / WORD; i++)
                r = hn_words_add(words, head[i]);
        length_at = words->n;
        if (r >= 0)
                r = from->words ? hn_words_add_numbers(words, from->words, from->n_words)
                                : hn_entry_to_words(from->entry, words);
        if (r >= 0)
                words->words[length_at - 1] = words->n - length_at;
        return r;
}

int hn_index_write(const struct hn_root *base, const struct hn_stamped *entries, size_t n, uint64_t now_ns)
{
        HN_WORDS struct hn_words words = { 0 };
        int r = HN_WORDS_ADD(&words, 0, 0);

        for (size_t i = 0; r >= 0 && i < n; i++)
                if (!entries[i].entry->moving && hn_stamp_settled(&entries[i].stamp, now_ns))
                        r = write_row(&words, &entries[i]);
        return r < 0 ? r : hn_words_write(base, WORDS_LIMIT, &words, MAGIC, HN_INDEX_FILE);
}
