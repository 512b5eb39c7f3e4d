/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the ledger gets of a move as it comes to its end, one way or another.
 */
#include <errno.h>
#include <string.h>

#include "daemon/mover-internal.h"
#include "decide/move.h"
#include "model/clock.h"
#include "model/resident.h"
#include "model/text.h"

/* ---- the entry */

/* The ledger's entry, locked, if this move is in it still.  -ESTALE: it is not. */
static int open_entry(const struct hn_mover *mover, const struct hn_guest *guest, struct hn_ledger **ret_ledger,
                      struct hn_entry **ret)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = hn_keeper_lock(mover->keeper, &ledger);

        if (r >= 0)
                r = hn_ledger_get(ledger, guest->uuid, &entry);
        if (r < 0)
                return r == -ENOENT ? -ESTALE : r;
        if (!hn_keeper_is_its(entry, guest) || !entry->managed || !entry->moving)
                return -ESTALE;
        *ret_ledger = HN_TAKE(ledger);
        *ret = HN_TAKE(entry);
        return 0;
}

/* Writes it, and has the guest looked at by what it says now. */
static int put(struct hn_mover *mover, struct hn_guest *guest, struct hn_ledger *ledger, struct hn_entry **entry)
{
        int r = hn_ledger_put(ledger, *entry, NULL);

        if (r < 0)
                return r;
        hn_guest_take_entry(guest, HN_TAKE(*entry));
        guest->layout = 0;    /* new to its thread groups: not to be waited with, whoever else writes */
        guest->stands_in = 0; /* what was left to us is the keeper's again */
        mover->keeper->door.again(mover->keeper->door.data, guest->uuid, 0);
        return 0;
}

/* Others have the lock: at the next turn.  The move is no longer there: neither are we, nor is it to be gone on
 * with by what we read of it before. */
static bool is_done(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest, int r)
{
        if (r == -ESTALE) {
                hn_job_drop(mover, job, "it was given back");
                hn_moving_free(HN_TAKE(guest->entry->moving));
                mover->keeper->door.again(mover->keeper->door.data, guest->uuid, 0);
        }
        return r >= 0;
}

/* ---- narrowing */

/* The memory of the other home is promised until it is certain that nothing is there. */
static int narrow_entry(const struct hn_placement *from, struct hn_entry *entry)
{
        struct hn_placement *under_way = NULL;
        int r = hn_move_under_way(from, entry->moving->to, NULL, &under_way);

        if (r < 0)
                return r;
        if (hwloc_bitmap_copy(under_way->memory_nodes, entry->moving->to->memory_nodes) < 0) {
                hn_placement_free(under_way);
                return -ENOMEM;
        }
        hn_placement_free(entry->placement);
        entry->placement = under_way;
        entry->moving->narrowing = true;
        return 0;
}

/* It goes where it came from, and nothing of it lies elsewhere. */
static int turn_back(struct hn_entry *entry, const char *why)
{
        struct hn_moving *moving = entry->moving;
        struct hn_placement *from = moving->from;

        moving->from = moving->to;
        moving->to = from;
        moving->back = true;
        free(moving->reason);
        moving->reason = strdup(why);
        return moving->reason ? narrow_entry(moving->from, entry) : -ENOMEM;
}

/* ---- those that were to come after it */

static int call_back(struct hn_mover *mover, struct hn_ledger *ledger, struct hn_entry **entry)
{
        const char *uuid = (*entry)->placement->uuid;
        struct hn_guest *guest = hn_guests_find(&mover->keeper->guests, uuid);
        struct hn_job *job = hn_mover_job(mover, uuid);
        int r;

        /* It went before this one was found again. */
        if (job && job->stage != HN_MOVE_WAITS)
                return 0;
        r = turn_back(*entry, "the move that it was to follow did not succeed");
        if (r >= 0)
                r = guest && hn_keeper_is_its(*entry, guest) ? put(mover, guest, ledger, entry)
                                                             : hn_ledger_put(ledger, *entry, NULL);
        if (r >= 0 && job) {
                job->back = true;
                hn_job_stage(job, HN_MOVE_NARROWS);
        }
        return r;
}

/* Nothing of them has been moved.  The ledger gets it before it gets that this one does not get there: they go back
 * even if the daemon is killed, or does not know them yet. */
static int end_group(struct hn_mover *mover, struct hn_ledger *ledger, const struct hn_moving *ended)
{
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r = hn_ledger_load(ledger, &entries, &n);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const struct hn_moving *moving = entries[i]->moving;

                if (entries[i]->managed && moving && !moving->narrowing && moving->began_us == ended->began_us &&
                    moving->turn > ended->turn)
                        r = call_back(mover, ledger, &entries[i]);
        }
        hn_entries_free(entries, n);
        return r;
}

static void begin_narrowing(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest, bool back)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        int r = open_entry(mover, guest, &ledger, &entry);

        if (r >= 0 && back)
                r = end_group(mover, ledger, entry->moving);
        if (r >= 0)
                r = back ? turn_back(entry, job->why ? job->why : "called off")
                         : narrow_entry(entry->moving->from, entry);
        if (r >= 0)
                r = put(mover, guest, ledger, &entry);
        if (!is_done(mover, job, guest, r))
                return;
        job->back = back;
        hn_job_stage(job, HN_MOVE_NARROWS);
}

void hn_job_narrow(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest)
{
        begin_narrowing(mover, job, guest, false);
}

/* ---- the end */

static void notify(const struct hn_mover *mover, const struct hn_job *job, bool delivered)
{
        for (size_t i = 0; i < HN_MOVE_LISTENERS && mover->listeners[i].call; i++)
                mover->listeners[i].call(mover->listeners[i].data, job->uuid, job->target, delivered);
}

/* Why it is where it is: for the same as before, where it stayed. */
static void set_reason(struct hn_entry *entry, hwloc_const_bitmap_t stays)
{
        HN_FREE char *nodes = hn_text_nodes(stays), *reason = NULL;

        if (entry->moving->back || !hwloc_bitmap_isequal(entry->moving->to->home, stays))
                return;
        reason = nodes ? hn_text_print("on %s: moved, %s", nodes, entry->moving->reason) : NULL;
        if (!reason)
                return;
        free(entry->reason);
        entry->reason = HN_TAKE(reason);
}

static void set_result(struct hn_entry *entry, bool delivered, char *result)
{
        set_reason(entry, entry->placement->home);
        entry->moved.count += delivered;
        entry->moved.ended_us = hn_boottime_us();
        entry->moved.delivered = delivered;
        free(entry->moved.result);
        entry->moved.result = result;
        hn_moving_free(HN_TAKE(entry->moving));
}

static void finish(struct hn_mover *mover, struct hn_job *job, const struct hn_guest *guest, bool delivered)
{
        hn_mover_tell(mover, job, "%s", guest->entry->moved.result);
        job->over = true;
        notify(mover, job, delivered);
}

static char *say_delivered(const struct hn_job *job, const struct hn_placement *to, const char *note)
{
        HN_FREE char *nodes = hn_text_nodes(to->home);
        uint64_t took_ms = (hn_monotonic_us() - job->began_us) / 1000u;
        char size[HN_TEXT_SIZE];

        if (!nodes)
                return NULL;
        if (!job->done.ended)
                return hn_text_print("moved to %s%s%s", nodes, note ? "; " : "", note ? note : "");
        return hn_text_print("moved to %s: %s in %llu.%llu s, %u.%u %% of it at home%s%s", nodes,
                             hn_text_size(job->moved_kib, size), (unsigned long long) took_ms / 1000,
                             (unsigned long long) took_ms / 100 % 10, job->done.least_local / 10,
                             job->done.least_local % 10, note ? "; " : "", note ? note : "");
}

static char *say_back(const struct hn_moving *moving, const char *note)
{
        HN_FREE char *nodes = hn_text_nodes(moving->to->home);

        return nodes ? hn_text_print("stays on %s: %s%s%s", nodes, moving->reason, note ? "; " : "", note ? note : "")
                     : NULL;
}

void hn_job_end(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest, const char *note)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        char *result = NULL;
        bool back = false;
        int r = open_entry(mover, guest, &ledger, &entry);

        if (r >= 0)
                r = hn_placement_replace(&entry->placement, entry->moving->to);
        if (r >= 0) {
                back = entry->moving->back;
                result = back ? say_back(entry->moving, note) : say_delivered(job, entry->moving->to, note);
                r = result ? 0 : -ENOMEM;
        }
        if (r >= 0) {
                set_result(entry, !back, result);
                r = put(mover, guest, ledger, &entry);
        }
        if (is_done(mover, job, guest, r))
                finish(mover, job, guest, !back);
}

/* ---- in between */

static char *say_halfway(const struct hn_job *job, const struct hn_placement *stays)
{
        HN_FREE char *nodes = hn_text_nodes(stays->home);
        const char *why = job->why ? job->why : "";
        char moved[HN_TEXT_SIZE], left[HN_TEXT_SIZE];

        if (!nodes)
                return NULL;
        if (!job->done.known || job->resumed)
                return hn_text_print("not all of it was moved: %s; runs on %s", why, nodes);
        return hn_text_print("not all of it was moved: %s; runs on %s, %s were moved, %s were not", why, nodes,
                             hn_text_size(job->moved_kib, moved), hn_text_size(job->done.left_kib, left));
}

/* What would not go, as others share it or the kernel has its hands on it, does not matter where it is so little. */
static bool is_worth_it(const struct hn_job *job)
{
        return job->done.known && job->done.left_kib <= job->moved_kib / 100;
}

/* It lies on both homes: the memory set stays as wide as it is, and so do the promises. */
static void stay_between(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest)
{
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_LEDGER struct hn_ledger *ledger = NULL;
        HN_ENTRY struct hn_entry *entry = NULL;
        struct hn_placement *wide = NULL;
        const struct hn_placement *there, *other;
        bool delivered = is_worth_it(job);
        int r = open_entry(mover, guest, &ledger, &entry);

        if (r < 0) {
                (void) is_done(mover, job, guest, r);
                return;
        }
        there = entry->moving->to;
        other = entry->moving->from;
        if (hn_resident_read(mover->keeper->root, guest->cgroup->scope, &resident) >= 0 &&
            !hn_move_stays_there(other, there, resident.node_kib, resident.n_nodes)) {
                delivered = false;
                there = entry->moving->from;
                other = entry->moving->to;
        }
        r = hn_move_under_way(other, there, entry->placement->memory_nodes, &wide);
        if (r >= 0 && !delivered)
                r = end_group(mover, ledger, entry->moving);
        char *result = r >= 0 ? say_halfway(job, there) : NULL;
        if (r >= 0 && !result)
                r = -ENOMEM;
        if (r >= 0) {
                hn_placement_free(entry->placement);
                entry->placement = HN_TAKE(wide);
                set_result(entry, delivered, result);
                r = put(mover, guest, ledger, &entry);
        }
        hn_placement_free(wide);
        if (is_done(mover, job, guest, r))
                finish(mover, job, guest, delivered);
}

/* Nothing worth speaking of is left behind, and what the guest touches next finds room there. */
static bool may_narrow(const struct hn_job *job)
{
        return job->done.known && job->done.left_kib <= HN_KEEP_NARROW_KIB && job->done.error != -ENOMEM;
}

/* Narrow only to where the memory is known to be: the kernel would move the rest at one write, or the guest would be
 * killed for a node that is full. */
void hn_job_settle(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest)
{
        if (!job->resumed && job->moved_kib <= HN_KEEP_NARROW_KIB)
                begin_narrowing(mover, job, guest, true);
        else if (may_narrow(job))
                begin_narrowing(mover, job, guest, false);
        else
                stay_between(mover, job, guest);
}

/* One that was given back and runs on has made no room for those after it; one that ended has. */
static int call_back_after(struct hn_mover *mover, const struct hn_job *job)
{
        const struct hn_moving dropped = { .began_us = job->group_us, .turn = job->turn };
        const struct hn_guest *guest = hn_guests_find(&mover->keeper->guests, job->uuid);
        HN_LEDGER struct hn_ledger *ledger = NULL;
        int r;

        if (!guest || guest->pid != job->pid || guest->start_ticks != job->start_ticks)
                return 0;
        r = hn_keeper_lock(mover->keeper, &ledger);
        return r < 0 ? r : end_group(mover, ledger, &dropped);
}

void hn_job_drop(struct hn_mover *mover, struct hn_job *job, const char *why)
{
        if (job->haul)
                hn_haul_cancel(job->haul);
        /* Where others have the lock: at the next turn. */
        if (job->over || call_back_after(mover, job) < 0)
                return;
        job->over = true;
        hn_mover_tell(mover, job, "its move has ended: %s", why);
        notify(mover, job, false);
}
