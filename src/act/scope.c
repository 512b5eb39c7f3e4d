/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/scope.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "model/text.h"

#define UNIT_FOLDER "/run/systemd/system"
#define UNIT_PREFIX "machine-"
#define UNIT_SUFFIX ".scope"
#define UNIT_NAME_MAX 255 /* systemd's UNIT_NAME_MAX, 256 with the end */
#define DROPIN_HEAD "# Written by homenode for this start of the guest, and removed with it.\n[Scope]\n"
#define MACHINE_NAME_MAX 64 /* a machine's name has to be a host name */

/* isalnum() goes by locale, and systemd's and libvirt's lists don't. */
static bool is_alphanumeric(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The machine name by libvirt's rule (virDomainDriverGenerateMachineName, the same from 7.3 to 11.x): after
 * the prefix only ASCII letters and digits, '.' and '-' are kept; of a run of '.' and '-' the first stays,
 * also across characters that are dropped, and none stays at the name's start; cut at 64; none stays at the
 * end. */
static void machine_name(long id, const char *name, char ret[MACHINE_NAME_MAX + 1])
{
        size_t length = (size_t) snprintf(ret, MACHINE_NAME_MAX + 1, "qemu-%ld-", id);
        bool separated = true;

        for (; *name && length < MACHINE_NAME_MAX; name++) {
                bool separator = *name == '.' || *name == '-';

                if (separator ? separated : !is_alphanumeric(*name))
                        continue;
                ret[length++] = *name;
                separated = separator;
        }
        while (ret[length - 1] == '.' || ret[length - 1] == '-')
                length--;
        ret[length] = '\0';
}

int hn_scope_unit(long id, const char *name, char **ret)
{
        char machine[MACHINE_NAME_MAX + 1];
        char escaped[4 * MACHINE_NAME_MAX + 1], *p = escaped;

        if (id < 0 || id > INT_MAX || !*name)
                return -EINVAL;
        machine_name(id, name, machine);

        /* systemd's unit_name_escape: of a machine name's characters, '-' alone means something else. */
        for (const char *c = machine; *c; c++)
                if (*c == '-')
                        p = stpcpy(p, "\\x2d");
                else
                        *p++ = *c;
        *p = '\0';

        char *unit = NULL;
        if (asprintf(&unit, UNIT_PREFIX "%s" UNIT_SUFFIX, escaped) < 0)
                return -ENOMEM;
        *ret = unit;
        return 0;
}

bool hn_scope_unit_is_of(const char *unit, const char *name)
{
        static const char prefix[] = UNIT_PREFIX "qemu\\x2d";
        HN_FREE char *same = NULL;

        if (strncmp(unit, prefix, sizeof prefix - 1) != 0)
                return false;
        return hn_scope_unit(strtol(unit + sizeof prefix - 1, NULL, 10), name, &same) >= 0 && strcmp(same, unit) == 0;
}

bool hn_scope_unit_valid(const char *unit)
{
        size_t length = strlen(unit), prefix = strlen(UNIT_PREFIX), suffix = strlen(UNIT_SUFFIX);

        if (length > UNIT_NAME_MAX || length <= prefix + suffix || strncmp(unit, UNIT_PREFIX, prefix) != 0 ||
            strcmp(unit + length - suffix, UNIT_SUFFIX) != 0)
                return false;
        for (; *unit; unit++)
                if (!is_alphanumeric(*unit) && !strchr(":-_.\\", *unit))
                        return false;
        return true;
}

static bool says_nothing(hwloc_const_bitmap_t set)
{
        return !set || hwloc_bitmap_iszero(set);
}

/* Adds "KEY=LIST\n" to *text. */
static int add_setting(char **text, const char *key, hwloc_const_bitmap_t set)
{
        HN_FREE char *list = NULL, *before = HN_TAKE(*text);
        int r;

        r = hn_idset_format(set, &list);
        if (r < 0)
                return r;
        *text = hn_text_print("%s%s=%s\n", before, key, list);
        return *text ? 0 : -ENOMEM;
}

static int dropin_text(hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t nodes, char **ret)
{
        HN_FREE char *text = strdup(DROPIN_HEAD);
        int r = text ? 0 : -ENOMEM;

        if (r >= 0 && !says_nothing(cpus))
                r = add_setting(&text, "AllowedCPUs", cpus);
        if (r >= 0 && !says_nothing(nodes))
                r = add_setting(&text, "AllowedMemoryNodes", nodes);
        if (r < 0)
                return r;
        *ret = HN_TAKE(text);
        return 0;
}

int hn_dropin_write(const struct hn_root *root, const char *unit, hwloc_const_bitmap_t cpus,
                    hwloc_const_bitmap_t nodes)
{
        HN_FREE char *text = NULL;
        int r;

        if (!hn_scope_unit_valid(unit))
                return -EINVAL;
        if (says_nothing(cpus) && says_nothing(nodes))
                return hn_dropin_remove(root, unit);
        /* To make that folder would tell every other program that systemd runs here. */
        if (root->host && !hn_root_exists(root, UNIT_FOLDER))
                return -ENOENT;
        r = dropin_text(cpus, nodes, &text);
        if (r < 0)
                return r;
        r = hn_root_mkdir(root, 0755, UNIT_FOLDER "/%s.d", unit);
        if (r < 0)
                return r;
        r = hn_root_replace(root, text, strlen(text), 0644, UNIT_FOLDER "/%s.d/" HN_DROPIN_NAME, unit);
        if (r < 0)
                (void) hn_root_remove(root, UNIT_FOLDER "/%s.d", unit);
        return r;
}

bool hn_dropin_exists(const struct hn_root *root, const char *unit)
{
        return hn_root_exists(root, UNIT_FOLDER "/%s.d/" HN_DROPIN_NAME, unit);
}

int hn_dropin_remove(const struct hn_root *root, const char *unit)
{
        int r;

        if (!hn_scope_unit_valid(unit))
                return -EINVAL;
        r = hn_root_remove(root, UNIT_FOLDER "/%s.d/" HN_DROPIN_NAME, unit);
        if (r < 0)
                return r == -ENOTDIR ? 0 : r;
        r = hn_root_remove(root, UNIT_FOLDER "/%s.d", unit);
        return r == -ENOTEMPTY || r == -EEXIST ? 0 : r;
}

void hn_units_free(char **units, size_t n)
{
        for (size_t i = 0; i < n; i++)
                free(units[i]);
        free(units);
}

/* "UNIT.d" with our file in it. */
static int append_unit(const struct hn_root *root, const char *folder, char ***units, size_t *n)
{
        size_t length = strlen(folder);
        HN_FREE char *unit = length > 2 && strcmp(folder + length - 2, ".d") == 0 ? strndup(folder, length - 2) : NULL;
        char **more;

        if (!unit || !hn_scope_unit_valid(unit) || !hn_dropin_exists(root, unit))
                return 0;
        more = reallocarray(*units, *n + 1, sizeof *more);
        if (!more)
                return -ENOMEM;
        *units = more;
        more[(*n)++] = HN_TAKE(unit);
        return 0;
}

int hn_dropins_list(const struct hn_root *root, char ***ret_units, size_t *ret_n)
{
        HN_CLOSEDIR DIR *dir = NULL;
        char **units = NULL;
        struct dirent *entry;
        size_t n = 0;
        int r = hn_root_open_dir(root, &dir, UNIT_FOLDER);

        if (r < 0 && r != -ENOENT)
                return r;
        r = 0;
        while (dir && r >= 0 && (entry = readdir(dir)))
                r = append_unit(root, entry->d_name, &units, &n);
        if (r < 0) {
                hn_units_free(units, n);
                return r;
        }
        *ret_units = units;
        *ret_n = n;
        return 0;
}
