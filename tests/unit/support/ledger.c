/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/ledger.h"

int ledger_setup(void **state)
{
        (void) tree_setup(state);
        tree_put(*state, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        return 0;
}

struct hn_ledger *ledger_locked(struct tree *tree)
{
        struct hn_ledger *ledger = NULL;

        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        return ledger;
}

size_t ledger_count(struct hn_ledger *ledger)
{
        struct hn_entry **entries = NULL;
        size_t n = 0;

        assert_int_equal(hn_ledger_load(ledger, &entries, &n), 0);
        hn_entries_free(entries, n);
        return n;
}
