/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The guests: those of the ledger, and those that run in machine.slice without an entry.  What libvirt keeps about a
 * running guest in /run/libvirt/qemu tells the user's pins, and its name where the ledger has none.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "act/cpuset.h"
#include "act/scope.h"
#include "command/called.h"
#include "command/records.h"
#include "command/status.h"
#include "model/array.h"
#include "model/clock.h"
#include "model/text.h"
#include "store/living.h"

#define SLICE "/sys/fs/cgroup/machine.slice"
#define UNIT_HEAD "machine-qemu\\x2d"
#define UNIT_TAIL ".scope"

struct records {
        struct hn_request **all;
        size_t n;
};

static void clear_records(struct records *records)
{
        for (size_t i = 0; i < records->n; i++)
                hn_request_free(records->all[i]);
        free(records->all);
}

/* ---- libvirt's records */

static int add_record(struct records *records, struct hn_request *request)
{
        struct hn_request **more = hn_array_grow(records->all, records->n, sizeof *more);

        if (!more) {
                hn_request_free(request);
                return -ENOMEM;
        }
        records->all = more;
        records->all[records->n++] = request;
        return 0;
}

static int read_records(const struct hn_root *root, struct hn_status *status, struct records *records, int *ret_error)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        int r = hn_root_open_dir(root, &dir, HN_RECORDS);

        status->records_read = r >= 0 || r == -ENOENT;
        *ret_error = status->records_read ? 0 : r;
        while (dir && (entry = readdir(dir))) {
                struct hn_request *request = NULL;

                if (!hn_record_is(entry->d_name))
                        continue;
                r = hn_record_read(root, entry->d_name, &request);
                if (r >= 0)
                        r = add_record(records, request);
                if (r == -ENOMEM)
                        return r;
        }
        return 0;
}

/* Takes the record out of the list; NULL: there is none.  `uuid` NULL: by the unit's name. */
static struct hn_request *take_record(struct records *records, const char *uuid, const char *unit)
{
        for (size_t i = 0; i < records->n; i++) {
                struct hn_request *request = records->all[i];
                HN_FREE char *own = NULL;

                if (!request)
                        continue;
                if (uuid ? strcasecmp(request->uuid, uuid) == 0
                         : hn_scope_unit(request->id, request->name, &own) >= 0 && strcmp(own, unit) == 0) {
                        records->all[i] = NULL;
                        return request;
                }
        }
        return NULL;
}

/* ---- memory */

int hn_guest_find_scope(const struct hn_root *root, const struct hn_guest_status *guest, char **ret)
{
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;
        int r;

        if (guest->unit && hn_scope_unit_valid(guest->unit) && hn_root_exists(root, SLICE "/%s", guest->unit)) {
                *ret = hn_text_print(SLICE "/%s", guest->unit);
                return *ret ? 0 : -ENOMEM;
        }
        if (!guest->entry || guest->entry->pid <= 0)
                return -ENOENT;
        r = hn_guest_cgroup_find(root, guest->entry->pid, &cgroup);
        if (r >= 0)
                *ret = HN_TAKE(cgroup->scope);
        return r;
}

static bool uses_pages(const struct hn_guest_status *guest, uint64_t page_kib)
{
        const struct hn_placement *placement = guest->entry ? guest->entry->placement : NULL;

        for (size_t i = 0; placement && i < placement->n_promises; i++)
                if (placement->promises[i].page_kib == page_kib)
                        return true;
        for (size_t i = 0; guest->live && i < guest->live->n_cells; i++)
                if (guest->live->cells[i].page_kib == page_kib)
                        return true;
        return guest->live && guest->live->page_kib == page_kib;
}

/* A guest that has no huge pages misses nothing where they can't be told. */
static int add_huge(const struct hn_root *root, const struct hn_host *host, const char *dir,
                    struct hn_guest_status *guest)
{
        const struct hn_node *node = host && host->n_nodes ? &host->nodes[0] : NULL;

        for (size_t i = 0; node && i < node->n_pools; i++) {
                uint64_t page_kib = node->pools[i].page_kib;
                int r = hn_resident_add_huge(root, dir, page_kib, &guest->resident);

                if (r == -ENOMEM)
                        return r;
                if (r < 0 && !guest->unread && uses_pages(guest, page_kib)) {
                        guest->unread = strdup("without huge pages: no hugetlb controller for it, or an old kernel");
                        if (!guest->unread)
                                return -ENOMEM;
                }
        }
        return 0;
}

static char *why_no_memory(const struct hn_guest_status *guest, const char *scope, int error)
{
        if (!scope)
                return strdup(guest->state == HN_GUEST_STARTING ? "it has no cgroup yet" : "its cgroup is not found");
        if (error == -ENOENT)
                return strdup("no memory controller for it (memory.numa_stat)");
        return hn_text_print("memory.numa_stat: %s", strerror(-error));
}

int hn_guest_read_memory(const struct hn_root *root, const struct hn_host *host, const char *scope,
                         struct hn_guest_status *guest)
{
        int r = scope ? hn_resident_read(root, scope, &guest->resident) : -ENOENT;

        if (r >= 0) {
                guest->read_us = hn_boottime_us();
                return add_huge(root, host, scope, guest);
        }
        guest->unread = why_no_memory(guest, scope, r);
        return guest->unread ? 0 : -ENOMEM;
}

static int find_and_read_memory(const struct hn_root *root, const struct hn_host *host, struct hn_guest_status *guest)
{
        HN_FREE char *scope = NULL;
        int r = hn_guest_find_scope(root, guest, &scope);

        return r == -ENOMEM ? r : hn_guest_read_memory(root, host, scope, guest);
}

/* ---- the list */

static enum hn_guest_state state_of(const struct hn_entry *entry)
{
        if (!entry->managed)
                return HN_GUEST_COUNTED;
        return entry->state == HN_ENTRY_STARTED ? HN_GUEST_RUNNING : HN_GUEST_STARTING;
}

static int add_entry(struct hn_status *status, const struct hn_entry *entry, struct records *records)
{
        const struct hn_placement *placement = entry->placement;
        struct hn_guest_status *guest = &status->guests[status->n_guests++];

        *guest = (struct hn_guest_status) { .state = state_of(entry), .entry = entry };
        guest->live = take_record(records, placement->uuid, NULL);
        guest->name = strdup(placement->name ? placement->name : placement->uuid);
        guest->unit = entry->unit ? strdup(entry->unit) : NULL;
        return guest->name && (guest->unit || !entry->unit) ? 0 : -ENOMEM;
}

static bool has_unit(const struct hn_status *status, const char *unit)
{
        for (size_t i = 0; i < status->n_entries; i++)
                if (status->entries[i]->unit && strcmp(status->entries[i]->unit, unit) == 0)
                        return true;
        return false;
}

static bool is_guests(const char *unit)
{
        size_t length = strlen(unit), tail = strlen(UNIT_TAIL);

        return strncmp(unit, UNIT_HEAD, strlen(UNIT_HEAD)) == 0 && length > strlen(UNIT_HEAD) + tail &&
               strcmp(unit + length - tail, UNIT_TAIL) == 0;
}

/* "machine-qemu\x2d7\x2dweb.scope" is "web", as far as a unit's name keeps it. */
static char *name_of_unit(const char *unit)
{
        const char *name = strstr(unit + strlen(UNIT_HEAD), "\\x2d");
        char *text = strdup(name ? name + 4 : unit), *to = text;

        for (const char *from = text; from && *from; to++) {
                bool dash = strncmp(from, "\\x2d", 4) == 0;

                *to = dash ? '-' : *from;
                from += dash ? 4 : 1;
        }
        if (text)
                to[-(ptrdiff_t) strlen(UNIT_TAIL)] = '\0';
        return text;
}

static int add_stranger(struct hn_status *status, const char *unit, struct records *records)
{
        struct hn_guest_status *guest = &status->guests[status->n_guests++];

        *guest = (struct hn_guest_status) {
                .state = status->ledger_read ? HN_GUEST_NOT_PLACED : HN_GUEST_NOT_KNOWN,
        };
        guest->live = take_record(records, NULL, unit);
        guest->name = guest->live && guest->live->name ? strdup(guest->live->name) : name_of_unit(unit);
        guest->unit = strdup(unit);
        return guest->name && guest->unit ? 0 : -ENOMEM;
}

static int by_name(const void *a, const void *b)
{
        return strcmp(((const struct hn_guest_status *) a)->name, ((const struct hn_guest_status *) b)->name);
}

/* All guests, by what was read of libvirt's records. */
static int list_guests(struct hn_status *status, const struct hn_living *living, struct records *records)
{
        int r = 0;

        status->guests = calloc(status->n_entries + living->n_scopes + 1, sizeof *status->guests);
        if (!status->guests)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < status->n_entries; i++)
                r = add_entry(status, status->entries[i], records);
        for (size_t i = 0; r >= 0 && i < living->n_scopes; i++)
                if (is_guests(living->scopes[i]) && !has_unit(status, living->scopes[i]))
                        r = add_stranger(status, living->scopes[i], records);
        if (r >= 0 && status->n_guests > 0)
                qsort(status->guests, status->n_guests, sizeof *status->guests, by_name);
        return r;
}

int hn_status_read_guests(const struct hn_root *root, struct hn_status *status)
{
        HN_CLEANUP(clear_records) struct records records = { 0 };
        HN_LIVING struct hn_living living = { .proc = -1 };
        int error = 0, r = hn_living_read(root, &living);

        if (r >= 0)
                r = read_records(root, status, &records, &error);
        if (r >= 0 && error)
                r = hn_status_fault(status, "libvirt's records of running guests can't be read (%s%s): what users "
                                            "pinned is not known", strerror(-error),
                                    error == -EACCES ? ": needs root" : "");
        if (r >= 0)
                r = list_guests(status, &living, &records);
        for (size_t i = 0; r >= 0 && i < status->n_guests; i++)
                r = find_and_read_memory(root, status->host, &status->guests[i]);
        return r;
}

/* ---- the same, again and again */

static struct hn_guest_status *find_unit(const struct hn_status *status, const char *unit)
{
        for (size_t i = 0; i < status->n_guests; i++)
                if (status->guests[i].unit && strcmp(status->guests[i].unit, unit) == 0)
                        return &status->guests[i];
        return NULL;
}

/* Does one run that has no entry and was not there before? */
static bool any_new(const struct hn_status *status, const struct hn_living *living, const struct hn_status *before)
{
        for (size_t i = 0; i < living->n_scopes; i++)
                if (is_guests(living->scopes[i]) && !has_unit(status, living->scopes[i]) &&
                    !find_unit(before, living->scopes[i]))
                        return true;
        return false;
}

static int take_over(struct hn_guest_status *guest, struct hn_status *before)
{
        struct hn_guest_status *old = guest->unit ? find_unit(before, guest->unit) : NULL;
        char *name;

        if (guest->entry || guest->live || !old || !old->live)
                return 0;
        guest->live = HN_TAKE(old->live);
        name = guest->live->name ? strdup(guest->live->name) : HN_TAKE(guest->name);
        if (!name)
                return -ENOMEM;
        free(guest->name);
        guest->name = name;
        return 0;
}

int hn_status_list_guests(const struct hn_root *root, struct hn_status *before, struct hn_status *status)
{
        HN_CLEANUP(clear_records) struct records records = { 0 };
        HN_LIVING struct hn_living living = { .proc = -1 };
        int error = 0, r = hn_living_read(root, &living);

        if (r >= 0 && any_new(status, &living, before))
                r = read_records(root, status, &records, &error);
        if (r >= 0)
                r = list_guests(status, &living, &records);
        for (size_t i = 0; r >= 0 && i < status->n_guests; i++)
                r = take_over(&status->guests[i], before);
        return r;
}

const char *hn_guest_uuid(const struct hn_guest_status *guest)
{
        return guest->entry ? guest->entry->placement->uuid : guest->live ? guest->live->uuid : "";
}

const struct hn_guest_status *hn_status_find(const struct hn_status *status, const char *domain)
{
        const struct hn_guest_status *found = NULL;
        int best = 0;

        for (size_t i = 0; i < status->n_guests; i++) {
                const struct hn_guest_status *guest = &status->guests[i];
                long id = guest->live ? guest->live->id : guest->entry ? guest->entry->domain_id : -1;
                int called = hn_called(domain, id, hn_guest_uuid(guest), guest->name);

                if (called <= best)
                        continue;
                best = called;
                found = guest;
        }
        return found;
}

double hn_guest_locality(const struct hn_guest_status *guest)
{
        uint64_t all_kib = hn_resident_sum_kib(&guest->resident, NULL);

        if (!guest->read_us || all_kib == 0 || !guest->entry || hwloc_bitmap_iszero(guest->entry->placement->home))
                return -1;
        return 100.0 * (double) hn_resident_sum_kib(&guest->resident, guest->entry->placement->home) / (double) all_kib;
}
