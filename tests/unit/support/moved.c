/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/moved.h"

#include <errno.h>
#include <time.h>

#include "daemon/keeper-internal.h"
#include "model/clock.h"

#define START UINT64_C(0x7f0000000000)
#define PAGES (MOVED_KIB / 4)
#define PATIENCE_US 100000000u /* a busy computer, a sanitizer */

static void write_maps(const struct moved *moved, const struct moved_pages *pages)
{
        char path[64], maps[128], numa[128];
        size_t n = 0;

        (void) snprintf(maps, sizeof maps, "%lx-%lx rw-p 00000000 00:00 0 \n", (unsigned long) START,
                        (unsigned long) (START + PAGES * UINT64_C(4096)));
        n = (size_t) snprintf(numa, sizeof numa, "%lx default anon=%u", (unsigned long) START, PAGES);
        for (unsigned node = 0; node < 4; node++)
                if (pages->on[node])
                        n += (size_t) snprintf(numa + n, sizeof numa - n, " N%u=%zu", node, pages->on[node]);
        (void) snprintf(numa + n, sizeof numa - n, " kernelpagesize_kB=4\n");
        (void) snprintf(path, sizeof path, "/proc/%d/maps", pages->pid);
        tree_put(&moved->kept->tree, path, maps);
        (void) snprintf(path, sizeof path, "/proc/%d/numa_maps", pages->pid);
        tree_put(&moved->kept->tree, path, numa);
}

static void lay(struct moved *moved, struct moved_pages *pages, unsigned node, size_t n)
{
        memset(pages->nodes, (int) node, n);
        memset(pages->on, 0, sizeof pages->on);
        for (size_t i = 0; i < PAGES; i++)
                pages->on[pages->nodes[i]]++;
        write_maps(moved, pages);
}

void moved_lay(struct moved *moved, unsigned node, size_t n)
{
        lay(moved, &moved->web, node, n);
}

static void pause_ms(unsigned ms)
{
        const struct timespec pause = { .tv_nsec = (long) ms * 1000000 };

        (void) nanosleep(&pause, NULL);
}

static long move(void *data, int pid, size_t n, void **addresses, const int *nodes, int *status, bool all)
{
        struct moved *moved = data;
        struct moved_pages *pages = pid == moved->web.pid ? &moved->web : &moved->db;

        (void) all;
        if (pid != pages->pid)
                abort();
        while (nodes && moved->holds)
                pause_ms(1);
        for (size_t i = 0; i < n; i++) {
                size_t at = ((uint64_t) (uintptr_t) addresses[i] - START) / 4096;

                if (nodes && pages->nodes[at] != nodes[i]) {
                        if (moved->room == 0) {
                                write_maps(moved, pages);
                                return -ENOMEM;
                        }
                        moved->room--;
                        pages->on[pages->nodes[at]]--;
                        pages->on[nodes[i]]++;
                        pages->nodes[at] = (uint8_t) nodes[i];
                }
                status[i] = pages->nodes[at];
        }
        if (nodes)
                write_maps(moved, pages);
        return 0;
}

static uint64_t now_us(void *data)
{
        (void) data;
        return hn_monotonic_us();
}

static void on_end(void *data, const char *uuid, hwloc_const_bitmap_t home, bool delivered)
{
        struct moved *moved = data;

        assert_true(strcmp(uuid, UUID_A) == 0 || (moved->db.pid && strcmp(uuid, UUID_B) == 0));
        assert_false(hwloc_bitmap_iszero(home));
        moved->told++;
        moved->delivered = delivered;
}

static void put_pages(struct moved *moved, struct moved_pages *pages, int pid, unsigned node)
{
        pages->pid = pid;
        pages->nodes = calloc(PAGES, 1);
        assert_non_null(pages->nodes);
        lay(moved, pages, node, PAGES);
}

int moved_set_up(void **state)
{
        static struct moved moved;

        memset(&moved, 0, sizeof moved);
        moved.room = SIZE_MAX;
        if (kept_set_up(state) < 0)
                return -1;
        moved.kept = *state;
        put_pages(&moved, &moved.web, WEB_PID, 2);
        kept_settle(moved.kept);
        assert_int_equal(hn_mover_new(moved.kept->keeper, on_end, &moved, &moved.mover), 0);
        moved.door = (struct hn_pages_door) { .data = &moved, .move = move, .now_us = now_us };
        hn_mover_use(moved.mover, &moved.door);
        *state = &moved;
        return 0;
}

int moved_set_up_two(void **state)
{
        struct moved *moved;

        if (moved_set_up(state) < 0)
                return -1;
        moved = *state;
        kept_settle_db(moved->kept);
        put_pages(moved, &moved->db, DB_PID, 3);
        return 0;
}

int moved_tear_down(void **state)
{
        struct moved *moved = *state;
        void *kept = moved->kept;

        moved->holds = 0;
        hn_mover_free(moved->mover);
        free(moved->web.nodes);
        free(moved->db.nodes);
        return kept_tear_down(&kept);
}

struct hn_placement *moved_placement(struct moved *moved, unsigned node)
{
        return moved_placement_of(moved, UUID_A, node);
}

struct hn_placement *moved_placement_of(struct moved *moved, const char *uuid, unsigned node)
{
        HN_ENTRY struct hn_entry *entry = kept_entry_of(moved->kept, uuid);
        struct hn_placement *placement = hn_placement_copy(entry->placement);

        assert_non_null(placement);
        assert_int_equal(placement->n_promises, 1);
        placement->promises[0].node = node;
        hwloc_bitmap_only(placement->home, node);
        hwloc_bitmap_only(placement->memory_nodes, node);
        hwloc_bitmap_only(placement->cells[0].nodes, node);
        hwloc_bitmap_zero(placement->cells[0].cpus);
        hwloc_bitmap_set_range(placement->cells[0].cpus, 2 * node, (int) (2 * node + 1));
        hwloc_bitmap_copy(placement->emulator_cpus, placement->cells[0].cpus);
        return placement;
}

int moved_begin(struct moved *moved, unsigned node)
{
        HN_PLACEMENT struct hn_placement *to = moved_placement(moved, node);
        const struct hn_move_order order = { .uuid = UUID_A, .to = to, .kind = HN_MOVE_GUEST, .memory_kib = MOVED_KIB,
                                             .reason = "node 2 is crowded" };

        return hn_mover_begin(moved->mover, &order, 1);
}

void moved_memory_set(struct moved *moved, const char *nodes)
{
        tree_put(&moved->kept->tree, GUEST_SCOPE(WEB_UNIT) "/cpuset.mems.effective", nodes);
}

void moved_until(struct moved *moved, int stage)
{
        moved_until_of(moved, UUID_A, stage);
}

void moved_until_of(struct moved *moved, const char *uuid, int stage)
{
        uint64_t began_us = hn_monotonic_us();
        struct hn_move_progress progress;

        for (;;) {
                (void) hn_mover_turn(moved->mover);
                int r = hn_mover_look(moved->mover, uuid, &progress);
                if (r < 0 ? stage < 0 : stage == (int) progress.stage)
                        return;
                if (hn_monotonic_us() - began_us > PATIENCE_US)
                        fail_msg("it never came to %d: %d", stage, r < 0 ? r : (int) progress.stage);
                pause_ms(1);
        }
}

size_t moved_on(const struct moved *moved, unsigned node)
{
        return moved->web.on[node];
}

void moved_start_anew(struct moved *moved)
{
        moved->holds = 0;
        hn_mover_free(HN_TAKE(moved->mover));
        hn_guests_clear(&moved->kept->keeper->guests);
        assert_int_equal(hn_mover_new(moved->kept->keeper, NULL, NULL, &moved->mover), 0);
        hn_mover_use(moved->mover, &moved->door);
        assert_int_equal(hn_mover_turn(moved->mover), 0);
}
