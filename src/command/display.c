/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/display.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Bytes of the UTF-8 sequence at `p` that is fit to be shown, 0: none (RFC 3629, table in section 4). */
static size_t shown_sequence(const unsigned char *p)
{
        size_t n = p[0] < 0x80 ? 1 :
                   p[0] < 0xc2 ? 0 :
                   p[0] < 0xe0 ? 2 :
                   p[0] < 0xf0 ? 3 :
                   p[0] < 0xf5 ? 4 : 0;

        if (n == 1)
                return p[0] >= 0x20 && p[0] != 0x7f;
        for (size_t i = 1; i < n; i++)
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
        if ((p[0] == 0xc2 && p[1] < 0xa0) ||  /* C1 */
            (p[0] == 0xe0 && p[1] < 0xa0) ||  /* too long for what it says */
            (p[0] == 0xed && p[1] >= 0xa0) || /* surrogates */
            (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
                return 0;
        return n;
}

/* Appends \xNN for what stands at *p and moves *p behind it.  C1 is named by its number, not its bytes. */
static char *append_escape(char *to, const unsigned char **p)
{
        static const char digits[] = "0123456789abcdef";
        bool c1 = (*p)[0] == 0xc2 && (*p)[1] >= 0x80 && (*p)[1] < 0xa0;
        unsigned value = (*p)[c1 ? 1 : 0];

        *p += c1 ? 2 : 1;
        *to++ = '\\';
        *to++ = 'x';
        *to++ = digits[value >> 4];
        *to++ = digits[value & 15];
        return to;
}

char *hn_display_escape(const char *text)
{
        const unsigned char *p = (const unsigned char *) text;
        size_t length = strlen(text);
        char *escaped = length < SIZE_MAX / 4 ? malloc(4 * length + 1) : NULL;
        char *to = escaped;

        while (escaped && *p) {
                size_t n = shown_sequence(p);

                if (n == 0) {
                        to = append_escape(to, &p);
                        continue;
                }
                memcpy(to, p, n);
                to += n;
                p += n;
        }
        if (escaped)
                *to = '\0';
        return escaped;
}

static unsigned count_characters(const char *text)
{
        unsigned n = 0;

        for (; *text; text++)
                n += ((unsigned char) *text & 0xc0) != 0x80;
        return n;
}

unsigned hn_display_width(const char *text)
{
        size_t n = mbstowcs(NULL, text, 0);
        HN_FREE wchar_t *wide = n < SIZE_MAX / sizeof *wide - 1 ? calloc(n + 1, sizeof *wide) : NULL;
        int width = -1;

        if (wide && mbstowcs(wide, text, n + 1) == n)
                width = wcswidth(wide, n);
        return width < 0 ? count_characters(text) : (unsigned) width;
}

/* Bytes of the character that begins at `text`, and the columns that it takes. */
static size_t character(const char *text, unsigned *ret_width)
{
        mbstate_t state = { 0 };
        wchar_t wide;
        size_t n = mbrtowc(&wide, text, MB_LEN_MAX, &state);

        if (n > 0 && n <= MB_LEN_MAX) {
                int width = wcwidth(wide);

                *ret_width = width < 0 ? 1 : (unsigned) width;
                return n;
        }
        *ret_width = 1;
        for (n = 1; ((unsigned char) text[n] & 0xc0) == 0x80; n++)
                ;
        return n;
}

char *hn_display_cut(const char *text, unsigned width)
{
        unsigned used = 0, next;
        size_t length = 0, kept = 0;
        char *cut;

        while (text[length]) {
                length += character(text + length, &next);
                used += next;
                if (used > width)
                        break;
                if (used < width)
                        kept = length;
        }
        if (used <= width)
                return strdup(text);
        cut = malloc(kept + 2);
        if (cut) {
                memcpy(cut, text, kept);
                memcpy(cut + kept, "+", 2);
        }
        return cut;
}

char *hn_display_set(hwloc_const_bitmap_t set)
{
        char *text = NULL;

        if (hn_idset_count(set) == 0)
                return strdup("-");
        return hn_idset_format(set, &text) < 0 ? NULL : text;
}
