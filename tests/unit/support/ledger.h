/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A ledger below a tree.
 */
#pragma once

#include "unit/support/entry.h"
#include "unit/support/tree.h"

/* cmocka's set-up of a tree that has booted, as BOOT_ID.  It ends with tree_teardown. */
int ledger_setup(void **state);

/* The tree's ledger under its lock; the test closes it. */
struct hn_ledger *ledger_locked(struct tree *tree);

/* How many entries count. */
size_t ledger_count(struct hn_ledger *ledger);
