/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/recorded.h"

#include <unistd.h>

#include "model/text.h"
#include "unit/support/test.h"

char *recorded(const char *folder)
{
        const char *data = getenv("HOMENODE_DATA");
        HN_FREE char *path = data ? hn_text_print("%s/%s", data, folder) : NULL;

        if (path && access(path, R_OK) == 0)
                return HN_TAKE(path);
        print_error("SKIPPED: nothing recorded at HOMENODE_DATA (%s)\n", data ? data : "not set");
        return NULL;
}
