/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any words as an entry of the ledger's index (its checksum would keep a fuzzer out): refused, or an entry that comes
 * through again the same.
 */
#include <stdlib.h>
#include <string.h>

#include "store/entry-words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        HN_ENTRY struct hn_entry *entry = NULL, *again = NULL, *room = NULL;
        HN_WORDS struct hn_words words = { 0 };
        size_t n = size / sizeof(uint64_t);
        HN_FREE uint64_t *copy = malloc(n ? n * sizeof *copy : 1);

        if (!copy)
                return 0;
        memcpy(copy, data, n * sizeof *copy);
        int r = hn_entry_room_from_words(copy, n, &room);
        if (hn_entry_from_words(copy, n, &entry) < 0)
                return 0;
        if (r < 0)
                abort();
        if (hn_entry_to_words(entry, &words) < 0 || hn_entry_from_words(words.words, words.n, &again) < 0)
                abort();
        return 0;
}
