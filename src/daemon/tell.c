/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/tell.h"

#include "act/journal.h"
#include "daemon/connection.h"
#include "model/text.h"

void hn_vtell_guest(const struct hn_root *root, const char *name, hwloc_const_bitmap_t nodes, const char *text,
                    va_list arguments)
{
        HN_FREE char *message = hn_text_vprint(text, arguments), *list = NULL;

        if (message && hn_idset_format(nodes, &list) >= 0)
                hn_journal(root, LOG_INFO, HN_DAEMON_IDENTIFIER, name, list, "%s: %s", name, message);
}

void hn_tell_guest(const struct hn_root *root, const char *name, hwloc_const_bitmap_t nodes, const char *text, ...)
{
        va_list arguments;

        va_start(arguments, text);
        hn_vtell_guest(root, name, nodes, text, arguments);
        va_end(arguments);
}
