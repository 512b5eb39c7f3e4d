/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Clearing up the ledger: what no guest stands behind goes.
 */
#include <errno.h>
#include <string.h>

#include "store/ledger-internal.h"

#define ENTRIES "ledger"
#define EXPLAIN "explain"
#define SUFFIX ".json"

static bool is_of(const char *file, struct hn_entry *const *entries, size_t n)
{
        if (strlen(file) != HN_UUID_LENGTH + strlen(SUFFIX))
                return false;
        for (size_t i = 0; i < n; i++)
                if (strncmp(file, entries[i]->placement->uuid, HN_UUID_LENGTH) == 0)
                        return true;
        return false;
}

/* Temporaries of writers that were killed are of no entry either: whoever writes has the lock, and that is us. */
static int sweep(const struct hn_root *base, const char *folder, struct hn_entry *const *entries, size_t n)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *file;
        int r = hn_root_open_dir(base, &dir, "/%s", folder), first = 0;

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        while ((file = readdir(dir))) {
                if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0 ||
                    is_of(file->d_name, entries, n))
                        continue;
                r = hn_root_remove(base, "/%s/%s", folder, file->d_name);
                if (r < 0 && first >= 0)
                        first = r;
        }
        return first;
}

static unsigned count_in(const struct hn_root *base, const char *folder)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *file;
        unsigned n = 0;

        if (hn_root_open_dir(base, &dir, "/%s", folder) < 0)
                return 0;
        while ((file = readdir(dir)))
                n += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
        return n;
}

static unsigned count_files(const struct hn_ledger *ledger)
{
        return count_in(&ledger->base, ENTRIES) + count_in(&ledger->base, EXPLAIN);
}

int hn_ledger_sweep(struct hn_ledger *ledger, struct hn_entry ***ret, size_t *ret_n, unsigned *ret_removed)
{
        struct hn_entry **entries = NULL;
        unsigned before = count_files(ledger);
        size_t n = 0;
        int r;

        if (ledger->lock_fd < 0 || !ledger->live)
                return -ENOLCK;
        r = hn_ledger_load(ledger, &entries, &n);
        if (r < 0)
                return r;
        r = sweep(&ledger->base, ENTRIES, entries, n);
        if (r >= 0)
                r = sweep(&ledger->base, EXPLAIN, entries, n);
        if (r < 0) {
                hn_entries_free(entries, n);
                return r;
        }
        *ret_removed = before - count_files(ledger);
        *ret = entries;
        *ret_n = n;
        return 0;
}
