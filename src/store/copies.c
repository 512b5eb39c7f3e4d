/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "model/uuid.h"

/* Before libvirt is told to write over the original, the copy must outlive a crash of the host. */
static int settle(const struct hn_root *root, int flags, const char *path)
{
        HN_CLOSE int fd = hn_root_open_file(root, flags, 0, "%s", path);

        if (fd < 0)
                return fd;
        return fsync(fd) < 0 ? -errno : 0;
}

static int path_of(const char *uuid, char ret[sizeof HN_COPIES_FOLDER + HN_UUID_LENGTH + sizeof "/.xml"])
{
        char canonical[HN_UUID_LENGTH + 1];
        int r = hn_uuid_canonical(uuid, canonical);

        if (r < 0)
                return r;
        (void) sprintf(ret, HN_COPIES_FOLDER "/%s.xml", canonical);
        return 0;
}

int hn_copy_put(const struct hn_root *root, const char *uuid, const char *xml)
{
        char path[sizeof HN_COPIES_FOLDER + HN_UUID_LENGTH + sizeof "/.xml"];
        int r = path_of(uuid, path);

        if (r >= 0)
                r = hn_root_mkdir(root, 0700, HN_COPIES_FOLDER);
        if (r >= 0)
                r = hn_root_replace(root, xml, strlen(xml), 0600, "%s", path);
        if (r >= 0)
                r = settle(root, O_RDONLY, path);
        if (r >= 0)
                r = settle(root, O_RDONLY | O_DIRECTORY, HN_COPIES_FOLDER);
        return r;
}

int hn_copy_get(const struct hn_root *root, const char *uuid, char **ret_xml)
{
        char path[sizeof HN_COPIES_FOLDER + HN_UUID_LENGTH + sizeof "/.xml"];
        int r = path_of(uuid, path);

        return r < 0 ? r : hn_root_read(root, HN_DOMAIN_XML_LIMIT, ret_xml, NULL, "%s", path);
}

int hn_copy_remove(const struct hn_root *root, const char *uuid)
{
        char path[sizeof HN_COPIES_FOLDER + HN_UUID_LENGTH + sizeof "/.xml"];
        int r = path_of(uuid, path);

        return r < 0 ? r : hn_root_remove(root, "%s", path);
}
