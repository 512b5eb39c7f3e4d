/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the operations share: the ledger under its lock, deciding on the guest, and the entry it gets.
 */
#pragma once

#include "operations.h"
#include "store/scene.h"

#define HN_LOCK_WAIT_US 300000u

/* Looks at host and configuration, before the lock is asked for: others wait for that, and the first look of a boot
 * takes hwloc tens of ms.  Faults of configuration and metadata, and what failed, are told in the report, which owns the
 * scene. */
int hn_hook_look(const struct hn_guest *guest, struct hn_report *report, struct hn_scene **ret);

/* Opened and locked; that it can't be had is told.  Errors as hn_ledger_open and hn_ledger_lock. */
int hn_hook_open_ledger(const struct hn_guest *guest, struct hn_report *report, struct hn_ledger **ret);

/* Decides with the ledger's other guests in place; what failed is told.  The decision points into the scene. */
int hn_hook_decide(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_scene *scene,
                   struct hn_report *report, struct hn_decision **ret);

/* A reserved entry of a decision; `unit` NULL: no scope is foreseen.  -ENOMEM. */
int hn_hook_new_entry(const struct hn_guest *guest, const struct hn_decision *decision, const char *unit,
                      struct hn_entry **ret);

/* Puts it into the locked ledger with the decision's explanation. */
int hn_hook_put(struct hn_ledger *ledger, const struct hn_guest *guest, const struct hn_decision *decision,
                const struct hn_entry *entry);
