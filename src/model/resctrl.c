/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/resctrl.h"

#include <errno.h>
#include <string.h>

#define PREFIX "mon_L3_"
#define DOMAIN_LIMIT 4096u

/* "Unavailable" and "Error" stand there where the processor could not tell. */
static uint64_t read_counter(const struct hn_root *root, const char *group, const char *domain, const char *file)
{
        uint64_t value;

        return hn_root_read_u64(root, &value, HN_RESCTRL "/%s/mon_data/%s/%s", group, domain, file) < 0 ? UINT64_MAX
                                                                                                        : value;
}

/* The node of the CPUs behind an L3 cache, by the id that sysfs gives it. */
static int node_of(const struct hn_root *root, const struct hn_host *host, unsigned id)
{
        for (size_t at = 0; at < host->n_nodes; at++)
                HN_IDSET_FOREACH(cpu, host->nodes[at].cpus) {
                        uint64_t cache;

                        if (hn_root_read_u64(root, &cache, "/sys/devices/system/cpu/cpu%d/cache/index3/id", cpu) >= 0
                            && cache == id)
                                return (int) host->nodes[at].os;
                }
        return -1;
}

static bool domain_named(const char *name, unsigned *ret)
{
        const char *digits = name + strlen(PREFIX);
        unsigned long id;
        char *end;

        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || *digits < '0' || *digits > '9')
                return false;
        id = strtoul(digits, &end, 10);
        if (*end || id > UINT32_MAX)
                return false;
        *ret = (unsigned) id;
        return true;
}

static int by_id(const void *a, const void *b)
{
        const struct hn_resctrl_domain *x = a, *y = b;

        return x->id < y->id ? -1 : x->id > y->id;
}

static int add_domain(const struct hn_root *root, const struct hn_host *host, const char *group, const char *name,
                      struct hn_resctrl *resctrl)
{
        struct hn_resctrl_domain *more;
        unsigned id;

        if (!domain_named(name, &id) || resctrl->n >= DOMAIN_LIMIT)
                return 0;
        more = reallocarray(resctrl->domains, resctrl->n + 1, sizeof *more);
        if (!more)
                return -ENOMEM;
        resctrl->domains = more;
        resctrl->domains[resctrl->n++] = (struct hn_resctrl_domain) {
                .id = id, .node = node_of(root, host, id),
                .occupancy_bytes = read_counter(root, group, name, "llc_occupancy"),
                .total_bytes = read_counter(root, group, name, "mbm_total_bytes"),
                .local_bytes = read_counter(root, group, name, "mbm_local_bytes"),
        };
        return 0;
}

int hn_resctrl_read(const struct hn_root *root, const struct hn_host *host, const char *group, struct hn_resctrl *ret)
{
        HN_RESCTRL_READ struct hn_resctrl resctrl = { 0 };
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        int r = hn_root_open_dir(root, &dir, HN_RESCTRL "/%s/mon_data", group);

        while (r >= 0 && (entry = readdir(dir)))
                r = add_domain(root, host, group, entry->d_name, &resctrl);
        if (r >= 0 && !resctrl.n)
                r = -ENOENT;
        if (r < 0)
                return r;
        qsort(resctrl.domains, resctrl.n, sizeof *resctrl.domains, by_id);
        *ret = resctrl;
        resctrl = (struct hn_resctrl) { 0 };
        return 0;
}

void hn_resctrl_clear(struct hn_resctrl *resctrl)
{
        free(resctrl->domains);
        *resctrl = (struct hn_resctrl) { 0 };
}
