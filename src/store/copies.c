/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "model/domain.h"

/* Before libvirt is told to write over the original, the copy must outlive a crash of the host. */
static int settle(const struct hn_root *root, int flags, const char *path)
{
        HN_CLOSE int fd = hn_root_open_file(root, flags, 0, "%s", path);

        if (fd < 0)
                return fd;
        return fsync(fd) < 0 ? -errno : 0;
}

#define COPY ".xml"
#define LEFT ".left"
#define PATH_SIZE (sizeof HN_COPIES_FOLDER + HN_UUID_LENGTH + sizeof "/" LEFT)

static int path_of(const char *uuid, const char *suffix, char ret[PATH_SIZE])
{
        char canonical[HN_UUID_LENGTH + 1];
        int r = hn_uuid_canonical(uuid, canonical);

        if (r < 0)
                return r;
        (void) snprintf(ret, PATH_SIZE, HN_COPIES_FOLDER "/%s%s", canonical, suffix);
        return 0;
}

static int put(const struct hn_root *root, const char *uuid, const char *suffix, const char *text)
{
        char path[PATH_SIZE];
        int r = path_of(uuid, suffix, path);

        if (r >= 0)
                r = hn_root_mkdir(root, 0700, HN_COPIES_FOLDER);
        if (r >= 0)
                r = hn_root_replace(root, text, strlen(text), 0600, "%s", path);
        if (r >= 0)
                r = settle(root, O_RDONLY, path);
        if (r >= 0)
                r = settle(root, O_RDONLY | O_DIRECTORY, HN_COPIES_FOLDER);
        return r;
}

static int take_away(const struct hn_root *root, const char *uuid, const char *suffix)
{
        char path[PATH_SIZE];
        int r = path_of(uuid, suffix, path);

        return r < 0 ? r : hn_root_remove(root, "%s", path);
}

int hn_copy_put(const struct hn_root *root, const char *uuid, const char *xml)
{
        return put(root, uuid, COPY, xml);
}

int hn_copy_get(const struct hn_root *root, const char *uuid, char **ret_xml)
{
        char path[PATH_SIZE];
        int r = path_of(uuid, COPY, path);

        return r < 0 ? r : hn_root_read(root, HN_DOMAIN_XML_LIMIT, ret_xml, NULL, "%s", path);
}

int hn_copy_remove(const struct hn_root *root, const char *uuid)
{
        return take_away(root, uuid, COPY);
}

static int append(const char *name, char (**uuids)[HN_UUID_LENGTH + 1], size_t *n)
{
        char (*more)[HN_UUID_LENGTH + 1];
        char text[HN_UUID_LENGTH + 1] = "", uuid[HN_UUID_LENGTH + 1];

        if (strlen(name) <= HN_UUID_LENGTH ||
            (strcmp(name + HN_UUID_LENGTH, COPY) != 0 && strcmp(name + HN_UUID_LENGTH, LEFT) != 0))
                return 0;
        memcpy(text, name, HN_UUID_LENGTH);
        if (hn_uuid_canonical(text, uuid) < 0)
                return 0;
        for (size_t i = 0; i < *n; i++)
                if (strcmp((*uuids)[i], uuid) == 0)
                        return 0;
        more = reallocarray(*uuids, *n + 1, sizeof *more);
        if (!more)
                return -ENOMEM;
        *uuids = more;
        memcpy(more[(*n)++], uuid, sizeof uuid);
        return 0;
}

int hn_copies_list(const struct hn_root *root, char (**ret)[HN_UUID_LENGTH + 1], size_t *ret_n)
{
        HN_CLOSEDIR DIR *dir = NULL;
        char (*uuids)[HN_UUID_LENGTH + 1] = NULL;
        struct dirent *entry;
        size_t n = 0;
        int r = hn_root_open_dir(root, &dir, HN_COPIES_FOLDER);

        if (r < 0 && r != -ENOENT)
                return r;
        r = 0;
        while (dir && r >= 0 && (entry = readdir(dir)))
                r = append(entry->d_name, &uuids, &n);
        if (r < 0) {
                free(uuids);
                return r;
        }
        *ret = uuids;
        *ret_n = n;
        return 0;
}

/* ---- definitions that are left */

static void drop_blanks(xmlNode *element)
{
        for (xmlNode *child = element->children, *next; child; child = next) {
                next = child->next;
                if (xmlIsBlankNode(child)) {
                        xmlUnlinkNode(child);
                        xmlFreeNode(child);
                } else if (child->type == XML_ELEMENT_NODE) {
                        drop_blanks(child);
                }
        }
}

static uint64_t digest_of(const unsigned char *text)
{
        /* FNV-1a of 64 bits: told apart are two texts of one domain, which nobody gains by making alike. */
        uint64_t digest = UINT64_C(14695981039346656037);

        for (; *text; text++)
                digest = (digest ^ *text) * UINT64_C(1099511628211);
        return digest ? digest : 1;
}

/* The same for what we write and for what libvirt makes of it: quotes, blanks and empty elements differ. */
uint64_t hn_left_digest(const char *xml)
{
        HN_XMLDOC xmlDoc *doc = NULL;
        xmlNode *domain = hn_xml_parse(xml, strlen(xml), &doc) < 0 ? NULL : xmlDocGetRootElement(doc);
        xmlBuffer *buffer = domain ? xmlBufferCreate() : NULL;
        uint64_t digest;

        if (!buffer)
                return digest_of((const unsigned char *) xml);
        drop_blanks(domain);
        digest = xmlNodeDump(buffer, doc, domain, 0, 0) < 0 ? digest_of((const unsigned char *) xml)
                                                           : digest_of(xmlBufferContent(buffer));
        xmlBufferFree(buffer);
        return digest;
}

int hn_left_put(const struct hn_root *root, const char *uuid, uint64_t digest)
{
        char text[32];

        (void) snprintf(text, sizeof text, "%016" PRIx64 "\n", digest);
        return put(root, uuid, LEFT, text);
}

bool hn_left_is(const struct hn_root *root, const char *uuid, uint64_t digest)
{
        HN_FREE char *line = NULL;
        char path[PATH_SIZE], text[32];

        (void) snprintf(text, sizeof text, "%016" PRIx64, digest);
        return path_of(uuid, LEFT, path) >= 0 && hn_root_read_line(root, &line, "%s", path) >= 0 &&
               strcmp(line, text) == 0;
}

int hn_left_remove(const struct hn_root *root, const char *uuid)
{
        return take_away(root, uuid, LEFT);
}
