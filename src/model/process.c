/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/process.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STAT_LIMIT 8192u
#define FIELD_FLAGS 9
#define FIELD_START 22
#define FLAG_NO_SETAFFINITY 0x04000000u /* PF_NO_SETAFFINITY, include/linux/sched.h */

/* Field `wanted` of a stat line; `rest` begins at field 3. */
static int read_field(const char *rest, int wanted, uint64_t *ret)
{
        char *end;

        for (int field = 3; field < wanted; field++) {
                rest += strcspn(rest, " ");
                if (!*rest)
                        return -EBADMSG;
                rest++;
        }
        if (!isdigit((unsigned char) *rest))
                return -EBADMSG;
        errno = 0;
        uint64_t value = strtoull(rest, &end, 10);
        if (errno || (*end != ' ' && *end != '\n' && *end))
                return -EBADMSG;
        *ret = value;
        return 0;
}

int hn_process_read(const struct hn_root *root, int pid, struct hn_process *ret)
{
        HN_FREE char *text = NULL;
        uint64_t flags = 0, start_ticks = 0;
        const char *rest;
        int r;

        r = hn_root_read(root, STAT_LIMIT, &text, NULL, "/proc/%d/stat", pid);
        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;

        /* The second field is the command in parentheses, and may itself hold blanks and parentheses. */
        rest = strrchr(text, ')');
        if (!rest || rest[1] != ' ')
                return -EBADMSG;
        rest += 2;
        r = read_field(rest, FIELD_FLAGS, &flags);
        if (r >= 0)
                r = read_field(rest, FIELD_START, &start_ticks);
        if (r < 0)
                return r;
        *ret = (struct hn_process) {
                .start_ticks = start_ticks,
                .own_affinity = flags & FLAG_NO_SETAFFINITY,
        };
        return 0;
}

/* A guest's name as libvirt writes it into the name of the PID file: as if it were XML (virPidFileBuildPath calls
 * virBufferEscapeString, from 1.x to 11.x). */
static char *escape_name(const char *name)
{
        static const struct { char character; const char *text; } escapes[] = {
                { '<', "&lt;" }, { '>', "&gt;" }, { '&', "&amp;" }, { '"', "&quot;" }, { '\'', "&apos;" },
        };
        char *escaped = malloc(strlen(name) * strlen("&quot;") + 1), *p = escaped;

        for (; escaped && *name; name++) {
                size_t i = 0;

                while (i < sizeof escapes / sizeof *escapes && escapes[i].character != *name)
                        i++;
                if (i < sizeof escapes / sizeof *escapes)
                        p = stpcpy(p, escapes[i].text);
                else
                        *p++ = *name;
        }
        if (escaped)
                *p = '\0';
        return escaped;
}

int hn_process_of_guest(const struct hn_root *root, const char *name, int *ret)
{
        HN_FREE char *escaped = NULL;
        uint64_t pid = 0;
        int r;

        if (!*name || strchr(name, '/'))
                return -EINVAL;
        escaped = escape_name(name);
        if (!escaped)
                return -ENOMEM;
        r = hn_root_read_u64(root, &pid, "/run/libvirt/qemu/%s.pid", escaped);
        if (r < 0)
                return r;
        if (pid == 0 || pid > INT32_MAX)
                return -ERANGE;
        *ret = (int) pid;
        return 0;
}
