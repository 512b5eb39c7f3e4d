/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "decide/keep.h"

#include <errno.h>
#include <string.h>

#include "decide/rebind.h"

void hn_actions_clear(struct hn_actions *actions)
{
        for (size_t i = 0; i < actions->n; i++) {
                free(actions->list[i].group);
                hwloc_bitmap_free(actions->list[i].cpus);
                hwloc_bitmap_free(actions->list[i].nodes);
        }
        free(actions->list);
        *actions = (struct hn_actions) { 0 };
}

static int copy_set(hwloc_bitmap_t *ret, hwloc_const_bitmap_t set)
{
        if (!set)
                return 0;
        *ret = hwloc_bitmap_dup(set);
        return *ret ? 0 : -ENOMEM;
}

/* Appends a copy. */
static int add(struct hn_actions *actions, const struct hn_action *action)
{
        struct hn_action *more = reallocarray(actions->list, actions->n + 1, sizeof *more);
        int r;

        if (!more)
                return -ENOMEM;
        actions->list = more;
        more += actions->n++;
        *more = (struct hn_action) { .act = action->act };
        if (action->group && !(more->group = strdup(action->group)))
                return -ENOMEM;
        r = copy_set(&more->cpus, action->cpus);
        return r < 0 ? r : copy_set(&more->nodes, action->nodes);
}

/* ---- what the XML says */

static bool has_pin(const struct hn_pin *pins, size_t n, unsigned id)
{
        for (size_t i = 0; i < n; i++)
                if (pins[i].id == id)
                        return true;
        return false;
}

bool hn_keep_is_users(const struct hn_request *request, enum hn_group_kind kind, unsigned number)
{
        if (request->vcpu_cpuset)
                return true;
        switch (kind) {
        case HN_GROUP_VCPU:
                return has_pin(request->vcpu_pins, request->n_vcpu_pins, number);
        case HN_GROUP_IOTHREAD:
                return has_pin(request->iothread_pins, request->n_iothread_pins, number);
        case HN_GROUP_EMULATOR:
        default:
                return request->emulator_pin;
        }
}

/* Of cells, and of memory devices with nodes of their own. */
static int add_cells_nodes(const struct hn_request *request, hwloc_bitmap_t nodes)
{
        for (size_t i = 0; i < request->n_cells; i++) {
                hwloc_const_bitmap_t bound = request->cells[i].bound ? request->cells[i].bound : request->cells[i].ours;

                if (bound && hwloc_bitmap_or(nodes, nodes, bound) < 0)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < request->n_plugged; i++)
                if (hwloc_bitmap_or(nodes, nodes, request->plugged[i].nodes) < 0)
                        return -ENOMEM;
        return 0;
}

int hn_keep_add_named(const struct hn_request *request, hwloc_bitmap_t nodes)
{
        if (request->numatune_nodes && hwloc_bitmap_or(nodes, nodes, request->numatune_nodes) < 0)
                return -ENOMEM;
        return add_cells_nodes(request, nodes);
}

int hn_keep_nodes(const struct hn_request *request, const struct hn_placement *placement, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_dup(placement->memory_nodes);

        if (!nodes || (!hwloc_bitmap_iszero(nodes) && hn_keep_add_named(request, nodes) < 0))
                return -ENOMEM;
        *ret = HN_TAKE(nodes);
        return 0;
}

int hn_keep_bound(const struct hn_request *request, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

        if (!nodes || add_cells_nodes(request, nodes) < 0)
                return -ENOMEM;
        if (request->numatune_nodes && request->numatune_mode == HN_NUMA_STRICT &&
            hwloc_bitmap_or(nodes, nodes, request->numatune_nodes) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(nodes);
        return 0;
}

/* ---- thread groups */

/* Where iothreads belong: with the emulator, but for where the user has the emulator, which says nothing of them. */
static int iothread_cpus(const struct hn_placement *placement, const struct hn_request *request, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t cpus = hwloc_bitmap_dup(placement->emulator_cpus);
        int r = cpus ? 0 : -ENOMEM;

        if (r >= 0 && request->emulator_pin)
                hwloc_bitmap_zero(cpus);
        for (size_t i = 0; r >= 0 && request->emulator_pin && i < placement->n_cells; i++)
                r = hwloc_bitmap_or(cpus, cpus, placement->cells[i].cpus);
        if (r < 0)
                return -ENOMEM;
        *ret = HN_TAKE(cpus);
        return 0;
}

static hwloc_const_bitmap_t wanted_cpus(const struct hn_group *group, const struct hn_placement *placement,
                                        hwloc_const_bitmap_t iothreads)
{
        hwloc_const_bitmap_t cpus = group->kind == HN_GROUP_VCPU       ? hn_placement_vcpu(placement, group->number)
                                    : group->kind == HN_GROUP_IOTHREAD ? iothreads
                                                                       : placement->emulator_cpus;

        return cpus && !hwloc_bitmap_iszero(cpus) ? cpus : NULL;
}

/* CPUs that are to be had below a scope that does not confine; NULL: not known. */
static hwloc_const_bitmap_t available_cpus(const struct hn_groups *groups)
{
        return groups->above_cpus ? groups->above_cpus : groups->threads_cpus;
}

/* A group whose files can't be read is told, not acted on. */
static bool is_readable(const struct hn_group *group, struct hn_actions *actions)
{
        if (!group->error)
                return true;
        actions->unreadable++;
        if (!actions->error)
                actions->error = group->error;
        return false;
}

static int keep_group(const struct hn_group *group, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t available,
                      struct hn_actions *actions)
{
        if (!is_readable(group, actions))
                return 0;
        /* Those would get all of the CPUs above instead. */
        if (available && !hwloc_bitmap_intersects(available, cpus)) {
                actions->homeless = true;
                return 0;
        }
        if (hwloc_bitmap_isequal(group->cpus, cpus) && !group->strays) {
                actions->right++;
                return 0;
        }
        return add(actions, &(struct hn_action) { .act = HN_ACT_GROUP, .group = group->name,
                                                  .cpus = (hwloc_bitmap_t) cpus });
}

static int keep_groups(const struct hn_groups *groups, const struct hn_placement *placement,
                       const struct hn_request *request, struct hn_actions *actions)
{
        HN_BITMAP hwloc_bitmap_t iothreads = NULL;
        int r = iothread_cpus(placement, request, &iothreads);

        for (size_t i = 0; r >= 0 && i < groups->n; i++) {
                const struct hn_group *group = &groups->list[i];
                hwloc_const_bitmap_t cpus = wanted_cpus(group, placement, iothreads);

                if (hn_keep_is_users(request, group->kind, group->number))
                        actions->users++;
                else if (cpus)
                        r = keep_group(group, cpus, available_cpus(groups), actions);
        }
        return r;
}

/* ---- the scope */

static bool scope_confines_cpus(const struct hn_groups *groups)
{
        return groups->scope_cpus && !hwloc_bitmap_iszero(groups->scope_cpus) &&
               !(groups->above_cpus && hwloc_bitmap_isincluded(groups->above_cpus, groups->scope_cpus));
}

/* The memory set to ask for now, on the way from what is in force to what is wanted; an empty one: none. */
static int next_nodes(hwloc_const_bitmap_t now, hwloc_const_bitmap_t wanted, const struct hn_request *request,
                      const struct hn_circumstances *circumstances, struct hn_actions *actions, hwloc_bitmap_t ret)
{
        HN_BITMAP hwloc_bitmap_t bound = NULL;
        int r = hn_keep_bound(request, &bound);

        if (r >= 0)
                r = hwloc_bitmap_isincluded(wanted, now) ? hwloc_bitmap_copy(ret, wanted)
                                                         : hwloc_bitmap_or(ret, now, wanted);
        if (r < 0)
                return -ENOMEM;
        bool narrows = !hwloc_bitmap_isincluded(now, ret);
        /* Widening moves nothing; narrowing moves what is outside, and holds the guest up as long as that takes. */
        if ((!circumstances->moving && !hn_rebind_keeps(now, ret, bound)) ||
            (narrows && circumstances->outside_kib > HN_KEEP_NARROW_KIB)) {
                actions->memory_waits = true;
                hwloc_bitmap_zero(ret);
        } else if (!hwloc_bitmap_isequal(ret, wanted)) {
                actions->memory_waits = true; /* for the second step */
        }
        return 0;
}

int hn_keep_nodes_left(const struct hn_groups *groups, const struct hn_request *request,
                       const struct hn_placement *placement, bool *ret_wanted, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        int r = hn_keep_nodes(request, placement, &nodes);

        if (r < 0)
                return r;
        bool wanted = !hwloc_bitmap_iszero(nodes);
        if (groups->above_nodes && hwloc_bitmap_and(nodes, nodes, groups->above_nodes) < 0)
                return -ENOMEM;
        *ret_wanted = wanted;
        *ret = HN_TAKE(nodes);
        return 0;
}

static int wanted_nodes(const struct hn_groups *groups, const struct hn_placement *placement,
                        const struct hn_request *request, struct hn_actions *actions, hwloc_bitmap_t *ret)
{
        bool wanted;
        int r = hn_keep_nodes_left(groups, request, placement, &wanted, ret);

        if (r >= 0)
                actions->homeless |= wanted && hwloc_bitmap_iszero(*ret);
        return r;
}

static int keep_unit(const struct hn_groups *groups, hwloc_const_bitmap_t wanted, const struct hn_request *request,
                     const struct hn_circumstances *circumstances, struct hn_actions *actions)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_dup(wanted);
        hwloc_const_bitmap_t all = circumstances->all_cpus ? circumstances->all_cpus : groups->above_cpus;
        bool differs = !hwloc_bitmap_iszero(wanted) && groups->scope_nodes &&
                       !hwloc_bitmap_isequal(groups->scope_nodes, wanted);
        int r = nodes ? 0 : -ENOMEM;

        if (r >= 0 && differs)
                r = next_nodes(groups->scope_nodes, wanted, request, circumstances, actions, nodes);
        if (r < 0)
                return r;
        /* systemd writes both sets at every change of one: without CPUs it would put back those of the start. */
        if (!all || (!circumstances->dropin && !scope_confines_cpus(groups) &&
                     (!differs || hwloc_bitmap_iszero(nodes))))
                return 0;
        /* What the drop-in said of memory is to outlive it, whatever that is. */
        hwloc_const_bitmap_t as_is = circumstances->dropin && differs ? groups->scope_nodes : NULL;
        r = add(actions, &(struct hn_action) {
                .act = HN_ACT_UNIT, .cpus = (hwloc_bitmap_t) all,
                .nodes = hwloc_bitmap_iszero(nodes) ? (hwloc_bitmap_t) as_is : nodes });
        if (r >= 0 && circumstances->dropin)
                r = add(actions, &(struct hn_action) { .act = HN_ACT_DROPIN });
        return r;
}

int hn_keep_plan(const struct hn_groups *groups, const struct hn_placement *placement,
                 const struct hn_request *request, const struct hn_circumstances *circumstances,
                 struct hn_actions *ret)
{
        HN_ACTIONS struct hn_actions actions = { 0 };
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        int r = keep_groups(groups, placement, request, &actions);

        if (r >= 0)
                r = wanted_nodes(groups, placement, request, &actions, &nodes);
        if (r >= 0 && circumstances->way == HN_SCOPE_UNIT)
                r = keep_unit(groups, nodes, request, circumstances, &actions);
        else if (r >= 0 && circumstances->way == HN_SCOPE_FILE && scope_confines_cpus(groups))
                r = add(&actions, &(struct hn_action) { .act = HN_ACT_SCOPE });
        if (r < 0)
                return r;
        *ret = actions;
        actions = (struct hn_actions) { 0 };
        return 0;
}

/* ---- giving back */

/* Everything for the scope; only the CPUs where opening its memory would have bound cells come to be bound to other
 * nodes, and what they still have to touch go there (or nowhere, where that node is full). */
static int open_unit(const struct hn_groups *groups, const struct hn_request *request,
                     const struct hn_circumstances *circumstances, struct hn_actions *actions)
{
        hwloc_const_bitmap_t cpus = circumstances->all_cpus ? circumstances->all_cpus : groups->above_cpus;
        hwloc_const_bitmap_t nodes = circumstances->all_nodes ? circumstances->all_nodes : groups->above_nodes;
        HN_BITMAP hwloc_bitmap_t bound = NULL;
        int r = hn_keep_bound(request, &bound);

        if (r < 0)
                return r;
        if (groups->scope_nodes && groups->above_nodes &&
            !hwloc_bitmap_isequal(groups->scope_nodes, groups->above_nodes) &&
            !hn_rebind_keeps(groups->scope_nodes, groups->above_nodes, bound)) {
                actions->memory_stays = true;
                nodes = groups->scope_nodes;
        }
        return add(actions, &(struct hn_action) { .act = HN_ACT_UNIT, .cpus = (hwloc_bitmap_t) cpus,
                                                  .nodes = (hwloc_bitmap_t) nodes });
}

/* Does its cpuset confine nothing? */
static bool is_open(const struct hn_group *group, hwloc_const_bitmap_t available)
{
        return hwloc_bitmap_iszero(group->cpus) || hwloc_bitmap_isincluded(available, group->cpus);
}

static int open_group(const struct hn_group *group, hwloc_const_bitmap_t all, hwloc_const_bitmap_t available,
                      struct hn_actions *actions)
{
        struct hn_action action = { .act = HN_ACT_GROUP, .group = group->name, .cpus = (hwloc_bitmap_t) all };
        int r = is_open(group, available) ? 0 : add(actions, &action);

        action.act = HN_ACT_AFFINITY;
        return r < 0 ? r : add(actions, &action);
}

/* All CPUs that the host can have, so that one that is offline now is not missing later. */
static int open_groups(const struct hn_groups *groups, const struct hn_request *request,
                       hwloc_const_bitmap_t all_cpus, struct hn_actions *actions)
{
        hwloc_const_bitmap_t available = available_cpus(groups);

        for (size_t i = 0; available && i < groups->n; i++) {
                const struct hn_group *group = &groups->list[i];
                int r;

                if (hn_keep_is_users(request, group->kind, group->number)) {
                        actions->users++;
                        continue;
                }
                if (!is_readable(group, actions))
                        continue;
                r = open_group(group, all_cpus ? all_cpus : available, available, actions);
                if (r < 0)
                        return r;
        }
        return 0;
}

int hn_undo_plan(const struct hn_groups *groups, const struct hn_request *request,
                 const struct hn_circumstances *circumstances, struct hn_actions *ret)
{
        HN_ACTIONS struct hn_actions actions = { 0 };
        int r = 0;

        if (circumstances->way == HN_SCOPE_UNIT)
                r = open_unit(groups, request, circumstances, &actions);
        else if (circumstances->way == HN_SCOPE_FILE && scope_confines_cpus(groups))
                r = add(&actions, &(struct hn_action) { .act = HN_ACT_SCOPE });
        if (r >= 0 && circumstances->dropin)
                r = add(&actions, &(struct hn_action) { .act = HN_ACT_DROPIN });
        if (r >= 0)
                r = open_groups(groups, request, circumstances->all_cpus, &actions);
        if (r < 0)
                return r;
        *ret = actions;
        actions = (struct hn_actions) { 0 };
        return 0;
}
