/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What moves under way have yet to take along.
 */
#include "daemon/gather.h"

#include <inttypes.h>

#include "model/text.h"
#include "unit/support/guest.h"
#include "unit/support/herd.h"

#define MIB UINT64_C(1024)
#define GIB (MIB << 10)
#define UNTOLD UINT64_MAX
#define RESIDENT GUEST_SCOPE("machine-qemu\\x2d1\\x2dguest0.scope") "/memory.numa_stat"

struct gathering {
        struct herd herd;
        struct hn_meter *meter;
        struct hn_policy policy;
        struct hn_balance_past past;
        bool moves;
        uint64_t seconds;
};

static bool moves(void *data, const char *uuid)
{
        struct gathering *g = data;

        (void) uuid;
        return g->moves;
}

static int set_up(void **state)
{
        static struct gathering g;

        g = (struct gathering) { .moves = true };
        hn_policy_defaults(&g.policy);
        herd_make(&g.herd, 4, 4);
        assert_int_equal(hn_meter_new(&g.herd.tree.root, &g.meter), 0);
        *state = &g;
        return 0;
}

static int tear_down(void **state)
{
        struct gathering *g = *state;

        hn_meter_free(g->meter);
        herd_end(&g->herd);
        return 0;
}

static struct hn_placement *promised(const struct hn_placement *from, unsigned node, uint64_t kib)
{
        struct hn_placement *placement = hn_placement_copy(from);

        assert_non_null(placement);
        placement->promises[0].node = node;
        placement->promises[0].memory_kib = kib;
        return placement;
}

/* A guest of 1 GiB is on its way from node 1 to node 3, in which so much of it is there; what it has yet to take along. */
static void assert_under_way(struct gathering *g, uint64_t on_1_kib, uint64_t on_3_kib, uint64_t leaving_kib,
                             uint64_t coming_kib)
{
        HN_READING struct hn_reading reading = { 0 };
        HN_GATHERED struct hn_gathered gathered = { 0 };
        const struct hn_guest *guest = hn_guests_find(hn_keeper_guests(g->herd.keeper), herd_uuid(0));
        const struct hn_gather_source source = {
                .root = &g->herd.tree.root, .guests = hn_keeper_guests(g->herd.keeper), .reading = &reading,
                .policy = &g->policy, .past = &g->past, .moves = moves, .data = g,
        };
        HN_FREE char *text = hn_text_print("anon N1=%" PRIu64 " N3=%" PRIu64 "\n", on_1_kib << 10, on_3_kib << 10);

        if (on_1_kib == UNTOLD)
                assert_int_equal(hn_root_remove(&g->herd.tree.root, RESIDENT), 0);
        else
                tree_put(&g->herd.tree, RESIDENT, text);
        assert_int_equal(hn_meter_read(g->meter, hn_keeper_guests(g->herd.keeper), ++g->seconds * 1000000, &reading), 0);
        assert_non_null(guest);
        assert_int_equal(hn_gather(&source, &gathered), 0);
        for (size_t at = 0; at < 4; at++) {
                assert_int_equal(gathered.leaving_kib[at], at == 1 ? leaving_kib : 0);
                assert_int_equal(gathered.coming_kib[at], at == 3 ? coming_kib : 0);
        }
}

static void begin_move(struct gathering *g)
{
        struct hn_guest *guest;
        struct hn_moving *moving = calloc(1, sizeof *moving);

        herd_start(&g->herd, 4, GIB, 1, 1);
        guest = hn_guests_find(hn_keeper_guests(g->herd.keeper), herd_uuid(0));
        assert_non_null(guest);
        assert_non_null(moving);
        moving->from = promised(guest->entry->placement, 1, GIB);
        moving->to = promised(guest->entry->placement, 3, GIB);
        guest->entry->moving = moving;
}

static void is_what_is_not_there_yet(void **state)
{
        struct gathering *g = *state;

        begin_move(g);
        assert_under_way(g, 1024 * MIB, 0, 1024 * MIB, 1024 * MIB);
        assert_under_way(g, 724 * MIB, 300 * MIB, 724 * MIB, 724 * MIB);
        assert_under_way(g, 0, 1024 * MIB, 0, 0);
        /* It has touched half of its memory only: the rest may yet come, where it goes to. */
        assert_under_way(g, 300 * MIB, 212 * MIB, 300 * MIB, 812 * MIB);
        /* More than it was promised. */
        assert_under_way(g, 1100 * MIB, 0, 1024 * MIB, 1024 * MIB);
        assert_under_way(g, 0, 1100 * MIB, 0, 0);
}

static void is_all_of_it_where_nobody_tells(void **state)
{
        struct gathering *g = *state;

        begin_move(g);
        assert_under_way(g, UNTOLD, 0, 1024 * MIB, 1024 * MIB);
}

static void is_nothing_of_what_nobody_works_on(void **state)
{
        struct gathering *g = *state;

        begin_move(g);
        g->moves = false;
        assert_under_way(g, 724 * MIB, 300 * MIB, 0, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
                TEST(is_what_is_not_there_yet),
                TEST(is_all_of_it_where_nobody_tells),
                TEST(is_nothing_of_what_nobody_works_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
