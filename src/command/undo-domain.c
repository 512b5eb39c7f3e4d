/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Undoing one domain: first the guest that runs, then its definition.
 */
#include <errno.h>
#include <libvirt/virterror.h>
#include <string.h>

#include "act/journal.h"
#include "act/undo.h"
#include "command/records.h"
#include "command/undo.h"
#include "daemon/adopt.h"
#include "model/clock.h"
#include "model/process.h"
#include "model/text.h"

#define LOCK_WAIT_US 2000000u  /* a burst of starts has it again and again, for milliseconds each */
#define UNIT_WAIT_US 60000000u /* nobody waits for us, and opening a memory set takes systemd seconds under load */

struct guest {
        struct hn_request *request; /* of the live XML */
        int pid;
        uint64_t start_ticks;
};

static void clear_guest(struct guest *guest)
{
        hn_request_free(guest->request);
}

HN_PRINTF(2, 3)
static void fail(struct hn_undo_domain *domain, const char *format, ...)
{
        HN_FREE char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = hn_text_vprint(format, arguments);
        va_end(arguments);
        (void) hn_text_add(&domain->faults, "%s", text ? text : "out of memory");
}

/* ---- the guest that runs */

/* -EREMOTEIO: libvirt's word is the domain's fault. */
static int ask_libvirt(virConnectPtr libvirt, struct hn_undo_domain *domain, struct hn_request **ret)
{
        HN_VIRDOMAIN virDomainPtr found = virDomainLookupByUUIDString(libvirt, domain->uuid);
        HN_FREE char *text = found ? virDomainGetXMLDesc(found, 0) : NULL, *fault = NULL;
        HN_XMLDOC xmlDoc *doc = NULL;
        int r;

        if (!text && virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
                return -ENOENT;
        if (!text) {
                const char *message = virGetLastErrorMessage();

                fail(domain, "libvirt does not say what it runs with: %s", message ? message : "no message");
                return -EREMOTEIO;
        }
        r = hn_xml_parse(text, strlen(text), &doc);
        return r < 0 ? r : hn_request_parse(doc, ret, &fault);
}

static int read_live(const struct hn_undo *undo, struct hn_undo_domain *domain, struct hn_request **ret)
{
        HN_FREE char *file = hn_text_print("%s.xml", domain->name);
        int r = undo->libvirt ? ask_libvirt(undo->libvirt, domain, ret) : -ENOENT;

        if (r != -ENOENT)
                return r;
        return file && hn_record_is(file) ? hn_record_read(undo->root, file, ret) : -ENOENT;
}

/* -ENOENT: it does not run. */
static int find_guest(const struct hn_undo *undo, struct hn_undo_domain *domain, struct guest *guest)
{
        struct hn_process process = { 0 };
        int r = hn_process_of_guest(undo->root, domain->name, &guest->pid);

        if (r >= 0)
                r = hn_process_read(undo->root, guest->pid, &process);
        if (r < 0)
                return r == -ESRCH || r == -EINVAL ? -ENOENT : r;
        guest->start_ticks = process.start_ticks;
        r = read_live(undo, domain, &guest->request);
        if (r < 0)
                return r == -ENOENT ? -ENODATA : r;
        return guest->request->id < 0 ? -ENOENT : 0;
}

/* Of another start, it says nothing of this one. */
static bool is_of(const struct hn_entry *entry, const struct guest *guest)
{
        return entry->state == HN_ENTRY_RESERVED ||
               (entry->pid == guest->pid && (!entry->start_ticks || entry->start_ticks == guest->start_ticks));
}

static bool was_ours(const struct hn_entry *entry)
{
        return entry->managed || (entry->reason && (strcmp(entry->reason, HN_REASON_GIVEN_BACK) == 0 ||
                                                    strcmp(entry->reason, HN_REASON_OPTED_OUT) == 0));
}

/* A guest without an entry would be taken for one that is to be placed yet. */
static int enter(const struct hn_undo *undo, struct guest *guest)
{
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        bool off = guest->request->wishes.off;
        int r;

        (void) hn_guest_cgroup_find(undo->root, guest->pid, &cgroup);
        const struct hn_adoption adoption = {
                .root = undo->root, .request = guest->request, .cgroup = cgroup,
                .pid = guest->pid, .start_ticks = guest->start_ticks,
        };
        guest->request->wishes.off = true; /* it is only counted */
        r = hn_adopt(&adoption, undo->ledger, &entry);
        guest->request->wishes.off = off;
        return r;
}

/* QEMU is there, and libvirt has not made its cgroups yet: what is to be opened does not exist, and will be confined. */
static bool is_starting(const struct hn_undo *undo, const struct hn_entry *entry, int pid)
{
        HN_GUEST_CGROUP struct hn_guest_cgroup *cgroup = NULL;

        return entry->state == HN_ENTRY_RESERVED && hn_boottime_us() - entry->written_us < HN_RESERVATION_US &&
               hn_guest_cgroup_find(undo->root, pid, &cgroup) == -ENOENT;
}

/* Tells the ledger, so that neither daemon nor hook confine it again.  *ret_ours: there is something to be undone. */
static int tell_ledger(const struct hn_undo *undo, struct guest *guest, struct hn_undo_domain *domain, bool *ret_ours)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        bool found;
        int r = hn_ledger_lock(undo->ledger, LOCK_WAIT_US);

        if (r < 0)
                return r;
        found = hn_ledger_get(undo->ledger, domain->uuid, &entry) >= 0 && is_of(entry, guest);
        *ret_ours = found ? was_ours(entry) : !guest->request->wishes.off;
        if (found)
                (void) hn_entry_settle_bound(entry, guest->request);
        if (!*ret_ours)
                r = 0;
        else if (found && is_starting(undo, entry, guest->pid))
                r = -EAGAIN;
        else if (!found && (r = enter(undo, guest)) < 0) {
                (void) hn_text_add(&domain->notes, "homenoded may place it again, since it can't be put down: %s",
                                   strerror(-r));
                r = 0;
        } else
                r = hn_ledger_give_back(undo->ledger, domain->uuid, HN_REASON_GIVEN_BACK);
        hn_ledger_unlock(undo->ledger);
        return r;
}

static void give_back(const struct hn_undo *undo, const struct guest *guest, struct hn_undo_domain *domain)
{
        struct hn_undone undone = { 0 };
        const struct hn_unit_setter setter = { hn_unit_set, undo->systemd, UNIT_WAIT_US };
        int r = hn_undo_running(&undo->io, &setter, guest->request, guest->pid, &undone);

        domain->running = r < 0 || undone.failed ? HN_UNDO_FAILED : HN_UNDO_DONE;
        if (r < 0)
                fail(domain, "its cgroups can't be read: %s", strerror(-r));
        else if (undone.failed)
                fail(domain, "%u of the things that confine it could not be opened: %s", undone.failed,
                     undone.error == -ENOSPC ? "conflicts with the cpuset above or below" : strerror(-undone.error));
        if (undone.users)
                (void) hn_text_add(&domain->notes, "what you pinned stays pinned");
        if (undone.memory_stays)
                (void) hn_text_add(&domain->notes, "the memory set stays until it stops, or its cells would come to be "
                                                   "bound to other nodes");
        if (guest->request->cells_ours)
                (void) hn_text_add(&domain->notes, "the guest sees homenode's cells until it stops");
}

static void undo_running(const struct hn_undo *undo, struct hn_undo_domain *domain)
{
        HN_CLEANUP(clear_guest) struct guest guest = { 0 };
        bool ours = false;
        int r = find_guest(undo, domain, &guest);

        domain->running = HN_UNDO_ABSENT;
        if (r == -ENOENT)
                return;
        domain->running = HN_UNDO_NOTHING;
        if (r >= 0 && !guest.request->managed_type)
                return;
        if (r < 0 && r != -EREMOTEIO)
                fail(domain, "it is not known what it runs with: %s", strerror(-r));
        else if (r >= 0 && (r = tell_ledger(undo, &guest, domain, &ours)) < 0)
                fail(domain, r == -ETIME    ? "others have the ledger, try again: %s"
                             : r == -EAGAIN ? "it is just being started, try again: %s"
                                            : "the ledger can't be told: %s", strerror(-r));
        if (r < 0)
                domain->running = HN_UNDO_FAILED;
        else if (ours)
                give_back(undo, &guest, domain);
}

/* ---- its definition */

static bool is_saved(virConnectPtr libvirt, const char *uuid)
{
        HN_VIRDOMAIN virDomainPtr domain = virDomainLookupByUUIDString(libvirt, uuid);

        return domain && virDomainIsActive(domain) == 0 && virDomainHasManagedSaveImage(domain, 0) > 0;
}

static void undo_definition(const struct hn_undo *undo, struct hn_undo_domain *domain)
{
        const struct hn_definition_door door = hn_definition_door_to(undo->libvirt);
        HN_FREE char *message = NULL;
        int r;

        domain->definition = HN_UNDO_UNSEEN;
        if (!undo->libvirt)
                return;
        r = hn_definition_undo(undo->root, &door, domain->uuid, &message);
        domain->definition = r > 0 ? HN_UNDO_DONE : r == 0 ? HN_UNDO_NOTHING : HN_UNDO_FAILED;
        if (r == -ENOENT)
                domain->definition = HN_UNDO_ABSENT;
        if (r > 0 && is_saved(undo->libvirt, domain->uuid))
                (void) hn_text_add(&domain->notes, "the guest that is saved sees homenode's cells until it stops");
        if (r == -EREMOTEIO)
                fail(domain, "libvirt refuses the definition without homenode's part, which stays as it was: %s",
                     message ? message : "no message");
        else if (r == -EBUSY)
                fail(domain, "somebody else keeps changing its definition");
        else if (r < 0 && r != -ENOENT)
                fail(domain, "its definition: %s", strerror(-r));
}

static void tell(const struct hn_undo *undo, const struct hn_undo_domain *domain, const char *text)
{
        hn_journal(undo->root, LOG_INFO, "homenode", domain->name, NULL, "%s: %s", domain->name, text);
}

void hn_undo_domain(const struct hn_undo *undo, struct hn_undo_domain *domain)
{
        undo_running(undo, domain);
        undo_definition(undo, domain);
        if (domain->running == HN_UNDO_DONE)
                tell(undo, domain, "given back to libvirt by the administrator");
        if (domain->definition == HN_UNDO_DONE)
                tell(undo, domain, "taken out of its definition by the administrator");
        if (domain->faults)
                tell(undo, domain, domain->faults);
}
