/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/entry-words.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "store/ledger-entry.h"

/* What deciding on others asks for stands first. */
static int add_room(struct hn_words *words, const struct hn_placement *placement)
{
        int r = hn_words_add_text(words, placement->uuid);

        if (r >= 0)
                r = hn_words_add_text(words, placement->name);
        if (r >= 0)
                r = HN_WORDS_ADD(words, placement->priority, placement->n_cells, placement->n_vcpu_cpus,
                                 placement->n_promises);
        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++) {
                r = HN_WORDS_ADD(words, placement->cells[i].id, placement->cells[i].memory_kib,
                                 placement->cells[i].devices_kib);
                if (r >= 0)
                        r = hn_words_add_set(words, placement->cells[i].vcpus);
                if (r >= 0)
                        r = hn_words_add_set(words, placement->cells[i].cpus);
        }
        for (size_t i = 0; r >= 0 && i < placement->n_vcpu_cpus; i++) {
                r = hn_words_add(words, placement->vcpu_cpus[i].id);
                if (r >= 0)
                        r = hn_words_add_set(words, placement->vcpu_cpus[i].cpus);
        }
        for (size_t i = 0; r >= 0 && i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];

                r = HN_WORDS_ADD(words, promise->node, promise->memory_kib, promise->page_kib, promise->vcpus_milli);
        }
        return r;
}

static int add_rest(struct hn_words *words, const struct hn_entry *entry)
{
        const struct hn_placement *placement = entry->placement;
        int r = hn_words_add_text(words, entry->reason);

        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++)
                r = hn_words_add_set(words, placement->cells[i].nodes);
        if (r >= 0)
                r = hn_words_add_set(words, placement->emulator_cpus);
        if (r >= 0)
                r = hn_words_add_set(words, placement->home);
        if (r >= 0)
                r = hn_words_add_set(words, placement->memory_nodes);
        if (r >= 0)
                r = HN_WORDS_ADD(words, entry->moved.count, entry->moved.ended_us, entry->moved.delivered);
        return r < 0 ? r : hn_words_add_text(words, entry->moved.result);
}

int hn_entry_to_words(const struct hn_entry *entry, struct hn_words *words)
{
        int r = entry->room_only || entry->moving ? -EINVAL : 0;

        if (r >= 0)
                r = HN_WORDS_ADD(words, entry->state, entry->written_us, (uint64_t) (entry->domain_id + 1),
                                 (uint64_t) entry->pid, entry->start_ticks, entry->managed, entry->kept);
        if (r >= 0)
                r = hn_words_add_text(words, entry->boot_id);
        if (r >= 0)
                r = hn_words_add_text(words, entry->unit);
        if (r >= 0)
                r = add_room(words, entry->placement);
        return r < 0 ? r : add_rest(words, entry);
}

/* ---- and back */

static void take_uuid(struct hn_word_reader *reader, char uuid[HN_UUID_LENGTH + 1])
{
        char text[HN_UUID_LENGTH + 1] = "";

        hn_words_take_bytes(reader, text, HN_UUID_LENGTH);
        if (hn_uuid_canonical(text, uuid) < 0)
                hn_words_fail(reader, -EBADMSG);
}

static void take_set(struct hn_word_reader *reader, hwloc_bitmap_t *set)
{
        hn_words_take_set(reader, HN_IDSET_LIMIT, set);
}

static void take_cells(struct hn_word_reader *reader, struct hn_placement *placement, size_t n)
{
        placement->cells = calloc(n ? n : 1, sizeof *placement->cells);
        if (!placement->cells)
                hn_words_fail(reader, -ENOMEM);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_placed_cell *cell = &placement->cells[placement->n_cells++];

                cell->id = (unsigned) hn_words_take(reader, HN_DOMAIN_CELL_LIMIT - 1);
                cell->memory_kib = hn_words_take(reader, HN_PLACEMENT_KIB_LIMIT);
                cell->devices_kib = hn_words_take(reader, HN_PLACEMENT_KIB_LIMIT);
                take_set(reader, &cell->vcpus);
                take_set(reader, &cell->cpus);
        }
}

static void take_vcpus(struct hn_word_reader *reader, struct hn_placement *placement, size_t n)
{
        placement->vcpu_cpus = n ? calloc(n, sizeof *placement->vcpu_cpus) : NULL;
        if (n && !placement->vcpu_cpus)
                hn_words_fail(reader, -ENOMEM);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_pin *pin = &placement->vcpu_cpus[placement->n_vcpu_cpus++];

                pin->id = (unsigned) hn_words_take(reader, HN_DOMAIN_VCPU_LIMIT - 1);
                take_set(reader, &pin->cpus);
        }
}

static void take_promises(struct hn_word_reader *reader, struct hn_placement *placement, size_t n)
{
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_promise promise;

                promise.node = (unsigned) hn_words_take(reader, HN_IDSET_LIMIT - 1);
                promise.memory_kib = hn_words_take(reader, HN_PLACEMENT_KIB_LIMIT);
                promise.page_kib = hn_words_take(reader, HN_PLACEMENT_KIB_LIMIT);
                promise.vcpus_milli = (unsigned) hn_words_take(reader, HN_PLACEMENT_MILLI_LIMIT);
                int r = reader->error ? 0 : hn_placement_promise_once(placement, &promise);

                if (r < 0)
                        hn_words_fail(reader, r);
        }
}

static void take_room(struct hn_word_reader *reader, struct hn_placement *placement)
{
        take_uuid(reader, placement->uuid);
        placement->name = hn_words_take_text(reader);
        if (!placement->name)
                hn_words_fail(reader, -EBADMSG);
        placement->priority = (enum hn_priority) hn_words_take(reader, HN_PRIORITY_HIGH);

        size_t n_cells = hn_words_take(reader, HN_DOMAIN_CELL_LIMIT);
        size_t n_vcpus = hn_words_take(reader, HN_DOMAIN_VCPU_LIMIT);
        size_t n_promises = hn_words_take(reader, HN_PLACEMENT_PROMISE_LIMIT);
        take_cells(reader, placement, n_cells);
        take_vcpus(reader, placement, n_vcpus);
        take_promises(reader, placement, n_promises);
}

static void take_rest(struct hn_word_reader *reader, struct hn_entry *entry)
{
        struct hn_placement *placement = entry->placement;

        entry->reason = hn_words_take_text(reader);
        for (size_t i = 0; !reader->error && i < placement->n_cells; i++)
                take_set(reader, &placement->cells[i].nodes);
        take_set(reader, &placement->emulator_cpus);
        take_set(reader, &placement->home);
        take_set(reader, &placement->memory_nodes);
        entry->moved.count = (unsigned) hn_words_take(reader, UINT_MAX);
        entry->moved.ended_us = hn_words_take(reader, INT64_MAX);
        entry->moved.delivered = hn_words_take(reader, 1);
        entry->moved.result = hn_words_take_text(reader);
        if (!reader->error && reader->left > 0)
                hn_words_fail(reader, -EBADMSG);
}

static int from_words(const uint64_t *words, size_t n, bool room_only, struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);
        struct hn_word_reader reader = { .words = words, .left = n };

        if (!entry || !(entry->placement = calloc(1, sizeof *entry->placement)))
                return -ENOMEM;
        entry->state = (enum hn_entry_state) hn_words_take(&reader, HN_ENTRY_STARTED);
        entry->written_us = hn_words_take(&reader, INT64_MAX);
        entry->domain_id = (long) hn_words_take(&reader, (uint64_t) INT_MAX + 1) - 1;
        entry->pid = (int) hn_words_take(&reader, INT_MAX);
        entry->start_ticks = hn_words_take(&reader, UINT64_MAX);
        entry->managed = hn_words_take(&reader, 1);
        entry->kept = hn_words_take(&reader, 1);
        entry->room_only = room_only;
        take_uuid(&reader, entry->boot_id);
        entry->unit = hn_words_take_text(&reader);
        if (entry->unit && !hn_entry_unit_valid(entry->unit))
                hn_words_fail(&reader, -EBADMSG);
        take_room(&reader, entry->placement);
        if (!room_only)
                take_rest(&reader, entry);
        if (reader.error)
                return reader.error;
        *ret = HN_TAKE(entry);
        return 0;
}

int hn_entry_from_words(const uint64_t *words, size_t n, struct hn_entry **ret)
{
        return from_words(words, n, false, ret);
}

int hn_entry_room_from_words(const uint64_t *words, size_t n, struct hn_entry **ret)
{
        return from_words(words, n, true, ret);
}
