/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>

#include "daemon/mover-internal.h"
#include "daemon/orders.h"
#include "daemon/tell.h"
#include "model/array.h"
#include "model/clock.h"

#define TURN_MS 200u

const char *hn_move_stage_name(enum hn_move_stage stage)
{
        static const char *const names[] = {
                [HN_MOVE_WAITS] = "waiting", [HN_MOVE_OPENS] = "opening", [HN_MOVE_HAULS] = "moving",
                [HN_MOVE_NARROWS] = "narrowing",
        };

        return (unsigned) stage < sizeof names / sizeof *names ? names[stage] : "unknown";
}

static void job_free(struct hn_job *job)
{
        if (!job)
                return;
        hn_haul_free(job->haul);
        hwloc_bitmap_free(job->target);
        free(job->name);
        free(job->why);
        free(job);
}
HN_DEFINE_CLEANUP(struct hn_job *, job_free, cleanup_job)
#define CLEANUP_JOB HN_CLEANUP(cleanup_job)

/* Two movers would pull at the same guests: the lock ends with the process. */
static int take_lock(const struct hn_root *root)
{
        int r = hn_root_mkdir(root, 0700, HN_ORDERS_FOLDER);

        if (r < 0)
                return r;
        HN_CLOSE int fd = hn_root_open_regular(root, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, HN_ORDERS_LOCK);
        if (fd < 0)
                return fd;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        r = fd;
        fd = -1;
        return r;
}

int hn_mover_new(struct hn_keeper *keeper, hn_move_ended *ended, void *data, struct hn_mover **ret)
{
        struct hn_mover *made = calloc(1, sizeof *made);

        if (!made)
                return -ENOMEM;
        made->keeper = keeper;
        made->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        made->lock_fd = take_lock(keeper->root);
        HN_MOVER struct hn_mover *mover = made;
        if (mover->event < 0)
                return -errno;
        if (mover->lock_fd < 0)
                return mover->lock_fd;
        if (ended)
                (void) hn_mover_listen(mover, ended, data);
        *ret = HN_TAKE(mover);
        return 0;
}

void hn_mover_free(struct hn_mover *mover)
{
        if (!mover)
                return;
        /* All of them first: they end side by side. */
        for (size_t i = 0; i < mover->n; i++)
                if (mover->jobs[i]->haul)
                        hn_haul_cancel(mover->jobs[i]->haul);
        for (size_t i = 0; i < mover->n; i++)
                job_free(mover->jobs[i]);
        if (mover->event >= 0)
                (void) close(mover->event);
        if (mover->lock_fd >= 0)
                (void) close(mover->lock_fd);
        free(mover->jobs);
        free(mover->refusal);
        free(mover);
}

int hn_mover_listen(struct hn_mover *mover, hn_move_ended *ended, void *data)
{
        for (size_t i = 0; i < HN_MOVE_LISTENERS; i++)
                if (!mover->listeners[i].call) {
                        mover->listeners[i].call = ended;
                        mover->listeners[i].data = data;
                        return 0;
                }
        return -ENOSPC;
}

void hn_mover_use(struct hn_mover *mover, const struct hn_pages_door *door)
{
        mover->door = door;
}

int hn_mover_fd(const struct hn_mover *mover)
{
        return mover->event;
}

const char *hn_mover_refusal(const struct hn_mover *mover)
{
        return mover->refusal ? mover->refusal : "";
}

uint64_t hn_mover_kib_per_second(const struct hn_mover *mover)
{
        return mover->kib_per_second;
}

/* ---- jobs */

struct hn_job *hn_mover_job(const struct hn_mover *mover, const char *uuid)
{
        for (size_t i = 0; i < mover->n; i++)
                if (strcmp(mover->jobs[i]->uuid, uuid) == 0)
                        return mover->jobs[i];
        return NULL;
}

bool hn_mover_has(const struct hn_mover *mover, const char *uuid)
{
        const struct hn_guest *guest = hn_guests_find(&mover->keeper->guests, uuid);

        return hn_mover_job(mover, uuid) || (guest && guest->entry && guest->entry->moving);
}

int hn_mover_look(const struct hn_mover *mover, const char *uuid, struct hn_move_progress *ret)
{
        const struct hn_job *job = hn_mover_job(mover, uuid);
        struct hn_haul_progress now = { 0 };

        if (!job)
                return -ENOENT;
        if (job->haul)
                hn_haul_look(job->haul, &now);
        *ret = (struct hn_move_progress) {
                .stage = job->stage,
                .moved_kib = job->moved_kib + now.moved_kib,
                .left_kib = job->haul ? now.left_kib : job->done.left_kib,
                .took_us = hn_monotonic_us() - job->began_us,
        };
        return 0;
}

void hn_mover_tell(const struct hn_mover *mover, const struct hn_job *job, const char *text, ...)
{
        va_list arguments;

        va_start(arguments, text);
        hn_vtell_guest(mover->keeper->root, job->name, job->target, text, arguments);
        va_end(arguments);
}

void hn_job_stage(struct hn_job *job, enum hn_move_stage stage)
{
        job->stage = stage;
        job->since_us = hn_monotonic_us();
}

static bool is_before(const struct hn_job *a, const struct hn_job *b)
{
        return a->group_us != b->group_us ? a->group_us < b->group_us : a->turn < b->turn;
}

struct hn_job *hn_mover_add(struct hn_mover *mover, const struct hn_guest *guest)
{
        const struct hn_moving *moving = guest->entry->moving;
        CLEANUP_JOB struct hn_job *job = calloc(1, sizeof *job);
        struct hn_job **jobs = job ? hn_array_grow(mover->jobs, mover->n, sizeof(struct hn_job *)) : NULL;
        size_t at = mover->n;

        if (!jobs)
                return NULL;
        mover->jobs = jobs;
        memcpy(job->uuid, guest->uuid, sizeof job->uuid);
        job->name = strdup(guest->entry->placement->name);
        job->target = hwloc_bitmap_dup(moving->back ? moving->from->home : moving->to->home);
        if (!job->name || !job->target)
                return NULL;
        job->pid = guest->pid;
        job->start_ticks = guest->start_ticks;
        job->group_us = moving->began_us;
        job->turn = moving->turn;
        job->back = moving->back;
        job->began_us = hn_monotonic_us();
        hn_job_stage(job, moving->narrowing ? HN_MOVE_NARROWS : HN_MOVE_WAITS);
        for (; at > 0 && is_before(job, jobs[at - 1]); at--)
                jobs[at] = jobs[at - 1];
        jobs[at] = HN_TAKE(job);
        mover->n++;
        return jobs[at];
}

void hn_job_call_off(struct hn_job *job, const char *why)
{
        if (!job->why)
                job->why = strdup(why);
        if (job->haul)
                hn_haul_cancel(job->haul);
}

int hn_mover_cancel(struct hn_mover *mover, const char *uuid, const char *why)
{
        struct hn_job *job = hn_mover_job(mover, uuid);

        if (!job || job->over)
                return -ENOENT;
        hn_job_call_off(job, why);
        return 0;
}

/* ---- turns */

/* What another daemon began, or this one before it was killed. */
static void resume(struct hn_mover *mover)
{
        const struct hn_guests *guests = &mover->keeper->guests;

        for (size_t i = 0; i < guests->n; i++) {
                const struct hn_guest *guest = guests->list[i];

                if (!guest->entry || !guest->entry->managed || !guest->entry->moving || !guest->request ||
                    !guest->cgroup || hn_mover_job(mover, guest->uuid))
                        continue;
                struct hn_job *job = hn_mover_add(mover, guest);
                if (!job)
                        continue;
                job->resumed = true;
                job->lacks = job->turn > 0;
                hn_mover_tell(mover, job, "going on with its move");
        }
}

/* A thread ends at its next batch; nobody waits for that. */
static bool has_ended(const struct hn_job *job)
{
        struct hn_haul_progress progress = { .ended = true };

        if (job->haul)
                hn_haul_look(job->haul, &progress);
        return job->over && progress.ended;
}

static void forget_ended(struct hn_mover *mover)
{
        size_t n = 0;

        for (size_t i = 0; i < mover->n; i++)
                if (has_ended(mover->jobs[i]))
                        job_free(mover->jobs[i]);
                else
                        mover->jobs[n++] = mover->jobs[i];
        mover->n = n;
}

static void share_limit(const struct hn_mover *mover)
{
        unsigned n = 0;

        for (size_t i = 0; i < mover->n; i++)
                n += mover->jobs[i]->haul != NULL;
        for (size_t i = 0; i < mover->n; i++)
                if (mover->jobs[i]->haul)
                        hn_haul_limit(mover->jobs[i]->haul, mover->limit ? mover->limit / n + 1 : 0);
}

void hn_mover_limit(struct hn_mover *mover, uint64_t kib_per_second)
{
        mover->limit = kib_per_second;
        share_limit(mover);
}

unsigned hn_mover_turn(struct hn_mover *mover)
{
        uint64_t ended;

        if (read(mover->event, &ended, sizeof ended) < 0 && errno != EAGAIN)
                return TURN_MS;
        resume(mover);
        for (size_t i = 0; i < mover->n; i++)
                if (!mover->jobs[i]->over)
                        hn_job_turn(mover, mover->jobs[i]);
        forget_ended(mover);
        share_limit(mover);
        return mover->n ? TURN_MS : 0;
}
