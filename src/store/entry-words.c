/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/entry-words.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "store/ledger-entry.h"

#define WORD sizeof(uint64_t)
#define SET_WORDS (HN_IDSET_LIMIT / 8 / sizeof(unsigned long))
#define NO_TEXT UINT64_MAX

_Static_assert(sizeof(unsigned long) <= WORD, "a set's part fits a word");

static int reserve(struct hn_words *words, size_t n)
{
        if (words->room - words->n < n) {
                size_t room = 2 * words->room + n + 64;
                uint64_t *more = reallocarray(words->words, room, WORD);

                if (!more)
                        return -ENOMEM;
                words->words = more;
                words->room = room;
        }
        return 0;
}

int hn_words_add(struct hn_words *words, uint64_t word)
{
        int r = reserve(words, 1);

        if (r >= 0)
                words->words[words->n++] = word;
        return r;
}

void hn_words_clear(struct hn_words *words)
{
        free(words->words);
        *words = (struct hn_words) { 0 };
}

/* Its length in bytes, then the bytes, filled up with zeros. */
static int add_text(struct hn_words *words, const char *text)
{
        size_t length = text ? strlen(text) : 0, n = (length + WORD - 1) / WORD;
        int r = hn_words_add(words, text ? length : NO_TEXT);

        if (r >= 0)
                r = reserve(words, n);
        if (r < 0 || n == 0)
                return r;
        words->words[words->n + n - 1] = 0;
        memcpy(&words->words[words->n], text, length);
        words->n += n;
        return 0;
}

static int add_set(struct hn_words *words, hwloc_const_bitmap_t set)
{
        int n = hwloc_bitmap_nr_ulongs(set), r = n < 0 ? -EINVAL : hn_words_add(words, (uint64_t) n);

        for (int i = 0; r >= 0 && i < n; i++)
                r = hn_words_add(words, hwloc_bitmap_to_ith_ulong(set, (unsigned) i));
        return r;
}

static int add_numbers(struct hn_words *words, const uint64_t *numbers, size_t n)
{
        int r = reserve(words, n);

        if (r >= 0) {
                memcpy(&words->words[words->n], numbers, n * WORD);
                words->n += n;
        }
        return r;
}
#define ADD_NUMBERS(words, ...) \
        add_numbers(words, (const uint64_t[]) { __VA_ARGS__ }, sizeof (uint64_t[]) { __VA_ARGS__ } / WORD)

static int add_placement(struct hn_words *words, const struct hn_placement *placement)
{
        int r = add_text(words, placement->uuid);

        if (r >= 0)
                r = add_text(words, placement->name);
        if (r >= 0)
                r = ADD_NUMBERS(words, placement->priority, placement->n_cells, placement->n_vcpu_cpus,
                                placement->n_promises);
        for (size_t i = 0; r >= 0 && i < placement->n_cells; i++) {
                r = ADD_NUMBERS(words, placement->cells[i].id, placement->cells[i].memory_kib);
                if (r >= 0)
                        r = add_set(words, placement->cells[i].vcpus);
                if (r >= 0)
                        r = add_set(words, placement->cells[i].nodes);
                if (r >= 0)
                        r = add_set(words, placement->cells[i].cpus);
        }
        for (size_t i = 0; r >= 0 && i < placement->n_vcpu_cpus; i++) {
                r = hn_words_add(words, placement->vcpu_cpus[i].id);
                if (r >= 0)
                        r = add_set(words, placement->vcpu_cpus[i].cpus);
        }
        for (size_t i = 0; r >= 0 && i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];

                r = ADD_NUMBERS(words, promise->node, promise->memory_kib, promise->page_kib, promise->vcpus_milli);
        }
        if (r >= 0)
                r = add_set(words, placement->emulator_cpus);
        if (r >= 0)
                r = add_set(words, placement->home);
        return r < 0 ? r : add_set(words, placement->memory_nodes);
}

int hn_entry_to_words(const struct hn_entry *entry, struct hn_words *words)
{
        int r = ADD_NUMBERS(words, entry->state, entry->written_us, (uint64_t) (entry->domain_id + 1),
                            (uint64_t) entry->pid, entry->start_ticks, entry->managed, entry->kept);

        if (r >= 0)
                r = add_text(words, entry->boot_id);
        if (r >= 0)
                r = add_text(words, entry->unit);
        if (r >= 0)
                r = add_text(words, entry->reason);
        return r < 0 ? r : add_placement(words, entry->placement);
}

/* ---- and back: the first fault stays in `error`, and everything after it reads as nothing */

struct reader {
        const uint64_t *words;
        size_t left;
        int error;
};

static int fail(struct reader *reader, int error)
{
        if (!reader->error)
                reader->error = error;
        reader->left = 0;
        return reader->error;
}

static uint64_t take(struct reader *reader, uint64_t limit)
{
        if (reader->left == 0 || *reader->words > limit) {
                (void) fail(reader, -EBADMSG);
                return 0;
        }
        reader->left--;
        return *reader->words++;
}

static char *take_text(struct reader *reader)
{
        uint64_t length = take(reader, NO_TEXT);

        if (reader->error || length == NO_TEXT)
                return NULL;
        if (length > reader->left * WORD) {
                (void) fail(reader, -EBADMSG);
                return NULL;
        }

        char *text = malloc(length + 1);
        if (!text) {
                (void) fail(reader, -ENOMEM);
                return NULL;
        }
        memcpy(text, reader->words, length);
        text[length] = '\0';
        if (strlen(text) != length)
                (void) fail(reader, -EBADMSG);
        else {
                reader->words += (length + WORD - 1) / WORD;
                reader->left -= (length + WORD - 1) / WORD;
        }
        return text;
}

static void take_uuid(struct reader *reader, char uuid[HN_UUID_LENGTH + 1])
{
        const size_t n = (HN_UUID_LENGTH + WORD - 1) / WORD;
        char text[HN_UUID_LENGTH + 1] = "";

        if (take(reader, NO_TEXT) != HN_UUID_LENGTH || reader->left < n) {
                (void) fail(reader, -EBADMSG);
                return;
        }
        memcpy(text, reader->words, HN_UUID_LENGTH);
        reader->words += n;
        reader->left -= n;
        if (hn_uuid_canonical(text, uuid) < 0)
                (void) fail(reader, -EBADMSG);
}

/* Into a new set, or the one that is there already. */
static void take_set(struct reader *reader, hwloc_bitmap_t *set)
{
        uint64_t n = take(reader, SET_WORDS);

        if (!*set)
                *set = hwloc_bitmap_alloc();
        if (!*set)
                (void) fail(reader, -ENOMEM);
        for (unsigned i = 0; !reader->error && i < n; i++)
                if (hwloc_bitmap_set_ith_ulong(*set, i, (unsigned long) take(reader, ULONG_MAX)) < 0)
                        (void) fail(reader, -ENOMEM);
}

static void take_cells(struct reader *reader, struct hn_placement *placement, size_t n)
{
        placement->cells = calloc(n ? n : 1, sizeof *placement->cells);
        if (!placement->cells)
                (void) fail(reader, -ENOMEM);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_placed_cell *cell = &placement->cells[placement->n_cells++];

                cell->id = (unsigned) take(reader, HN_DOMAIN_CELL_LIMIT - 1);
                cell->memory_kib = take(reader, HN_PLACEMENT_KIB_LIMIT);
                take_set(reader, &cell->vcpus);
                take_set(reader, &cell->nodes);
                take_set(reader, &cell->cpus);
        }
}

static void take_vcpus(struct reader *reader, struct hn_placement *placement, size_t n)
{
        placement->vcpu_cpus = n ? calloc(n, sizeof *placement->vcpu_cpus) : NULL;
        if (n && !placement->vcpu_cpus)
                (void) fail(reader, -ENOMEM);
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_pin *pin = &placement->vcpu_cpus[placement->n_vcpu_cpus++];

                pin->id = (unsigned) take(reader, HN_DOMAIN_VCPU_LIMIT - 1);
                take_set(reader, &pin->cpus);
        }
}

static void take_promises(struct reader *reader, struct hn_placement *placement, size_t n)
{
        for (size_t i = 0; !reader->error && i < n; i++) {
                struct hn_promise promise;

                promise.node = (unsigned) take(reader, HN_IDSET_LIMIT - 1);
                promise.memory_kib = take(reader, HN_PLACEMENT_KIB_LIMIT);
                promise.page_kib = take(reader, HN_PLACEMENT_KIB_LIMIT);
                promise.vcpus_milli = (unsigned) take(reader, HN_PLACEMENT_MILLI_LIMIT);
                int r = reader->error ? 0 : hn_placement_promise_once(placement, &promise);

                if (r < 0)
                        (void) fail(reader, r);
        }
}

static void take_placement(struct reader *reader, struct hn_placement *placement)
{
        take_uuid(reader, placement->uuid);
        placement->name = take_text(reader);
        if (!placement->name)
                (void) fail(reader, -EBADMSG);
        placement->priority = (enum hn_priority) take(reader, HN_PRIORITY_HIGH);

        size_t n_cells = take(reader, HN_DOMAIN_CELL_LIMIT);
        size_t n_vcpus = take(reader, HN_DOMAIN_VCPU_LIMIT);
        size_t n_promises = take(reader, HN_PLACEMENT_PROMISE_LIMIT);
        take_cells(reader, placement, n_cells);
        take_vcpus(reader, placement, n_vcpus);
        take_promises(reader, placement, n_promises);
        take_set(reader, &placement->emulator_cpus);
        take_set(reader, &placement->home);
        take_set(reader, &placement->memory_nodes);
}

int hn_entry_from_words(const uint64_t *words, size_t n, struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);
        struct reader reader = { .words = words, .left = n };

        if (!entry || !(entry->placement = hn_placement_new()))
                return -ENOMEM;
        entry->state = (enum hn_entry_state) take(&reader, HN_ENTRY_STARTED);
        entry->written_us = take(&reader, INT64_MAX);
        entry->domain_id = (long) take(&reader, (uint64_t) INT_MAX + 1) - 1;
        entry->pid = (int) take(&reader, INT_MAX);
        entry->start_ticks = take(&reader, UINT64_MAX);
        entry->managed = take(&reader, 1);
        entry->kept = take(&reader, 1);
        take_uuid(&reader, entry->boot_id);
        entry->unit = take_text(&reader);
        if (entry->unit && !hn_entry_unit_valid(entry->unit))
                (void) fail(&reader, -EBADMSG);
        entry->reason = take_text(&reader);
        take_placement(&reader, entry->placement);
        if (!reader.error && reader.left > 0)
                (void) fail(&reader, -EBADMSG);
        if (reader.error)
                return reader.error;
        *ret = HN_TAKE(entry);
        return 0;
}
