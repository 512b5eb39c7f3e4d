/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From a QEMU's PID to its cgroups.  Its main thread is in `emulator` once libvirt has sorted the threads:
 *
 *   …/machine.slice/machine-qemu\x2d7\x2dweb.scope/libvirt/emulator    systemd, libvirt 7.1 and later
 *   …/machine.slice/machine-qemu\x2d7\x2dweb.scope/emulator            systemd, before
 *   …/machine/qemu-7-web.libvirt-qemu/emulator                        without systemd
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "model/text.h"

#include "act/cpuset.h"

#define CGROUP_LIMIT (64u << 10)
#define UNIFIED "/sys/fs/cgroup"
#define UNIFIED_HYBRID "/sys/fs/cgroup/unified" /* systemd's hybrid layout has v2 beside the v1 trees */
#define EMULATOR "emulator"
#define LIBVIRT_LEVEL "libvirt"

/* The path of the v2 hierarchy ("0::/…") in the text of /proc/PID/cgroup, cut out in place; NULL: none. */
static char *unified_path(char *text)
{
        for (char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, "0::/", 4) == 0) {
                        line[strcspn(line, "\n")] = '\0';
                        return line + 3;
                }
        }
        return NULL;
}

/* A process outside our cgroup namespace has a path that climbs ("/../…"). */
static bool climbs(const char *path)
{
        for (; path; path = strchr(path + 1, '/'))
                if (strncmp(path, "/..", 3) == 0 && (path[3] == '/' || !path[3]))
                        return true;
        return false;
}

static bool is_numbered(const char *name, const char *kind)
{
        size_t length = strlen(kind);

        if (strncmp(name, kind, length) != 0 || !name[length])
                return false;
        return strspn(name + length, "0123456789") == strlen(name + length);
}

/* The last part of a path that begins with '/'. */
static char *last_part(char *path)
{
        return strrchr(path, '/') + 1;
}

/* Cuts the last part off; the path keeps at least the hierarchy's own folder. */
static void cut_last_part(char *path)
{
        last_part(path)[-1] = '\0';
}

/* From the main thread's cgroup to the level that holds the threads' groups. */
static int threads_level(const struct hn_root *root, const char *own, char **ret)
{
        HN_FREE char *path = strdup(own);

        if (!path)
                return -ENOMEM;
        const char *last = last_part(path);
        if (strcmp(last, EMULATOR) == 0 || is_numbered(last, "vcpu") || is_numbered(last, "iothread"))
                cut_last_part(path);
        else if (hn_root_exists(root, "%s/" LIBVIRT_LEVEL "/" EMULATOR, path)) {
                HN_FREE char *above = HN_TAKE(path);

                path = hn_text_print("%s/" LIBVIRT_LEVEL, above);
                if (!path)
                        return -ENOMEM;
        }
        if (!hn_root_exists(root, "%s/" EMULATOR, path))
                return -ENOENT;
        *ret = HN_TAKE(path);
        return 0;
}

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text);

        return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* The main thread's cgroup as a path below /sys. */
static int own_cgroup(const struct hn_root *root, int pid, char **ret)
{
        HN_FREE char *text = NULL;
        const char *path;
        int r;

        r = hn_root_read(root, CGROUP_LIMIT, &text, NULL, "/proc/%d/cgroup", pid);
        if (r < 0)
                return r == -ESRCH ? -ENOENT : r;
        path = unified_path(text);
        if (!path || climbs(path))
                return -ENOENT;

        char *own = NULL;
        bool hybrid = hn_root_exists(root, UNIFIED_HYBRID "/cgroup.controllers");
        if (asprintf(&own, "%s%s", hybrid ? UNIFIED_HYBRID : UNIFIED, path) < 0)
                return -ENOMEM;
        *ret = own;
        return 0;
}

int hn_guest_cgroup_of_scope(const struct hn_root *root, const char *scope, struct hn_guest_cgroup **ret)
{
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = calloc(1, sizeof *cgroup);
        int r = cgroup ? threads_level(root, scope, &cgroup->threads) : -ENOMEM;

        if (r < 0)
                return r;
        cgroup->scope = strdup(cgroup->threads);
        if (!cgroup->scope)
                return -ENOMEM;
        if (strcmp(last_part(cgroup->scope), LIBVIRT_LEVEL) == 0)
                cut_last_part(cgroup->scope);
        cgroup->by_systemd = ends_with(cgroup->scope, ".scope");
        *ret = HN_TAKE(cgroup);
        return 0;
}

int hn_guest_cgroup_find(const struct hn_root *root, int pid, struct hn_guest_cgroup **ret)
{
        HN_FREE char *own = NULL;
        int r = own_cgroup(root, pid, &own);

        return r < 0 ? r : hn_guest_cgroup_of_scope(root, own, ret);
}

const char *hn_guest_cgroup_unit(const struct hn_guest_cgroup *cgroup)
{
        return last_part(cgroup->scope);
}

void hn_guest_cgroup_free(struct hn_guest_cgroup *cgroup)
{
        if (!cgroup)
                return;
        free(cgroup->scope);
        free(cgroup->threads);
        free(cgroup);
}
