/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gathering: host, ledger, load, and what is promised on each node.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "command/status.h"
#include "model/clock.h"
#include "model/text.h"
#include "model/uuid.h"

static bool denied(int error)
{
        return error == -EACCES || error == -EPERM;
}

int hn_status_fault(struct hn_status *status, const char *format, ...)
{
        HN_FREE char *line = NULL;
        char *all = NULL;
        va_list arguments;

        va_start(arguments, format);
        line = hn_text_vprint(format, arguments);
        va_end(arguments);
        if (line)
                all = hn_text_print("%s%s%s", status->faults ? status->faults : "", status->faults ? "\n" : "", line);
        if (!all)
                return -ENOMEM;
        free(status->faults);
        status->faults = all;
        return 0;
}

static int read_ledger(const struct hn_root *root, struct hn_status *status)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_load(ledger, &status->entries, &status->n_entries);
        if (r == -ENOMEM)
                return r;
        status->ledger_read = r >= 0;
        if (r >= 0)
                return 0;
        status->partial = true;
        return hn_status_fault(status, "the ledger can't be read (%s%s): homes and promises are not known",
                               strerror(-r), denied(r) ? ": needs root" : "");
}

static int read_host(const struct hn_root *root, struct hn_status *status)
{
        int r = hn_host_from_cache(root, true, &status->host);

        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                status->partial = true;
                return hn_status_fault(status, "this host's nodes can't be read (%s)", strerror(-r));
        }
        status->nodes = calloc(status->host->n_nodes + 1, sizeof *status->nodes);
        if (!status->nodes)
                return -ENOMEM;
        for (size_t at = 0; at < status->host->n_nodes; at++)
                status->nodes[at].busy_cpus = -1;
        return 0;
}

/* One reading of counters says nothing about now, so there have to be two. */
static int measure_load(const struct hn_root *root, unsigned interval_ms, struct hn_status *status)
{
        HN_CPU_TIMES struct hn_cpu_times before = { 0 }, after = { 0 };
        int r;

        if (!status->host || interval_ms == 0)
                return 0;
        r = hn_cpu_times_read(root, &before);
        if (r >= 0) {
                hn_sleep_ms(interval_ms);
                r = hn_cpu_times_read(root, &after);
        }
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return hn_status_fault(status, "load is not known: /proc/stat can't be read (%s)", strerror(-r));
        status->load_interval_ms = interval_ms;
        for (size_t at = 0; at < status->host->n_nodes; at++)
                status->nodes[at].busy_cpus = hn_cpu_times_busy(&before, &after, status->host->nodes[at].cpus);
        return 0;
}

static bool promised_before(const struct hn_placement *placement, size_t until, unsigned node)
{
        for (size_t i = 0; i < until; i++)
                if (placement->promises[i].node == node)
                        return true;
        return false;
}

static void count_placement(struct hn_status *status, const struct hn_placement *placement)
{
        for (size_t i = 0; i < placement->n_promises; i++) {
                const struct hn_promise *promise = &placement->promises[i];
                int at = hn_host_at(status->host, promise->node);

                if (at < 0)
                        continue;
                if (!promise->page_kib)
                        status->nodes[at].promised_kib += promise->memory_kib;
                status->nodes[at].promised_vcpus_milli += promise->vcpus_milli;
                status->nodes[at].n_guests += !promised_before(placement, i, promise->node);
        }
}

bool hn_status_of_this_boot(const struct hn_status *status, const struct hn_entry *entry)
{
        return *status->boot_id && strcmp(status->boot_id, entry->boot_id) == 0;
}

/* Host, ledger and promises: what the two ways to read have in common. */
static int read_basis(const struct hn_root *root, struct hn_status *status)
{
        int r = read_host(root, status);

        (void) hn_boot_id(root, status->boot_id);
        if (r >= 0)
                r = read_ledger(root, status);
        for (size_t i = 0; r >= 0 && status->host && i < status->n_entries; i++)
                count_placement(status, status->entries[i]->placement);
        return r;
}

int hn_status_read(const struct hn_root *root, unsigned load_interval_ms, struct hn_status *ret)
{
        HN_STATUS struct hn_status status = { 0 };
        int r = read_basis(root, &status);

        if (r >= 0)
                r = measure_load(root, load_interval_ms, &status);
        if (r >= 0)
                r = hn_status_read_guests(root, &status);
        if (r < 0)
                return r;
        *ret = status;
        status = (struct hn_status) { 0 };
        return 0;
}

int hn_status_read_again(const struct hn_root *root, struct hn_status *before, struct hn_status *ret)
{
        HN_STATUS struct hn_status status = { 0 };
        int r = read_basis(root, &status);

        if (r >= 0)
                r = hn_status_list_guests(root, before, &status);
        if (r < 0)
                return r;
        *ret = status;
        status = (struct hn_status) { 0 };
        return 0;
}

static void clear_guest(struct hn_guest_status *guest)
{
        free(guest->name);
        free(guest->unit);
        free(guest->unread);
        hn_request_free(guest->live);
        hn_resident_clear(&guest->resident);
}

void hn_status_clear(struct hn_status *status)
{
        for (size_t i = 0; i < status->n_guests; i++)
                clear_guest(&status->guests[i]);
        free(status->guests);
        hn_entries_free(status->entries, status->n_entries);
        hn_host_free(status->host);
        free(status->nodes);
        free(status->faults);
        *status = (struct hn_status) { 0 };
}

#define WITH_IT_US 1000000u /* the entry that says so is written as the move ends */

/* What is written later than that is news. */
static bool move_was_last(const struct hn_entry *entry)
{
        return entry->moved.result && (entry->written_us < entry->moved.ended_us ||
                                       entry->written_us - entry->moved.ended_us < WITH_IT_US);
}

char *hn_status_action(const struct hn_entry *entry)
{
        const struct hn_moving *moving = entry->moving;
        HN_FREE char *from = NULL, *to = NULL;

        if (!moving)
                return strdup(move_was_last(entry) ? entry->moved.result : entry->reason ? entry->reason : "");
        from = hn_text_nodes(moving->from->home);
        to = hn_text_nodes(moving->to->home);
        if (!from || !to)
                return NULL;
        return hn_text_print(moving->back ? "going back from %s to %s: %s" : "moving from %s to %s: %s", from, to,
                             moving->reason);
}
