/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The doctor's checks of kernel and hardware; each with a tree where all is well and one where it is not.
 */
#include "model/json.h"
#include "unit/support/findings.h"
#include "unit/support/host-tree.h"

#define CGROUP "/sys/fs/cgroup"
#define SLICE CGROUP "/machine.slice"

static void set_up(struct tree *tree)
{
        tree_make(tree);
        host_tree_put(tree, 3, 2, 1);
}

static void cgroups_with_their_controllers(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        tree_put(&tree, CGROUP "/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
        assert_level(hn_check_cgroup, &tree, HN_LEVEL_OK); /* no guest yet */
        tree_put(&tree, SLICE "/machine-qemu\\x2d1\\x2da.scope/cgroup.procs", "1\n");
        tree_put(&tree, SLICE "/cgroup.controllers", "cpuset cpu io memory\n");
        tree_put(&tree, SLICE "/cgroup.subtree_control", "cpuset memory\n");
        assert_level(hn_check_cgroup, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void cgroups_without(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_mend(hn_check_cgroup, &tree, HN_LEVEL_PROBLEM, "systemd.unified_cgroup_hierarchy=1");
        tree_put(&tree, CGROUP "/cgroup.controllers", "cpu io memory cpusets\n");
        assert_mend(hn_check_cgroup, &tree, HN_LEVEL_PROBLEM, "cgroup_disable=");
        tree_put(&tree, CGROUP "/cgroup.controllers", "cpuset memory\n");
        tree_put(&tree, SLICE "/machine-qemu\\x2d1\\x2da.scope/cgroup.procs", "1\n");
        tree_put(&tree, SLICE "/cgroup.controllers", "memory\n");
        tree_put(&tree, SLICE "/cgroup.subtree_control", "memory\n");
        assert_mend(hn_check_cgroup, &tree, HN_LEVEL_PROBLEM,
                    "systemctl set-property machine.slice AllowedMemoryNodes=0-2");
        tree_put(&tree, SLICE "/cgroup.controllers", "cpuset memory\n");
        assert_level(hn_check_cgroup, &tree, HN_LEVEL_PROBLEM); /* not below */
        tree_put(&tree, SLICE "/cgroup.subtree_control", "cpuset\n");
        assert_mend(hn_check_cgroup, &tree, HN_LEVEL_WARNING, "MemoryAccounting=yes");
        tree_remove(&tree);
}

static void others_that_move_pages(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_level(hn_check_numad, &tree, HN_LEVEL_OK);
        assert_level(hn_check_balancing, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/proc/77/comm", "numad\n");
        tree_put(&tree, "/proc/sys/kernel/numa_balancing", "1\n");
        assert_mend(hn_check_numad, &tree, HN_LEVEL_PROBLEM, "systemctl disable --now numad");
        assert_mend(hn_check_balancing, &tree, HN_LEVEL_NOTE, "kernel.numa_balancing = 0");
        tree_put(&tree, "/proc/sys/kernel/numa_balancing", "0\n");
        assert_level(hn_check_balancing, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void merging_of_pages(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        tree_put(&tree, "/sys/kernel/mm/ksm/run", "0\n");
        tree_put(&tree, "/sys/kernel/mm/ksm/merge_across_nodes", "1\n");
        assert_level(hn_check_ksm, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/sys/kernel/mm/ksm/run", "1\n");
        assert_mend(hn_check_ksm, &tree, HN_LEVEL_WARNING, "echo 0 >/sys/kernel/mm/ksm/merge_across_nodes");
        tree_put(&tree, "/sys/kernel/mm/ksm/merge_across_nodes", "0\n");
        assert_level(hn_check_ksm, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void reclaiming_before_remote_memory(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        tree_put(&tree, "/proc/sys/vm/zone_reclaim_mode", "0\n");
        assert_level(hn_check_zone_reclaim, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/proc/sys/vm/zone_reclaim_mode", "1\n");
        assert_mend(hn_check_zone_reclaim, &tree, HN_LEVEL_WARNING, "vm.zone_reclaim_mode = 0");
        tree_remove(&tree);
}

static void nothing_of_that_matters_on_one_node(void **state)
{
        struct tree tree;
        (void) state;

        tree_make(&tree);
        host_tree_put(&tree, 1, 2, 1);
        tree_put(&tree, "/proc/sys/kernel/numa_balancing", "1\n");
        tree_put(&tree, "/proc/sys/vm/zone_reclaim_mode", "1\n");
        tree_put(&tree, "/sys/kernel/mm/ksm/run", "1\n");
        tree_put(&tree, "/sys/kernel/mm/ksm/merge_across_nodes", "1\n");
        assert_level(hn_check_nodes, &tree, HN_LEVEL_NOTE);
        assert_level(hn_check_balancing, &tree, HN_LEVEL_OK);
        assert_level(hn_check_zone_reclaim, &tree, HN_LEVEL_OK);
        assert_level(hn_check_ksm, &tree, HN_LEVEL_OK);
        assert_level(hn_check_irqbalance, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void nodes_that_are_homes(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_level(hn_check_nodes, &tree, HN_LEVEL_OK);
        tree_put(&tree, SLICE "/cpuset.mems.effective", "1\n");
        assert_level(hn_check_nodes, &tree, HN_LEVEL_NOTE);
        tree_put(&tree, "/sys/devices/system/cpu/isolated", "0-5\n");
        assert_level(hn_check_nodes, &tree, HN_LEVEL_PROBLEM);
        tree_remove(&tree);

        tree_make(&tree);
        assert_level(hn_check_nodes, &tree, HN_LEVEL_PROBLEM);
        tree_remove(&tree);
}

static void put_distances(struct tree *tree, const char *const rows[3])
{
        char path[64];

        for (unsigned node = 0; node < 3; node++) {
                (void) snprintf(path, sizeof path, "/sys/devices/system/node/node%u/distance", node);
                tree_put(tree, path, rows[node]);
        }
        assert_int_equal(hn_root_remove(&tree->root, HN_TOPOLOGY_PATH), 0); /* they change with a boot only */
}

static void distances_that_can_be_used(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_level(hn_check_distances, &tree, HN_LEVEL_NOTE); /* flat: 21 everywhere */
        put_distances(&tree, (const char *const[]) { "10 16 22\n", "16 10 16\n", "22 16 10\n" });
        assert_level(hn_check_distances, &tree, HN_LEVEL_OK);
        put_distances(&tree, (const char *const[]) { "10 10 22\n", "10 10 16\n", "22 16 10\n" });
        assert_level(hn_check_distances, &tree, HN_LEVEL_WARNING);
        put_distances(&tree, (const char *const[]) { "0 0 0\n", "0 0 0\n", "0 0 0\n" });
        assert_level(hn_check_distances, &tree, HN_LEVEL_WARNING);
        tree_remove(&tree);
}

static void isolated_cpus(void **state)
{
        HN_FINDINGS struct hn_findings findings = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_level(hn_check_isolated, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/sys/devices/system/cpu/nohz_full", "  (null)\n");
        assert_level(hn_check_isolated, &tree, HN_LEVEL_OK);
        tree_put(&tree, "/sys/devices/system/cpu/isolated", "1\n");
        assert_mend(hn_check_isolated, &tree, HN_LEVEL_NOTE, "isolcpus=");
        tree_put(&tree, "/sys/devices/system/cpu/nohz_full", "1,3\n");
        findings = look(hn_check_isolated, &tree);
        assert_int_equal(findings.n, 2);
        assert_string_equal(findings.all[1].what, "CPUs 3 are nohz_full and not isolated");
        tree_remove(&tree);
}

static void interrupts(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_mend(hn_check_irqbalance, &tree, HN_LEVEL_NOTE, "systemctl enable --now irqbalance");
        tree_put(&tree, "/proc/9/comm", "irqbalance\n");
        assert_level(hn_check_irqbalance, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void put_pool(struct tree *tree, unsigned node, unsigned page_kib, unsigned total, unsigned free)
{
        char path[128], text[16];

        (void) snprintf(path, sizeof path, "/sys/devices/system/node/node%u/hugepages/hugepages-%ukB/nr_hugepages", node,
                        page_kib);
        (void) snprintf(text, sizeof text, "%u\n", total);
        tree_put(tree, path, text);
        (void) snprintf(path, sizeof path, "/sys/devices/system/node/node%u/hugepages/hugepages-%ukB/free_hugepages", node,
                        page_kib);
        (void) snprintf(text, sizeof text, "%u\n", free);
        tree_put(tree, path, text);
}

#define POOL(node) "/sys/devices/system/node/node" #node "/hugepages/hugepages-2048kB/nr_hugepages"

static void huge_pages_that_are_spread(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree); /* one of 1 GiB on each */
        assert_level(hn_check_pages, &tree, HN_LEVEL_OK);
        put_pool(&tree, 0, 2048, 301, 0);
        put_pool(&tree, 1, 2048, 300, 300);
        put_pool(&tree, 2, 2048, 300, 10);
        assert_level(hn_check_pages, &tree, HN_LEVEL_OK);
        for (unsigned node = 0; node < 3; node++) {
                put_pool(&tree, node, 2048, 0, 0);
                put_pool(&tree, node, 1048576, 0, 0);
        }
        assert_level(hn_check_pages, &tree, HN_LEVEL_OK);
        tree_remove(&tree);
}

static void huge_pages_in_one_place(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        put_pool(&tree, 0, 2048, 900, 800);
        assert_mend(hn_check_pages, &tree, HN_LEVEL_WARNING,
                    "echo 300 >" POOL(0) "; echo 300 >" POOL(1) "; echo 300 >" POOL(2));

        /* 700 are in use, and can't go: 200 are left for two */
        put_pool(&tree, 0, 2048, 900, 200);
        assert_mend(hn_check_pages, &tree, HN_LEVEL_WARNING,
                    "echo 700 >" POOL(0) "; echo 100 >" POOL(1) "; echo 100 >" POOL(2));

        /* as many as there is one page more than an even share of: that node is the one that gets it */
        put_pool(&tree, 0, 2048, 0, 0);
        put_pool(&tree, 1, 2048, 0, 0);
        put_pool(&tree, 2, 2048, 10, 6);
        assert_mend(hn_check_pages, &tree, HN_LEVEL_WARNING,
                    "echo 4 >" POOL(2) "; echo 3 >" POOL(0) "; echo 3 >" POOL(1));

        /* those that give go first; an uneven one is fewer, not none */
        put_pool(&tree, 0, 2048, 100, 100);
        put_pool(&tree, 1, 2048, 200, 200);
        put_pool(&tree, 2, 2048, 301, 301);
        assert_mend(hn_check_pages, &tree, HN_LEVEL_NOTE, "echo 200 >" POOL(2) "; echo 201 >" POOL(0));
        tree_remove(&tree);
}

static void huge_pages_that_only_boot_can_give(void **state)
{
        struct tree tree;
        (void) state;

        set_up(&tree);
        put_pool(&tree, 0, 1048576, 4, 4);
        put_pool(&tree, 1, 1048576, 0, 0);
        put_pool(&tree, 2, 1048576, 0, 0);
        assert_mend(hn_check_pages, &tree, HN_LEVEL_WARNING, "hugepagesz=1G hugepages=0:2,1:1,2:1");
        tree_remove(&tree);
}

static void looks_at_all_of_an_empty_tree(void **state)
{
        HN_FINDINGS struct hn_findings findings = { 0 };
        HN_JSON struct json_object *json = NULL;
        struct tree tree;
        (void) state;

        tree_make(&tree);
        HN_PATIENT struct hn_patient patient = patient_of(&tree);
        assert_int_equal(hn_doctor_look(&patient, &findings), 0);
        assert_true(hn_findings_have(&findings, HN_LEVEL_PROBLEM));
        assert_int_equal(hn_findings_to_json(&findings, &json), 0);
        assert_int_equal(json_object_array_length(json), findings.n);
        tree_remove(&tree);
}

/* What is the matter first, and no command that can't do anything there. */
static void nothing_is_mended_by_what_is_not_there(void **state)
{
        HN_FINDINGS struct hn_findings findings = { 0 };
        struct tree tree;
        (void) state;

        tree_make(&tree);
        HN_PATIENT struct hn_patient bare = patient_of(&tree);
        assert_int_equal(hn_doctor_look(&bare, &findings), 0);
        assert_string_equal(findings.all[0].what, "libvirt is not installed");
        assert_int_equal(findings.all[0].level, HN_LEVEL_PROBLEM);
        assert_string_equal(findings.all[1].what, "systemd does not run here");
        for (size_t i = 0; i < findings.n; i++) {
                if (strcmp(findings.all[i].check, "hook") == 0)
                        assert_string_equal(findings.all[i].mend, "make install");
                assert_true(!findings.all[i].mend || !strstr(findings.all[i].mend, "systemctl"));
        }
        tree_remove(&tree);
}

static void a_host_with_both_hears_nothing_of_them(void **state)
{
        HN_FINDINGS struct hn_findings findings = { 0 };
        struct tree tree;
        (void) state;

        tree_make(&tree);
        tree_put(&tree, "/etc/libvirt/qemu.conf", "");
        tree_put(&tree, "/run/systemd/system/.keep", "");
        HN_PATIENT struct hn_patient patient = patient_of(&tree);
        assert_int_equal(hn_doctor_look(&patient, &findings), 0);
        for (size_t i = 0; i < findings.n; i++) {
                assert_string_not_equal(findings.all[i].check, "libvirt");
                assert_string_not_equal(findings.all[i].check, "systemd");
                if (strcmp(findings.all[i].check, "hook") == 0)
                        assert_string_equal(findings.all[i].mend, "make install && systemctl reload libvirtd");
        }
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nothing_is_mended_by_what_is_not_there),
                cmocka_unit_test(a_host_with_both_hears_nothing_of_them),
                cmocka_unit_test(cgroups_with_their_controllers),
                cmocka_unit_test(cgroups_without),
                cmocka_unit_test(others_that_move_pages),
                cmocka_unit_test(merging_of_pages),
                cmocka_unit_test(reclaiming_before_remote_memory),
                cmocka_unit_test(nothing_of_that_matters_on_one_node),
                cmocka_unit_test(nodes_that_are_homes),
                cmocka_unit_test(distances_that_can_be_used),
                cmocka_unit_test(isolated_cpus),
                cmocka_unit_test(interrupts),
                cmocka_unit_test(huge_pages_that_are_spread),
                cmocka_unit_test(huge_pages_in_one_place),
                cmocka_unit_test(huge_pages_that_only_boot_can_give),
                cmocka_unit_test(looks_at_all_of_an_empty_tree),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
