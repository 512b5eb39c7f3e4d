/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "model/text.h"

HN_PRINTF(3, 0)
static void to_file(const struct hn_root *root, const char *identifier, const char *text, va_list arguments)
{
        HN_CLOSE int fd = hn_root_open_regular(root, O_WRONLY | O_APPEND | O_CREAT, 0600, "%s", HN_JOURNAL_FILE);
        HN_FREE char *message = hn_text_vprint(text, arguments);

        if (fd >= 0 && message)
                (void) dprintf(fd, "%s: %s\n", identifier, message);
}

/* A value of several lines goes with its length before it. */
static void put_field(FILE *datagram, const struct hn_journal_field *field)
{
        size_t length = strlen(field->value);
        uint64_t little_endian = htole64(length);

        (void) fputs(field->name, datagram);
        if (strchr(field->value, '\n')) {
                (void) fputc('\n', datagram);
                (void) fwrite(&little_endian, sizeof little_endian, 1, datagram);
        } else
                (void) fputc('=', datagram);
        (void) fwrite(field->value, 1, length, datagram);
        (void) fputc('\n', datagram);
}

int hn_journal_datagram(const struct hn_journal_field *fields, size_t n, char **ret, size_t *ret_length)
{
        HN_FREE char *text = NULL;
        size_t length = 0;
        FILE *datagram = open_memstream(&text, &length);
        bool failed;

        if (!datagram)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (fields[i].value)
                        put_field(datagram, &fields[i]);
        failed = ferror(datagram);
        if (fclose(datagram) != 0 || failed)
                return -ENOMEM;
        *ret = HN_TAKE(text);
        *ret_length = length;
        return 0;
}

/* Waits while journald has no room: whoever can't has a time limit of his own. */
static void to_journal(const struct hn_journal_field *fields, size_t n)
{
        static const struct sockaddr_un journald = { .sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket" };
        HN_FREE char *datagram = NULL;
        size_t length = 0;

        if (hn_journal_datagram(fields, n, &datagram, &length) < 0)
                return;
        HN_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
                (void) sendto(fd, datagram, length, MSG_NOSIGNAL, (const struct sockaddr *) &journald, sizeof journald);
}

void hn_journal(const struct hn_root *root, int priority, const char *identifier, const char *domain,
                const char *nodes, const char *text, ...)
{
        const char priority_text[2] = { (char) ('0' + (priority & 7)), '\0' };
        HN_FREE char *message = NULL;
        va_list arguments;

        va_start(arguments, text);
        if (root->host)
                message = hn_text_vprint(text, arguments);
        else
                to_file(root, identifier, text, arguments);
        va_end(arguments);
        if (!message)
                return;
        const struct hn_journal_field fields[] = {
                { "MESSAGE", message },
                { "PRIORITY", priority_text },
                { "SYSLOG_IDENTIFIER", identifier },
                { "HOMENODE_DOMAIN", domain },
                { "HOMENODE_NODE", nodes },
        };
        to_journal(fields, sizeof fields / sizeof *fields);
}
