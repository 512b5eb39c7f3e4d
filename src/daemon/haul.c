/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/haul.h"

#include <errno.h>

#include "act/cpuset.h"
#include "daemon/thread.h"
#include "decide/move.h"
#include "model/clock.h"

#define STACK_BYTES (256u << 10) /* the usual 8 MiB are only promised, but count where memory may not be overcommitted */
#define US_PER_S UINT64_C(1000000)
#define ALL_THERE 1000u          /* thousandths */

struct cell {
        uint64_t memory_kib;
        hwloc_bitmap_t bound;    /* by the live XML; NULL: it is not bound */
        hwloc_bitmap_t by_order; /* by the order of what is in force; NULL: it is not bound */
        hwloc_bitmap_t target;
};

struct hn_haul {
        const struct hn_root *root;
        const struct hn_pages_door *door;
        int pid;
        uint64_t start_ticks;
        int event;
        struct cell *cells; /* n_cells, and one more for what belongs to none */
        size_t n_cells;
        bool any_bound;
        hwloc_bitmap_t cpus; /* of the new home */

        pthread_t thread;
        bool has_thread;
        pthread_mutex_t lock;     /* of what follows */
        pthread_cond_t called_off;
        bool cancelled;
        uint64_t kib_per_second;
        struct hn_haul_progress progress;
        uint64_t began_us;
};

/* ---- in the thread */

static bool is_cancelled(struct hn_haul *haul)
{
        (void) pthread_mutex_lock(&haul->lock);
        bool cancelled = haul->cancelled;
        (void) pthread_mutex_unlock(&haul->lock);
        return cancelled;
}

static void tell(struct hn_haul *haul, const struct hn_pages_progress *progress)
{
        (void) pthread_mutex_lock(&haul->lock);
        haul->progress.moved_kib = progress->moved_kib;
        haul->progress.left_kib = progress->left_kib;
        haul->progress.took_us = hn_monotonic_us() - haul->began_us;
        (void) pthread_mutex_unlock(&haul->lock);
}

/* As long as the batch took: so the guest has half of the time for itself, and nobody waits long for its memory map.
 * Longer where a rate is to be kept. */
static uint64_t rest_us(const struct hn_haul *haul, const struct hn_pages_progress *progress)
{
        uint64_t due_us = haul->kib_per_second ? progress->batch_kib * US_PER_S / haul->kib_per_second : 0;

        return due_us > 2 * progress->batch_us ? due_us - progress->batch_us : progress->batch_us;
}

static void rest(struct hn_haul *haul, const struct hn_pages_progress *progress)
{
        struct timespec until;

        (void) pthread_mutex_lock(&haul->lock);
        until = hn_thread_until(rest_us(haul, progress));
        while (!haul->cancelled && pthread_cond_timedwait(&haul->called_off, &haul->lock, &until) == 0)
                continue;
        (void) pthread_mutex_unlock(&haul->lock);
}

static bool tells_all(const struct hn_haul *haul, const struct hn_pages *pages)
{
        for (size_t i = 0; i < haul->n_cells; i++)
                if (haul->cells[i].bound && !hn_pages_memory(pages, i)->found)
                        return false;
        return true;
}

static int survey_as(const struct hn_haul *haul, bool by_order, struct hn_pages **ret)
{
        HN_FREE struct hn_pages_cell *cells = calloc(haul->n_cells ? haul->n_cells : 1, sizeof *cells);
        HN_PAGES struct hn_pages *pages = NULL;
        int r;

        if (!cells)
                return -ENOMEM;
        for (size_t i = 0; i < haul->n_cells; i++) {
                const struct cell *cell = &haul->cells[i];

                cells[i] = (struct hn_pages_cell) { .memory_kib = cell->memory_kib,
                                                    .bound = by_order ? cell->by_order : cell->bound };
        }
        r = hn_pages_survey(haul->root, haul->pid, haul->start_ticks, cells, haul->n_cells, haul->door, &pages);
        if (r < 0)
                return r;
        if (!tells_all(haul, pages))
                return -ENODATA;
        *ret = HN_TAKE(pages);
        return 0;
}

/* The set was widened, and perhaps more than once since the start: cells are bound to its nodes in their order.  If it
 * never was exactly theirs they still are where they were bound at the start. */
static int survey(const struct hn_haul *haul, struct hn_pages **ret)
{
        int r = survey_as(haul, true, ret);

        return r == -ENODATA ? survey_as(haul, false, ret) : r;
}

/* Free huge pages of a size on all of these nodes. */
static uint64_t free_pool_kib(const struct hn_root *root, hwloc_const_bitmap_t nodes, uint64_t page_kib)
{
        uint64_t kib = 0;

        HN_IDSET_FOREACH(node, nodes) {
                uint64_t pages = 0;

                if (hn_root_read_u64(root, &pages, "/sys/devices/system/node/node%d/hugepages/hugepages-%llukB/"
                                     "free_hugepages", node, (unsigned long long) page_kib) >= 0)
                        kib += pages * page_kib;
        }
        return kib;
}

/* Half of a guest's huge pages on either node would be worse than all on the wrong one. */
static bool has_huge_pages(const struct hn_haul *haul, const struct hn_pages *pages)
{
        for (size_t i = 0; i <= haul->n_cells; i++) {
                const struct hn_pages_memory *memory = hn_pages_memory(pages, i);

                if (memory->page_kib && memory->resident_kib - memory->there_kib >
                                                free_pool_kib(haul->root, haul->cells[i].target, memory->page_kib))
                        return false;
        }
        return true;
}

static int aim(const struct hn_haul *haul, struct hn_pages *pages)
{
        int r = 0;

        if (hn_pages_pinned(pages))
                return -EXDEV;
        for (size_t i = 0; r >= 0 && i <= haul->n_cells; i++)
                if (!hwloc_bitmap_iszero(haul->cells[i].target))
                        r = hn_pages_target(pages, i, haul->cells[i].target);
        return r < 0 || has_huge_pages(haul, pages) ? r : -ENOSPC;
}

static void sum_up(struct hn_haul *haul, const struct hn_pages *pages)
{
        unsigned least = ALL_THERE;
        uint64_t resident_kib = 0;

        for (size_t i = 0; i <= haul->n_cells; i++) {
                const struct hn_pages_memory *memory = hn_pages_memory(pages, i);

                resident_kib += memory->resident_kib;
                if (i < haul->n_cells && memory->found && memory->resident_kib) {
                        unsigned share = (unsigned) (memory->there_kib * ALL_THERE / memory->resident_kib);

                        least = share < least ? share : least;
                }
        }
        (void) pthread_mutex_lock(&haul->lock);
        haul->progress.resident_kib = resident_kib;
        haul->progress.left_kib = hn_pages_left_kib(pages);
        haul->progress.least_local = least;
        haul->progress.known = true;
        (void) pthread_mutex_unlock(&haul->lock);
}

static int carry(struct hn_haul *haul)
{
        struct hn_pages_progress progress = { 0 };
        HN_PAGES struct hn_pages *pages = NULL;
        int r = survey(haul, &pages);

        if (r >= 0)
                r = aim(haul, pages);
        if (r < 0)
                return r;
        sum_up(haul, pages);
        while (!is_cancelled(haul)) {
                r = hn_pages_step(pages, &progress);
                tell(haul, &progress);
                if (r <= 0)
                        break;
                rest(haul, &progress);
        }
        if (r > 0)
                r = -ECANCELED;
        if (r < 0 && r != -ESRCH && hn_pages_look(pages) < 0)
                return r;
        sum_up(haul, pages);
        return r;
}

static void *run(void *data)
{
        static const uint64_t one = 1;
        struct hn_haul *haul = data;
        int r;

        /* Pages that automatic NUMA balancing hides are touched to wake them (act/pages-door.c), and go to the node of whoever
         * touches them, huge ones first: a move from elsewhere took 269 s instead of 44 s on the test machine (kernel 6.1).
         * Where that can't be had it only takes longer. */
        (void) hn_affinity_set_own(haul->root, haul->cpus);
        r = carry(haul);

        (void) pthread_mutex_lock(&haul->lock);
        haul->progress.error = r;
        haul->progress.took_us = hn_monotonic_us() - haul->began_us;
        haul->progress.ended = true;
        (void) pthread_mutex_unlock(&haul->lock);
        if (write(haul->event, &one, sizeof one) < 0)
                return NULL; /* it is looked at now and then anyway */
        return NULL;
}

/* ---- outside */

static hwloc_bitmap_t copy_of(hwloc_const_bitmap_t set, bool *failed)
{
        hwloc_bitmap_t copy = set ? hwloc_bitmap_dup(set) : NULL;

        *failed |= set && !copy;
        return copy;
}

static int copy_cells(const struct hn_haul_order *order, struct hn_haul *haul)
{
        const struct hn_placement *to = order->to;
        bool failed = false;

        for (size_t i = 0; i < haul->n_cells; i++) {
                struct cell *cell = &haul->cells[i];

                cell->memory_kib = to->cells[i].memory_kib;
                cell->bound = copy_of(i < order->request->n_cells ? order->request->cells[i].ours : NULL, &failed);
                cell->by_order = copy_of(cell->bound, &failed);
                cell->target = copy_of(to->cells[i].nodes, &failed);
                haul->any_bound |= cell->bound != NULL;
        }
        haul->cells[haul->n_cells].target = copy_of(to->home, &failed);
        haul->cpus = hwloc_bitmap_alloc();
        failed |= !haul->cpus;
        for (size_t i = 0; i < haul->n_cells && !failed; i++)
                failed |= hwloc_bitmap_or(haul->cpus, haul->cpus, to->cells[i].cpus) < 0;
        return failed ? -ENOMEM : 0;
}

static int bind_by_order(struct hn_haul *haul, hwloc_const_bitmap_t in_force)
{
        HN_FREE hwloc_bitmap_t *by_order = calloc(haul->n_cells, sizeof(hwloc_bitmap_t));
        int r = by_order ? hn_move_bound(in_force, haul->n_cells, by_order) : -ENOMEM;

        if (r < 0)
                return r == -ERANGE ? 0 : r;
        for (size_t i = 0; i < haul->n_cells; i++) {
                struct cell *cell = &haul->cells[i];

                hwloc_bitmap_free(cell->bound ? cell->by_order : by_order[i]);
                cell->by_order = cell->bound ? by_order[i] : NULL;
        }
        return 0;
}

static int make(const struct hn_haul_order *order, struct hn_haul *haul)
{
        size_t n = order->to->n_cells;
        int r;

        haul->root = order->root;
        haul->door = order->door;
        haul->pid = order->pid;
        haul->start_ticks = order->start_ticks;
        haul->event = order->event;
        haul->began_us = hn_monotonic_us();
        haul->cells = calloc(n + 1, sizeof *haul->cells);
        if (!haul->cells)
                return -ENOMEM;
        haul->n_cells = n;
        r = copy_cells(order, haul);
        return r >= 0 && haul->any_bound ? bind_by_order(haul, order->in_force) : r;
}

int hn_haul_start(const struct hn_haul_order *order, struct hn_haul **ret)
{
        struct hn_haul *made = calloc(1, sizeof *made);
        int r;

        if (!made)
                return -ENOMEM;
        (void) pthread_mutex_init(&made->lock, NULL);
        hn_thread_condition(&made->called_off);
        HN_HAUL struct hn_haul *haul = made;
        r = make(order, haul);
        if (r >= 0)
                r = hn_thread_start(run, haul, STACK_BYTES, &haul->thread);
        if (r < 0)
                return r;
        haul->has_thread = true;
        *ret = HN_TAKE(haul);
        return 0;
}

void hn_haul_cancel(struct hn_haul *haul)
{
        (void) pthread_mutex_lock(&haul->lock);
        haul->cancelled = true;
        (void) pthread_cond_signal(&haul->called_off);
        (void) pthread_mutex_unlock(&haul->lock);
}

void hn_haul_limit(struct hn_haul *haul, uint64_t kib_per_second)
{
        (void) pthread_mutex_lock(&haul->lock);
        haul->kib_per_second = kib_per_second;
        (void) pthread_mutex_unlock(&haul->lock);
}

void hn_haul_look(struct hn_haul *haul, struct hn_haul_progress *ret)
{
        (void) pthread_mutex_lock(&haul->lock);
        *ret = haul->progress;
        (void) pthread_mutex_unlock(&haul->lock);
}

void hn_haul_free(struct hn_haul *haul)
{
        if (!haul)
                return;
        if (haul->has_thread) {
                hn_haul_cancel(haul);
                (void) pthread_join(haul->thread, NULL);
        }
        for (size_t i = 0; haul->cells && i <= haul->n_cells; i++) {
                hwloc_bitmap_free(haul->cells[i].bound);
                hwloc_bitmap_free(haul->cells[i].by_order);
                hwloc_bitmap_free(haul->cells[i].target);
        }
        hwloc_bitmap_free(haul->cpus);
        (void) pthread_cond_destroy(&haul->called_off);
        (void) pthread_mutex_destroy(&haul->lock);
        free(haul->cells);
        free(haul);
}
