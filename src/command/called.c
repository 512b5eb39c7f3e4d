/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/called.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -1: it is no number. */
static long id_of(const char *text)
{
        long id;
        char *end;

        if (!isdigit((unsigned char) *text))
                return -1;
        errno = 0;
        id = strtol(text, &end, 10);
        return errno || *end ? -1 : id;
}

int hn_called(const char *text, long id, const char *uuid, const char *name)
{
        if (id >= 0 && id_of(text) == id)
                return 3;
        if (*uuid && strcasecmp(text, uuid) == 0)
                return 2;
        return name && strcmp(text, name) == 0;
}
