/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/journal.h"

#include <fcntl.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include "model/text.h"

static void to_file(const struct hn_root *root, const char *identifier, const char *message)
{
        HN_CLOSE int fd = hn_root_open_file(root, O_WRONLY | O_APPEND | O_CREAT, 0600, "%s", HN_JOURNAL_FILE);

        if (fd >= 0)
                (void) dprintf(fd, "%s: %s\n", identifier, message);
}

/* "NAME=value" as one field; the text is the caller's to free. */
static struct iovec field(char **text, const char *name, const char *value)
{
        *text = hn_text_print("%s=%s", name, value);
        return (struct iovec) { .iov_base = *text, .iov_len = *text ? strlen(*text) : 0 };
}

void hn_journal(const struct hn_root *root, int priority, const char *identifier, const char *domain,
                const char *nodes, const char *text, ...)
{
        HN_FREE char *message = NULL, *f1 = NULL, *f2 = NULL, *f3 = NULL, *f4 = NULL, *f5 = NULL;
        char priority_text[2] = { (char) ('0' + (priority & 7)), '\0' };
        struct iovec fields[5];
        int n = 0;
        va_list arguments;

        va_start(arguments, text);
        message = hn_text_vprint(text, arguments);
        va_end(arguments);
        if (!message)
                return;
        if (!root->host) {
                to_file(root, identifier, message);
                return;
        }
        fields[n++] = field(&f1, "MESSAGE", message);
        fields[n++] = field(&f2, "PRIORITY", priority_text);
        fields[n++] = field(&f3, "SYSLOG_IDENTIFIER", identifier);
        if (domain)
                fields[n++] = field(&f4, "HOMENODE_DOMAIN", domain);
        if (nodes)
                fields[n++] = field(&f5, "HOMENODE_NODE", nodes);
        (void) sd_journal_sendv(fields, n);
}
