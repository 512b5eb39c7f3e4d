/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/uuid.h"

#include <errno.h>
#include <string.h>

int hn_uuid_canonical(const char *text, char ret[HN_UUID_LENGTH + 1])
{
        char uuid[HN_UUID_LENGTH + 1];

        if (strlen(text) != HN_UUID_LENGTH)
                return -EINVAL;
        for (size_t i = 0; i < HN_UUID_LENGTH; i++) {
                bool dash = i == 8 || i == 13 || i == 18 || i == 23;
                char c = text[i];

                if (c >= 'A' && c <= 'F')
                        c = (char) (c - 'A' + 'a');
                if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
                        return -EINVAL;
                uuid[i] = c;
        }
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
