/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/root.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "model/text.h"

#define LINE_LIMIT (64u << 10)

/* The path relative to the root's descriptor; "." for "/" itself.  The caller frees. */
HN_PRINTF(1, 0)
static char *relative(const char *format, va_list arguments)
{
        HN_FREE char *path = hn_text_vprint(format, arguments);
        const char *p;

        if (!path)
                return NULL;
        for (p = path; *p == '/'; p++)
                ;
        return strdup(*p ? p : ".");
}

/* Declares `name` from the trailing arguments of a printf-like function, or returns -ENOMEM. */
#define RELATIVE_PATH(name, last) \
        HN_FREE char *name = NULL; \
        va_list arguments_; \
        va_start(arguments_, last); \
        name = relative(last, arguments_); \
        va_end(arguments_); \
        if (!name) \
                return -ENOMEM

int hn_root_open(const char *dir, struct hn_root *ret)
{
        const char *name = dir ? dir : getenv("HOMENODE_ROOT");
        int fd;

        if (!name || !*name)
                name = "/";
        fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        *ret = (struct hn_root) { .fd = fd, .host = strspn(name, "/") == strlen(name) };
        return 0;
}

void hn_root_close(struct hn_root *root)
{
        if (root->fd >= 0)
                (void) close(root->fd);
        root->fd = -1;
}

static int open_relative(const struct hn_root *root, const char *path, int flags, mode_t mode)
{
        int fd = openat(root->fd, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);

        return fd < 0 ? -errno : fd;
}

static int open_regular(const struct hn_root *root, const char *path, int flags, mode_t mode)
{
        HN_CLOSE int fd = open_relative(root, path, flags, mode);
        struct stat st;
        int taken = fd;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
        fd = -1;
        return taken;
}

/* Files of sysfs and procfs say a size of 0 or 4096 whatever they hold: read to the end, or where only a line is
 * wanted to its end: hundreds of them are read at a start. */
static int read_all(int fd, size_t limit, bool line, char **ret_text, size_t *ret_length)
{
        HN_FREE char *text = NULL;
        size_t length = 0, room = 0;

        for (;;) {
                ssize_t n;

                if (length + 1 >= room) {
                        char *more;

                        room = room ? room * 2 : 4096;
                        more = realloc(text, room);
                        if (!more)
                                return -ENOMEM;
                        text = more;
                }
                n = read(fd, text + length, room - length - 1);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                length += (size_t) n;
                if (length > limit)
                        return -EFBIG;
                if (line && memchr(text + length - n, '\n', (size_t) n))
                        break;
        }
        text[length] = '\0';
        *ret_text = HN_TAKE(text);
        if (ret_length)
                *ret_length = length;
        return 0;
}

static int read_relative(const struct hn_root *root, const char *path, size_t limit, bool line, char **ret_text,
                         size_t *ret_length)
{
        HN_CLOSE int fd = open_regular(root, path, O_RDONLY, 0);

        return fd < 0 ? fd : read_all(fd, limit, line, ret_text, ret_length);
}

int hn_root_read(const struct hn_root *root, size_t limit, char **ret_text, size_t *ret_length,
                 const char *path, ...)
{
        RELATIVE_PATH(relative_path, path);
        return read_relative(root, relative_path, limit, false, ret_text, ret_length);
}

int hn_root_read_u64(const struct hn_root *root, uint64_t *ret, const char *path, ...)
{
        HN_FREE char *text = NULL;
        const char *p;
        char *end;
        int r;

        RELATIVE_PATH(relative_path, path);
        r = read_relative(root, relative_path, LINE_LIMIT, true, &text, NULL);
        if (r < 0)
                return r;
        for (p = text; isspace((unsigned char) *p); p++)
                ;
        if (!isdigit((unsigned char) *p))
                return -EINVAL;
        errno = 0;
        uint64_t value = strtoull(p, &end, 10);
        if (errno)
                return -errno;
        for (; isspace((unsigned char) *end); end++)
                ;
        if (*end)
                return -EINVAL;
        *ret = value;
        return 0;
}

int hn_root_read_line(const struct hn_root *root, char **ret, const char *path, ...)
{
        HN_FREE char *text = NULL;
        int r;

        RELATIVE_PATH(relative_path, path);
        r = read_relative(root, relative_path, LINE_LIMIT, true, &text, NULL);
        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = '\0';
        *ret = HN_TAKE(text);
        return 0;
}

static int write_all(int fd, const char *text, size_t length)
{
        while (length > 0) {
                ssize_t n = write(fd, text, length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                text += n;
                length -= (size_t) n;
        }
        return 0;
}

int hn_root_write(const struct hn_root *root, const char *text, const char *path, ...)
{
        RELATIVE_PATH(relative_path, path);

        /* Truncating says nothing to the kernel's files; recorded ones are not to keep the end of a longer value. */
        HN_CLOSE int fd = open_regular(root, relative_path, O_WRONLY | O_TRUNC, 0);
        if (fd < 0)
                return fd;

        /* The kernel takes each write as a whole value: a second one would be another value. */
        ssize_t n = write(fd, text, strlen(text));
        if (n < 0)
                return -errno;
        return (size_t) n == strlen(text) ? 0 : -EIO;
}

static int write_new(const struct hn_root *root, const char *path, const char *text, size_t length, mode_t mode)
{
        HN_CLOSE int fd = open_relative(root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        int r;

        if (fd < 0)
                return fd;
        r = write_all(fd, text, length);
        if (r < 0)
                return r;
        return fchmod(fd, mode) < 0 ? -errno : 0; /* whatever the umask is */
}

int hn_root_replace(const struct hn_root *root, const char *text, size_t length, mode_t mode,
                    const char *path, ...)
{
        HN_FREE char *temporary = NULL;
        const char *base;
        int r;

        RELATIVE_PATH(relative_path, path);
        base = strrchr(relative_path, '/');
        base = base ? base + 1 : relative_path;
        if (asprintf(&temporary, "%.*s.%s.%d.tmp", (int) (base - relative_path), relative_path, base, getpid()) < 0) {
                temporary = NULL;
                return -ENOMEM;
        }
        r = write_new(root, temporary, text, length, mode);
        if (r == -EEXIST) {
                /* Left behind by a process that was killed and had our number. */
                (void) unlinkat(root->fd, temporary, 0);
                r = write_new(root, temporary, text, length, mode);
        }
        if (r >= 0 && renameat(root->fd, temporary, root->fd, relative_path) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(root->fd, temporary, 0);
        return r;
}

int hn_root_mkdir(const struct hn_root *root, mode_t mode, const char *path, ...)
{
        RELATIVE_PATH(relative_path, path);

        for (char *p = relative_path; *p; p++) {
                p += strcspn(p, "/");
                char stop = *p;

                *p = '\0';
                if (mkdirat(root->fd, relative_path, mode) < 0 && errno != EEXIST)
                        return -errno;
                *p = stop;
                if (!stop)
                        break;
        }

        struct stat st;
        if (fstatat(root->fd, relative_path, &st, 0) < 0)
                return -errno;
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int hn_root_remove(const struct hn_root *root, const char *path, ...)
{
        RELATIVE_PATH(relative_path, path);
        if (unlinkat(root->fd, relative_path, 0) < 0) {
                if (errno == ENOENT)
                        return 0;
                if (errno != EISDIR && errno != EPERM)
                        return -errno;
                if (unlinkat(root->fd, relative_path, AT_REMOVEDIR) < 0 && errno != ENOENT)
                        return -errno;
        }
        return 0;
}

static int access_relative(const struct hn_root *root, const char *path)
{
        return faccessat(root->fd, path, F_OK, 0) < 0 ? -errno : 0;
}

bool hn_root_exists(const struct hn_root *root, const char *path, ...)
{
        HN_FREE char *relative_path = NULL;
        va_list arguments;

        va_start(arguments, path);
        relative_path = relative(path, arguments);
        va_end(arguments);
        return relative_path && access_relative(root, relative_path) == 0;
}

int hn_root_open_file(const struct hn_root *root, int flags, mode_t mode, const char *path, ...)
{
        RELATIVE_PATH(relative_path, path);
        return open_relative(root, relative_path, flags, mode);
}

int hn_root_open_regular(const struct hn_root *root, int flags, mode_t mode, const char *path, ...)
{
        RELATIVE_PATH(relative_path, path);
        return open_regular(root, relative_path, flags, mode);
}

int hn_root_watch(const struct hn_root *root, int inotify_fd, uint32_t mask, const char *path, ...)
{
        HN_FREE char *from_root = NULL;
        int wd;

        RELATIVE_PATH(relative_path, path);
        /* inotify takes no descriptor to begin at: the root's own is found in /proc. */
        from_root = hn_text_print("/proc/self/fd/%d/%s", root->fd, relative_path);
        if (!from_root)
                return -ENOMEM;
        wd = inotify_add_watch(inotify_fd, from_root, mask);
        return wd < 0 ? -errno : wd;
}

int hn_root_open_dir(const struct hn_root *root, DIR **ret, const char *path, ...)
{
        DIR *dir;
        int fd;

        RELATIVE_PATH(relative_path, path);
        fd = open_relative(root, relative_path, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
                return fd;
        dir = fdopendir(fd);
        if (!dir) {
                int r = -errno;

                (void) close(fd);
                return r;
        }
        *ret = dir;
        return 0;
}
