/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/confine.h"

#include <errno.h>
#include <string.h>

#include "model/text.h"

#define STATUS_LIMIT (1u << 20)

static const struct hn_pin *find_pin(const struct hn_pin *pins, size_t n, unsigned id)
{
        for (size_t i = 0; i < n; i++)
                if (pins[i].id == id)
                        return &pins[i];
        return NULL;
}

/* "vcpu12" with prefix "vcpu": 12; anything else: -1. */
static long numbered(const char *name, const char *prefix)
{
        size_t length = strlen(prefix);
        char *end;
        long number;

        if (strncmp(name, prefix, length) != 0 || name[length] < '0' || name[length] > '9')
                return -1;
        number = strtol(name + length, &end, 10);
        return *end || number >= (long) HN_DOMAIN_VCPU_LIMIT ? -1 : number;
}

/* What a thread cgroup's CPUs should be; NULL: not ours to say.  *ret_user: the user's pin holds it. */
static hwloc_const_bitmap_t wanted(const char *name, const struct hn_placement *placement,
                                   const struct hn_request *request, bool *ret_user)
{
        long vcpu = numbered(name, "vcpu"), iothread = numbered(name, "iothread");

        if (vcpu < 0 && iothread < 0 && strcmp(name, "emulator") != 0)
                return NULL;
        /* libvirt takes <vcpu cpuset> for whatever has no pin of its own. */
        *ret_user = request->vcpu_cpuset ||
                    (vcpu >= 0 && find_pin(request->vcpu_pins, request->n_vcpu_pins, (unsigned) vcpu)) ||
                    (iothread >= 0 && find_pin(request->iothread_pins, request->n_iothread_pins, (unsigned) iothread)) ||
                    (vcpu < 0 && iothread < 0 && request->emulator_pin);
        if (vcpu >= 0)
                return hn_placement_vcpu(placement, (unsigned) vcpu);
        return hwloc_bitmap_iszero(placement->emulator_cpus) ? NULL : placement->emulator_cpus;
}

/* Does the thread have CPUs other than these?  One that is gone does not. */
static bool runs_elsewhere(const struct hn_root *root, int tid, hwloc_const_bitmap_t cpus)
{
        HN_BITMAP hwloc_bitmap_t now = NULL;
        HN_FREE char *status = NULL;
        char *list;

        if (hn_root_read(root, STATUS_LIMIT, &status, NULL, "/proc/%d/status", tid) < 0)
                return false;
        list = strstr(status, "\nCpus_allowed_list:");
        if (!list)
                return false;
        list += strlen("\nCpus_allowed_list:");
        list[strcspn(list, "\n")] = '\0';
        return hn_idset_parse(list, HN_IDSET_LIMIT, &now) >= 0 && !hwloc_bitmap_isequal(now, cpus);
}

/* A mask that was set on a thread outlives the change of its cpuset (DESIGN fact 12). */
static bool held_elsewhere(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus)
{
        HN_FREE int *tids = NULL;
        size_t n = 0;

        if (hn_cgroup_threads(root, dir, &tids, &n) < 0)
                return false;
        for (size_t i = 0; i < n; i++)
                if (runs_elsewhere(root, tids[i], cpus))
                        return true;
        return false;
}

static int confine_thread(const struct hn_root *root, const char *dir, hwloc_const_bitmap_t cpus)
{
        int r = hn_cpuset_set_cpus(root, dir, cpus);

        if (r >= 0 && held_elsewhere(root, dir, cpus))
                r = hn_affinity_set(root, dir, cpus);
        return r;
}

static int confine_threads(const struct hn_root *root, const struct hn_guest_cgroup *cgroup,
                           const struct hn_placement *placement, const struct hn_request *request,
                           struct hn_confined *report)
{
        HN_CLOSEDIR DIR *dir = NULL;
        int r = hn_root_open_dir(root, &dir, "%s", cgroup->threads);

        if (r < 0)
                return r;
        for (struct dirent *entry; (entry = readdir(dir));) {
                HN_FREE char *path = NULL;
                bool user = false;
                hwloc_const_bitmap_t cpus = wanted(entry->d_name, placement, request, &user);

                report->users += user;
                if (!cpus || user)
                        continue;
                path = hn_text_print("%s/%s", cgroup->threads, entry->d_name);
                if (!path)
                        return -ENOMEM;
                r = confine_thread(root, path, cpus);
                report->threads += r >= 0;
                report->failed += r < 0;
                if (r < 0 && !report->error)
                        report->error = r;
        }
        return 0;
}

static bool memory_in_force(const struct hn_root *root, const char *scope, const struct hn_placement *placement)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;

        if (hwloc_bitmap_iszero(placement->memory_nodes))
                return true;
        return hn_cpuset_get(root, scope, "cpuset.mems.effective", &nodes) >= 0 &&
               hwloc_bitmap_isequal(nodes, placement->memory_nodes);
}

int hn_confine(const struct hn_root *root, const struct hn_guest_cgroup *cgroup, const struct hn_placement *placement,
               const struct hn_request *request, struct hn_confined *ret)
{
        struct hn_confined report = { 0 };
        int r = confine_threads(root, cgroup, placement, request, &report);

        if (r < 0)
                return r;
        /* Threads first: between the two they would be free to run anywhere. */
        if (cgroup->by_systemd) {
                r = hn_cpuset_open(root, cgroup->scope);
                report.failed += r < 0;
                if (r < 0 && !report.error)
                        report.error = r;
        }
        report.memory_in_force = memory_in_force(root, cgroup->scope, placement);
        *ret = report;
        return 0;
}
