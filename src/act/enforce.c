/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/enforce.h"

#include <errno.h>
#include <string.h>

#include "act/scope.h"
#include "decide/keep.h"
#include "model/text.h"

static int write_dropin(const struct hn_enforced *enforced, const struct hn_host *host)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL, nodes = NULL;
        int r = hn_keep_nodes(enforced->request, enforced->placement, &nodes);

        /* Once the guest runs its threads' own sets hold the CPUs. */
        if (r >= 0 && host)
                r = hn_scope_cpus(host, enforced->request, enforced->placement, &cpus);
        return r < 0 ? r : hn_dropin_write(enforced->root, enforced->unit, cpus, nodes);
}

int hn_enforce_start(const struct hn_enforced *enforced, const struct hn_host *host, uint64_t wait_us, char **text)
{
        unsigned version = 0;
        int r;

        if (!enforced->unit)
                return 0;
        r = hn_systemd_version(enforced->root, wait_us, &version);
        if (r < 0) {
                (void) hn_text_add(text, "no drop-in: systemd does not answer: %s", strerror(-r));
                return r;
        }
        if (version < HN_SYSTEMD_MINIMUM) {
                (void) hn_text_add(text, "no drop-in: systemd %u is older than %u", version, HN_SYSTEMD_MINIMUM);
                return -ENOTSUP;
        }
        r = write_dropin(enforced, host);
        if (r < 0)
                (void) hn_text_add(text, "no drop-in: %s", strerror(-r));
        return r;
}

static void say_confined(const struct hn_confined *confined, char **text)
{
        (void) hn_text_add(text, "%u thread groups confined, %u left to the user's pins", confined->threads,
                           confined->users);
        if (confined->failed)
                (void) hn_text_add(text, "%u failed: %s", confined->failed,
                                   confined->error == -ENOSPC ? "conflicts with the cpuset above or below"
                                                              : strerror(-confined->error));
        if (!confined->memory_in_force)
                (void) hn_text_add(text, "the scope's memory set is not the planned one");
}

static int confine(const struct hn_enforced *enforced, int pid, struct hn_confined *ret, char **text)
{
        const struct hn_cgroup_io io = hn_cgroup_files(enforced->root);
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;
        int r = hn_guest_cgroup_find(enforced->root, pid, &cgroup);

        if (r >= 0 && enforced->placement)
                r = hn_confine(enforced->root, cgroup, enforced->placement, enforced->request, ret);
        else if (r >= 0 && cgroup->by_systemd)
                r = hn_cpuset_open(&io, cgroup->scope);
        if (r < 0)
                (void) hn_text_add(text, "CPUs not confined: %s", strerror(-r));
        else if (enforced->placement)
                say_confined(ret, text);
        return r < 0 ? r : ret->error;
}

int hn_enforce_running(const struct hn_enforced *enforced, int pid, struct hn_confined *ret, char **text)
{
        struct hn_confined confined = { 0 };
        int r = confine(enforced, pid, &confined, text);

        if (ret)
                *ret = confined;
        if (enforced->placement && enforced->unit) {
                int s = write_dropin(enforced, NULL);

                if (s < 0)
                        (void) hn_text_add(text, "the drop-in still confines CPUs: %s", strerror(-s));
                r = r < 0 ? r : s;
        }
        return r;
}
