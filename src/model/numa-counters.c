/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/numa-counters.h"

#include <errno.h>
#include <string.h>

#define STAT_LIMIT (64u << 10)

static const char *next(const char *line)
{
        const char *end = strchr(line, '\n');

        return end ? end + 1 : NULL;
}

/* The number on the line that begins with this name; false: there is none. */
static bool find(const char *text, const char *name, uint64_t *ret)
{
        size_t length = strlen(name);

        for (const char *line = text; line; line = next(line))
                if (strncmp(line, name, length) == 0 && line[length] == ' ' && line[length + 1] >= '0' &&
                    line[length + 1] <= '9') {
                        *ret = strtoull(line + length + 1, NULL, 10);
                        return true;
                }
        return false;
}

int hn_node_counters_read(const struct hn_root *root, unsigned node, struct hn_node_counters *ret)
{
        struct hn_node_counters counters = { 0 };
        HN_FREE char *text = NULL;
        int r = hn_root_read(root, STAT_LIMIT, &text, NULL, "/sys/devices/system/node/node%u/numastat", node);

        if (r < 0)
                return r;
        if (!find(text, "numa_hit", &counters.hit) || !find(text, "numa_miss", &counters.miss) ||
            !find(text, "numa_foreign", &counters.foreign) || !find(text, "local_node", &counters.local) ||
            !find(text, "other_node", &counters.other))
                return -EBADMSG;
        *ret = counters;
        return 0;
}

int hn_numa_counters_read(const struct hn_root *root, struct hn_numa_counters *ret)
{
        struct hn_numa_counters counters = { 0 };
        HN_FREE char *text = NULL;
        int r = hn_root_read(root, STAT_LIMIT, &text, NULL, "/proc/vmstat");

        if (r < 0)
                return r;
        (void) find(text, "numa_pages_migrated", &counters.pages_migrated);
        (void) find(text, "numa_hint_faults", &counters.hint_faults);
        (void) find(text, "numa_hint_faults_local", &counters.hint_faults_local);
        (void) find(text, "pgmigrate_success", &counters.migrate_success);
        (void) find(text, "pgmigrate_fail", &counters.migrate_fail);
        *ret = counters;
        return 0;
}
