/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading the whole ledger: 500 entries with their liveness have to fit into a guest's start many times over.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "model/array.h"
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

int hn_entry_read(int folder, const char *file, struct hn_text *text, struct hn_stamped *ret)
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
        *ret = (struct hn_stamped) { .entry = HN_TAKE(entry), .stamp = hn_stamp_of(&st) };
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

/* A loading of the whole ledger. */
struct load {
        struct hn_ledger *ledger;
        int folder;
        bool room_only;
        hn_ledger_known *known; /* NULL: nothing is passed over */
        void *data;
        struct hn_index *index;
        struct hn_living living;
        uint64_t now_us, now_ns;
        struct hn_text text;
        struct hn_stamped *found;
        size_t n;
        unsigned n_opened; /* that an index could have saved */
};

static void clear_load(struct load *load)
{
        for (size_t i = 0; i < load->n; i++)
                hn_entry_free(load->found[i].entry);
        free(load->found);
        free(load->text.bytes);
        hn_index_free(load->index);
        hn_living_clear(&load->living);
}

static int append(struct load *load, const struct hn_stamped *found)
{
        struct hn_stamped *all = hn_array_grow(load->found, load->n, sizeof *all);

        if (!all)
                return -ENOMEM;
        load->found = all;
        load->found[load->n++] = *found;
        return 0;
}

static bool counts(const struct load *load, const struct hn_entry *entry)
{
        if (!load->ledger->live)
                return true;
        if (entry->state == HN_ENTRY_STARTED && strcmp(entry->boot_id, load->ledger->boot_id) == 0 &&
            hn_living_has(&load->living, entry->unit, entry->pid))
                return true;
        return hn_entry_counts(load->ledger->root, entry, load->ledger->boot_id, load->now_us);
}

/* From the index, if it knows this very file. */
static bool recall(const struct load *load, const char *name, struct hn_stamped *ret)
{
        struct stat st;

        if (!load->index || fstatat(load->folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                return false;
        const struct hn_stamp stamp = hn_stamp_of(&st);
        return hn_index_get(load->index, name, &stamp, load->room_only, ret) >= 0;
}

static bool is_known(const struct load *load, const char *name)
{
        char uuid[HN_UUID_LENGTH + 1] = "";

        memcpy(uuid, name, HN_UUID_LENGTH);
        return load->known && load->known(load->data, uuid);
}

/* One name of the folder: appended if it is an entry that counts. */
static int take_file(struct load *load, const char *name)
{
        struct hn_stamped found = { 0 };
        int r;

        if (is_left_behind(load->ledger, name))
                (void) unlinkat(load->folder, name, 0);
        if (!is_entry_name(name) || is_known(load, name))
                return 0;
        if (!recall(load, name, &found)) {
                r = hn_entry_read(load->folder, name, &load->text, &found);
                if (r < 0)
                        return r == -ENOMEM ? r : 0;
                load->n_opened += !found.entry->moving && hn_stamp_settled(&found.stamp, load->now_ns);
        }
        if (!counts(load, found.entry)) {
                if (load->ledger->lock_fd >= 0)
                        (void) hn_ledger_remove(load->ledger, found.entry->placement->uuid);
                hn_entry_free(found.entry);
                return 0;
        }
        r = append(load, &found);
        if (r < 0)
                hn_entry_free(found.entry);
        return r;
}

static int by_uuid(const void *a, const void *b)
{
        const struct hn_stamped *left = a, *right = b;

        return strcmp(left->entry->placement->uuid, right->entry->placement->uuid);
}

/* Leaves as much of a whole entry as one from the index would have. */
static void leave_room_only(struct hn_entry *entry)
{
        struct hn_placement *placement = entry->placement;
        hwloc_bitmap_t *sets[] = { &placement->emulator_cpus, &placement->home, &placement->memory_nodes };

        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
                hwloc_bitmap_free(HN_TAKE(*sets[i]));
        for (size_t i = 0; i < placement->n_cells; i++)
                hwloc_bitmap_free(HN_TAKE(placement->cells[i].nodes));
        free(HN_TAKE(entry->reason));
        hn_moving_free(HN_TAKE(entry->moving));
        free(entry->moved.result);
        entry->moved = (struct hn_moved) { 0 };
        entry->room_only = true;
}

/* Hands the entries over, and writes the index anew where that is worth it. */
static int finish(struct load *load, struct hn_entry ***ret, size_t *ret_n)
{
        struct hn_entry **entries = calloc(load->n + 1, sizeof *entries);

        if (!entries)
                return -ENOMEM;
        if (load->n > 0)
                qsort(load->found, load->n, sizeof *load->found, by_uuid);
        if (load->ledger->live && load->ledger->lock_fd >= 0 && load->n_opened > HN_INDEX_SLACK)
                (void) hn_index_write(&load->ledger->base, load->found, load->n, load->now_ns);
        for (size_t i = 0; i < load->n; i++) {
                entries[i] = HN_TAKE(load->found[i].entry);
                if (load->room_only && !entries[i]->room_only)
                        leave_room_only(entries[i]);
        }
        *ret = entries;
        *ret_n = load->n;
        return 0;
}

static int load_entries(struct hn_ledger *ledger, bool room_only, hn_ledger_known *known, void *data,
                        struct hn_entry ***ret, size_t *ret_n)
{
        HN_CLOSEDIR DIR *dir = NULL;
        HN_CLEANUP(clear_load) struct load load = {
                .ledger = ledger,
                .room_only = room_only,
                .known = known,
                .data = data,
                .living.proc = -1,
                .now_us = hn_boottime_us(),
                .now_ns = hn_stamp_now_ns(),
        };
        int r = hn_root_open_dir(&ledger->base, &dir, "/%s", ledger->entries);

        if (r < 0)
                return r;
        load.folder = dirfd(dir);
        if (ledger->live) {
                (void) hn_index_read(&ledger->base, &load.index);
                r = hn_living_read(ledger->root, &load.living);
        }
        for (struct dirent *entry; r >= 0 && (entry = readdir(dir));)
                r = take_file(&load, entry->d_name);
        return r < 0 ? r : finish(&load, ret, ret_n);
}

int hn_ledger_load(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n)
{
        return load_entries(ledger, false, NULL, NULL, ret, ret_n);
}

int hn_ledger_load_room(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n)
{
        return load_entries(ledger, true, NULL, NULL, ret, ret_n);
}

int hn_ledger_load_others(struct hn_ledger *ledger, hn_ledger_known *known, void *data, struct hn_entry ***ret,
                          size_t *ret_n)
{
        return load_entries(ledger, false, known, data, ret, ret_n);
}

void hn_entries_free(struct hn_entry **entries, size_t n)
{
        for (size_t i = 0; i < n; i++)
                hn_entry_free(entries[i]);
        free(entries);
}
