/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/status.h"

#include "model/json.h"
#include "unit/support/entry.h"
#include "unit/support/host-tree.h"
#include "unit/support/test.h"

#define SLICE "/sys/fs/cgroup/machine.slice/"
#define WEB "machine-qemu\\x2d7\\x2dweb.scope"
#define ALONE "machine-qemu\\x2d9\\x2dalone\\x2dvm.scope"

/* A host of four nodes of two cores, on which "web" is placed on node 2. */
static void set_up(struct tree *tree)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = make_entry(UUID_A, "web");

        tree_make(tree);
        host_tree_put(tree, 4, 2, 1);
        entry->state = HN_ENTRY_STARTED;
        entry->pid = 4711;
        entry->start_ticks = 99;
        entry->unit = strdup(WEB);
        entry->reason = strdup("fits one node");
        assert_int_equal(hwloc_bitmap_set_range(entry->placement->emulator_cpus, 4, 5), 0);
        assert_int_equal(hwloc_bitmap_set(entry->placement->memory_nodes, 2), 0);
        tree_put(tree, "/proc/4711/stat", "4711 (qemu) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 99 0 0\n");
        tree_put(tree, SLICE WEB "/memory.numa_stat", "anon N0=4194304 N1=0 N2=415236096\nshmem N0=0 N2=0\n");
        assert_int_equal(hn_ledger_open(&tree->root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 0), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

static const struct hn_guest_status *find(const struct hn_status *status, const char *name)
{
        const struct hn_guest_status *guest = hn_status_find(status, name);

        assert_non_null(guest);
        return guest;
}

static void counts_promises_to_nodes(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        assert_int_equal(status.host->n_nodes, 4);
        assert_int_equal(status.nodes[2].promised_kib, 1048576);
        assert_int_equal(status.nodes[2].promised_vcpus_milli, 4000);
        assert_int_equal(status.nodes[2].n_guests, 1);
        assert_int_equal(status.nodes[0].promised_kib, 0);
        assert_int_equal(status.nodes[0].n_guests, 0);
        assert_true(status.nodes[0].busy_cpus < 0);
        assert_null(status.faults);
        assert_false(status.partial);
        tree_remove(&tree);
}

static void tells_what_of_a_guest_is_local(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        const struct hn_guest_status *web = find(&status, "web");
        assert_int_equal(web->state, HN_GUEST_RUNNING);
        assert_true(web->read_us > 0);
        assert_null(web->unread);
        /* 396 MiB of 400 */
        assert_int_equal(hn_resident_kib(&web->resident, 2), 396 * 1024);
        assert_float_equal(hn_guest_locality(web), 99, 1e-9);
        assert_ptr_equal(find(&status, UUID_A), web);
        tree_remove(&tree);
}

static void counts_huge_pages_of_a_guest(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        tree_put(&tree, SLICE WEB "/hugetlb.2MB.numa_stat", "total=419430400 N0=0 N1=0 N2=419430400 N3=0\n");
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        /* 400 MiB more on node 2: 796 of 800 */
        assert_float_equal(hn_guest_locality(find(&status, "web")), 99.5, 1e-9);
        tree_remove(&tree);
}

static void says_why_there_is_no_figure(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_int_equal(hn_root_remove(&tree.root, SLICE WEB "/memory.numa_stat"), 0);
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        const struct hn_guest_status *web = find(&status, "web");
        assert_int_equal(web->read_us, 0);
        assert_non_null(strstr(web->unread, "memory controller"));
        assert_true(hn_guest_locality(web) < 0);
        tree_remove(&tree);
}

static void shows_guests_without_an_entry(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        tree_put(&tree, SLICE ALONE "/memory.numa_stat", "anon N0=1048576 N1=1048576\n");
        tree_put(&tree, SLICE "machine-qemu\\x2d.scope/memory.numa_stat", "anon N0=1\n");
        tree_put(&tree, SLICE "machine-qemu\\x2d9/memory.numa_stat", "anon N0=1\n");
        tree_put(&tree, SLICE "machine-lxc\\x2d3\\x2dbox.scope/memory.numa_stat", "anon N0=1\n");
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        assert_int_equal(status.n_guests, 2); /* what is no guest's scope is none of them */
        const struct hn_guest_status *alone = find(&status, "alone-vm");
        assert_int_equal(alone->state, HN_GUEST_NOT_PLACED);
        assert_int_equal(hn_resident_kib(&alone->resident, 1), 1024);
        assert_true(hn_guest_locality(alone) < 0);
        tree_remove(&tree);
}

static void names_guests_as_libvirt_does(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        /* a unit's name has no underscore */
        tree_put(&tree, SLICE "machine-qemu\\x2d9\\x2dmyvm.scope/memory.numa_stat", "anon N0=1048576\n");
        tree_put(&tree, "/run/libvirt/qemu/my_vm.xml",
                 "<domstatus state='running' reason='booted' pid='4712'><domain type='kvm' id='9'><name>my_vm</name>"
                 "<uuid>" UUID_B "</uuid><memory>1048576</memory><vcpu>1</vcpu><os><type>hvm</type></os>"
                 "</domain></domstatus>");
        tree_put(&tree, "/run/libvirt/qemu/half.xml", "<domstatus state='running'");
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        assert_non_null(find(&status, "my_vm")->live);
        assert_non_null(hn_status_find(&status, UUID_B));
        tree_remove(&tree);
}

static const struct hn_pinned *find_pin(const struct hn_pins *pins, const char *what, int id)
{
        for (size_t i = 0; i < pins->n; i++)
                if (strcmp(pins->all[i].what, what) == 0 && pins->all[i].id == id)
                        return &pins->all[i];
        fail_msg("no %s %d among the pins", what, id);
        return pins->all;
}

static void tells_whose_pins_they_are(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        HN_PINS struct hn_pins pins = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        tree_put(&tree, "/run/libvirt/qemu/web.xml",
                 "<domstatus state='running' reason='booted' pid='4711'><domain type='kvm' id='7'><name>web</name>"
                 "<uuid>" UUID_A "</uuid><memory>1048576</memory><vcpu>4</vcpu>"
                 "<cputune><vcpupin vcpu='1' cpuset='0'/><emulatorpin cpuset='1'/></cputune>"
                 "<os><type>hvm</type></os></domain></domstatus>");
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        assert_int_equal(hn_pins_of(find(&status, "web"), &pins), 0);
        assert_true(pins.known);
        assert_int_equal(pins.n, 4);
        assert_true(find_pin(&pins, "vcpu", 1)->by_user);
        assert_set(find_pin(&pins, "vcpu", 1)->set, "0");
        assert_true(find_pin(&pins, "emulator", -1)->by_user);
        const struct hn_pinned *others = find_pin(&pins, "vcpus", -1);
        assert_false(others->by_user);
        assert_set(others->members, "0,2-3");
        assert_set(others->set, "8-15");
        assert_false(find_pin(&pins, "memory", -1)->by_user);
        assert_set(find_pin(&pins, "memory", -1)->set, "2");
        tree_remove(&tree);
}

static void does_not_guess_pins_without_a_record(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        HN_PINS struct hn_pins pins = { 0 };
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        assert_int_equal(hn_pins_of(find(&status, "web"), &pins), 0);
        assert_false(pins.known);
        assert_int_equal(pins.n, 3); /* vCPUs, emulator, memory of ours */
        tree_remove(&tree);
}

static void shows_the_rest_of_a_tree_without_nodes(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        struct hn_shown shown = { .all = true };
        HN_JSON struct json_object *json = NULL;
        struct tree tree;
        (void) state;

        tree_make(&tree);
        tree_put(&tree, SLICE ALONE "/memory.numa_stat", "anon N0=1048576\n");
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        assert_true(status.partial);
        assert_non_null(strstr(status.faults, "nodes"));
        assert_int_equal(status.n_guests, 1);
        assert_int_equal(hn_status_to_json(&status, &shown, &json), 0);
        assert_null(json_object_object_get(json, "nodes"));
        tree_remove(&tree);
}

static void writes_all_of_it_as_json(void **state)
{
        HN_STATUS struct hn_status status = { 0 };
        HN_JSON struct json_object *json = NULL;
        struct json_object *guest, *action;
        struct tree tree;
        (void) state;

        set_up(&tree);
        assert_int_equal(hn_status_read(&tree.root, 0, &status), 0);
        const struct hn_guest_status *web = find(&status, "web");
        assert_int_equal(hn_status_to_json(&status, &(struct hn_shown) { &web, 1, true }, &json), 0);
        assert_int_equal(json_object_array_length(json_object_object_get(json, "nodes")), 4);
        guest = json_object_array_get_idx(json_object_object_get(json, "guests"), 0);
        assert_string_equal(json_object_get_string(json_object_object_get(guest, "name")), "web");
        assert_string_equal(json_object_get_string(json_object_object_get(guest, "state")), "placed");
        assert_string_equal(json_object_get_string(json_object_object_get(guest, "home")), "2");
        assert_float_equal(json_object_get_double(json_object_object_get(guest, "locality_percent")), 99, 1e-9);
        assert_non_null(json_object_object_get(guest, "resident_age_ms"));
        action = json_object_object_get(guest, "last_action");
        assert_string_equal(json_object_get_string(json_object_object_get(action, "what")), "fits one node");
        tree_remove(&tree);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(counts_promises_to_nodes),
                cmocka_unit_test(tells_what_of_a_guest_is_local),
                cmocka_unit_test(counts_huge_pages_of_a_guest),
                cmocka_unit_test(says_why_there_is_no_figure),
                cmocka_unit_test(shows_guests_without_an_entry),
                cmocka_unit_test(names_guests_as_libvirt_does),
                cmocka_unit_test(tells_whose_pins_they_are),
                cmocka_unit_test(does_not_guess_pins_without_a_record),
                cmocka_unit_test(shows_the_rest_of_a_tree_without_nodes),
                cmocka_unit_test(writes_all_of_it_as_json),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
