/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A start that nothing can be told of but the guest's name: what an earlier start left must not confine it.
 */
#pragma once

#include "model/root.h"

/* Removes drop-ins of scopes that a guest of that name would have, whatever its id, as long as no scope of that name is
 * there and no other guest has it in the ledger (names that differ in dropped characters alone have the same scope).
 * Returns how many; -ENOMEM, or the folders can't be read. */
int hn_stale_clear(const struct hn_root *root, const char *name);
