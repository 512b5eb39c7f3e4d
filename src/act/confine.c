/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "act/confine.h"

#include <errno.h>

#include "act/actions.h"

/* What the drop-in asked for is in force, as far as it is to be had: the nodes that the XML itself names are in it too. */
static int check_memory(const struct hn_groups *groups, const struct hn_placement *placement,
                        const struct hn_request *request, bool *ret_in_force)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        bool wanted;
        int r = hn_keep_nodes_left(groups, request, placement, &wanted, &nodes);

        if (r >= 0)
                *ret_in_force = !wanted || (groups->scope_nodes && hwloc_bitmap_isequal(groups->scope_nodes, nodes));
        return r;
}

int hn_confine(const struct hn_root *root, const struct hn_guest_cgroup *cgroup, const struct hn_placement *placement,
               const struct hn_request *request, struct hn_confined *ret)
{
        const struct hn_circumstances circumstances = { .way = cgroup->by_systemd ? HN_SCOPE_FILE : HN_SCOPE_LEFT };
        HN_GROUPS struct hn_groups *groups = NULL;
        HN_ACTIONS struct hn_actions actions = { 0 };
        struct hn_done done = { 0 };
        const struct hn_cgroup_io io = hn_cgroup_files(root);
        bool in_force = false;
        int r = hn_groups_read(root, cgroup->scope, cgroup->threads, &groups);

        if (r >= 0)
                r = hn_keep_plan(groups, placement, request, &circumstances, &actions);
        if (r >= 0)
                r = check_memory(groups, placement, request, &in_force);
        if (r < 0)
                return r;
        hn_actions_do(&io, NULL, cgroup, &actions, &done);
        *ret = (struct hn_confined) {
                .threads = actions.right + done.groups,
                .users = actions.users,
                .failed = actions.unreadable + done.failed,
                .error = actions.error ? actions.error : done.error,
                .memory_in_force = in_force,
        };
        return 0;
}
