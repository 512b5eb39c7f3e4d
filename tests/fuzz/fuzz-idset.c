/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Any text as a set: what is read prints as something that reads the same, and agrees with a second reader
 * that knows nothing but strtoul and an array.  Links libhomenode.a, hwloc.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/idset.h"

#define LIMIT 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
        if (!holds)
                abort();
}

/* Takes the text apart item by item at its commas; true if it is a list at all.  libvirt lets strtol read where a
 * range ends, and does not miss an item after the last comma. */
static bool naive(char *text, bool libvirt, bool in[LIMIT])
{
        bool last = false;

        if (strspn(text, " \t\n\v\f\r") == strlen(text))
                return true;
        for (char *item = text; !last; ) {
                char *next = item + strcspn(item, ","), *end;
                unsigned long first, to;
                bool out;

                last = !*next;
                *next = '\0';
                item += strspn(item, " \t\n\v\f\r");
                if (!*item && last && libvirt)
                        return true;
                out = *item == '^';
                item += out;
                if (!isdigit((unsigned char) *item))
                        return false;
                first = to = strtoul(item, &end, 10);
                end += strspn(end, " \t\n\v\f\r");
                if (!out && *end == '-') {
                        item = end + 1 + strspn(end + 1, " \t\n\v\f\r");
                        if (!isdigit((unsigned char) item[libvirt && (*item == '+' || *item == '-')]))
                                return false;
                        to = strtoul(item, &end, 10);
                        end += strspn(end, " \t\n\v\f\r");
                }
                if (*end || first >= LIMIT || to >= LIMIT || to < first)
                        return false;
                for (; first <= to; first++)
                        in[first] = !out;
                item = next + 1;
        }
        return true;
}

static void check(const uint8_t *data, size_t size, bool libvirt)
{
        HN_FREE char *text = calloc(1, size + 1), *printed = NULL;
        HN_BITMAP hwloc_bitmap_t set = NULL, again = NULL;
        bool in[LIMIT] = { false };
        int r;

        demand(text);
        memcpy(text, data, size);
        r = libvirt ? hn_idset_parse_libvirt(text, LIMIT, &set) : hn_idset_parse(text, LIMIT, &set);
        demand(naive(text, libvirt, in) == (r == 0));
        if (r < 0) {
                demand(!set && (r == -EINVAL || r == -ERANGE));
                return;
        }
        for (unsigned i = 0; i < LIMIT; i++)
                demand(in[i] == (bool) hwloc_bitmap_isset(set, i));
        demand(hn_idset_format(set, &printed) == 0);
        demand(hn_idset_parse(printed, LIMIT, &again) == 0);
        demand(hwloc_bitmap_isequal(set, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        check(data, size, false);
        check(data, size, true);
        return 0;
}
