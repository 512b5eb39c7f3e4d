/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

int hn_text_add(char **text, const char *format, ...)
{
        HN_FREE char *piece = NULL;
        char *all = NULL;
        va_list list;
        int r;

        va_start(list, format);
        r = vasprintf(&piece, format, list);
        va_end(list);
        if (r < 0) {
                piece = NULL;
                return -ENOMEM;
        }
        if (!*text) {
                *text = HN_TAKE(piece);
                return 0;
        }
        if (asprintf(&all, "%s; %s", *text, piece) < 0)
                return -ENOMEM;
        free(*text);
        *text = all;
        return 0;
}

const char *hn_text_size(uint64_t kib, char *buffer)
{
        uint64_t tenths = kib / 1024 * 10 / 1024;

        if (kib < 1024)
                (void) snprintf(buffer, HN_TEXT_SIZE, "%" PRIu64 " KiB", kib);
        else if (tenths < 10)
                (void) snprintf(buffer, HN_TEXT_SIZE, "%" PRIu64 " MiB", kib / 1024);
        else if (tenths % 10)
                (void) snprintf(buffer, HN_TEXT_SIZE, "%" PRIu64 ".%" PRIu64 " GiB", tenths / 10,
                                tenths % 10);
        else
                (void) snprintf(buffer, HN_TEXT_SIZE, "%" PRIu64 " GiB", tenths / 10);
        return buffer;
}

char *hn_text_nodes(hwloc_const_bitmap_t nodes)
{
        HN_FREE char *list = NULL;
        char *text = NULL;

        if (hn_idset_format(nodes, &list) < 0)
                return NULL;
        if (!*list)
                return strdup("no node");
        if (asprintf(&text, "%s %s", hn_idset_count(nodes) == 1 ? "node" : "nodes", list) < 0)
                return NULL;
        return text;
}
