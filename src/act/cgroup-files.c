/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "act/cgroup-io.h"
#include "model/text.h"

#define VALUE_LIMIT (256u << 10) /* bytes; every second of 16,384 numbers takes 48 KiB */

static int read_value(const struct hn_cgroup_io *io, const char *group, const char *name, char **ret)
{
        return hn_root_read(io->root, VALUE_LIMIT, ret, NULL, "%s/%s", group, name);
}

static int write_value(const struct hn_cgroup_io *io, const char *group, const char *name, const char *value)
{
        return hn_root_write(io->root, value, "%s/%s", group, name);
}

static int where(const struct hn_cgroup_io *io, char **ret)
{
        HN_FREE char *line = NULL;
        char *mount;
        int r = hn_root_read_line(io->root, &line, HN_CGROUP_MOUNT "/cgroup.controllers");

        if (r < 0)
                return r;
        if (!hn_text_has_word(line, "cpuset"))
                return -ENOENT;
        mount = strdup(HN_CGROUP_MOUNT);
        if (!mount)
                return -ENOMEM;
        *ret = mount;
        return 0;
}

struct hn_cgroup_io hn_cgroup_files(const struct hn_root *root)
{
        return (struct hn_cgroup_io) { .root = root, .read = read_value, .write = write_value, .where = where };
}
