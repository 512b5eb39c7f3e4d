/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/herd.h"

#include "model/text.h"
#include "unit/support/guest.h"
#include "unit/support/host-tree.h"

#define NODE_KIB (7ull << 20) /* host-tree's nodes have 8 GiB, of which one is a huge page */
#define PID(guest) (1000 + (int) (guest) * 10)
#define TICKS 1u

const char *herd_uuid(unsigned guest)
{
        static char uuid[HN_UUID_LENGTH + 1];

        (void) snprintf(uuid, sizeof uuid, "00000000-0000-4000-8000-%012x", guest);
        return uuid;
}

unsigned herd_find(const char *uuid)
{
        return (unsigned) strtoul(uuid + 24, NULL, 16);
}

static char *unit_of(unsigned guest)
{
        return hn_text_print("machine-qemu\\x2d%u\\x2dguest%u.scope", guest + 1, guest);
}

HN_PRINTF(3, 4)
static void put(struct herd *herd, const char *text, const char *path, ...)
{
        HN_FREE char *whole = NULL;
        va_list arguments;

        va_start(arguments, path);
        whole = hn_text_vprint(path, arguments);
        va_end(arguments);
        assert_non_null(whole);
        tree_put(&herd->tree, whole, text);
}

/* ---- figures */

static void put_cpus(struct herd *herd)
{
        HN_FREE char *text = strdup("");

        for (unsigned cpu = 0; cpu < herd->nodes * herd->cores; cpu++) {
                double ran_s = herd->node_s[cpu / herd->cores] / herd->cores;
                char *more;

                more = hn_text_print("%scpu%u %.0f 0 0 %.0f 0 0 0 0 0 0\n", text, cpu, ran_s * 100,
                                     (herd->now_s - ran_s) * 100);
                assert_non_null(more);
                free(text);
                text = more;
        }
        tree_put(&herd->tree, "/proc/stat", text);
}

static void put_memory(struct herd *herd)
{
        for (unsigned node = 0; node < herd->nodes; node++) {
                uint64_t used_kib = NODE_KIB - herd->free_kib[node];

                for (unsigned i = 0; i < herd->n; i++)
                        if (herd->guests[i].runs && herd->guests[i].node == node)
                                used_kib += herd->guests[i].memory_kib;
                host_tree_put_meminfo(&herd->tree, node, NODE_KIB + (1ul << 20), used_kib < NODE_KIB ? NODE_KIB - used_kib : 0, 0);
        }
}

static void put_usage(struct herd *herd, unsigned guest)
{
        const struct herd_guest *g = &herd->guests[guest];
        HN_FREE char *unit = unit_of(guest), *text = NULL;

        text = hn_text_print("usage_usec %.0f\n", g->ran_s / g->vcpus * 1e6);
        for (unsigned i = 0; i < g->vcpus; i++)
                put(herd, text, GUEST_THREADS("%s") "/vcpu%u/cpu.stat", unit, i);
        put(herd, "usage_usec 0\n", GUEST_THREADS("%s") "/emulator/cpu.stat", unit);
        free(text);
        text = hn_text_print("anon N%u=%llu\n", g->node, (unsigned long long) g->memory_kib * 1024);
        put(herd, text, GUEST_SCOPE("%s") "/memory.numa_stat", unit);
}

void herd_pass(struct herd *herd, unsigned seconds)
{
        herd->now_s += seconds;
        for (unsigned node = 0; node < herd->nodes; node++) {
                double wanted = herd->host_cpus[node];

                for (unsigned i = 0; i < herd->n; i++)
                        if (herd->guests[i].runs && herd->guests[i].node == node)
                                wanted += herd->guests[i].busy_cpus;
                herd->node_s[node] += (wanted < herd->cores ? wanted : herd->cores) * seconds;
        }
        for (unsigned i = 0; i < herd->n; i++)
                if (herd->guests[i].runs) {
                        herd->guests[i].ran_s += herd->guests[i].busy_cpus * seconds;
                        put_usage(herd, i);
                }
        put_cpus(herd);
        put_memory(herd);
}

/* ---- guests */

static int live_xml(void *data, const char *uuid, char **ret)
{
        const struct herd *herd = data;
        unsigned i = herd_find(uuid);
        const struct herd_guest *guest = &herd->guests[i];

        if (i >= herd->n || !guest->runs)
                return -ENOENT;
        *ret = hn_text_print("<domain type='kvm' id='%u'><name>guest%u</name><uuid>%s</uuid><memory>%llu</memory>"
                             "<vcpu>%u</vcpu>%s<os><type>hvm</type></os></domain>", i + 1, i, uuid,
                             (unsigned long long) guest->memory_kib, guest->vcpus,
                             guest->elements ? guest->elements : "");
        return *ret ? 0 : -ENOMEM;
}

static void again(void *data, const char *uuid, unsigned wait_ms)
{
        (void) data;
        (void) uuid;
        (void) wait_ms;
}

static char *cpus_of(const struct herd *herd, unsigned node)
{
        return hn_text_print("%u-%u\n", node * herd->cores, (node + 1) * herd->cores - 1);
}

/* The cgroups, as they are with that home. */
static void put_cgroups(struct herd *herd, unsigned guest)
{
        const struct herd_guest *g = &herd->guests[guest];
        HN_FREE char *unit = unit_of(guest), *cpus = cpus_of(herd, g->node);
        HN_FREE char *all = hn_text_print("0-%u\n", herd->nodes * herd->cores - 1);
        HN_FREE char *node = hn_text_print("%u\n", g->node);

        put(herd, all, GUEST_SCOPE("%s") "/cpuset.cpus", unit);
        put(herd, node, GUEST_SCOPE("%s") "/cpuset.mems.effective", unit);
        put(herd, all, GUEST_THREADS("%s") "/cpuset.cpus.effective", unit);
        for (unsigned i = 0; i <= g->vcpus; i++) {
                HN_FREE char *name = i < g->vcpus ? hn_text_print("vcpu%u", i) : strdup("emulator");

                put(herd, cpus, GUEST_THREADS("%s") "/%s/cpuset.cpus", unit, name);
                put(herd, cpus, GUEST_THREADS("%s") "/%s/cpuset.cpus.effective", unit, name);
                put(herd, "", GUEST_THREADS("%s") "/%s/cgroup.threads", unit, name);
        }
}

/* One cell on its node, as the keeper's ledger has it. */
static struct hn_placement *placement_of(const struct herd *herd, unsigned guest)
{
        const struct herd_guest *g = &herd->guests[guest];
        const struct hn_promise promise = { .node = g->node, .memory_kib = g->memory_kib,
                                            .vcpus_milli = g->vcpus * 1000 };
        HN_ENTRY struct hn_entry *entry = make_entry(herd_uuid(guest), "");
        struct hn_placement *placement = HN_TAKE(entry->placement);
        struct hn_placed_cell *cell = &placement->cells[0];

        free(placement->name);
        placement->name = hn_text_print("guest%u", guest);
        hwloc_bitmap_zero(cell->vcpus);
        hwloc_bitmap_set_range(cell->vcpus, 0, (int) g->vcpus - 1);
        cell->memory_kib = g->memory_kib;
        hwloc_bitmap_only(cell->nodes, g->node);
        hwloc_bitmap_zero(cell->cpus);
        hwloc_bitmap_set_range(cell->cpus, g->node * herd->cores, (int) ((g->node + 1) * herd->cores) - 1);
        hwloc_bitmap_copy(placement->emulator_cpus, cell->cpus);
        hwloc_bitmap_copy(placement->home, cell->nodes);
        hwloc_bitmap_copy(placement->memory_nodes, cell->nodes);
        placement->promises[0] = promise;
        return placement;
}

static void put_entry(struct herd *herd, unsigned guest, struct hn_placement *placement)
{
        HN_ENTRY struct hn_entry *entry = make_entry(herd_uuid(guest), "");
        HN_LEDGER struct hn_ledger *ledger = NULL;

        hn_placement_free(entry->placement);
        entry->placement = placement;
        entry->state = HN_ENTRY_STARTED;
        entry->pid = PID(guest);
        entry->start_ticks = TICKS;
        entry->unit = unit_of(guest);
        assert_int_equal(hn_ledger_open(&herd->tree.root, NULL, &ledger), 0);
        assert_int_equal(hn_ledger_lock(ledger, 1000000), 0);
        assert_int_equal(hn_ledger_put(ledger, entry, NULL), 0);
}

unsigned herd_start(struct herd *herd, unsigned vcpus, uint64_t memory_kib, unsigned node, double busy_cpus)
{
        unsigned guest = herd->n++;
        HN_FREE char *unit = unit_of(guest), *name = hn_text_print("guest%u", guest);

        assert_true(guest < HERD_GUESTS);
        herd->guests[guest] = (struct herd_guest) { true, vcpus, node, memory_kib, busy_cpus, 0, NULL };
        guest_put_process(&herd->tree, unit, name, PID(guest), TICKS);
        put_cgroups(herd, guest);
        put_entry(herd, guest, placement_of(herd, guest));
        herd_pass(herd, 0);
        hn_keeper_look(herd->keeper, herd_uuid(guest));
        assert_non_null(hn_guests_find(hn_keeper_guests(herd->keeper), herd_uuid(guest)));
        return guest;
}

void herd_move(struct herd *herd, unsigned guest, const struct hn_placement *to)
{
        struct hn_placement *placement = hn_placement_copy(to);

        assert_non_null(placement);
        herd->guests[guest].node = (unsigned) hwloc_bitmap_first(to->home);
        put_entry(herd, guest, placement);
        put_cgroups(herd, guest);
        herd_pass(herd, 0);
        hn_keeper_look(herd->keeper, herd_uuid(guest));
}

void herd_stop(struct herd *herd, unsigned guest)
{
        herd->guests[guest].runs = false;
        assert_int_equal(hn_root_remove(&herd->tree.root, "/proc/%d/stat", PID(guest)), 0);
        hn_keeper_look(herd->keeper, herd_uuid(guest));
        assert_null(hn_guests_find(hn_keeper_guests(herd->keeper), herd_uuid(guest)));
}

/* ---- the whole */

void herd_make(struct herd *herd, unsigned nodes, unsigned cores)
{
        const struct hn_running_door door = { .data = herd, .live_xml = live_xml, .again = again };
        HN_FREE char *cpus = hn_text_print("0-%u\n", nodes * cores - 1), *all = hn_text_print("0-%u\n", nodes - 1);

        *herd = (struct herd) { .nodes = nodes, .cores = cores, .now_s = 1000 };
        assert_true(nodes <= HERD_NODES);
        for (unsigned node = 0; node < nodes; node++)
                herd->free_kib[node] = NODE_KIB;
        tree_make(&herd->tree);
        host_tree_put(&herd->tree, nodes, cores, 1);
        tree_put(&herd->tree, "/proc/sys/kernel/random/boot_id", BOOT_ID "\n");
        tree_put(&herd->tree, "/sys/fs/cgroup/machine.slice/cpuset.cpus.effective", cpus);
        tree_put(&herd->tree, "/sys/fs/cgroup/machine.slice/cpuset.mems.effective", all);
        tree_put(&herd->tree, "/sys/devices/system/cpu/possible", cpus);
        tree_put(&herd->tree, "/sys/devices/system/node/possible", all);
        herd_pass(herd, 0);
        assert_int_equal(hn_keeper_new(&herd->tree.files, &door, NULL, &herd->keeper), 0);
        assert_true(hn_keeper_look_at_host(herd->keeper));
}

void herd_end(struct herd *herd)
{
        hn_keeper_free(herd->keeper);
        tree_remove(&herd->tree);
}
