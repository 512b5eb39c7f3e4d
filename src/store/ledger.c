/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "model/clock.h"
#include "store/ledger-internal.h"

#define FOLDER "/run/homenode"
#define EXPLAIN "explain"
#define EXPLANATION_LIMIT (4u << 20)
#define NO_BOOT_ID "00000000-0000-0000-0000-000000000000" /* a recorded tree may lack it */
#define LOCK_POLL_US 1000u

/* /run/homenode and the entries' folder in it. */
static int open_own_folder(const struct hn_root *root, struct hn_ledger *ledger)
{
        int r = hn_root_mkdir(root, 0700, FOLDER "/ledger");

        if (r < 0)
                return r;
        ledger->entries = "ledger/";
        ledger->live = true;
        return hn_root_open_file(root, O_PATH | O_DIRECTORY, 0, FOLDER);
}

static int open_given_folder(const char *dir, struct hn_ledger *ledger)
{
        int fd;

        ledger->entries = "";
        if (mkdir(dir, 0700) < 0 && errno != EEXIST && errno != EROFS)
                return -errno;
        fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && faccessat(fd, "ledger", F_OK, 0) == 0)
                ledger->entries = "ledger/"; /* a copy of /run/homenode */
        return fd < 0 ? -errno : fd;
}

int hn_ledger_open(const struct hn_root *root, const char *dir, struct hn_ledger **ret)
{
        HN_LEDGER struct hn_ledger *ledger = calloc(1, sizeof *ledger);

        if (!ledger)
                return -ENOMEM;
        ledger->root = root;
        ledger->lock_fd = -1;
        ledger->base.fd = dir ? open_given_folder(dir, ledger) : open_own_folder(root, ledger);
        if (ledger->base.fd < 0)
                return ledger->base.fd;
        if (hn_boot_id(root, ledger->boot_id) < 0)
                memcpy(ledger->boot_id, NO_BOOT_ID, sizeof NO_BOOT_ID);
        *ret = HN_TAKE(ledger);
        return 0;
}

void hn_ledger_close(struct hn_ledger *ledger)
{
        if (!ledger)
                return;
        hn_ledger_unlock(ledger);
        hn_root_close(&ledger->base);
        free(ledger);
}

int hn_ledger_lock(struct hn_ledger *ledger, uint64_t wait_us)
{
        const struct timespec pause = { .tv_nsec = LOCK_POLL_US * 1000 };
        uint64_t began_us = hn_monotonic_us();

        if (ledger->lock_fd >= 0)
                return 0;
        HN_CLOSE int fd = hn_root_open_regular(&ledger->base, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, "/lock");
        if (fd < 0)
                return fd;
        /* Asked again and again: a lock that is waited for has no time limit, and a signal for one is the
         * whole process's. */
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (hn_monotonic_us() - began_us >= wait_us)
                        return -ETIME;
                (void) nanosleep(&pause, NULL);
        }
        ledger->lock_fd = fd;
        fd = -1;
        return 0;
}

void hn_ledger_unlock(struct hn_ledger *ledger)
{
        /* A child that was forked meanwhile may hold the same open file: closing alone would not end the
         * lock. */
        if (ledger->lock_fd >= 0) {
                (void) flock(ledger->lock_fd, LOCK_UN);
                (void) close(ledger->lock_fd);
        }
        ledger->lock_fd = -1;
}

int hn_ledger_get(struct hn_ledger *ledger, const char *uuid, struct hn_entry **ret)
{
        char canonical[HN_UUID_LENGTH + 1], file[HN_UUID_LENGTH + sizeof ".json"];
        struct hn_stamped found = { 0 };
        struct hn_text text = { 0 };
        int r;

        if (hn_uuid_canonical(uuid, canonical) < 0)
                return -EINVAL;
        HN_CLOSE int folder = hn_root_open_file(&ledger->base, O_PATH | O_DIRECTORY, 0, "/%s",
                                                ledger->entries);
        if (folder < 0)
                return folder;
        (void) snprintf(file, sizeof file, "%s.json", canonical);
        r = hn_entry_read(folder, file, &text, &found);
        free(text.bytes);
        if (r >= 0)
                *ret = found.entry;
        return r;
}

static int write_explanation(struct hn_ledger *ledger, const char *uuid, const char *explanation)
{
        int r = hn_root_mkdir(&ledger->base, 0700, "/" EXPLAIN);

        if (r < 0)
                return r;
        return hn_root_replace(&ledger->base, explanation, strlen(explanation), 0600,
                               "/" EXPLAIN "/%s.json", uuid);
}

/* The entry as text; what could not be read back by hn_entry_parse is refused now and not lost later. */
static int text_of(const struct hn_ledger *ledger, const struct hn_entry *entry, char **ret,
                   size_t *ret_length)
{
        HN_FREE char *text = NULL;
        HN_ENTRY struct hn_entry *again = NULL;
        struct hn_entry stamped = *entry;
        size_t length = 0;
        int r;

        memcpy(stamped.boot_id, ledger->boot_id, sizeof stamped.boot_id);
        stamped.written_us = hn_boottime_us();
        r = hn_entry_format(&stamped, &text, &length);
        if (r < 0)
                return r;
        if (length > HN_ENTRY_LIMIT)
                return -EFBIG;
        r = hn_entry_parse(text, length, &again);
        if (r < 0)
                return r == -EBADMSG ? -EINVAL : r;
        *ret = HN_TAKE(text);
        *ret_length = length;
        return 0;
}

int hn_ledger_put(struct hn_ledger *ledger, const struct hn_entry *entry, const char *explanation)
{
        char uuid[HN_UUID_LENGTH + 1];
        HN_FREE char *text = NULL;
        size_t length = 0;
        int r;

        if (ledger->lock_fd < 0)
                return -ENOLCK;
        if (hn_uuid_canonical(entry->placement->uuid, uuid) < 0)
                return -EINVAL;
        r = text_of(ledger, entry, &text, &length);
        if (r >= 0)
                r = hn_root_replace(&ledger->base, text, length, 0600, "/%s%s.json", ledger->entries, uuid);
        if (r < 0)
                return r;
        if (explanation)
                (void) write_explanation(ledger, uuid, explanation);
        return 0;
}

int hn_ledger_give_back(struct hn_ledger *ledger, const char *uuid, const char *reason)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        char *text = strdup(reason);
        int r = text ? hn_ledger_get(ledger, uuid, &entry) : -ENOMEM;

        if (r < 0) {
                free(text);
                return r;
        }
        free(entry->reason);
        entry->reason = text;
        entry->managed = false;
        hn_moving_free(HN_TAKE(entry->moving));
        return hn_ledger_put(ledger, entry, NULL);
}

int hn_ledger_remove(struct hn_ledger *ledger, const char *uuid)
{
        char canonical[HN_UUID_LENGTH + 1];
        int r, s;

        if (hn_uuid_canonical(uuid, canonical) < 0)
                return -EINVAL;
        r = hn_root_remove(&ledger->base, "/%s%s.json", ledger->entries, canonical);
        s = hn_root_remove(&ledger->base, "/" EXPLAIN "/%s.json", canonical);
        return r < 0 ? r : s;
}

int hn_ledger_explanation(struct hn_ledger *ledger, const char *uuid, char **ret)
{
        char canonical[HN_UUID_LENGTH + 1];

        if (hn_uuid_canonical(uuid, canonical) < 0)
                return -EINVAL;
        return hn_root_read(&ledger->base, EXPLANATION_LIMIT, ret, NULL, "/" EXPLAIN "/%s.json", canonical);
}
