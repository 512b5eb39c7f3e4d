/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/living.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int by_name(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int append(struct hn_living *living, size_t *room, const char *name)
{
        if (living->n_scopes == *room) {
                size_t more = *room ? 2 * *room : 64;
                char **scopes = reallocarray(living->scopes, more, sizeof *scopes);

                if (!scopes)
                        return -ENOMEM;
                living->scopes = scopes;
                *room = more;
        }
        living->scopes[living->n_scopes] = strdup(name);
        return living->scopes[living->n_scopes++] ? 0 : -ENOMEM;
}

int hn_living_read(const struct hn_root *root, struct hn_living *ret)
{
        HN_LIVING struct hn_living living = { .proc = -1 };
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        size_t room = 0;
        int r = hn_root_open_dir(root, &dir, "/sys/fs/cgroup/machine.slice");

        if (r == -ENOMEM)
                return r;
        while (dir && (entry = readdir(dir)))
                if (strncmp(entry->d_name, "machine-", 8) == 0 && append(&living, &room, entry->d_name) < 0)
                        return -ENOMEM;
        if (living.n_scopes > 0)
                qsort(living.scopes, living.n_scopes, sizeof *living.scopes, by_name);
        living.proc = hn_root_open_file(root, O_PATH | O_DIRECTORY, 0, "/proc");
        *ret = living;
        living = (struct hn_living) { .proc = -1 };
        return 0;
}

void hn_living_clear(struct hn_living *living)
{
        for (size_t i = 0; i < living->n_scopes; i++)
                free(living->scopes[i]);
        free(living->scopes);
        hn_cleanup_close(&living->proc);
        *living = (struct hn_living) { .proc = -1 };
}

bool hn_living_has(const struct hn_living *living, const char *unit, int pid)
{
        char name[16];
        struct stat st;

        if (!unit || pid <= 0 || living->proc < 0 || living->n_scopes == 0 ||
            !bsearch(&unit, living->scopes, living->n_scopes, sizeof *living->scopes, by_name))
                return false;
        (void) snprintf(name, sizeof name, "%d", pid);
        return fstatat(living->proc, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}
