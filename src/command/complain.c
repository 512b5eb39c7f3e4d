/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/complain.h"

#include <string.h>

#include "command/display.h"
#include "model/text.h"

int hn_complain(const char *format, ...)
{
        HN_FREE char *message = NULL, *safe = NULL;
        va_list arguments;

        va_start(arguments, format);
        message = hn_text_vprint(format, arguments);
        va_end(arguments);
        if (message)
                safe = hn_display_escape(message);
        (void) fprintf(stderr, "homenode: %s\n", safe ? safe : "out of memory");
        return HN_EXIT_FAILED;
}

void hn_complain_lines(const char *about, const char *text)
{
        while (*text) {
                size_t length = strcspn(text, "\n");

                if (length > 0)
                        (void) hn_complain("%s: %.*s", about, (int) length, text);
                text += length + (text[length] == '\n');
        }
}
