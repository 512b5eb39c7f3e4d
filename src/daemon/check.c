/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <string.h>

#include "model/text.h"
#include "store/copies.h"
#include "store/living.h"

#define STATUS_LIMIT (64u << 10)

HN_PRINTF(3, 4)
static int add(struct hn_lacks *lacks, const char *consequence, const char *format, ...)
{
        struct hn_lack *more = reallocarray(lacks->lacks, lacks->n + 1, sizeof *more);
        va_list arguments;
        char *what;

        if (!more)
                return -ENOMEM;
        lacks->lacks = more;
        va_start(arguments, format);
        what = hn_text_vprint(format, arguments);
        va_end(arguments);
        if (!what)
                return -ENOMEM;
        lacks->lacks[lacks->n++] = (struct hn_lack) { .what = what, .consequence = consequence };
        return 0;
}

/* ---- capabilities */

static const struct {
        unsigned number;
        const char *name, *consequence;
} capabilities[] = {
        { CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "cpusets of guests can't be written" },
        { CAP_SYS_NICE, "CAP_SYS_NICE", "the affinity of guests' threads can't be set, nor their memory moved" },
        { CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "where guests' memory lies can't be read" },
};

static int check_capabilities(const struct hn_root *root, struct hn_lacks *lacks)
{
        HN_FREE char *text = NULL;
        const char *line = NULL;
        uint64_t effective = 0;
        int r = hn_root_read(root, STATUS_LIMIT, &text, NULL, "/proc/self/status");

        if (r == -ENOMEM)
                return r;
        if (r >= 0)
                line = strstr(text, "\nCapEff:");
        if (!line || sscanf(line, "\nCapEff: %" SCNx64, &effective) != 1)
                return add(lacks, "what homenoded may do is not known", "the capabilities in /proc/self/status");
        r = 0;
        for (size_t i = 0; r >= 0 && i < sizeof capabilities / sizeof *capabilities; i++)
                if (!(effective >> capabilities[i].number & 1))
                        r = add(lacks, capabilities[i].consequence, "capability %s", capabilities[i].name);
        return r;
}

/* ---- cgroups */

#define CPUSET_MATTERS "guests can't be confined to CPUs and nodes"

/* systemd gives machine.slice its controllers when the first guest comes, which asks for them. */
static int check_slice(const struct hn_root *root, struct hn_lacks *lacks)
{
        static const char path[] = HN_CGROUP_MOUNT "/machine.slice/cgroup.controllers";
        HN_LIVING struct hn_living living = { .proc = -1 };
        HN_FREE char *line = NULL;
        int r = hn_living_read(root, &living);

        if (r < 0 || living.n_scopes == 0)
                return r;
        r = hn_root_read_line(root, &line, "%s", path);
        if (r == -ENOMEM)
                return r;
        return r < 0 || hn_text_has_word(line, "cpuset") ? 0 : add(lacks, CPUSET_MATTERS, "controller cpuset in %s", path);
}

static int check_cgroups(const struct hn_cgroup_io *io, struct hn_lacks *lacks)
{
        HN_FREE char *mount = NULL;
        int r = io->where(io, &mount);

        if (r == -ENOMEM)
                return r;
        if (!hn_root_exists(io->root, HN_CGROUP_MOUNT "/cgroup.controllers"))
                r = add(lacks, CPUSET_MATTERS, "the unified control group hierarchy (cgroup v2) on " HN_CGROUP_MOUNT);
        else if (r < 0 || strcmp(mount, HN_CGROUP_MOUNT) != 0)
                r = add(lacks, CPUSET_MATTERS, "controller cpuset in " HN_CGROUP_MOUNT "/cgroup.controllers%s%s",
                        mount ? "; it is on " : "", mount ? mount : "");
        else
                r = check_slice(io->root, lacks);
        return r;
}

/* ---- others on this host, and folders */

static int check_others(const struct hn_root *root, struct hn_lacks *lacks)
{
        int r = 0;

        if (!hn_root_exists(root, "/run/libvirt/libvirt-sock") &&
            !hn_root_exists(root, "/run/libvirt/virtqemud-sock"))
                r = add(lacks, "guests are not seen until libvirt is started",
                        "libvirt's socket (/run/libvirt/libvirt-sock or virtqemud-sock)");
        if (r >= 0 && !hn_root_exists(root, "/run/systemd/system"))
                r = add(lacks, "memory sets of guests can't be kept in their scopes", "systemd as the service manager");
        return r;
}

static int check_folder(const struct hn_root *root, const char *path, const char *consequence, struct hn_lacks *lacks)
{
        int r = hn_root_mkdir(root, 0700, "%s", path);

        if (r >= 0)
                r = hn_root_replace(root, "", 0, 0600, "%s/.check", path);
        (void) hn_root_remove(root, "%s/.check", path);
        if (r == -ENOMEM)
                return r;
        return r < 0 ? add(lacks, consequence, "writing to %s (%s)", path, strerror(-r)) : 0;
}

int hn_check_host(const struct hn_cgroup_io *io, struct hn_lacks *ret)
{
        HN_LACKS struct hn_lacks lacks = { 0 };
        int r = check_capabilities(io->root, &lacks);

        if (r >= 0)
                r = check_cgroups(io, &lacks);
        if (r >= 0)
                r = check_others(io->root, &lacks);
        if (r >= 0)
                r = check_folder(io->root, "/run/homenode", "placements can't be recorded", &lacks);
        if (r >= 0)
                r = check_folder(io->root, HN_COPIES_FOLDER, "definitions are not rewritten", &lacks);
        if (r < 0)
                return r;
        *ret = lacks;
        lacks = (struct hn_lacks) { 0 };
        return 0;
}

void hn_lacks_clear(struct hn_lacks *lacks)
{
        for (size_t i = 0; i < lacks->n; i++)
                free(lacks->lacks[i].what);
        free(lacks->lacks);
        *lacks = (struct hn_lacks) { 0 };
}
