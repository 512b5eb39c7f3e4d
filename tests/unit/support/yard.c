/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/yard.h"

#include "decide/place.h"
#include "decide/shape.h"
#include "unit/support/test.h"

static void *zeroed(size_t n, size_t size)
{
        void *p = calloc(n + 1, size);

        assert_non_null(p);
        return p;
}

struct yard *yard_of(struct hn_host *host)
{
        struct yard *yard = zeroed(1, sizeof *yard);

        yard->host = host;
        hn_policy_defaults(&yard->policy);
        yard->guests = zeroed(YARD_GUESTS, sizeof *yard->guests);
        yard->requests = zeroed(YARD_GUESTS, sizeof (void *));
        yard->shapes = zeroed(YARD_GUESTS, sizeof (void *));
        yard->placements = zeroed(YARD_GUESTS, sizeof (void *));
        yard->resident = zeroed(YARD_GUESTS, sizeof (void *));
        yard->load.nodes = zeroed(host->n_nodes, sizeof *yard->load.nodes);
        yard->input = (struct hn_balance_input) { .host = host, .policy = &yard->policy, .load = &yard->load,
                                                  .guests = yard->guests, .past = &yard->past,
                                                  .now_us = 1000000 * SECOND_US };
        return yard;
}

void yard_free(struct yard *yard)
{
        for (size_t i = 0; i < yard->n; i++) {
                hn_request_free(yard->requests[i]);
                hn_shape_free(yard->shapes[i]);
                hn_placement_free(yard->placements[i]);
                free(yard->resident[i]);
        }
        hn_balance_past_clear(&yard->past);
        hn_host_free(yard->host);
        free(yard->guests);
        free(yard->requests);
        free(yard->shapes);
        free(yard->placements);
        free(yard->resident);
        free(yard->load.nodes);
        free(yard);
}

bool yard_put(struct yard *yard, struct hn_request *request, const char *nodes, double busy_cpus)
{
        struct hn_situation situation = { .host = yard->host, .policy = &yard->policy,
                                          .placements = (const struct hn_placement *const *) yard->placements,
                                          .n_placements = yard->n };
        HN_BITMAP hwloc_bitmap_t home = set_of(nodes);
        HN_FREE char *note = NULL;
        struct hn_score score;
        size_t i = yard->n;

        assert_true(i < YARD_GUESTS);
        assert_int_equal(hn_shape_new(yard->host, &yard->policy, request, &yard->shapes[i], &note), 0);
        if (hn_place_on(&situation, request, yard->shapes[i], home, &yard->placements[i], &score) < 0) {
                hn_shape_free(yard->shapes[i]);
                hn_request_free(request);
                yard->shapes[i] = NULL;
                return false;
        }
        yard->requests[i] = request;
        yard->guests[i] = (struct hn_balance_guest) { .request = request, .shape = yard->shapes[i],
                                                      .placement = yard->placements[i], .busy_cpus = busy_cpus };
        yard->input.n_guests = ++yard->n;
        return true;
}

size_t yard_add(struct yard *yard, unsigned vcpus, uint64_t memory_kib, const char *nodes, double busy_cpus)
{
        assert_true(yard_put(yard, vm((unsigned) yard->n, vcpus, memory_kib), nodes, busy_cpus));
        return yard->n - 1;
}

struct hn_request *yard_cells(unsigned number, unsigned n_cells, unsigned vcpus, uint64_t memory_kib)
{
        struct hn_request *request = vm(number, vcpus, memory_kib);

        request->cells = zeroed(n_cells, sizeof *request->cells);
        request->n_cells = n_cells;
        for (unsigned i = 0; i < n_cells; i++) {
                request->cells[i].vcpus = hwloc_bitmap_alloc();
                hwloc_bitmap_set_range(request->cells[i].vcpus, i * vcpus / n_cells,
                                       (int) ((i + 1) * vcpus / n_cells) - 1);
                request->cells[i].memory_kib = memory_kib / n_cells;
        }
        return request;
}

void yard_resident(struct yard *yard, size_t guest, unsigned node)
{
        if (!yard->resident[guest])
                yard->resident[guest] = zeroed(yard->host->n_nodes, sizeof **yard->resident);
        for (size_t at = 0; at < yard->host->n_nodes; at++)
                yard->resident[guest][at] = yard->host->nodes[at].os == node ? yard->requests[guest]->memory_kib : 0;
        yard->guests[guest].resident_kib = yard->resident[guest];
}

static void check_cells(const struct yard *yard, const struct hn_move *move)
{
        const struct hn_placement *from = yard->placements[move->guest], *to = move->to;
        uint64_t memory_kib = 0;
        int last = -1;

        assert_int_equal(move->n_cells, from->n_cells);
        assert_int_equal(to->n_cells, from->n_cells);
        for (size_t i = 0; i < to->n_cells; i++) {
                assert_true(hwloc_bitmap_isequal(move->cells[i].from, from->cells[i].nodes));
                assert_true(hwloc_bitmap_isequal(move->cells[i].to, to->cells[i].nodes));
                assert_true(hwloc_bitmap_isequal(to->cells[i].vcpus, from->cells[i].vcpus));
                assert_true(hwloc_bitmap_first(to->cells[i].nodes) >= last);
                last = hwloc_bitmap_first(to->cells[i].nodes);
                memory_kib += move->cells[i].memory_kib;
        }
        assert_int_equal(memory_kib, move->memory_kib);
}

static void check_move(const struct yard *yard, const struct hn_move *move, double threshold)
{
        const struct hn_balance_guest *guest;

        assert_true(move->guest < yard->n);
        guest = &yard->guests[move->guest];
        assert_false(guest->held);
        assert_non_null(move->reason);
        assert_string_equal(move->to->uuid, guest->request->uuid);
        HN_IDSET_FOREACH(os, move->to->home) {
                int at = hn_host_at(yard->host, (unsigned) os);

                assert_true(at >= 0);
                assert_int_equal(yard->host->nodes[at].role, HN_NODE_HOME);
                assert_true(!guest->request->wishes.nodes
                            || hwloc_bitmap_isset(guest->request->wishes.nodes, (unsigned) os));
        }
        check_cells(yard, move);
        if (guest->immovable)
                assert_int_equal(move->memory_kib, 0);
        if (move->kind == HN_MOVE_SPILL || move->kind == HN_MOVE_GATHER)
                return;
        assert_true(move->gain >= threshold);
        assert_true(move->pays_back_us <= yard->policy.balance.payback_seconds * SECOND_US);
}

/* No node is promised more than it has. */
static void check_room(const struct yard *yard)
{
        HN_FREE uint64_t *promised = zeroed(yard->host->n_nodes, sizeof *promised);

        for (size_t i = 0; i < yard->n; i++)
                for (size_t j = 0; j < yard->placements[i]->n_promises; j++) {
                        const struct hn_promise *p = &yard->placements[i]->promises[j];
                        int at = hn_host_at(yard->host, p->node);

                        if (at >= 0 && !p->page_kib)
                                promised[at] += p->memory_kib;
                }
        for (size_t at = 0; at < yard->host->n_nodes; at++)
                assert_true(promised[at] <= yard->host->nodes[at].memory_kib);
}

void yard_balance(struct yard *yard, struct hn_moves *ret)
{
        size_t groups = 0;

        assert_int_equal(hn_balance(&yard->input, ret), 0);
        for (size_t i = 0; i < ret->n; i++) {
                check_move(yard, &ret->list[i], yard->policy.balance.threshold_percent / 100.0);
                groups += i == 0 || ret->list[i].group != ret->list[i - 1].group;
                for (size_t j = 0; j < i; j++)
                        assert_int_not_equal(ret->list[i].guest, ret->list[j].guest);
        }
        assert_true(groups <= yard->policy.balance.moves);
}

void yard_apply(struct yard *yard, const struct hn_moves *moves)
{
        for (size_t i = 0; i < moves->n; i++) {
                const struct hn_move *move = &moves->list[i];
                size_t guest = move->guest;

                yard->moved[move->kind]++;
                hn_placement_free(yard->placements[guest]);
                yard->placements[guest] = hn_placement_copy(move->to);
                assert_non_null(yard->placements[guest]);
                yard->guests[guest].placement = yard->placements[guest];
                if (move->memory_kib && yard->resident[guest])
                        yard_resident(yard, guest, (unsigned) hwloc_bitmap_first(move->to->home));
                assert_int_equal(hn_balance_note(&yard->past, move->to->uuid, move->to->home, true,
                                                 yard->input.now_us), 0);
                /* moves of a group are made in their order: there is room for each when its turn comes */
                if (!yard->input.free_kib)
                        check_room(yard);
        }
        check_room(yard);
}

double yard_total(struct yard *yard)
{
        struct hn_score score;

        assert_int_equal(hn_balance_total(&yard->input, &score), 0);
        return score.total;
}

size_t yard_settle(struct yard *yard, unsigned periods)
{
        double total = yard_total(yard);
        unsigned quiet = 0;
        size_t n = 0;

        /* Guests may rest for 32 minutes at most: as long as that without a move is quiet for ever. */
        for (unsigned period = 0; quiet < 200; period++) {
                HN_MOVES struct hn_moves moves = { 0 };
                bool spilled = false;
                double after;

                yard_balance(yard, &moves);
                yard_apply(yard, &moves);
                after = yard_total(yard);
                for (size_t i = 0; i < moves.n; i++)
                        spilled |= moves.list[i].kind == HN_MOVE_SPILL;
                if (moves.n && after > total + 1e-9 && !spilled)
                        fail_msg("the total rises from %f to %f: %s", total, after, moves.list[0].reason);
                total = after;
                n += moves.n;
                quiet = moves.n ? 0 : quiet + 1;
                if (period + 1 - quiet > periods)
                        fail_msg("not quiet after %u periods", periods);
                yard->input.now_us += yard->policy.balance.period_seconds * SECOND_US;
        }
        return n;
}

void yard_assert_move(const struct hn_moves *moves, enum hn_move_kind kind, size_t guest, const char *home)
{
        assert_int_equal(moves->n, 1);
        assert_int_equal(moves->list[0].kind, kind);
        assert_int_equal(moves->list[0].guest, guest);
        assert_set(moves->list[0].to->home, home);
}

void yard_assert_quiet(struct yard *yard)
{
        HN_MOVES struct hn_moves moves = { 0 };

        yard_balance(yard, &moves);
        if (moves.n)
                fail_msg("not quiet: %s", moves.list[0].reason);
}

int yard_setup_four(void **state)
{
        /* CPUs 0-3, 4-7, 8-11, 12-15 */
        struct yard *yard = yard_of(host_of(&(struct host_plan) { 4, 4, 1, 0, 100 * GIB }));

        yard->policy.balance.threshold_percent = 5;
        *state = yard;
        return 0;
}

int yard_setup_two(void **state)
{
        *state = yard_of(host_of(&(struct host_plan) { 2, 4, 1, 0, 100 * GIB }));
        return 0;
}

int yard_teardown(void **state)
{
        yard_free(*state);
        return 0;
}
