/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/groups.h"

#include "model/text.h"
#include "unit/support/test.h"

struct hn_groups *groups_of(const char *names, const char *cpus, const char *nodes)
{
        struct hn_groups *groups = calloc(1, sizeof *groups);
        HN_FREE char *list = strdup(names);
        char *rest = NULL;

        assert_non_null(groups);
        groups->list = calloc(strlen(names) + 1, sizeof *groups->list);
        assert_non_null(groups->list);
        for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
                struct hn_group *group = &groups->list[groups->n++];

                assert_true(hn_group_named(name, &group->kind, &group->number));
                group->name = strdup(name);
                group->cpus = set_of(cpus);
                group->effective = set_of(*cpus ? cpus : "0-7");
        }
        groups->scope_cpus = set_of("");
        groups->above_cpus = set_of("0-7");
        groups->threads_cpus = set_of("0-7");
        groups->scope_nodes = set_of(nodes);
        groups->above_nodes = set_of("0-3");
        return groups;
}

struct hn_group *group_named(struct hn_groups *groups, const char *name)
{
        for (size_t i = 0; i < groups->n; i++)
                if (strcmp(groups->list[i].name, name) == 0)
                        return &groups->list[i];
        fail_msg("no group %s", name);
        return NULL;
}

struct hn_placement *placed_on(unsigned node)
{
        struct hn_placement *placement = hn_placement_new();

        assert_non_null(placement);
        placement->cells = calloc(1, sizeof *placement->cells);
        assert_non_null(placement->cells);
        placement->n_cells = 1;
        placement->cells[0] = (struct hn_placed_cell) { .vcpus = set_of("0-7"), .nodes = set_of(""), .cpus = set_of("") };
        hwloc_bitmap_set(placement->cells[0].nodes, node);
        hwloc_bitmap_set_range(placement->cells[0].cpus, 2 * node, (int) (2 * node + 1));
        hwloc_bitmap_copy(placement->emulator_cpus, placement->cells[0].cpus);
        hwloc_bitmap_set(placement->home, node);
        hwloc_bitmap_set(placement->memory_nodes, node);
        return placement;
}

static char *list_of(hwloc_const_bitmap_t set)
{
        char *list = NULL;

        if (!set)
                return strdup("-");
        assert_int_equal(hn_idset_format(set, &list), 0);
        return list;
}

static char *line_of(const struct hn_action *action)
{
        static const char *const names[] = { [HN_ACT_GROUP] = "group", [HN_ACT_AFFINITY] = "affinity",
                                             [HN_ACT_SCOPE] = "scope", [HN_ACT_UNIT] = "unit",
                                             [HN_ACT_DROPIN] = "dropin" };
        HN_FREE char *cpus = list_of(action->cpus), *nodes = list_of(action->nodes);
        const char *name = names[action->act];

        switch (action->act) {
        case HN_ACT_GROUP:
        case HN_ACT_AFFINITY:
                return hn_text_print("%s %s %s\n", name, action->group, cpus);
        case HN_ACT_UNIT:
                return hn_text_print("%s %s %s\n", name, cpus, nodes);
        case HN_ACT_SCOPE:
        case HN_ACT_DROPIN:
        default:
                return hn_text_print("%s\n", name);
        }
}

void assert_actions(const struct hn_actions *actions, const char *lines)
{
        HN_FREE char *all = strdup("");

        for (size_t i = 0; i < actions->n; i++) {
                HN_FREE char *line = line_of(&actions->list[i]);
                char *more = hn_text_print("%s%s", all, line);

                free(all);
                all = more;
        }
        assert_string_equal(all, lines);
}
