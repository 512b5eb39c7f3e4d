/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define DIGITS_LIMIT 9

char *hn_text_vprint(const char *format, va_list arguments)
{
        char *text = NULL;

        return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *hn_text_print(const char *format, ...)
{
        char *text;
        va_list arguments;

        va_start(arguments, format);
        text = hn_text_vprint(format, arguments);
        va_end(arguments);
        return text;
}

int hn_text_add(char **text, const char *format, ...)
{
        HN_FREE char *piece = NULL;
        char *all;
        va_list arguments;

        va_start(arguments, format);
        piece = hn_text_vprint(format, arguments);
        va_end(arguments);
        if (!piece)
                return -ENOMEM;
        all = *text ? hn_text_print("%s; %s", *text, piece) : HN_TAKE(piece);
        if (!all)
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

void hn_text_apart(double a, double b, char *a_text, char *b_text)
{
        for (int digits = 2; digits <= DIGITS_LIMIT; digits++) {
                (void) snprintf(a_text, HN_TEXT_SIZE, "%.*g", digits, a);
                (void) snprintf(b_text, HN_TEXT_SIZE, "%.*g", digits, b);
                if (strcmp(a_text, b_text) != 0)
                        return;
        }
}

char *hn_text_nodes(hwloc_const_bitmap_t nodes)
{
        HN_FREE char *list = NULL;

        if (hn_idset_format(nodes, &list) < 0)
                return NULL;
        if (!*list)
                return strdup("no node");
        return hn_text_print("%s %s", hn_idset_count(nodes) == 1 ? "node" : "nodes", list);
}

bool hn_text_has_word(const char *list, const char *word)
{
        size_t length = strlen(word);

        for (const char *p = list; (p = strstr(p, word)); p += length)
                if ((p == list || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
                        return true;
        return false;
}
