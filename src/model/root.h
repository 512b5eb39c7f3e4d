/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The root object: every read and write below /sys, /proc, /run, /etc and /var goes through it, so
 * that tests run on recorded trees.  Paths are written as on the host ("/sys/devices/…"), with
 * printf formatting.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/cleanup.h"

struct hn_root {
        int fd;
        bool host; /* this is the running host's own root, not a recorded tree */
};

#define HN_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Opens DIR, or what $HOMENODE_ROOT names if DIR is NULL, or "/".  Close with hn_root_close. */
int hn_root_open(const char *dir, struct hn_root *ret);
void hn_root_close(struct hn_root *root);
#define HN_ROOT HN_CLEANUP(hn_root_close)

/* Reads a whole file, at most `limit` bytes (-EFBIG beyond), NUL-terminated; the caller frees. */
int hn_root_read(const struct hn_root *root, size_t limit, char **ret_text, size_t *ret_length,
                 const char *path, ...) HN_PRINTF(5, 6);

/* Reads one decimal number, white space around it allowed.  -EINVAL: something else is in there. */
int hn_root_read_u64(const struct hn_root *root, uint64_t *ret, const char *path, ...) HN_PRINTF(3, 4);

/* Reads the first line without its newline, at most 64 KiB; the caller frees. */
int hn_root_read_line(const struct hn_root *root, char **ret, const char *path, ...) HN_PRINTF(3, 4);

/* Writes to a file that is there already (cgroup, sysfs, procfs) with a single write(2). */
int hn_root_write(const struct hn_root *root, const char *text, const char *path, ...) HN_PRINTF(3, 4);

/* Puts a whole file into place: a temporary name in the same folder, then rename.  The file is new
 * or the old one, never half of it.  `mode` as in open(2).  Removes its temporary on failure. */
int hn_root_replace(const struct hn_root *root, const char *text, size_t length, mode_t mode,
                    const char *path, ...) HN_PRINTF(5, 6);

/* Makes a folder and the missing ones above it with `mode`; being there already is success. */
int hn_root_mkdir(const struct hn_root *root, mode_t mode, const char *path, ...) HN_PRINTF(3, 4);

/* Removes a file or an empty folder; being gone already is success. */
int hn_root_remove(const struct hn_root *root, const char *path, ...) HN_PRINTF(2, 3);

bool hn_root_exists(const struct hn_root *root, const char *path, ...) HN_PRINTF(2, 3);

/* open(2) with O_CLOEXEC, O_NONBLOCK and O_NOCTTY; returns the descriptor or -errno.  Takes whatever is there. */
int hn_root_open_file(const struct hn_root *root, int flags, mode_t mode, const char *path, ...) HN_PRINTF(4, 5);

/* The same, but for regular files alone. */
int hn_root_open_regular(const struct hn_root *root, int flags, mode_t mode, const char *path, ...) HN_PRINTF(4, 5);

/* Has inotify tell of a folder (inotify_add_watch(2)); returns the watch's number or -errno. */
int hn_root_watch(const struct hn_root *root, int inotify_fd, uint32_t mask, const char *path, ...) HN_PRINTF(4, 5);

/* Opens a folder for reading; the caller closes it (HN_CLOSEDIR). */
int hn_root_open_dir(const struct hn_root *root, DIR **ret, const char *path, ...) HN_PRINTF(3, 4);
