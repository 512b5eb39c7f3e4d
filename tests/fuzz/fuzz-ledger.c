/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any bytes as an entry of the ledger: refused, or an entry that is written and read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "store/ledger-entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        HN_ENTRY struct hn_entry *entry = NULL, *again = NULL;
        HN_FREE char *text = NULL, *text_again = NULL;
        size_t length = 0, length_again = 0;

        if (hn_entry_parse((const char *) data, size, &entry) < 0)
                return 0;
        if (hn_entry_format(entry, &text, &length) < 0 || hn_entry_parse(text, length, &again) < 0 ||
            hn_entry_format(again, &text_again, &length_again) < 0)
                abort();
        if (length != length_again || memcmp(text, text_again, length) != 0)
                abort();
        return 0;
}
