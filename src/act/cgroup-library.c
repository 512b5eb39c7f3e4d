/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The cpuset controller through libcgroup (2.0.2 and 3.1 were looked at).
 */
#include <errno.h>
#include <libcgroup.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "act/cgroup-io.h"
#include "model/idset.h"

#define CONTROLLER "cpuset"
#define LIBRARY_LIMIT 4095u /* bytes of a value that libcgroup takes */
#define READ_SIZE 4096u

static inline void free_group(struct cgroup **group)
{
        if (*group)
                cgroup_free(group);
}

/* Of its own errors libcgroup tells the reason of one only.  0: not told. */
static int reason_of(int error)
{
        return error == ECGOTHER ? -cgroup_get_last_errno() : 0;
}

/* The group's name below libcgroup's mount point, "/…" as that keeps 3.1 from putting systemd's slice before it.
 * NULL: it is not below that. */
static const char *name_of(const char *group)
{
        HN_FREE char *mount = NULL;
        size_t length;

        if (cgroup_get_subsys_mount_point(CONTROLLER, &mount) != 0 || !mount)
                return NULL;
        length = strlen(mount);
        return strncmp(group, mount, length) == 0 && group[length] == '/' ? group + length : NULL;
}

/* One value and no other: what a group was read with would be written as well.  The reason, or 1: not told. */
static int put(const char *group, const char *name, const char *value)
{
        HN_CLEANUP(free_group) struct cgroup *cgroup = cgroup_new_cgroup(group);
        struct cgroup_controller *controller = cgroup ? cgroup_add_controller(cgroup, CONTROLLER) : NULL;
        int error = controller ? cgroup_add_value_string(controller, name, value) : ECGFAIL;

        if (error == 0)
                error = cgroup_modify_cgroup(cgroup);
        if (error == 0)
                return 0;
        return reason_of(error) < 0 ? reason_of(error) : 1;
}

static bool says(const struct hn_cgroup_io *io, const char *group, const char *name, const char *value)
{
        const struct hn_cgroup_io files = hn_cgroup_files(io->root);
        HN_BITMAP hwloc_bitmap_t now = NULL, wanted = NULL;
        HN_FREE char *text = NULL;

        return files.read(&files, group, name, &text) >= 0 && hn_idset_parse(text, HN_IDSET_LIMIT, &now) >= 0 &&
               hn_idset_parse(value, HN_IDSET_LIMIT, &wanted) >= 0 && hwloc_bitmap_isequal(now, wanted);
}

/* libcgroup passes over an empty value, may call a failure a success, and mostly hides the reason: then the same write
 * by hand does it or tells. */
static int write_value(const struct hn_cgroup_io *io, const char *group, const char *name, const char *value)
{
        const struct hn_cgroup_io files = hn_cgroup_files(io->root);
        const char *below = name_of(group);

        if (below && *value && strlen(value) <= LIBRARY_LIMIT) {
                int r = put(below, name, value);

                if (r < 0 || (r == 0 && says(io, group, name, value)))
                        return r;
        }
        return files.write(&files, group, name, value);
}

/* A whole line and nothing else: where there is none, an error and an empty file look the same.  Not
 * cgroup_get_cgroup, which reads each file of each controller: 0.13 ms against 3.5 us, as long as open and read take. */
static bool get(const char *group, const char *name, char **ret)
{
        char buffer[READ_SIZE];
        void *handle = NULL;
        /* 2.0.2 has no const for the name, and changes nothing in it. */
        int error = cgroup_read_value_begin(CONTROLLER, group, (char *) name, &handle, buffer, sizeof buffer);
        bool whole = error == 0 && strchr(buffer, '\n');

        if (handle)
                (void) cgroup_read_value_end(&handle);
        *ret = whole ? strdup(buffer) : NULL;
        return *ret;
}

static int read_value(const struct hn_cgroup_io *io, const char *group, const char *name, char **ret)
{
        const struct hn_cgroup_io files = hn_cgroup_files(io->root);
        const char *below = name_of(group);

        return below && get(below, name, ret) ? 0 : files.read(&files, group, name, ret);
}

/* Of several mount points that at the usual place, where guests are looked for. */
static int where(const struct hn_cgroup_io *io, char **ret)
{
        char path[FILENAME_MAX];
        HN_FREE char *first = NULL;
        void *handle = NULL;
        int error;
        (void) io;

        for (error = cgroup_get_subsys_mount_point_begin(CONTROLLER, &handle, path); error == 0;
             error = cgroup_get_subsys_mount_point_next(&handle, path)) {
                if (first && strcmp(path, HN_CGROUP_MOUNT) != 0)
                        continue;
                free(first);
                first = strdup(path);
                if (!first)
                        break;
        }
        (void) cgroup_get_subsys_mount_point_end(&handle);
        if (error == 0)
                return -ENOMEM;
        if (!first)
                return -ENOENT;
        *ret = HN_TAKE(first);
        return 0;
}

/* Without one, libcgroup prints. */
static void say_nothing(void *data, int level, const char *format, va_list arguments)
{
        (void) data;
        (void) level;
        (void) format;
        (void) arguments;
}

static bool is_zero(const char *page, size_t size)
{
        return page[0] == '\0' && memcmp(page, page + 1, size - 1) == 0;
}

/* Pages of zeros among what the library at `data` left uninitialized: the kernel gives others when they are touched. */
static int drop_zeros(struct dl_phdr_info *library, size_t size, void *data)
{
        size_t page_size = (size_t) sysconf(_SC_PAGESIZE);
        (void) size;

        if (!strstr(library->dlpi_name, data))
                return 0;
        for (unsigned i = 0; i < library->dlpi_phnum; i++) {
                const ElfW(Phdr) *part = &library->dlpi_phdr[i];
                uintptr_t start = (uintptr_t) library->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;

                if (part->p_type != PT_LOAD || part->p_memsz <= part->p_filesz)
                        continue;
                start = (start + part->p_filesz + page_size - 1) / page_size * page_size;
                for (; start + page_size <= end; start += page_size)
                        if (is_zero((const char *) start, page_size))
                                (void) madvise((void *) start, page_size, MADV_DONTNEED);
        }
        return 0;
}

int hn_cgroup_use_library(struct hn_cgroup_io *io)
{
        int error;

        if (!io->root->host)
                return 0;
        cgroup_set_logger(say_nothing, CGROUP_LOG_ERROR, NULL);
        error = cgroup_init();
        if (error != 0)
                return reason_of(error) < 0 ? reason_of(error) : -ENOENT;
        /* Its table has room for a hundred controllers, 0.8 MiB, and is cleared first. */
        (void) dl_iterate_phdr(drop_zeros, (char[]) { "/libcgroup." });
        *io = (struct hn_cgroup_io) { .root = io->root, .read = read_value, .write = write_value, .where = where };
        return 0;
}
