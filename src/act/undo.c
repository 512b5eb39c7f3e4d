/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/undo.h"

#include "act/actions.h"
#include "act/scope.h"

int hn_undo_running(const struct hn_cgroup_io *io, const struct hn_unit_setter *setter,
                    const struct hn_request *request, int pid, struct hn_undone *ret)
{
        HN_BITMAP hwloc_bitmap_t all_cpus = NULL, all_nodes = NULL;
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;
        HN_GROUPS struct hn_groups *groups = NULL;
        HN_ACTIONS struct hn_actions actions = { 0 };
        struct hn_done done = { 0 };
        int r = hn_guest_cgroup_find(io->root, pid, &cgroup);

        if (r >= 0)
                r = hn_groups_read(io->root, cgroup->scope, cgroup->threads, &groups);
        if (r < 0)
                return r;
        hn_possible_read(io->root, &all_cpus, &all_nodes);
        const struct hn_circumstances circumstances = {
                .way = !cgroup->by_systemd ? HN_SCOPE_LEFT : setter ? HN_SCOPE_UNIT : HN_SCOPE_FILE,
                .dropin = cgroup->by_systemd && hn_dropin_exists(io->root, hn_guest_cgroup_unit(cgroup)),
                .all_cpus = all_cpus,
                .all_nodes = all_nodes,
        };
        r = hn_undo_plan(groups, request, &circumstances, &actions);
        if (r < 0)
                return r;
        hn_actions_do(io, setter, cgroup, &actions, &done);
        *ret = (struct hn_undone) {
                .users = actions.users,
                .failed = actions.unreadable + done.failed,
                .error = actions.error ? actions.error : done.error,
                .memory_stays = actions.memory_stays,
        };
        return 0;
}
