/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far a move has come: what is waited for, what the thread says, what calls it off.
 */
#include <errno.h>
#include <string.h>

#include "daemon/mover-internal.h"
#include "decide/move.h"
#include "decide/shape.h"
#include "decide/stay.h"
#include "model/clock.h"
#include "model/resident.h"
#include "model/text.h"

#define LACKS_US UINT64_C(5000000) /* libvirt may not tell of a guest for long */
#define PATIENCE_US UINT64_C(120000000) /* for the keeper: libvirtd may be down, systemd busy */
#define HAULS 3u                        /* looks at what came to lie elsewhere meanwhile */

/* The guest, if it is the one that runs still and this move is in its entry. */
static struct hn_guest *guest_of(const struct hn_mover *mover, const struct hn_job *job)
{
        struct hn_guest *guest = hn_guests_find(&mover->keeper->guests, job->uuid);

        if (!guest || guest->pid != job->pid || guest->start_ticks != job->start_ticks || !guest->entry ||
            !guest->request || !guest->cgroup)
                return NULL;
        return guest->entry->managed && guest->entry->moving ? guest : NULL;
}

static bool is_late(const struct hn_job *job)
{
        return hn_monotonic_us() - job->since_us > PATIENCE_US;
}

/* ---- what calls it off */

/* What was found out as it began may have changed since: the user wrote something, the host lost a node. */
static void check(const struct hn_mover *mover, struct hn_job *job, const struct hn_guest *guest)
{
        const struct hn_host *host = mover->keeper->outlook.host;
        const struct hn_placement *to = guest->entry->moving->to;
        HN_SHAPE struct hn_shape *shape = NULL;
        const char *refusal;

        if (job->why || !host || hn_shape_running(host, guest->request, &shape) < 0)
                return;
        refusal = hn_move_refusal(host, guest->request, shape, to);
        if (guest->request->wishes.off)
                refusal = "its owner opted out";
        else if (hn_home_standing(host, guest->request, to) == HN_HOMELESS)
                refusal = "its new home has lost its CPUs or its memory";
        if (refusal)
                hn_job_call_off(job, refusal);
}

/* ---- waiting */

/* It is a job, or does not move. */
static bool is_known(void *data, const char *uuid)
{
        const struct hn_mover *mover = data;
        const struct hn_guest *guest = hn_guests_find(&mover->keeper->guests, uuid);

        return hn_mover_job(mover, uuid) || (guest && guest->entry && !guest->entry->moving);
}

/* Is there one of its group that is to go before it, and not known yet?  What can't be told is so. */
static bool lacks_earlier(struct hn_mover *mover, struct hn_job *job)
{
        HN_LEDGER struct hn_ledger *ledger = NULL;
        struct hn_entry **entries = NULL;
        size_t n = 0;
        int r;

        if (!job->lacks)
                return false;
        if (job->lacked_us && job->lacked_n == mover->keeper->guests.n && hn_monotonic_us() - job->lacked_us < LACKS_US)
                return true;
        job->lacked_us = hn_monotonic_us();
        job->lacked_n = mover->keeper->guests.n;
        r = hn_ledger_open(mover->keeper->root, NULL, &ledger);
        if (r >= 0)
                r = hn_ledger_load_others(ledger, is_known, mover, &entries, &n);
        if (r < 0)
                return true;
        job->lacks = false;
        for (size_t i = 0; i < n; i++)
                job->lacks |= entries[i]->managed && entries[i]->moving &&
                              entries[i]->moving->began_us == job->group_us && entries[i]->moving->turn < job->turn;
        hn_entries_free(entries, n);
        return job->lacks;
}

/* One at a time for each node, in the order in which they began; guests of a group one after the other. */
static bool may_go(const struct hn_mover *mover, const struct hn_job *job)
{
        bool before = true;

        for (size_t i = 0; i < mover->n; i++) {
                const struct hn_job *other = mover->jobs[i];

                if (other == job) {
                        before = false;
                        continue;
                }
                if (other->over || other->stage == HN_MOVE_NARROWS)
                        continue;
                bool active = other->stage != HN_MOVE_WAITS;
                if (before && other->group_us == job->group_us)
                        return false;
                /* Whoever lacks others may wait for long: libvirt does not tell of a guest that somebody holds. */
                if (!other->lacks && (before || active) && hwloc_bitmap_intersects(other->target, job->target))
                        return false;
        }
        return true;
}

/* ---- opening */

/* *ret: what is in force for its memory; NULL: not known. */
static bool is_open(const struct hn_mover *mover, const struct hn_job *job, const struct hn_guest *guest,
                    hwloc_bitmap_t *ret)
{
        HN_GROUPS struct hn_groups *groups = NULL;

        if (hn_groups_read(mover->keeper->root, guest->cgroup->scope, guest->cgroup->threads, &groups) < 0 ||
            (groups->scope_nodes && !hwloc_bitmap_isincluded(job->target, groups->scope_nodes)))
                return false;
        *ret = HN_TAKE(groups->scope_nodes);
        return true;
}

static int haul(struct hn_mover *mover, struct hn_job *job, const struct hn_guest *guest, hwloc_const_bitmap_t in_force)
{
        const struct hn_haul_order order = {
                .root = mover->keeper->root, .door = mover->door, .pid = job->pid, .start_ticks = job->start_ticks,
                .request = guest->request, .to = guest->entry->moving->to,
                .in_force = in_force ? in_force : guest->entry->placement->memory_nodes, .event = mover->event,
        };
        int r = hn_haul_start(&order, &job->haul);

        if (r >= 0) {
                job->hauls++;
                hn_job_stage(job, HN_MOVE_HAULS);
        }
        return r;
}

static void open_sets(struct hn_mover *mover, struct hn_job *job, const struct hn_guest *guest)
{
        HN_BITMAP hwloc_bitmap_t in_force = NULL;

        if (is_open(mover, job, guest, &in_force)) {
                if (haul(mover, job, guest, in_force) < 0)
                        hn_job_call_off(job, "there is no thread for it");
        } else if (is_late(job)) {
                hn_job_call_off(job, "its memory set does not become wide enough");
        }
}

/* ---- moving pages */

static char *say_failure(const struct hn_job *job, int error)
{
        HN_FREE char *nodes = hn_text_nodes(job->target);

        switch (error) {
        case -ENOMEM:
                return hn_text_print("there is no memory left on %s", nodes ? nodes : "its new home");
        case -ENOSPC:
                return hn_text_print("there are not enough free huge pages on %s", nodes ? nodes : "its new home");
        case -EXDEV:
                return strdup("a device of the host reaches into its memory");
        case -ENODATA:
                return strdup("its cells can't be told apart");
        default:
                return hn_text_print("its memory does not move: %s", strerror(-error));
        }
}

static void measure(struct hn_mover *mover, const struct hn_haul_progress *done)
{
        /* Of less than that the pauses and looks are most of the time. */
        if (done->moved_kib < HN_KEEP_NARROW_KIB || done->took_us == 0)
                return;
        uint64_t rate = done->moved_kib * UINT64_C(1000000) / done->took_us;
        mover->kib_per_second = mover->kib_per_second ? (3 * mover->kib_per_second + rate) / 4 : rate;
}

/* Its memory outside the sets of its new home; 0 where that can't be read, or is in huge pages. */
static uint64_t outside_kib(const struct hn_mover *mover, const struct hn_guest *guest)
{
        const struct hn_placement *to = guest->entry->moving->to;
        HN_RESIDENT struct hn_resident resident = { 0 };
        HN_BITMAP hwloc_bitmap_t home = hwloc_bitmap_dup(to->home);

        if (!home || hwloc_bitmap_or(home, home, to->memory_nodes) < 0 || hn_request_wants_huge_pages(guest->request) ||
            hn_resident_read(mover->keeper->root, guest->cgroup->scope, &resident) < 0)
                return 0;
        return hn_resident_sum_kib(&resident, NULL) - hn_resident_sum_kib(&resident, home);
}

static void account(struct hn_mover *mover, struct hn_job *job)
{
        job->moved_kib += job->done.moved_kib;
        measure(mover, &job->done);
        hn_haul_free(HN_TAKE(job->haul));
}

/* What follows from how the last haul ended.  Once more at the next turn where the ledger can't be written now. */
static void conclude(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest)
{
        struct hn_haul_progress *done = &job->done;

        if (done->error == 0 && done->left_kib <= HN_KEEP_NARROW_KIB && !job->why) {
                /* What the guest touched meanwhile, or what was plugged into it. */
                uint64_t kib = job->hauls < HAULS ? outside_kib(mover, guest) : 0;

                if (kib > HN_KEEP_NARROW_KIB) {
                        done->left_kib = kib;
                        hn_job_stage(job, HN_MOVE_OPENS);
                } else {
                        hn_job_narrow(mover, job, guest);
                }
                return;
        }
        if (!job->why && done->error != -ECANCELED)
                job->why = done->error ? say_failure(job, done->error) : strdup("some of its memory would not go");
        hn_job_settle(mover, job, guest);
}

static void watch_haul(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest)
{
        if (job->haul) {
                hn_haul_look(job->haul, &job->done);
                if (!job->done.ended) {
                        check(mover, job, guest);
                        return;
                }
                account(mover, job);
        }
        conclude(mover, job, guest);
}

/* ---- narrowing */

static void watch_narrowing(struct hn_mover *mover, struct hn_job *job, struct hn_guest *guest)
{
        HN_GROUPS struct hn_groups *groups = NULL;
        HN_BITMAP hwloc_bitmap_t nodes = NULL;
        bool wanted = false;

        if (hn_groups_read(mover->keeper->root, guest->cgroup->scope, guest->cgroup->threads, &groups) >= 0 &&
            hn_keep_nodes_left(groups, guest->request, guest->entry->placement, &wanted, &nodes) >= 0 &&
            (!wanted || !groups->scope_nodes || !guest->cgroup->by_systemd ||
             hwloc_bitmap_isequal(groups->scope_nodes, nodes)))
                hn_job_end(mover, job, guest, NULL);
        else if (is_late(job))
                hn_job_end(mover, job, guest, "its memory set is not narrow yet");
}

void hn_job_turn(struct hn_mover *mover, struct hn_job *job)
{
        struct hn_guest *guest = guest_of(mover, job);

        if (!guest) {
                hn_job_drop(mover, job, "it has ended, or was given back");
                return;
        }
        if (job->stage == HN_MOVE_WAITS || job->stage == HN_MOVE_OPENS)
                check(mover, job, guest);
        if (job->why && !job->haul && job->stage != HN_MOVE_NARROWS) {
                hn_job_settle(mover, job, guest);
                return;
        }
        if (job->stage == HN_MOVE_WAITS && !lacks_earlier(mover, job) && may_go(mover, job))
                hn_job_stage(job, HN_MOVE_OPENS);
        if (job->stage == HN_MOVE_OPENS)
                open_sets(mover, job, guest);
        else if (job->stage == HN_MOVE_HAULS)
                watch_haul(mover, job, guest);
        else if (job->stage == HN_MOVE_NARROWS)
                watch_narrowing(mover, job, guest);
}
