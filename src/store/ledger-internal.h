/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What ledger.c and ledger-load.c share.
 */
#pragma once

#include "store/ledger-entry.h"
#include "store/ledger-index.h"

struct hn_ledger {
        const struct hn_root *root; /* where liveness is looked up */
        struct hn_root base;        /* the folder that holds the lock */
        const char *entries;        /* the entries' folder below base, "ledger/"; "": base itself */
        bool live;                  /* this host's own ledger: entries end with their QEMU */
        char boot_id[HN_UUID_LENGTH + 1];
        int lock_fd;                /* -1: not locked */
};

/* A text that grows as files are read into it, used again for each. */
struct hn_text { char *bytes; size_t room; };

/* Reads one entry file, never through a link, and the stamp of what was read.  -ENOENT; -EBADMSG for all that is not
 * a whole entry of that UUID. */
int hn_entry_read(int folder, const char *file, struct hn_text *text, struct hn_stamped *ret);
