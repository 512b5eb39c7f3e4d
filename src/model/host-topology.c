/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loading an hwloc topology from exactly what was asked for.  hwloc lets HWLOC_* variables of the
 * environment override the program's choice (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_FSROOT, …) and even load
 * plugins from elsewhere, and takes another root only from there.  So they are taken out, ours put in, and
 * all put back after the load.  Not for use while other threads read the environment.
 */
#include "model/host-facts.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "model/text.h"

#define PREFIX "HWLOC_"

struct saved_environment {
        char **entries; /* "NAME=value" */
        size_t n;
};

static bool is_hwloc(const char *entry)
{
        return strncmp(entry, PREFIX, strlen(PREFIX)) == 0 && strchr(entry, '=');
}

static void unset(const char *entry)
{
        HN_FREE char *name = strndup(entry, strcspn(entry, "="));

        if (name)
                (void) unsetenv(name);
}

static void unset_all(void)
{
        char **entry = environ;

        while (entry && *entry) {
                char *before = *entry;

                if (is_hwloc(before))
                        unset(before);
                if (*entry == before)
                        entry++;
        }
}

static void restore_environment(struct saved_environment *saved)
{
        unset_all();
        for (size_t i = 0; i < saved->n; i++) {
                char *value = strchr(saved->entries[i], '=');

                *value = '\0';
                (void) setenv(saved->entries[i], value + 1, 1);
                free(saved->entries[i]);
        }
        free(saved->entries);
}

static int save_environment(struct saved_environment *saved)
{
        for (char **entry = environ; entry && *entry; entry++) {
                char **entries;

                if (!is_hwloc(*entry))
                        continue;
                entries = hn_array_grow(saved->entries, saved->n, sizeof *entries);
                if (!entries)
                        return -ENOMEM;
                saved->entries = entries;
                entries[saved->n] = strdup(*entry);
                if (!entries[saved->n])
                        return -ENOMEM;
                saved->n++;
        }
        return 0;
}

/* hwloc warns on standard error about odd firmware unless told not to; a hook's standard error is a log. */
static int set_environment(const struct hn_topology_source *source)
{
        HN_FREE char *path = NULL;

        unset_all();
        if (setenv("HWLOC_HIDE_ERRORS", "2", 1) < 0)
                return -errno;
        if (!source->root)
                return 0;
        /* The other components ask the CPU or a driver: of no use for a recorded tree, slow on the host. */
        if (setenv("HWLOC_COMPONENTS", "linux,stop", 1) < 0)
                return -errno;
        if (source->root->host)
                return 0;
        path = hn_text_print("/proc/self/fd/%d", source->root->fd);
        if (!path)
                return -ENOMEM;
        return setenv("HWLOC_FSROOT", path, 1) < 0 || setenv("HWLOC_THISSYSTEM", "0", 1) < 0 ? -errno : 0;
}

static int failure(void)
{
        return errno == ENOMEM ? -ENOMEM : -EBADMSG;
}

static int load(const struct hn_topology_source *source, hwloc_topology_t *ret)
{
        HN_HWLOC hwloc_topology_t topology = NULL;
        unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

        errno = 0;
        if (hwloc_topology_init(&topology) < 0)
                return -ENOMEM;
        if (source->xml && hwloc_topology_set_xml(topology, source->xml) < 0)
                return failure();
        if (source->synthetic && hwloc_topology_set_synthetic(topology, source->synthetic) < 0)
                return failure();
        if (source->root) /* sysfs tells them, see host-live.c */
                flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS;
        if (hwloc_topology_set_flags(topology, flags) < 0 ||
            hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL) < 0)
                return failure();
        errno = 0;
        if (hwloc_topology_load(topology) < 0)
                return failure();
        *ret = HN_TAKE(topology);
        return 0;
}

int hn_topology_load(const struct hn_topology_source *source, hwloc_topology_t *ret)
{
        HN_CLEANUP(restore_environment) struct saved_environment saved = { 0 };
        int r = save_environment(&saved);

        if (r >= 0)
                r = set_environment(source);
        return r < 0 ? r : load(source, ret);
}

/* hwloc takes minutes for a hundred thousand CPUs, so count before it builds: the product of all levels,
 * "node:4 core:8 pu:2" or "4 8 2".  What stands in parentheses and brackets are attributes. */
static bool is_too_large(const char *synthetic)
{
        unsigned long product = 1;
        int depth = 0;
        char before = ' ';

        for (const char *p = synthetic; *p; before = *p++) {
                unsigned long count;

                depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
                if (depth > 0 || !isdigit((unsigned char) *p) ||
                    !(before == ':' || isspace((unsigned char) before)))
                        continue;
                count = strtoul(p, NULL, 10);
                if (count > HN_HOST_CPU_LIMIT / product)
                        return true;
                product *= count ? count : 1;
        }
        return false;
}

/* A description without a file behind it that looks like a path was meant as one. */
static bool looks_like_path(const char *text)
{
        size_t length = strlen(text);

        return strchr(text, '/') || (length > 4 && strcmp(text + length - 4, ".xml") == 0);
}

static int find_source(const char *text, struct hn_topology_source *ret)
{
        struct stat st;

        if (stat(text, &st) == 0) {
                if (!S_ISREG(st.st_mode)) /* a pipe would hold us up, a folder is no topology */
                        return -EBADMSG;
                ret->xml = text;
        } else if (looks_like_path(text))
                return errno == ENOENT || errno == ENOTDIR ? -ENOENT : -errno;
        else if (is_too_large(text))
                return -EBADMSG;
        else
                ret->synthetic = text;
        return 0;
}

int hn_host_from_description(const char *file_or_synthetic, struct hn_host **ret)
{
        struct hn_topology_source source = { 0 };
        HN_HWLOC hwloc_topology_t topology = NULL;
        HN_FACTS struct hn_facts *facts = NULL;
        int r = find_source(file_or_synthetic, &source);

        if (r >= 0)
                r = hn_topology_load(&source, &topology);
        if (r >= 0)
                r = hn_facts_from_hwloc(topology, &facts);
        if (r < 0)
                return r;
        facts->source = strdup(file_or_synthetic);
        if (!facts->source)
                return -ENOMEM;
        r = hn_host_settle(facts, ret);
        if (r >= 0)
                facts = NULL;
        return r;
}
