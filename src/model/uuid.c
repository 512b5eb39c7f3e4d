/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/uuid.h"

#include <errno.h>
#include <string.h>

/* Each digit in lower case, 0 for what is none: asked of 36 characters of three UUIDs of each of hundreds of guests. */
static const char digits[256] = {
        ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6', ['7'] = '7',
        ['8'] = '8', ['9'] = '9', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f',
        ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f',
};

int hn_uuid_canonical(const char *text, char ret[HN_UUID_LENGTH + 1])
{
        static const unsigned char groups[] = { 8, 4, 4, 4, 12 };
        char uuid[HN_UUID_LENGTH + 1];
        size_t n = 0;

        for (size_t group = 0; group < sizeof groups; group++) {
                if (group > 0 && text[n] != '-')
                        return -EINVAL;
                if (group > 0)
                        uuid[n++] = '-';
                for (size_t end = n + groups[group]; n < end; n++) {
                        uuid[n] = digits[(unsigned char) text[n]];
                        if (!uuid[n])
                                return -EINVAL;
                }
        }
        if (text[n])
                return -EINVAL;
        uuid[HN_UUID_LENGTH] = '\0';
        memcpy(ret, uuid, sizeof uuid);
        return 0;
}

int hn_boot_id(const struct hn_root *root, char ret[HN_UUID_LENGTH + 1])
{
        HN_FREE char *line = NULL;
        int r = hn_root_read_line(root, &line, "/proc/sys/kernel/random/boot_id");

        return r < 0 ? r : hn_uuid_canonical(line, ret);
}
