/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading the whole ledger: 500 entries with their liveness have to fit into a guest's start many times over.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "model/clock.h"
#include "store/ledger-internal.h"
#include "store/living.h"

#define SUFFIX ".json"

/* Reads up to `size` bytes; returns how many there were. */
static ssize_t read_up_to(int fd, char *bytes, size_t size)
{
        size_t length = 0;

        while (length < size) {
                ssize_t n = read(fd, bytes + length, size - length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                length += (size_t) n;
        }
        return (ssize_t) length;
}

static int make_room(struct hn_text *text, size_t room)
{
        char *bytes;

        if (room <= text->room)
                return 0;
        bytes = realloc(text->bytes, room);
        if (!bytes)
                return -ENOMEM;
        *text = (struct hn_text) { bytes, room };
        return 0;
}

int hn_entry_read(int folder, const char *file, struct hn_text *text, struct hn_entry **ret)
{
        HN_CLOSE int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        HN_ENTRY struct hn_entry *entry = NULL;
        struct stat st;
        int r;

        if (fd < 0)
                return errno == ENOENT ? -ENOENT : -EBADMSG;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
            st.st_size > (off_t) HN_ENTRY_LIMIT)
                return -EBADMSG;
        r = make_room(text, (size_t) st.st_size);
        if (r < 0)
                return r;
        if (read_up_to(fd, text->bytes, (size_t) st.st_size) != st.st_size)
                return -EBADMSG;
        r = hn_entry_parse(text->bytes, (size_t) st.st_size, &entry);
        if (r < 0)
                return r;
        /* A copy under another name would promise the same memory twice. */
        if (strncmp(entry->placement->uuid, file, HN_UUID_LENGTH) != 0)
                return -EBADMSG;
        *ret = HN_TAKE(entry);
        return 0;
}

static bool is_entry_name(const char *name)
{
        char uuid[HN_UUID_LENGTH + 1] = "", canonical[HN_UUID_LENGTH + 1];

        if (strlen(name) != HN_UUID_LENGTH + strlen(SUFFIX) || strcmp(name + HN_UUID_LENGTH, SUFFIX) != 0)
                return false;
        memcpy(uuid, name, HN_UUID_LENGTH);
        return hn_uuid_canonical(uuid, canonical) == 0;
}

/* The temporary of a writer that was killed (model/root.c): whoever writes has the lock, and that is us. */
static bool is_left_behind(const struct hn_ledger *ledger, const char *name)
{
        size_t length = strlen(name);

        return ledger->live && ledger->lock_fd >= 0 && *name == '.' && length > 4 &&
               strcmp(name + length - 4, ".tmp") == 0;
}

struct list {
        struct hn_entry **entries;
        size_t n, room;
};

static int append(struct list *list, struct hn_entry *entry)
{
        if (list->n == list->room) {
                size_t room = list->room ? 2 * list->room : 64;
                struct hn_entry **entries = reallocarray(list->entries, room, sizeof *entries);

                if (!entries)
                        return -ENOMEM;
                list->entries = entries;
                list->room = room;
        }
        list->entries[list->n++] = entry;
        return 0;
}

static bool counts(const struct hn_ledger *ledger, const struct hn_entry *entry, const struct hn_living *living,
                   uint64_t now_us)
{
        if (!ledger->live)
                return true;
        if (entry->state == HN_ENTRY_STARTED && strcmp(entry->boot_id, ledger->boot_id) == 0 &&
            hn_living_has(living, entry->unit, entry->pid))
                return true;
        return hn_entry_counts(ledger->root, entry, ledger->boot_id, now_us);
}

/* One name of the folder: appended if it is an entry that counts. */
static int take_file(struct hn_ledger *ledger, int folder, const char *name, const struct hn_living *living,
                     uint64_t now_us, struct hn_text *text, struct list *list)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        int r;

        if (is_left_behind(ledger, name))
                (void) unlinkat(folder, name, 0);
        if (!is_entry_name(name))
                return 0;
        r = hn_entry_read(folder, name, text, &entry);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!counts(ledger, entry, living, now_us)) {
                if (ledger->lock_fd >= 0)
                        (void) hn_ledger_remove(ledger, entry->placement->uuid);
                return 0;
        }
        r = append(list, entry);
        if (r >= 0)
                entry = NULL;
        return r;
}

static int by_uuid(const void *a, const void *b)
{
        const struct hn_entry *const *left = a, *const *right = b;

        return strcmp((*left)->placement->uuid, (*right)->placement->uuid);
}

int hn_ledger_load(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n)
{
        HN_LIVING struct hn_living living = { .proc = -1 };
        HN_CLOSEDIR DIR *dir = NULL;
        struct hn_text text = { 0 };
        struct list list = { 0 };
        uint64_t now_us = hn_boottime_us();
        int r;

        r = hn_root_open_dir(&ledger->base, &dir, "/%s", ledger->entries);
        if (r >= 0 && ledger->live)
                r = hn_living_read(ledger->root, &living);
        if (r < 0)
                return r;
        for (struct dirent *entry; r >= 0 && (entry = readdir(dir));)
                r = take_file(ledger, dirfd(dir), entry->d_name, &living, now_us, &text, &list);
        free(text.bytes);
        if (r < 0) {
                hn_entries_free(list.entries, list.n);
                return r;
        }
        if (list.n > 0)
                qsort(list.entries, list.n, sizeof *list.entries, by_uuid);
        *ret = list.entries;
        *ret_n = list.n;
        return 0;
}

void hn_entries_free(struct hn_entry **entries, size_t n)
{
        for (size_t i = 0; i < n; i++)
                hn_entry_free(entries[i]);
        free(entries);
}
