/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/guest.h"

#include "unit/support/test.h"

static void put_group(struct tree *tree, const char *dir, const char *cpus, const char *effective, const char *nodes)
{
        const struct { const char *file, *text; } files[] = {
                { "cpuset.cpus", cpus },
                { "cpuset.cpus.effective", effective },
                { "cpuset.mems.effective", nodes },
        };
        char path[300], line[128];

        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                (void) snprintf(path, sizeof path, "%s/%s", dir, files[i].file);
                (void) snprintf(line, sizeof line, "%s\n", files[i].text);
                tree_put(tree, path, line);
        }
        (void) snprintf(path, sizeof path, "%s/cgroup.threads", dir);
        tree_put(tree, path, "");
}

void guest_put_thread(struct tree *tree, const struct guest_plan *plan, const char *name)
{
        char dir[256];

        (void) snprintf(dir, sizeof dir, GUEST_THREADS("%s") "/%s", plan->unit, name);
        put_group(tree, dir, "", plan->confined, plan->nodes);
}

void guest_put_cgroups(struct tree *tree, const struct guest_plan *plan)
{
        char dir[256];

        put_group(tree, "/sys/fs/cgroup/machine.slice", "", plan->all, plan->nodes);
        (void) snprintf(dir, sizeof dir, GUEST_SCOPE("%s"), plan->unit);
        put_group(tree, dir, plan->confined, plan->all, plan->nodes);
        (void) snprintf(dir, sizeof dir, GUEST_THREADS("%s"), plan->unit);
        put_group(tree, dir, "", plan->all, plan->nodes);
        guest_put_thread(tree, plan, "emulator");
        guest_put_thread(tree, plan, "vcpu0");
        guest_put_thread(tree, plan, "vcpu1");
}

void guest_put_process(struct tree *tree, const char *unit, const char *name, int pid, unsigned start_ticks)
{
        char path[256], text[256];

        (void) snprintf(path, sizeof path, "/run/libvirt/qemu/%s.pid", name);
        (void) snprintf(text, sizeof text, "%d", pid);
        tree_put(tree, path, text);
        (void) snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
        (void) snprintf(text, sizeof text, "0::/machine.slice/%s/libvirt/emulator\n", unit);
        tree_put(tree, path, text);
        (void) snprintf(path, sizeof path, "/proc/%d/stat", pid);
        (void) snprintf(text, sizeof text, "%d (qemu) x (y) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 %u "
                        "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0\n", pid, start_ticks);
        tree_put(tree, path, text);
}

void assert_list_file(struct tree *tree, const char *path, const char *list)
{
        HN_FREE char *line = NULL;
        HN_BITMAP hwloc_bitmap_t set = NULL;

        assert_int_equal(hn_root_read_line(&tree->root, &line, "%s", path), 0);
        assert_int_equal(hn_idset_parse(line, HN_IDSET_LIMIT, &set), 0);
        assert_set(set, list);
}

bool tree_file_has(struct tree *tree, const char *path, const char *text)
{
        HN_FREE char *all = NULL;

        return hn_root_read(&tree->root, 1u << 20, &all, NULL, "%s", path) == 0 && strstr(all, text);
}
