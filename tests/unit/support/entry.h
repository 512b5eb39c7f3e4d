/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ledger entries for tests.
 */
#pragma once

#include "store/ledger-entry.h"
#include "unit/support/test.h"

#define UUID_A "0a1b2c3d-4e5f-4a6b-8c7d-00000000000a"
#define UUID_B "0a1b2c3d-4e5f-4a6b-8c7d-00000000000b"
#define UUID_C "0a1b2c3d-4e5f-4a6b-8c7d-00000000000c"
#define BOOT_ID "11111111-2222-4333-8444-555555555555"

/* A managed reservation of 1 GiB on node 2 for a guest with one cell of 4 vCPUs on CPUs 8-15; the test
 * frees it. */
static inline struct hn_entry *make_entry(const char *uuid, const char *name)
{
        struct hn_entry *entry = calloc(1, sizeof *entry);
        const struct hn_promise promise = { .node = 2, .memory_kib = 1048576, .vcpus_milli = 4000 };

        assert_non_null(entry);
        entry->placement = hn_placement_new();
        assert_non_null(entry->placement);
        (void) snprintf(entry->placement->uuid, sizeof entry->placement->uuid, "%s", uuid);
        entry->placement->name = strdup(name);
        entry->placement->cells = calloc(1, sizeof *entry->placement->cells);
        assert_non_null(entry->placement->cells);
        entry->placement->n_cells = 1;
        entry->placement->cells[0] = (struct hn_placed_cell) {
                .vcpus = set_of("0-3"), .memory_kib = 1015808, .nodes = set_of("2"), .cpus = set_of("8-15"),
        };
        assert_int_equal(hwloc_bitmap_set(entry->placement->home, 2), 0);
        assert_int_equal(hn_placement_promise(entry->placement, &promise), 0);
        (void) snprintf(entry->boot_id, sizeof entry->boot_id, "%s", BOOT_ID);
        entry->domain_id = 7;
        entry->managed = true;
        return entry;
}
