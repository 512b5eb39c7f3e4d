/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any words as the record of the topology (its checksum would keep a fuzzer out): refused, or facts that a host can be
 * made of and that come through again the same.
 */
#include <stdlib.h>
#include <string.h>

#include "model/host-facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        HN_FACTS struct hn_facts *facts = NULL, *again = NULL;
        HN_WORDS struct hn_words words = { 0 }, words_again = { 0 };
        HN_HOST struct hn_host *host = NULL;
        size_t n = size / sizeof(uint64_t);
        HN_FREE uint64_t *copy = malloc(n ? n * sizeof *copy : 1);

        if (!copy)
                return 0;
        memcpy(copy, data, n * sizeof *copy);
        if (hn_facts_from_words(copy, n, &facts) < 0)
                return 0;
        if (hn_facts_to_words(facts, &words) < 0 || hn_facts_from_words(words.words, words.n, &again) < 0 ||
            hn_facts_to_words(again, &words_again) < 0 || words_again.n != words.n ||
            memcmp(words_again.words, words.words, words.n * sizeof *words.words) != 0)
                abort();
        if (hn_host_settle(facts, &host) >= 0)
                facts = NULL;
        return 0;
}
