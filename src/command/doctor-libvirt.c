/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hook: is it where libvirt runs it, and does libvirt know?
 *
 * libvirt's daemon looks whether there is any hook for QEMU when it starts and when it is reloaded, and remembers only
 * that (virHookInitialize); a hook that was put there since is not run.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "command/doctor.h"
#include "model/text.h"

#define HOOKS "/etc/libvirt/hooks"
#define MARK "homenode-hook" /* in the hook's own text, as `make install` knows it by */
#define HOOK_LIMIT (64u << 20)
#define CHECK "hook"

enum kind { ABSENT, FOREIGN, LINK, NOT_EXECUTABLE, CLOSED, OURS };

struct hook {
        enum kind kind;
        char *path;
        uint64_t changed_us;
};

static void clear_hook(struct hook *hook)
{
        free(hook->path);
}

static bool has_mark(const struct hn_root *root, const char *path, bool *ret_closed)
{
        HN_FREE char *text = NULL;
        size_t length = 0;
        int r = hn_root_read(root, HOOK_LIMIT, &text, &length, "%s", path);

        *ret_closed = r == -EACCES || r == -EPERM;
        return r >= 0 && memmem(text, length, MARK, strlen(MARK));
}

/* A link is looked at for what it leads to, and told as one if that is ours. */
static enum kind kind_of(const struct hn_root *root, const char *path, uint64_t *ret_changed_us)
{
        HN_CLOSE int fd = hn_root_open_file(root, O_PATH | O_NOFOLLOW, 0, "%s", path);
        struct stat st;
        bool closed = false;

        if (fd == -EACCES || fd == -EPERM)
                return CLOSED;
        if (fd < 0 || fstat(fd, &st) < 0)
                return ABSENT;
        if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
                return FOREIGN;
        if (!has_mark(root, path, &closed))
                return closed ? CLOSED : FOREIGN;
        *ret_changed_us = (uint64_t) st.st_ctim.tv_sec * 1000000u + (uint64_t) st.st_ctim.tv_nsec / 1000;
        if (S_ISLNK(st.st_mode))
                return LINK;
        return st.st_mode & 0111 ? OURS : NOT_EXECUTABLE;
}

/* Keeps the better of two; an executable one of ours is best. */
static int consider(const struct hn_root *root, const char *path, struct hook *hook, unsigned *n_ours)
{
        uint64_t changed_us = 0;
        enum kind kind = kind_of(root, path, &changed_us);

        *n_ours += kind == OURS;
        if (kind <= hook->kind)
                return 0;
        free(hook->path);
        *hook = (struct hook) { .kind = kind, .path = strdup(path), .changed_us = changed_us };
        return hook->path ? 0 : -ENOMEM;
}

/* The hook of ours, or what comes nearest to it. */
static int look_for_hook(const struct hn_root *root, struct hook *ret, unsigned *ret_n_ours)
{
        HN_CLEANUP(clear_hook) struct hook hook = { .kind = ABSENT };
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        unsigned n_ours = 0;
        int r = consider(root, HOOKS "/qemu", &hook, &n_ours);
        int opened = hn_root_open_dir(root, &dir, HOOKS "/qemu.d");

        if (opened == -EACCES && hook.kind == ABSENT)
                hook.kind = CLOSED;
        while (r >= 0 && dir && (entry = readdir(dir))) {
                HN_FREE char *path = hn_text_print(HOOKS "/qemu.d/%s", entry->d_name);

                if (!path)
                        r = -ENOMEM;
                else if (*entry->d_name != '.')
                        r = consider(root, path, &hook, &n_ours);
        }
        if (r < 0)
                return r;
        *ret = hook;
        hook.path = NULL;
        *ret_n_ours = n_ours;
        return 0;
}

#define WITHOUT "Without the hook guests start as libvirt starts them: homenoded can only move them afterwards."

int hn_check_hook(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_CLEANUP(clear_hook) struct hook hook = { 0 };
        HN_FREE char *mend = NULL;
        const char *path;
        unsigned n_ours = 0;
        int r = look_for_hook(patient->root, &hook, &n_ours);

        if (r < 0)
                return r;
        path = hook.path ? hook.path : HOOKS;
        switch (hook.kind) {
        case OURS:
                if (n_ours > 1)
                        return hn_find(findings, HN_LEVEL_NOTE, CHECK, "It runs more than once for each start, which only "
                                       "takes time.", "rm " HOOKS "/qemu.d/homenode",
                                       "the hook is installed %u times", n_ours);
                return hn_find(findings, HN_LEVEL_OK, CHECK, NULL, NULL, "%s is installed", path);
        case LINK:
                mend = hn_text_print("cp --remove-destination \"$(readlink -f %s)\" %s", path, path);
                return !mend ? -ENOMEM
                             : hn_find(findings, HN_LEVEL_PROBLEM, CHECK,
                                       "AppArmor's profile of the daemon lets it run only what is really in that folder. "
                                       WITHOUT, mend, "%s is a link", path);
        case NOT_EXECUTABLE:
                mend = hn_text_print("chmod 755 %s && systemctl reload %s", path, patient->libvirt);
                return !mend ? -ENOMEM : hn_find(findings, HN_LEVEL_PROBLEM, CHECK, "libvirt passes it over. " WITHOUT,
                                                 mend, "%s is not executable", path);
        case CLOSED:
                return hn_find(findings, HN_LEVEL_NOTE, CHECK, "Nothing can be said about the hook.",
                               "sudo homenode doctor", "%s can't be read: needs root", path);
        case FOREIGN:
        case ABSENT:
        default:
                mend = hn_text_print("make install && systemctl reload %s", patient->libvirt);
                return !mend ? -ENOMEM
                             : hn_find(findings, HN_LEVEL_PROBLEM, CHECK,
                                       hook.kind == FOREIGN ? WITHOUT " (Whether one of those calls it can't be seen.)"
                                                            : WITHOUT, mend,
                                       hook.kind == FOREIGN ? "none of the hooks in " HOOKS " is homenode's"
                                                            : "the hook is not installed in " HOOKS);
        }
}

int hn_check_noticed(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_CLEANUP(clear_hook) struct hook hook = { 0 };
        HN_FREE char *mend = hn_text_print("systemctl reload %s", patient->libvirt);
        uint64_t looked_us = patient->libvirt_changed_us > patient->libvirt_started_us ? patient->libvirt_changed_us
                                                                                    : patient->libvirt_started_us;
        unsigned n_ours = 0;
        int r = mend ? look_for_hook(patient->root, &hook, &n_ours) : -ENOMEM;

        if (r < 0 || hook.kind != OURS)
                return r;
        if (!patient->libvirt_pid)
                return hn_find(findings, HN_LEVEL_OK, "hook noticed", NULL, NULL,
                               "libvirt's daemon does not run: it looks for hooks when it starts");
        if (!looked_us)
                return hn_find(findings, HN_LEVEL_NOTE, "hook noticed", "A hook that was installed after the daemon's "
                               "start is not run until a reload.", mend,
                               "can't tell since when %s runs", patient->libvirt);
        if (looked_us >= hook.changed_us)
                return hn_find(findings, HN_LEVEL_OK, "hook noticed", NULL, NULL,
                               "%s was started or reloaded after the hook was installed", patient->libvirt);
        return hn_find(findings, HN_LEVEL_WARNING, "hook noticed",
                       "libvirt looks for hooks when it starts and when it is reloaded: it may not run this one. (It does "
                       "where another hook for QEMU was there before, an older version of this one too.) Whether it was "
                       "reloaded can be told only if systemd did it.", mend,
                       "the hook was installed after %s was last seen to be started%s", patient->libvirt,
                       patient->libvirt_changed_us ? " or reloaded" : "; systemd can't be asked about reloads");
}
