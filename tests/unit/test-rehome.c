/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The keeper on a host that changes: guests whose home is gone, and guests that there was no room for.
 */
#include "daemon/keeper.h"

#include "model/host.h"
#include "unit/support/host-tree.h"
#include "unit/support/kept.h"

#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"
#define SLICE "/sys/fs/cgroup/machine.slice"

/* Makes it another host, as far as that matters here. */
static void put_pools(struct kept *kept, const char *pages)
{
        tree_put(&kept->tree, NODE "/node3/hugepages/hugepages-2048kB/nr_hugepages", pages);
}

/* What the kernel shows once these CPUs of node 2 are left. */
static void put_online(struct kept *kept, const char *online, const char *offline, const char *of_node)
{
        tree_put(&kept->tree, CPU "/online", online);
        tree_put(&kept->tree, CPU "/offline", offline);
        tree_put(&kept->tree, NODE "/node2/cpulist", of_node);
        tree_put(&kept->tree, SLICE "/cpuset.cpus.effective", online);
}

/* A recorded tree does not compute what will be in force: of the nodes that are as good, the first is taken. */
static void put_in_force_on_0(struct kept *kept)
{
        tree_put(&kept->tree, THREADS "/emulator/cpuset.cpus.effective", "0-1\n");
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus.effective", "0-1\n");
        tree_put(&kept->tree, THREADS "/vcpu1/cpuset.cpus.effective", "0-1\n");
}

static void look_at_change(struct kept *kept)
{
        assert_true(hn_keeper_look_at_host(kept->keeper));
        assert_true(kept->asked > 0);
        hn_keeper_look(kept->keeper, UUID_A);
}

/* The one node that is the guest's home by the ledger. */
static unsigned home(struct kept *kept)
{
        HN_ENTRY struct hn_entry *entry = kept_entry(kept);

        assert_non_null(entry);
        assert_true(entry->managed);
        assert_int_equal(hn_idset_count(entry->placement->home), 1);
        return (unsigned) hwloc_bitmap_first(entry->placement->home);
}

/* All thread groups have that node's CPUs, 2N and 2N+1. */
static void assert_runs_on(struct kept *kept, unsigned node)
{
        char list[16];

        (void) snprintf(list, sizeof list, "%u-%u", 2 * node, 2 * node + 1);
        assert_list_file(&kept->tree, THREADS "/emulator/cpuset.cpus", list);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", list);
        assert_list_file(&kept->tree, THREADS "/vcpu1/cpuset.cpus", list);
}

static void a_home_without_cpus_is_left_and_not_come_back_to(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        put_online(kept, "0-3,6-7\n", "4-5\n", "\n");
        put_in_force_on_0(kept);
        look_at_change(kept);
        assert_int_equal(home(kept), 0);
        assert_runs_on(kept, 0);
        /* memory: widened, nothing more */
        assert_true(tree_file_has(&kept->tree, HN_UNITS_FILE, WEB_UNIT " AllowedCPUs=0-15 AllowedMemoryNodes=0,2\n"));
        assert_false(tree_file_has(&kept->tree, JOURNAL, "failed"));
        assert_true(tree_file_has(&kept->tree, JOURNAL, "web: given another home: node 2 lost CPUs or memory"));

        put_online(kept, "0-7\n", "\n", "4-5\n");
        look_at_change(kept);
        assert_int_equal(home(kept), 0);
        assert_runs_on(kept, 0);
}

static void memory_is_narrowed_when_little_is_left_behind(void **state)
{
        struct kept *kept = *state;
        static const char narrow[] = "AllowedMemoryNodes=0\n";

        kept_settle(kept);
        put_online(kept, "0-3,6-7\n", "4-5\n", "\n");
        put_in_force_on_0(kept);
        look_at_change(kept);
        assert_false(tree_file_has(&kept->tree, HN_UNITS_FILE, narrow));
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/cpuset.mems.effective", "0,2\n");
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", "anon N0=1 N1=1 N2=1073741824 N3=1\n");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_false(tree_file_has(&kept->tree, HN_UNITS_FILE, narrow));
        assert_true(tree_file_has(&kept->tree, JOURNAL, "its memory set is not as planned"));
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", "anon N0=1 N1=1 N2=1048576 N3=1\n");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(tree_file_has(&kept->tree, HN_UNITS_FILE, narrow));
}

/* 4 vCPUs by the ledger, 1 CPU left: 4.8.  Elsewhere 1.6 for 4 on 2, and the distance: 0.55 at 21, 3.5 at 80. */
static void one_that_lost_some_cpus_stays_where_going_is_worse(void **state)
{
        struct kept *kept = *state;

        tree_put(&kept->tree, NODE "/node2/distance", "80 80 10 80\n");
        assert_int_equal(hn_root_remove(&kept->tree.root, HN_TOPOLOGY_PATH), 0);
        kept_settle(kept);
        put_online(kept, "0-4,6-7\n", "5\n", "4\n");
        look_at_change(kept);
        assert_int_equal(home(kept), 2);
        assert_runs_on(kept, 2); /* as written: CPU 5 is used again when it is back */
}

static void one_that_lost_some_cpus_leaves_where_staying_is_worse(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        put_online(kept, "0-4,6-7\n", "5\n", "4\n");
        look_at_change(kept);
        assert_int_not_equal(home(kept), 2);
        assert_runs_on(kept, home(kept));
}

static void a_limit_of_the_slice_is_heard_and_kept(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        tree_put(&kept->tree, SLICE "/cpuset.cpus", "0-3\n");
        tree_put(&kept->tree, SLICE "/cpuset.cpus.effective", "0-3\n");
        hn_keeper_watched(kept->keeper);
        assert_string_equal(kept->last_uuid, "");
        look_at_change(kept);
        assert_in_range(home(kept), 0, 1);
        assert_runs_on(kept, home(kept));
}

static void a_node_that_may_not_be_used_is_left(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        tree_put(&kept->tree, SLICE "/cpuset.mems.effective", "0-1,3\n");
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/cpuset.mems.effective", "0-1,3\n");
        look_at_change(kept);
        assert_int_not_equal(home(kept), 2);
        assert_runs_on(kept, home(kept));
}

static void a_memory_set_that_was_left_open_stays_open(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        kept_settle(kept);
        entry = kept_entry(kept);
        hwloc_bitmap_zero(entry->placement->memory_nodes);
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        hn_ledger_unlock(ledger);
        put_online(kept, "0-3,6-7\n", "4-5\n", "\n");
        look_at_change(kept);
        hn_entry_free(HN_TAKE(entry));
        entry = kept_entry(kept);
        assert_false(hwloc_bitmap_isset(entry->placement->home, 2));
        assert_set(entry->placement->memory_nodes, "");
}

/* As what is started while CPU 5 is offline. */
static void put_started_on_4(struct kept *kept)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        put_online(kept, "0-4,6-7\n", "5\n", "4\n");
        kept_put_entry(kept, HN_ENTRY_STARTED, true);
        entry = kept_entry(kept);
        hwloc_bitmap_only(entry->placement->cells[0].cpus, 4);
        hwloc_bitmap_only(entry->placement->emulator_cpus, 4);
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        hn_ledger_unlock(ledger);
        assert_true(hn_keeper_look_at_host(kept->keeper));
        hn_keeper_look(kept->keeper, UUID_A);
        kept_open_scope(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_watched(kept->keeper);
        kept->asked = 0;
}

static void one_that_was_started_with_less_gets_what_comes(void **state)
{
        struct kept *kept = *state;

        put_started_on_4(kept);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4");
        put_online(kept, "0-7\n", "\n", "4-5\n");
        look_at_change(kept);
        assert_int_equal(home(kept), 2);
        assert_runs_on(kept, 2);
        assert_true(tree_file_has(&kept->tree, JOURNAL, "web: given CPUs that its home has got: now 4-5"));

        /* and no more than that, whatever comes and goes */
        put_pools(kept, "1\n");
        assert_true(hn_keeper_look_at_host(kept->keeper));
        HN_CLOSE int fd = kept_count_writes(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(kept_writes(fd), 0);
}

static void one_that_a_narrow_slice_held_gets_what_it_leaves(void **state)
{
        struct kept *kept = *state;

        put_started_on_4(kept);
        tree_put(&kept->tree, CPU "/online", "0-7\n");
        tree_put(&kept->tree, CPU "/offline", "\n");
        tree_put(&kept->tree, NODE "/node2/cpulist", "4-5\n");
        look_at_change(kept);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4");
        tree_put(&kept->tree, SLICE "/cpuset.cpus.effective", "0-7\n");
        look_at_change(kept);
        assert_runs_on(kept, 2);
}

static void what_the_user_pinned_is_not_widened(void **state)
{
        struct kept *kept = *state;

        kept_set_xml(kept, "<cputune><vcpupin vcpu='1' cpuset='4'/></cputune>");
        put_started_on_4(kept);
        tree_put(&kept->tree, THREADS "/vcpu1/cpuset.cpus", "4\n");
        put_online(kept, "0-7\n", "\n", "4-5\n");
        look_at_change(kept);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
        assert_list_file(&kept->tree, THREADS "/vcpu1/cpuset.cpus", "4");
}

/* The guest of the tree is placed as one cell of 1015808 KiB. */
static void memory_that_is_plugged_in_is_promised_at_home(void **state)
{
        struct kept *kept = *state;
        static const char cell[] = "<cpu><numa><cell id='0' cpus='0-1' memory='1015808'/></numa></cpu>";
        static const char plugged[] = "<cpu><numa><cell id='0' cpus='0-1' memory='1015808'/></numa></cpu><devices>"
                                      "<memory model='dimm'><target><size unit='MiB'>32</size><node>0</node></target>"
                                      "</memory></devices>";
        HN_ENTRY struct hn_entry *entry = NULL;

        kept_set_xml(kept, cell);
        kept_settle(kept);
        kept_set_xml(kept, plugged);
        hn_keeper_look(kept->keeper, UUID_A);
        entry = kept_entry(kept);
        assert_int_equal(entry->placement->promises[0].memory_kib, 1048576 + 32 * 1024);
        assert_int_equal(entry->placement->cells[0].devices_kib, 32 * 1024);
        assert_true(tree_file_has(&kept->tree, JOURNAL, "web: memory plugged in comes to 32 MiB now"));
        HN_CLOSE int fd = kept_count_writes(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(kept_writes(fd), 0);

        kept_set_xml(kept, cell);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_entry_free(HN_TAKE(entry));
        entry = kept_entry(kept);
        assert_int_equal(entry->placement->promises[0].memory_kib, 1048576);
}

/* A node that is gone is no reason to stay on it, nor to use others than those. */
static void a_wish_for_nodes_holds_for_those_that_are_left(void **state)
{
        struct kept *kept = *state;

        kept_set_xml(kept, "<metadata><h:domain xmlns:h='urn:homenode:1' nodes='1-3'/></metadata>");
        kept_settle(kept);
        put_online(kept, "0-3,6-7\n", "4-5\n", "\n");
        look_at_change(kept);
        assert_int_not_equal(home(kept), 2);
        assert_int_not_equal(home(kept), 0);
        assert_runs_on(kept, home(kept));
}

/* Bound to node 2: widening to nodes 0 and 2 would rebind it to node 0 (the first of one becomes the first of both). */
static void bound_memory_is_not_rebound(void **state)
{
        struct kept *kept = *state;

        kept_set_xml(kept, "<cpu><numa><cell id='0' cpus='0-1' memory='1048576'/></numa></cpu>"
                           "<numatune><memnode cellid='0' mode='strict' nodeset='2'/></numatune>");
        kept_settle(kept);
        tree_put(&kept->tree, NODE "/node0/distance", "10 21 16 21\n");
        tree_put(&kept->tree, NODE "/node2/distance", "16 21 10 21\n");
        put_online(kept, "0-3,6-7\n", "4-5\n", "\n");
        put_in_force_on_0(kept);
        look_at_change(kept);
        assert_int_equal(home(kept), 0); /* the nearest */
        assert_runs_on(kept, 0);
        assert_false(tree_file_has(&kept->tree, HN_UNITS_FILE, "AllowedMemoryNodes=0"));
}

static void put_free(struct kept *kept, unsigned long free_kib)
{
        for (unsigned node = 0; node < 4; node++)
                host_tree_put_meminfo(&kept->tree, node, 8u << 20, free_kib, 0);
}

static void where_there_is_no_home_it_waits_for_room(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        put_free(kept, 100 << 10);
        put_online(kept, "0-3,6-7\n", "4-5\n", "\n");
        look_at_change(kept);
        assert_int_equal(home(kept), 2);
        assert_true(tree_file_has(&kept->tree, JOURNAL, "web: its home is gone, and there is no room elsewhere"));
        HN_CLOSE int fd = kept_count_writes(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper); /* tries once more */
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(kept_writes(fd) <= 8); /* the ledger's lock */

        put_free(kept, 5ul << 20);
        put_pools(kept, "1\n");
        look_at_change(kept);
        assert_int_not_equal(home(kept), 2);
        assert_runs_on(kept, home(kept));
}

/* One vCPU and one page of 1 GiB, there as everywhere the only one: on CPU 4 of node 2, which then goes. */
static void settle_in_a_page(struct kept *kept)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        free(kept->xml);
        kept->xml = strdup("<domain type='kvm' id='7'><name>web</name><uuid>" UUID_A "</uuid><memory>1048576</memory>"
                           "<vcpu>1</vcpu><memoryBacking><hugepages/></memoryBacking></domain>");
        for (unsigned node = 0; node < 4; node++) {
                char path[128];

                (void) snprintf(path, sizeof path, NODE "/node%u/hugepages/hugepages-1048576kB/free_hugepages", node);
                tree_put(&kept->tree, path, "0\n");
        }
        kept_put_entry(kept, HN_ENTRY_STARTED, true);
        entry = kept_entry(kept);
        entry->placement->promises[0].page_kib = 1048576;
        hwloc_bitmap_only(entry->placement->cells[0].vcpus, 0);
        hwloc_bitmap_only(entry->placement->cells[0].cpus, 4);
        hwloc_bitmap_only(entry->placement->emulator_cpus, 4);
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
        hn_ledger_unlock(ledger);
        put_online(kept, "0-3,5-7\n", "4\n", "5\n");
}

static void its_own_huge_pages_are_room_for_it(void **state)
{
        struct kept *kept = *state;

        settle_in_a_page(kept);
        assert_true(hn_keeper_look_at_host(kept->keeper));
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(home(kept), 2);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "5");
        assert_false(tree_file_has(&kept->tree, JOURNAL, "no room"));
}

static void they_are_where_the_kernel_has_them(void **state)
{
        struct kept *kept = *state;

        settle_in_a_page(kept);
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/hugetlb.1GB.numa_stat", "total=1073741824 N0=0 N1=0 N2=0 "
                                                                             "N3=1073741824\n");
        assert_true(hn_keeper_look_at_host(kept->keeper));
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(home(kept), 3);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "6-7");
}

static void pages_that_it_has_not_are_none(void **state)
{
        struct kept *kept = *state;

        settle_in_a_page(kept);
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/hugetlb.1GB.numa_stat", "total=0 N0=0 N1=0 N2=0 N3=0\n");
        assert_true(hn_keeper_look_at_host(kept->keeper));
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(tree_file_has(&kept->tree, JOURNAL, "no room"));
}

static void put_unmanaged(struct kept *kept, const char *reason)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        kept_put_entry(kept, HN_ENTRY_STARTED, false);
        entry = kept_entry(kept);
        entry->managed = false;
        entry->reason = strdup(reason);
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

static bool is_managed(struct kept *kept)
{
        HN_ENTRY struct hn_entry *entry = kept_entry(kept);

        assert_non_null(entry);
        return entry->managed;
}

static void one_without_a_place_is_placed_when_there_is_room(void **state)
{
        struct kept *kept = *state;

        put_free(kept, 100 << 10);
        put_unmanaged(kept, "left to libvirt: there is no room for it");
        hn_keeper_look(kept->keeper, UUID_A);
        put_free(kept, 5ul << 20);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_false(is_managed(kept)); /* nobody says that there is room */
        kept->asked = 0;
        hn_keeper_sweep(kept->keeper); /* the host was news */
        assert_int_equal(kept->asked, 1);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(is_managed(kept));
        assert_runs_on(kept, home(kept));
}

static void it_is_not_tried_again_within_the_minute(void **state)
{
        struct kept *kept = *state;

        put_free(kept, 100 << 10);
        put_unmanaged(kept, "left to libvirt: there is no room for it");
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_false(is_managed(kept));
        put_free(kept, 5ul << 20);
        put_pools(kept, "1\n");
        look_at_change(kept);
        kept->asked = 0;
        hn_keeper_sweep(kept->keeper);
        assert_int_equal(kept->asked, 0);
        assert_false(is_managed(kept));
}

static void room_is_looked_for_when_the_daemon_starts(void **state)
{
        struct kept *kept = *state;

        put_unmanaged(kept, "left to libvirt: there is no room for it");
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", "anon N0=0 N1=0 N2=0 N3=1073741824\n");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(is_managed(kept));
        assert_int_equal(home(kept), 3);
        assert_runs_on(kept, 3);
}

static void one_opted_in_again_while_nobody_listened_is_placed(void **state)
{
        struct kept *kept = *state;

        put_unmanaged(kept, HN_REASON_OPTED_OUT);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_true(is_managed(kept));
        assert_runs_on(kept, home(kept));
}

static void one_that_was_given_back_is_not(void **state)
{
        struct kept *kept = *state;

        put_unmanaged(kept, HN_REASON_GIVEN_BACK);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_false(is_managed(kept));
}

static void one_that_was_given_back_is_not_widened(void **state)
{
        struct kept *kept = *state;
        HN_LEDGER struct hn_ledger *ledger = NULL;

        put_started_on_4(kept);
        put_online(kept, "0-7\n", "\n", "4-5\n");
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_give_back(ledger, UUID_A, HN_REASON_GIVEN_BACK), 0);
        hn_ledger_unlock(ledger);
        look_at_change(kept); /* the daemon has not read that yet */
        assert_false(is_managed(kept));
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4");
}

static void looking_at_the_same_host_writes_nothing(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        HN_CLOSE int fd = kept_count_writes(kept);
        for (unsigned i = 0; i < 3; i++) {
                assert_false(hn_keeper_look_at_host(kept->keeper));
                hn_keeper_look(kept->keeper, UUID_A);
        }
        assert_int_equal(kept_writes(fd), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_set_up, kept_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_home_without_cpus_is_left_and_not_come_back_to),
                TEST(memory_is_narrowed_when_little_is_left_behind),
                TEST(one_that_lost_some_cpus_stays_where_going_is_worse),
                TEST(one_that_lost_some_cpus_leaves_where_staying_is_worse),
                TEST(a_limit_of_the_slice_is_heard_and_kept),
                TEST(a_node_that_may_not_be_used_is_left),
                TEST(a_memory_set_that_was_left_open_stays_open),
                TEST(one_that_was_started_with_less_gets_what_comes),
                TEST(one_that_a_narrow_slice_held_gets_what_it_leaves),
                TEST(what_the_user_pinned_is_not_widened),
                TEST(one_that_was_given_back_is_not_widened),
                TEST(memory_that_is_plugged_in_is_promised_at_home),
                TEST(a_wish_for_nodes_holds_for_those_that_are_left),
                TEST(bound_memory_is_not_rebound),
                TEST(where_there_is_no_home_it_waits_for_room),
                TEST(its_own_huge_pages_are_room_for_it),
                TEST(they_are_where_the_kernel_has_them),
                TEST(pages_that_it_has_not_are_none),
                TEST(one_without_a_place_is_placed_when_there_is_room),
                TEST(it_is_not_tried_again_within_the_minute),
                TEST(room_is_looked_for_when_the_daemon_starts),
                TEST(one_opted_in_again_while_nobody_listened_is_placed),
                TEST(one_that_was_given_back_is_not),
                TEST(looking_at_the_same_host_writes_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
