/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/keeper.h"

#include <errno.h>
#include <string.h>

#include "act/journal.h"
#include "act/scope.h"
#include "act/undo.h"
#include "daemon/connection.h"
#include "daemon/keeper-internal.h"
#include "model/clock.h"
#include "model/process.h"
#include "model/text.h"

#define HOOK_WORKS_US 10000000u /* a reservation younger than this is the hook's business */
#define SOON_MS 1000u
#define LATER_MS 5000u          /* somebody holds the ledger's lock */
#define SETTLE_MS 300u          /* libvirt sets sets to everything and back within a second at hotplug */

int hn_keeper_new(const struct hn_cgroup_io *io, const struct hn_running_door *door, const char *bus_address,
                  struct hn_keeper **ret)
{
        HN_KEEPER struct hn_keeper *keeper = calloc(1, sizeof *keeper);
        int r;

        if (!keeper)
                return -ENOMEM;
        keeper->io = io;
        keeper->root = io->root;
        keeper->door = *door;
        hn_possible_read(io->root, &keeper->all_cpus, &keeper->all_nodes);
        r = hn_systemd_new(io->root, bus_address, &keeper->systemd);
        if (r >= 0)
                r = hn_watch_new(io->root, &keeper->watch);
        if (r < 0)
                return r;
        *ret = HN_TAKE(keeper);
        return 0;
}

void hn_keeper_free(struct hn_keeper *keeper)
{
        if (!keeper)
                return;
        hn_guests_clear(&keeper->guests);
        hn_watch_free(keeper->watch);
        hn_systemd_free(keeper->systemd);
        hwloc_bitmap_free(keeper->all_cpus);
        hwloc_bitmap_free(keeper->all_nodes);
        hn_outlook_clear(&keeper->outlook);
        free(keeper);
}

const struct hn_guests *hn_keeper_guests(const struct hn_keeper *keeper)
{
        return &keeper->guests;
}

static void again(const struct hn_keeper *keeper, const char *uuid, unsigned wait_ms)
{
        keeper->door.again(keeper->door.data, uuid, wait_ms);
}

HN_PRINTF(4, 5)
static void tell(const struct hn_keeper *keeper, int priority, const char *name, const char *text, ...)
{
        HN_FREE char *message = NULL;
        va_list arguments;

        va_start(arguments, text);
        message = hn_text_vprint(text, arguments);
        va_end(arguments);
        if (message)
                hn_journal(keeper->root, priority, HN_DAEMON_IDENTIFIER, name, NULL, "%s: %s", name, message);
}

static bool is_alive(const struct hn_root *root, int pid, uint64_t start_ticks)
{
        struct hn_process process = { 0 };
        int r = hn_process_read(root, pid, &process);

        /* What can't be told counts as alive. */
        return r >= 0 ? process.start_ticks == start_ticks : r != -ESRCH;
}

/* ---- the ledger */

int hn_keeper_lock(const struct hn_keeper *keeper, struct hn_ledger **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(keeper->root, NULL, &ledger);

        if (r >= 0)
                r = hn_ledger_lock(ledger, HN_DAEMON_WAIT_US);
        if (r >= 0)
                *ret = HN_TAKE(ledger);
        return r;
}

static int read_entry(const struct hn_keeper *keeper, const char *uuid, struct hn_entry **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r = hn_ledger_open(keeper->root, NULL, &ledger);

        return r < 0 ? r : hn_ledger_get(ledger, uuid, ret);
}

bool hn_keeper_is_its(const struct hn_entry *entry, const struct hn_guest *guest)
{
        return entry->state == HN_ENTRY_STARTED && entry->pid == guest->pid &&
               (entry->start_ticks == guest->start_ticks || entry->start_ticks == 0);
}

/* ---- whose guest it is */

static int undo_running(const struct hn_keeper *keeper, const struct hn_guest *guest, struct hn_undone *ret)
{
        const struct hn_unit_setter setter = { hn_unit_set, keeper->systemd, HN_UNIT_WAIT_US };

        return hn_undo_running(keeper->io, &setter, guest->request, guest->pid, ret);
}

/* First in the ledger, then in the cgroups: nobody is to confine it again in between. */
static void give_back(const struct hn_keeper *keeper, struct hn_guest *guest)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_undone undone = { 0 };
        int r = hn_keeper_lock(keeper, &ledger);

        if (r >= 0)
                r = hn_ledger_give_back(ledger, guest->uuid, HN_REASON_OPTED_OUT);
        if (r < 0) {
                again(keeper, guest->uuid, LATER_MS);
                return;
        }
        hn_ledger_unlock(ledger);
        guest->entry->managed = false;
        hn_moving_free(HN_TAKE(guest->entry->moving));
        r = undo_running(keeper, guest, &undone);
        if (r >= 0)
                r = undone.error;
        tell(keeper, r < 0 ? LOG_WARNING : LOG_INFO, guest->request->name, "opted out: given back to libvirt%s%s%s",
             r < 0 ? ", but not all of it: " : "", r < 0 ? strerror(-r) : "",
             undone.memory_stays ? "; its memory set stays, or its cells would come to be bound to other nodes" : "");
}

static bool has_reason(const struct hn_entry *entry, const char *reason)
{
        return entry->reason && strcmp(entry->reason, reason) == 0;
}

/* `off_before` is how the owner wished it at the last look: a change of mind is worth deciding anew, and so is what was
 * left to libvirt by another daemon before us, or while there was no room. */
static void settle_owner(struct hn_keeper *keeper, struct hn_guest *guest, bool off_before)
{
        bool off = guest->request->wishes.off, managed = guest->entry && guest->entry->managed;

        if (off && managed)
                give_back(keeper, guest);
        else if (!off && !managed && guest->entry && !has_reason(guest->entry, HN_REASON_GIVEN_BACK) &&
                 (off_before || !guest->tried))
                hn_keeper_enter(keeper, guest, off_before || has_reason(guest->entry, HN_REASON_OPTED_OUT)
                                                       ? HN_ENTER_ANEW : HN_ENTER_IF_PLACED);
}

/* Finds out what the ledger has of it.  False: not now. */
static bool find_entry(struct hn_keeper *keeper, struct hn_guest *guest)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = read_entry(keeper, guest->uuid, &entry);

        if (r >= 0 && entry->state == HN_ENTRY_RESERVED &&
            hn_boottime_us() - entry->written_us < HOOK_WORKS_US) {
                again(keeper, guest->uuid, SOON_MS);
                return false;
        }
        if (r >= 0 && hn_keeper_is_its(entry, guest)) {
                hn_guest_take_entry(guest, HN_TAKE(entry));
                return true;
        }
        /* One that was never to be touched is not worth an entry of ours. */
        if (guest->request->wishes.off && r == -ENOENT)
                return false;
        hn_keeper_enter(keeper, guest, HN_ENTER);
        return guest->entry && hn_keeper_is_its(guest->entry, guest);
}

static void find_cgroup(const struct hn_keeper *keeper, struct hn_guest *guest)
{
        if (guest->cgroup && hn_root_exists(keeper->root, "%s", guest->cgroup->threads))
                return;
        hn_guest_cgroup_free(guest->cgroup);
        guest->cgroup = NULL;
        guest->layout = 0;
        (void) hn_guest_cgroup_find(keeper->root, guest->pid, &guest->cgroup);
}

/* Whoever gives the guest back says so in the ledger first, without waiting for us: what we wrote since we read it may
 * have come after what they wrote.  A lock would not do: starts would wait for it as long as systemd takes. */
static void yield_to_undo(const struct hn_keeper *keeper, const struct hn_guest *guest)
{
        HN_ENTRY struct hn_entry *entry = NULL;
        struct hn_undone undone = { 0 };

        if (read_entry(keeper, guest->uuid, &entry) >= 0 && hn_keeper_is_its(entry, guest) && !entry->managed)
                (void) undo_running(keeper, guest, &undone);
}

/* ---- looking */

static int read_request(const struct hn_keeper *keeper, const char *uuid, struct hn_request **ret)
{
        HN_FREE char *text = NULL, *fault = NULL;
        HN_XMLDOC xmlDoc *doc = NULL;
        int r = keeper->door.live_xml(keeper->door.data, uuid, &text);

        if (r >= 0)
                r = hn_xml_parse(text, strlen(text), &doc);
        return r < 0 ? r : hn_request_parse(doc, ret, &fault);
}

/* The guest of that request; NULL: it has no process, or there is no memory. */
static struct hn_guest *obtain(struct hn_keeper *keeper, const char *uuid, const struct hn_request *request)
{
        struct hn_process process = { 0 };
        int pid = 0;

        if (hn_process_of_guest(keeper->root, request->name, &pid) < 0 ||
            hn_process_read(keeper->root, pid, &process) < 0)
                return NULL;
        return hn_guests_obtain(&keeper->guests, uuid, pid, process.start_ticks);
}

void hn_keeper_look(struct hn_keeper *keeper, const char *uuid)
{
        HN_REQUEST struct hn_request *request = NULL;
        struct hn_guest *guest;
        int r = read_request(keeper, uuid, &request);

        if (r == -ENOENT || (r >= 0 && request->id < 0)) {
                hn_keeper_gone(keeper, uuid);
                return;
        }
        if (r < 0 || !request->managed_type)
                return;
        guest = obtain(keeper, uuid, request);
        if (!guest)
                return;
        bool off_before = guest->request && guest->request->wishes.off;
        hn_guest_take_request(guest, HN_TAKE(request));
        find_cgroup(keeper, guest);
        if (!find_entry(keeper, guest))
                return;
        settle_owner(keeper, guest, off_before);
        hn_keeper_follow_plug(keeper, guest);
        if (guest->entry->managed && !guest->request->wishes.off && guest->cgroup)
                hn_keeper_rehome(keeper, guest);
        if (!guest->entry->managed)
                hn_watch_forget(keeper->watch, uuid);
        else if (!guest->request->wishes.off && guest->cgroup && hn_keep_guest(keeper, guest))
                yield_to_undo(keeper, guest);
}

/* Hook or no hook, what is left of it goes.  A start that came meanwhile has written a reservation of its own. */
static void clear_up(const struct hn_keeper *keeper, const struct hn_guest *guest)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;

        if (read_entry(keeper, guest->uuid, &entry) < 0 || !hn_keeper_is_its(entry, guest))
                return;
        hn_entry_free(HN_TAKE(entry));
        if (hn_keeper_lock(keeper, &ledger) < 0 || hn_ledger_get(ledger, guest->uuid, &entry) < 0 ||
            !hn_keeper_is_its(entry, guest))
                return;
        if (entry->unit)
                (void) hn_dropin_remove(keeper->root, entry->unit);
        (void) hn_ledger_remove(ledger, guest->uuid);
}

void hn_keeper_gone(struct hn_keeper *keeper, const char *uuid)
{
        struct hn_guest *guest = hn_guests_find(&keeper->guests, uuid);

        if (!guest)
                return;
        if (is_alive(keeper->root, guest->pid, guest->start_ticks)) {
                again(keeper, guest->uuid, LATER_MS); /* libvirt says so before QEMU has quite ended */
                return;
        }
        clear_up(keeper, guest);
        hn_watch_forget(keeper->watch, guest->uuid);
        hn_guests_remove(&keeper->guests, guest->uuid);
        keeper->room = true;
}

/* ---- finding drift */

static bool is_kept(const struct hn_guest *guest)
{
        return guest->entry && guest->entry->managed && guest->request && !guest->request->wishes.off && guest->cgroup;
}

void hn_keeper_sweep(struct hn_keeper *keeper)
{
        for (size_t i = keeper->guests.n; i-- > 0;) {
                struct hn_guest *guest = keeper->guests.list[i];
                HN_ACTIONS struct hn_actions actions = { 0 };
                bool relaid = false;

                if (!is_alive(keeper->root, guest->pid, guest->start_ticks))
                        hn_keeper_gone(keeper, guest->uuid);
                else if (!guest->entry)
                        again(keeper, guest->uuid, 0);
                /* The live XML first: it may be the user's own doing. */
                else if (is_kept(guest) && (hn_keep_compare(keeper, guest, &actions, &relaid) < 0 || actions.n ||
                                            guest->contest.last_us))
                        again(keeper, guest->uuid, 0);
                if (actions.n && relaid)
                        guest->layout = 0; /* still news for that look */
        }
        hn_keeper_try_again(keeper);
}

int hn_keeper_fd(const struct hn_keeper *keeper)
{
        return hn_watch_fd(keeper->watch);
}

static void on_news(void *data, const char *uuid, enum hn_watch_news news)
{
        struct hn_keeper *keeper = data;
        struct hn_guest *guest = uuid ? hn_guests_find(&keeper->guests, uuid) : NULL;

        if (!uuid) {
                for (size_t i = 0; i < keeper->guests.n; i++)
                        again(keeper, keeper->guests.list[i]->uuid, SETTLE_MS);
                return;
        }
        if (!*uuid && news == HN_WATCH_CHANGED)
                again(keeper, "", 0); /* machine.slice */
        if (!guest)
                return;
        if (news != HN_WATCH_CHANGED)
                guest->layout = 0; /* a group of the same name may be another one */
        again(keeper, uuid, news == HN_WATCH_NEW ? 0 : SETTLE_MS);
}

void hn_keeper_watched(struct hn_keeper *keeper)
{
        hn_watch_read(keeper->watch, on_news, keeper);
}
