/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/actions.h"

#include <errno.h>
#include <string.h>

#include "act/scope.h"
#include "model/text.h"

static int do_group(const struct hn_cgroup_io *io, const char *dir, hwloc_const_bitmap_t cpus)
{
        HN_BITMAP hwloc_bitmap_t effective = NULL;
        int r = hn_cpuset_set_cpus(io, dir, cpus);

        if (r < 0)
                return r;
        /* Of the CPUs wanted some may be offline, or not the parent's: threads can't have those. */
        r = hn_cpuset_get(io, dir, "cpuset.cpus.effective", &effective);
        if (r < 0 && r != -ENOENT)
                return r;
        return hn_threads_stray(io->root, dir, effective ? effective : cpus) ? hn_affinity_set(io->root, dir, cpus) : 0;
}

static int do_threads(const struct hn_cgroup_io *io, const struct hn_guest_cgroup *cgroup,
                      const struct hn_action *action)
{
        HN_FREE char *dir = hn_text_print("%s/%s", cgroup->threads, action->group);
        int r;

        if (!dir)
                return -ENOMEM;
        r = action->act == HN_ACT_GROUP ? do_group(io, dir, action->cpus)
                                        : hn_affinity_set(io->root, dir, action->cpus);
        if (r < 0 && (r == -ENODEV || !hn_root_exists(io->root, "%s", dir)))
                return 0;
        return r;
}

static int do_one(const struct hn_cgroup_io *io, const struct hn_unit_setter *setter,
                  const struct hn_guest_cgroup *cgroup, const struct hn_action *action)
{
        switch (action->act) {
        case HN_ACT_GROUP:
        case HN_ACT_AFFINITY:
                return do_threads(io, cgroup, action);
        case HN_ACT_SCOPE:
                return hn_cpuset_open(io, cgroup->scope);
        case HN_ACT_UNIT:
                return setter ? setter->set(setter->systemd, hn_guest_cgroup_unit(cgroup), action->cpus, action->nodes,
                                            setter->wait_us)
                              : -ENOTCONN;
        case HN_ACT_DROPIN:
                return hn_dropin_remove(io->root, hn_guest_cgroup_unit(cgroup));
        default:
                return -EINVAL;
        }
}

void hn_actions_do(const struct hn_cgroup_io *io, const struct hn_unit_setter *setter,
                   const struct hn_guest_cgroup *cgroup, const struct hn_actions *actions, struct hn_done *ret)
{
        struct hn_done done = { 0 };
        bool unit_failed = false;

        for (size_t i = 0; i < actions->n; i++) {
                const struct hn_action *action = &actions->list[i];
                int r;

                if (action->act == HN_ACT_DROPIN && unit_failed)
                        continue;
                r = do_one(io, setter, cgroup, action);
                unit_failed |= action->act == HN_ACT_UNIT && r < 0;
                done.groups += action->act == HN_ACT_GROUP && r >= 0;
                done.failed += r < 0;
                if (r < 0 && !done.error)
                        done.error = r;
        }
        *ret = done;
}
