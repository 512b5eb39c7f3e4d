/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/keeper.h"

#include "act/scope.h"
#include "unit/support/kept.h"

static void takes_a_started_guest_over(void **state)
{
        struct kept *kept = *state;

        kept_put_entry(kept, HN_ENTRY_STARTED, true);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/emulator/cpuset.cpus", "4-5");
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
        assert_list_file(&kept->tree, THREADS "/vcpu1/cpuset.cpus", "4-5");
        assert_true(tree_file_has(&kept->tree, HN_UNITS_FILE, WEB_UNIT " AllowedCPUs=0-15 AllowedMemoryNodes=2\n"));
        assert_false(hn_dropin_exists(&kept->tree.root, WEB_UNIT));
        assert_string_equal(kept->last_uuid, UUID_A); /* to be verified */
}

static void writes_nothing_once_all_is_right(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        HN_CLOSE int fd = kept_count_writes(kept);
        for (unsigned i = 0; i < 5; i++) {
                hn_keeper_look(kept->keeper, UUID_A);
                hn_keeper_sweep(kept->keeper);
        }
        assert_int_equal(kept_writes(fd), 0);
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        assert_true(kept_writes(fd) > 0); /* the count counts */
}

static void a_foreign_write_is_seen_and_put_right_once(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        hn_keeper_watched(kept->keeper);
        assert_true(kept->asked > 0);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
        /* again at once: it is waited for */
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7");
        assert_true(kept->last_wait_ms > 0 && kept->last_wait_ms <= 1000);
}

static void the_sweep_finds_what_no_event_told(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        hn_keeper_sweep(kept->keeper);
        assert_int_equal(kept->asked, 0);
        tree_put(&kept->tree, THREADS "/vcpu1/cgroup.threads", "77\n");
        tree_put(&kept->tree, "/proc/77/status", "Name:\tCPU 1/KVM\nCpus_allowed_list:\t4\n");
        hn_keeper_sweep(kept->keeper);
        assert_int_equal(kept->asked, 1);
        /* what the kernel keeps to itself is no drift */
        tree_put(&kept->tree, "/proc/77/stat", "77 (iou-wrk) S 1 1 1 0 -1 67108864 0 0 0 0 0 0 0 0 20 0 5 0 9 0 0\n");
        hn_keeper_sweep(kept->keeper);
        assert_int_equal(kept->asked, 1);
}

static void a_new_vcpu_is_confined_at_once(void **state)
{
        static const struct guest_plan web = { .unit = WEB_UNIT, .confined = "4-5", .all = "0-7", .nodes = "2" };
        struct kept *kept = *state;

        kept_settle(kept);
        /* a fight that goes on does not hold it up */
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_watched(kept->keeper);
        guest_put_thread(&kept->tree, &web, "vcpu2");
        kept->last_wait_ms = 99;
        hn_keeper_watched(kept->keeper);
        assert_int_equal(kept->last_wait_ms, 0);
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu2/cpuset.cpus", "4-5");
        /* and is watched from now on */
        hn_keeper_watched(kept->keeper);
        kept->asked = 0;
        tree_put(&kept->tree, THREADS "/vcpu2/cpuset.cpus", "\n");
        hn_keeper_watched(kept->keeper);
        assert_true(kept->asked > 0);
}

static void pins_of_run_time_are_the_users(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        kept_set_xml(kept, "<cputune><vcpupin vcpu='1' cpuset='0'/></cputune>");
        tree_put(&kept->tree, THREADS "/vcpu1/cpuset.cpus", "0\n");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu1/cpuset.cpus", "0");
        hn_keeper_sweep(kept->keeper);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
}

static void opting_out_gives_back_and_in_places_again(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;

        kept_settle(kept);
        kept_set_xml(kept, "<metadata><h:domain xmlns:h='urn:homenode:1' placement='off'/></metadata>");
        hn_keeper_look(kept->keeper, UUID_A);
        entry = kept_entry(kept);
        assert_non_null(entry);
        assert_false(entry->managed);
        assert_string_equal(entry->reason, HN_REASON_OPTED_OUT);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-15");
        assert_list_file(&kept->tree, THREADS "/emulator/cpuset.cpus", "0-15");
        assert_true(tree_file_has(&kept->tree, HN_UNITS_FILE, WEB_UNIT " AllowedCPUs=0-15 AllowedMemoryNodes=0-3\n"));
        HN_CLOSE int fd = kept_count_writes(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper);
        assert_int_equal(kept_writes(fd), 0);

        kept_set_xml(kept, "");
        hn_keeper_look(kept->keeper, UUID_A);
        hn_entry_free(HN_TAKE(entry));
        entry = kept_entry(kept);
        assert_true(entry->managed);
        assert_int_equal(hn_idset_count(entry->placement->home), 1);
        HN_FREE char *cpus = NULL;
        assert_int_equal(hn_idset_format(entry->placement->cells[0].cpus, &cpus), 0);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", cpus);
}

static void what_the_administrator_gave_back_stays_so(void **state)
{
        struct kept *kept = *state;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;

        kept_settle(kept);
        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_give_back(ledger, UUID_A, HN_REASON_GIVEN_BACK), -ENOLCK);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_give_back(ledger, UUID_A, HN_REASON_GIVEN_BACK), 0);
        assert_int_equal(hn_ledger_give_back(ledger, UUID_B, HN_REASON_GIVEN_BACK), -ENOENT);
        hn_ledger_unlock(ledger);
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7");
        entry = kept_entry(kept);
        assert_false(entry->managed);
}

static void give_back_now(struct kept *kept)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;

        assert_int_equal(hn_ledger_open(&kept->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_give_back(ledger, UUID_A, HN_REASON_GIVEN_BACK), 0);
}

/* The other side's undo came between our reading the ledger and our writing. */
static void one_that_is_given_back_meanwhile_is_not_confined(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        kept->on_again = give_back_now;
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-15");
        assert_list_file(&kept->tree, THREADS "/vcpu1/cpuset.cpus", "0-15");
}

/* The memory of a guest that homenode never saw: 1 GiB on node 1. */
static void put_resident(struct kept *kept, const char *anon)
{
        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/memory.numa_stat", anon);
}

static void adopts_where_the_memory_is(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;

        tree_put(&kept->tree, GUEST_SCOPE(WEB_UNIT) "/cpuset.cpus", "\n");
        put_resident(kept, "anon N0=1048576 N1=1073741824 N2=0 N3=0\nshmem N0=0 N1=0 N2=0 N3=0\n");
        hn_keeper_look(kept->keeper, UUID_A);
        entry = kept_entry(kept);
        assert_non_null(entry);
        assert_true(entry->managed);
        assert_int_equal(entry->state, HN_ENTRY_STARTED);
        assert_int_equal(entry->pid, WEB_PID);
        assert_string_equal(entry->unit, WEB_UNIT);
        assert_set(entry->placement->home, "1");
        assert_set(entry->placement->memory_nodes, "1");
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "2-3");
        assert_true(tree_file_has(&kept->tree, JOURNAL, "web: found running: "));
        /* node 0 is what an idle host has to offer first */
        assert_non_null(strstr(entry->reason, "memory is there already"));
        assert_true(tree_file_has(&kept->tree, "/run/homenode/explain/" UUID_A ".json",
                                  "\"runner_up\": { \"nodes\": \"0\""));
}

static void leaves_memory_that_lies_elsewhere(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;

        put_resident(kept, "anon N0=0 N1=600000000 N2=0 N3=400000000\nshmem N0=0 N1=0 N2=0 N3=0\n");
        hn_keeper_look(kept->keeper, UUID_A);
        entry = kept_entry(kept);
        assert_set(entry->placement->home, "1");
        assert_set(entry->placement->memory_nodes, "");
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "2-3");
}

static void an_opted_out_guest_gets_no_entry(void **state)
{
        struct kept *kept = *state;

        kept_set_xml(kept, "<metadata><h:domain xmlns:h='urn:homenode:1' placement='off'/></metadata>");
        HN_CLOSE int fd = kept_count_writes(kept);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper);
        assert_null(kept_entry(kept));
        assert_false(hn_root_exists(&kept->tree.root, HN_UNITS_FILE));
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "");
        (void) fd;
}

static void a_start_that_the_hook_is_at_is_left_alone(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;

        kept_put_entry(kept, HN_ENTRY_RESERVED, true);
        hn_keeper_look(kept->keeper, UUID_A);
        entry = kept_entry(kept);
        assert_int_equal(entry->state, HN_ENTRY_RESERVED);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "");
        assert_true(hn_dropin_exists(&kept->tree.root, WEB_UNIT));
        assert_int_equal(kept->asked, 1);
}

static void goes_when_its_qemu_goes_and_not_before(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;

        kept_settle(kept);
        free(HN_TAKE(kept->xml));
        hn_keeper_gone(kept->keeper, UUID_A); /* a crash that is preserved */
        assert_int_equal(hn_keeper_guests(kept->keeper)->n, 1);
        entry = kept_entry(kept);
        assert_non_null(entry);

        assert_int_equal(hn_root_remove(&kept->tree.root, "/proc/%d/stat", WEB_PID), 0);
        hn_keeper_gone(kept->keeper, UUID_A);
        assert_int_equal(hn_keeper_guests(kept->keeper)->n, 0);
        hn_entry_free(HN_TAKE(entry));
        entry = kept_entry(kept);
        assert_null(entry);
        /* no watch is left */
        kept->asked = 0;
        hn_keeper_watched(kept->keeper);
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        hn_keeper_watched(kept->keeper);
        assert_int_equal(kept->asked, 0);
}

static void another_qemu_of_the_same_name_is_another_guest(void **state)
{
        struct kept *kept = *state;
        HN_ENTRY struct hn_entry *entry = NULL;

        kept_settle(kept);
        guest_put_process(&kept->tree, WEB_UNIT, "web", WEB_PID, WEB_TICKS + 1);
        put_resident(kept, "anon N0=0 N1=0 N2=0 N3=1073741824\n");
        hn_keeper_look(kept->keeper, UUID_A);
        entry = kept_entry(kept);
        assert_int_equal(entry->start_ticks, WEB_TICKS + 1);
        assert_set(entry->placement->home, "3");
        assert_int_equal(hn_keeper_guests(kept->keeper)->n, 1);
}

static void what_libvirt_cannot_tell_changes_nothing(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        HN_CLOSE int fd = kept_count_writes(kept);
        kept->xml_error = -ENOTCONN;
        hn_keeper_look(kept->keeper, UUID_A);
        kept->xml_error = 0;
        free(kept->xml);
        kept->xml = strdup("<domain type='kvm' id='7'><na");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_int_equal(kept_writes(fd), 0);
        assert_int_equal(hn_keeper_guests(kept->keeper)->n, 1);
}

static void cgroups_that_vanish_are_no_trouble(void **state)
{
        struct kept *kept = *state;

        kept_settle(kept);
        char path[600];
        (void) snprintf(path, sizeof path, "%s%s", kept->tree.path, THREADS);
        char away[620];
        (void) snprintf(away, sizeof away, "%s.away", path);
        assert_int_equal(rename(path, away), 0);
        hn_keeper_look(kept->keeper, UUID_A);
        hn_keeper_sweep(kept->keeper);
        assert_int_equal(rename(away, path), 0);
        tree_put(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "0-7\n");
        hn_keeper_look(kept->keeper, UUID_A);
        assert_list_file(&kept->tree, THREADS "/vcpu0/cpuset.cpus", "4-5");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_set_up, kept_tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(takes_a_started_guest_over),
                TEST(writes_nothing_once_all_is_right),
                TEST(a_foreign_write_is_seen_and_put_right_once),
                TEST(the_sweep_finds_what_no_event_told),
                TEST(a_new_vcpu_is_confined_at_once),
                TEST(pins_of_run_time_are_the_users),
                TEST(opting_out_gives_back_and_in_places_again),
                TEST(what_the_administrator_gave_back_stays_so),
                TEST(one_that_is_given_back_meanwhile_is_not_confined),
                TEST(adopts_where_the_memory_is),
                TEST(leaves_memory_that_lies_elsewhere),
                TEST(an_opted_out_guest_gets_no_entry),
                TEST(a_start_that_the_hook_is_at_is_left_alone),
                TEST(goes_when_its_qemu_goes_and_not_before),
                TEST(another_qemu_of_the_same_name_is_another_guest),
                TEST(what_libvirt_cannot_tell_changes_nothing),
                TEST(cgroups_that_vanish_are_no_trouble),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
