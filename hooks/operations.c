/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "operations.h"

#include <errno.h>
#include <string.h>

#include "act/confine.h"
#include "act/scope.h"
#include "decide/explain.h"
#include "model/clock.h"
#include "model/json.h"
#include "model/process.h"
#include "store/ledger.h"
#include "store/scene.h"

#define SYSTEMD_WAIT_US 200000u

void hn_report_clear(struct hn_report *report)
{
        free(report->text);
        free(report->nodes);
        free(report->xml);
        *report = (struct hn_report) { 0 };
}

/* ---- entries */

/* The first start of a boot has the topology looked at anew, which takes hwloc tens of ms, and a busy host more: not
 * while others wait for the lock.  What fails here fails again where it is told. */
static void record_topology(const struct hn_root *root)
{
        HN_HOST struct hn_host *host = NULL;

        if (!hn_root_exists(root, HN_TOPOLOGY_PATH))
                (void) hn_host_from_cache(root, false, &host);
}

static int open_ledger(const struct hn_root *root, struct hn_ledger **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
        if (r >= 0)
                *ret = HN_TAKE(ledger);
        return r;
}

static int new_entry(const struct hn_guest *guest, const struct hn_decision *decision, const char *unit,
                     struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = calloc(1, sizeof *entry);

        if (!entry)
                return -ENOMEM;
        entry->placement = hn_placement_copy(decision->placement);
        entry->unit = unit ? strdup(unit) : NULL;
        entry->reason = strdup(decision->reason ? decision->reason : "");
        if (!entry->placement || !entry->reason || (unit && !entry->unit))
                return -ENOMEM;
        entry->state = HN_ENTRY_RESERVED;
        entry->domain_id = guest->request->id;
        entry->managed = decision->verdict == HN_PLACED;
        *ret = HN_TAKE(entry);
        return 0;
}

static int put_decision(struct hn_ledger *ledger, const struct hn_guest *guest, const struct hn_decision *decision,
                        const struct hn_entry *entry)
{
        HN_JSON struct json_object *explanation = NULL;
        int r = hn_explain_json(guest->request, decision, &explanation);

        return r < 0 ? r : hn_ledger_put(ledger, entry, json_object_to_json_string(explanation));
}

/* ---- deciding */

static bool wants_pools(const struct hn_request *request)
{
        bool huge = request->page_kib || request->page_default;

        for (size_t i = 0; i < request->n_cells; i++)
                huge |= request->cells[i].page_kib != 0;
        return huge;
}

/* libvirt binds a starting guest's cells to the nodes its definition names, ours included, whatever we print. */
static int bind_to_definition(struct hn_request *request)
{
        for (size_t i = 0; i < request->n_cells; i++) {
                struct hn_request_cell *cell = &request->cells[i];

                if (!cell->ours || cell->bound)
                        continue;
                cell->bound = hwloc_bitmap_dup(cell->ours);
                if (!cell->bound)
                        return -ENOMEM;
                cell->mode = HN_NUMA_STRICT;
        }
        return 0;
}

static int decide(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_report *report,
                  struct hn_scene **ret_scene, struct hn_decision **ret)
{
        const struct hn_scene_source source = { .with_pools = wants_pools(guest->request) };
        HN_SCENE struct hn_scene *scene = NULL;
        HN_DECISION struct hn_decision *decision = NULL;
        HN_FREE char *fault = NULL;
        int r = hn_scene_open(guest->root, &source, &scene, &fault);

        if (r < 0) {
                hn_report_tell(report, "not placed: %s: %s", fault ? fault : "looking at the host", strerror(-r));
                return r;
        }
        if (scene->faults)
                hn_report_tell(report, "configuration: %.*s", (int) strcspn(scene->faults, "\n"), scene->faults);
        if (guest->request->wishes.fault)
                hn_report_tell(report, "metadata: %s", guest->request->wishes.fault);
        r = hn_scene_add_ledger(scene, guest->root, ledger, guest->request->uuid);
        if (r >= 0)
                r = hn_scene_decide(scene, &scene->situation, guest->request, &decision);
        if (r < 0) {
                hn_report_tell(report, "not placed: deciding: %s", strerror(-r));
                return r;
        }
        *ret_scene = HN_TAKE(scene);
        *ret = HN_TAKE(decision);
        return 0;
}

static void tell_home(struct hn_report *report, const struct hn_placement *placement, const char *reason)
{
        HN_FREE char *nodes = NULL;

        if (hn_idset_format(placement->home, &nodes) < 0)
                return;
        hn_report_tell(report, "%s", reason);
        free(report->nodes);
        report->nodes = HN_TAKE(nodes);
}

static void tell_decision(struct hn_report *report, const struct hn_decision *decision)
{
        if (decision->verdict == HN_PLACED)
                tell_home(report, decision->placement, decision->reason);
        else
                hn_report_tell(report, "left to libvirt: %s", decision->reason);
        report->refused = decision->verdict == HN_REFUSED;
}

/* ---- the drop-in */

static int add_pins(hwloc_bitmap_t cpus, const struct hn_pin *pins, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (hwloc_bitmap_or(cpus, cpus, pins[i].cpus) < 0)
                        return -ENOMEM;
        return 0;
}

static int add_node_cpus(const struct hn_host *host, hwloc_const_bitmap_t nodes, hwloc_bitmap_t cpus)
{
        HN_IDSET_FOREACH(node, nodes) {
                int at = hn_host_at(host, (unsigned) node);

                if (at >= 0 && hwloc_bitmap_or(cpus, cpus, host->nodes[at].cpus) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* The nodes that the XML itself binds memory to. */
static int bound_nodes(const struct hn_request *request, hwloc_bitmap_t nodes)
{
        int r = 0;

        if (request->numatune_nodes)
                r = hwloc_bitmap_or(nodes, nodes, request->numatune_nodes);
        for (size_t i = 0; r >= 0 && i < request->n_cells; i++) {
                hwloc_const_bitmap_t bound = request->cells[i].bound ? request->cells[i].bound : request->cells[i].ours;

                r = bound ? hwloc_bitmap_or(nodes, nodes, bound) : 0;
        }
        return r < 0 ? -ENOMEM : 0;
}

/* The scope's memory set: the placement's, and what the XML itself binds to, or the start fails (DESIGN fact 4);
 * empty where the placement wants none. */
static int scope_nodes(const struct hn_request *request, const struct hn_placement *placement, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_dup(placement->memory_nodes);

        if (!nodes || (!hwloc_bitmap_iszero(nodes) && bound_nodes(request, nodes) < 0))
                return -ENOMEM;
        *ret = HN_TAKE(nodes);
        return 0;
}

/* The scope's CPUs at start: the placement's and all that the XML itself asks for. */
static int scope_cpus(const struct hn_host *host, const struct hn_request *request,
                      const struct hn_placement *placement, hwloc_bitmap_t *ret)
{
        HN_BITMAP hwloc_bitmap_t cpus = hn_placement_cpus(placement);
        HN_BITMAP hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

        if (!cpus || !nodes)
                return -ENOMEM;
        if ((request->vcpu_cpuset && hwloc_bitmap_or(cpus, cpus, request->vcpu_cpuset) < 0) ||
            (request->emulator_pin && hwloc_bitmap_or(cpus, cpus, request->emulator_pin) < 0) ||
            add_pins(cpus, request->vcpu_pins, request->n_vcpu_pins) < 0 ||
            add_pins(cpus, request->iothread_pins, request->n_iothread_pins) < 0 ||
            bound_nodes(request, nodes) < 0 || add_node_cpus(host, nodes, cpus) < 0)
                return -ENOMEM;
        *ret = HN_TAKE(cpus);
        return 0;
}

static void write_dropin(const struct hn_guest *guest, const struct hn_host *host, const struct hn_entry *entry,
                         struct hn_report *report)
{
        HN_BITMAP hwloc_bitmap_t cpus = NULL, nodes = NULL;
        unsigned version = 0;
        int r = hn_systemd_version(guest->root, SYSTEMD_WAIT_US, &version);

        if (r < 0) {
                hn_report_tell(report, "no drop-in: systemd does not answer: %s", strerror(-r));
                return;
        }
        if (version < HN_SYSTEMD_MINIMUM) {
                hn_report_tell(report, "no drop-in: systemd %u is older than %u", version, HN_SYSTEMD_MINIMUM);
                return;
        }
        r = scope_cpus(host, guest->request, entry->placement, &cpus);
        if (r >= 0)
                r = scope_nodes(guest->request, entry->placement, &nodes);
        if (r >= 0)
                r = hn_dropin_write(guest->root, entry->unit, cpus, nodes);
        if (r < 0)
                hn_report_tell(report, "no drop-in: %s", strerror(-r));
}

/* ---- prepare */

/* A reservation made for this very start: by migrate or restore just before, or by the same hook installed twice. */
static int keep_reservation(struct hn_ledger *ledger, const struct hn_guest *guest, const char *unit,
                            struct hn_entry **ret)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        char boot_id[HN_UUID_LENGTH + 1];
        int r = hn_ledger_get(ledger, guest->request->uuid, &entry);

        if (r >= 0)
                r = hn_boot_id(guest->root, boot_id);
        if (r < 0)
                return r;
        if (entry->state != HN_ENTRY_RESERVED || strcmp(entry->boot_id, boot_id) != 0 || !entry->managed ||
            hn_boottime_us() - entry->written_us > HN_RESERVATION_US ||
            (entry->domain_id != guest->request->id && !entry->kept))
                return -ENOENT;
        free(entry->unit);
        entry->unit = unit ? strdup(unit) : NULL;
        if (unit && !entry->unit)
                return -ENOMEM;
        entry->domain_id = guest->request->id;
        entry->kept = false;
        *ret = HN_TAKE(entry);
        return 0;
}

static int print_rewritten(const struct hn_guest *guest, enum hn_rewrite_form form, const struct hn_scene *scene,
                           const struct hn_decision *decision, struct hn_report *report)
{
        bool changed = false;
        size_t length = 0;
        int r = hn_rewrite_apply(guest->doc, form, &scene->situation, decision, &changed);

        if (r >= 0 && changed)
                r = hn_xml_format(guest->doc, &report->xml, &length);
        if (r < 0)
                hn_report_tell(report, "XML not rewritten: %s", strerror(-r));
        return r;
}

static int prepare_kept(const struct hn_guest *guest, struct hn_ledger *ledger, const struct hn_entry *entry,
                        struct hn_report *report)
{
        HN_HOST struct hn_host *host = NULL;
        int r = hn_ledger_put(ledger, entry, NULL);

        hn_ledger_unlock(ledger);
        if (r >= 0)
                r = hn_host_from_cache(guest->root, false, &host);
        tell_home(report, entry->placement, entry->reason);
        hn_report_tell(report, "as decided just before");
        if (r < 0)
                hn_report_tell(report, "no drop-in: %s", strerror(-r));
        else if (entry->unit)
                write_dropin(guest, host, entry, report);
        return 0;
}

static int prepare_anew(const struct hn_guest *guest, struct hn_ledger *ledger, const char *unit,
                        struct hn_report *report)
{
        HN_DECISION struct hn_decision *decision = NULL;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = bind_to_definition(guest->request);

        if (r >= 0)
                r = decide(guest, ledger, report, &scene, &decision);
        if (r < 0)
                return r;
        tell_decision(report, decision);
        if (decision->verdict == HN_REFUSED)
                return hn_ledger_remove(ledger, guest->request->uuid);
        r = new_entry(guest, decision, unit, &entry);
        if (r >= 0)
                r = put_decision(ledger, guest, decision, entry);
        hn_ledger_unlock(ledger);
        if (r < 0) {
                hn_report_tell(report, "not placed: writing the ledger: %s", strerror(-r));
                return r;
        }
        if (decision->verdict != HN_PLACED)
                return 0;
        if (unit)
                write_dropin(guest, scene->host, entry, report);
        return print_rewritten(guest, HN_REWRITE_PREPARE, scene, decision, report);
}

int hn_operation_prepare(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        HN_FREE char *unit = NULL;
        int r = hn_scope_unit(guest->request->id, guest->name, &unit);

        if (r < 0)
                hn_report_tell(ret, "no scope can be foreseen");
        else if (hn_dropin_remove(guest->root, unit) < 0)
                hn_report_tell(ret, "an old drop-in of %s can't be removed", unit);
        record_topology(guest->root);
        r = open_ledger(guest->root, &ledger);
        if (r < 0) {
                hn_report_tell(ret, "not placed: the ledger can't be had: %s", strerror(-r));
                return 0;
        }
        if (!guest->request->wishes.off && keep_reservation(ledger, guest, unit, &entry) >= 0)
                return prepare_kept(guest, ledger, entry, ret);
        (void) prepare_anew(guest, ledger, unit, ret);
        return 0;
}

/* ---- migrate, restore */

int hn_operation_filter(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_DECISION struct hn_decision *decision = NULL;
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r;

        record_topology(guest->root);
        r = open_ledger(guest->root, &ledger);
        if (r < 0) {
                hn_report_tell(ret, "not placed: the ledger can't be had: %s", strerror(-r));
                return 0;
        }
        r = decide(guest, ledger, ret, &scene, &decision);
        if (r < 0)
                return 0;
        tell_decision(ret, decision);
        /* A refusal is for prepare, which follows, to pronounce. */
        ret->refused = false;
        if (decision->verdict != HN_PLACED)
                return 0;
        r = new_entry(guest, decision, NULL, &entry);
        if (r >= 0) {
                entry->kept = true;
                r = put_decision(ledger, guest, decision, entry);
        }
        hn_ledger_unlock(ledger);
        if (r < 0) {
                hn_report_tell(ret, "not placed: writing the ledger: %s", strerror(-r));
                return 0;
        }
        (void) print_rewritten(guest, HN_REWRITE_FILTER, scene, decision, ret);
        return 0;
}

/* ---- started */

static int read_qemu_pid(const struct hn_guest *guest, int *ret)
{
        uint64_t pid = 0;
        int r = strchr(guest->name, '/') ? -EINVAL
                                         : hn_root_read_u64(guest->root, &pid, "/run/libvirt/qemu/%s.pid", guest->name);

        if (r < 0)
                return r;
        if (pid == 0 || pid > INT32_MAX)
                return -ERANGE;
        *ret = (int) pid;
        return 0;
}

/* A guest that no prepare could place (no lock, no ledger then) is placed now, as far as that goes. */
static int late_entry(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_report *report,
                      struct hn_entry **ret)
{
        HN_DECISION struct hn_decision *decision = NULL;
        HN_SCENE struct hn_scene *scene = NULL;
        HN_FREE char *unit = NULL;
        int r = decide(guest, ledger, report, &scene, &decision);

        if (r < 0)
                return r;
        tell_decision(report, decision);
        (void) hn_scope_unit(guest->request->id, guest->name, &unit);
        /* It runs already: too late to refuse, and no memory set was in force. */
        report->refused = false;
        return new_entry(guest, decision, unit, ret);
}

/* One that runs without the cells that were planned for it sees one node: its vCPUs share the whole home. */
static int fold_cells(struct hn_placement *placement)
{
        for (size_t i = 1; i < placement->n_cells; i++) {
                struct hn_placed_cell *first = &placement->cells[0], *cell = &placement->cells[i];

                if (hwloc_bitmap_or(first->vcpus, first->vcpus, cell->vcpus) < 0 ||
                    hwloc_bitmap_or(first->nodes, first->nodes, cell->nodes) < 0 ||
                    hwloc_bitmap_or(first->cpus, first->cpus, cell->cpus) < 0)
                        return -ENOMEM;
                first->memory_kib += cell->memory_kib;
                hwloc_bitmap_free(cell->vcpus);
                hwloc_bitmap_free(cell->nodes);
                hwloc_bitmap_free(cell->cpus);
        }
        if (placement->n_cells > 1)
                placement->n_cells = 1;
        return 0;
}

static void tell_confined(struct hn_report *report, const struct hn_confined *confined)
{
        hn_report_tell(report, "%u thread groups confined, %u left to the user's pins", confined->threads, confined->users);
        if (confined->failed)
                hn_report_tell(report, "%u failed: %s", confined->failed,
                     confined->error == -ENOSPC ? "conflicts with the cpuset above or below"
                                                : strerror(-confined->error));
        if (!confined->memory_in_force)
                hn_report_tell(report, "the scope's memory set is not the planned one");
}

/* Puts CPU sets into force and takes the CPUs out of drop-in and scope.  Without an entry only the latter: CPUs that
 * a drop-in confined stay so for vcpupin and setvcpus otherwise. */
static void confine(const struct hn_guest *guest, int pid, const struct hn_entry *entry, struct hn_report *report)
{
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        struct hn_confined confined = { 0 };
        int r = hn_guest_cgroup_find(guest->root, pid, &cgroup);

        if (r >= 0 && entry)
                r = hn_confine(guest->root, cgroup, entry->placement, guest->request, &confined);
        else if (r >= 0 && cgroup->by_systemd)
                r = hn_cpuset_open(guest->root, cgroup->scope);
        if (r < 0)
                hn_report_tell(report, "CPUs not confined: %s", strerror(-r));
        else if (entry)
                tell_confined(report, &confined);

        if (!entry || !entry->unit)
                return;
        r = scope_nodes(guest->request, entry->placement, &nodes);
        if (r >= 0)
                r = hn_dropin_write(guest->root, entry->unit, NULL, nodes);
        if (r < 0)
                hn_report_tell(report, "the drop-in still confines CPUs: %s", strerror(-r));
}

/* The entry goes on as that of a running guest.  Reading it needs no lock, so that a lock that can't be had keeps
 * nothing from coming into force. */
static int enter_started(const struct hn_guest *guest, struct hn_ledger *ledger, struct hn_entry *entry, int pid,
                         struct hn_report *report)
{
        struct hn_process process = { 0 };
        int r = 0;

        entry->state = HN_ENTRY_STARTED;
        entry->pid = pid;
        if (pid > 0)
                r = hn_process_read(guest->root, pid, &process);
        entry->start_ticks = process.start_ticks;
        if (r >= 0 && guest->request->n_cells == 0)
                r = fold_cells(entry->placement);
        if (r >= 0)
                r = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
        if (r >= 0)
                r = hn_ledger_put(ledger, entry, NULL);
        hn_ledger_unlock(ledger);
        if (r < 0)
                hn_report_tell(report, "writing the ledger: %s", strerror(-r));
        return r;
}

static int find_entry(const struct hn_guest *guest, struct hn_ledger **ret_ledger, struct hn_report *report,
                      struct hn_entry **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(guest->root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_get(ledger, guest->request->uuid, ret);
        if (r == -ENOENT || r == -EBADMSG) {
                r = hn_ledger_lock(ledger, HN_LOCK_WAIT_US);
                if (r >= 0)
                        r = late_entry(guest, ledger, report, ret);
        }
        if (r >= 0)
                *ret_ledger = HN_TAKE(ledger);
        return r;
}

int hn_operation_started(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int pid = 0, r = read_qemu_pid(guest, &pid);

        if (r < 0)
                hn_report_tell(ret, "QEMU's process can't be told: %s", strerror(-r));
        r = find_entry(guest, &ledger, ret, &entry);
        if (r < 0)
                hn_report_tell(ret, "not placed: the ledger can't be had: %s", strerror(-r));
        else
                (void) enter_started(guest, ledger, entry, pid, ret);
        if (entry && !entry->managed) {
                hn_report_tell(ret, "left to libvirt: %s", entry->reason);
                return 0;
        }
        if (entry)
                tell_home(ret, entry->placement, entry->reason);
        if (pid > 0 && !guest->request->wishes.off)
                confine(guest, pid, entry, ret);
        return 0;
}

/* ---- release */

/* The XML has no id any more: the ledger knows the unit.  Neither reading nor removing an entry takes the lock, so
 * that one who holds it for ever leaves nothing behind. */
int hn_operation_release(const struct hn_guest *guest, struct hn_report *ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = hn_ledger_open(guest->root, NULL, &ledger);

        if (r >= 0 && hn_ledger_get(ledger, guest->request->uuid, &entry) >= 0 && entry->unit &&
            hn_dropin_remove(guest->root, entry->unit) < 0)
                hn_report_tell(ret, "the drop-in of %s can't be removed", entry->unit);
        if (r >= 0)
                r = hn_ledger_remove(ledger, guest->request->uuid);
        if (r < 0)
                hn_report_tell(ret, "the ledger's entry stays until its QEMU is missed: %s", strerror(-r));
        else
                hn_report_tell(ret, "cleared");
        return 0;
}
