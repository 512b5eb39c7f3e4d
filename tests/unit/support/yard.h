/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A yard: a host with guests that run where a test puts them, to be balanced.
 */
#pragma once

#include "decide/balance.h"
#include "unit/support/scene.h"

#define YARD_GUESTS 12000u
#define SECOND_US UINT64_C(1000000)

struct yard {
        struct hn_host *host;
        struct hn_policy policy;
        struct hn_load load;
        struct hn_balance_guest *guests;
        struct hn_request **requests;    /* the guests', owned */
        struct hn_shape **shapes;
        struct hn_placement **placements;
        uint64_t **resident;             /* by `at`; NULL: not told */
        size_t n;
        size_t moved[HN_MOVE_SPILL + 1]; /* moves applied, by their kind */
        struct hn_balance_past past;
        struct hn_balance_input input;   /* points at the above */
};

/* Takes the host over. */
struct yard *yard_of(struct hn_host *host);
void yard_free(struct yard *yard);

/* A request put on these nodes and taken over; false (and freed) where it has no room there.  `busy_cpus` as in the
 * input. */
bool yard_put(struct yard *yard, struct hn_request *request, const char *nodes, double busy_cpus);

/* A guest that must have room; its index. */
size_t yard_add(struct yard *yard, unsigned vcpus, uint64_t memory_kib, const char *nodes, double busy_cpus);

/* Cells in the XML, of equal parts. */
struct hn_request *yard_cells(unsigned number, unsigned n_cells, unsigned vcpus, uint64_t memory_kib);

/* Says where a guest's memory is: all of it on one node. */
void yard_resident(struct yard *yard, size_t guest, unsigned node);

/* Balances; checks what must hold of any moves. */
void yard_balance(struct yard *yard, struct hn_moves *ret);

/* Does the moves: placements, memory, what is remembered. */
void yard_apply(struct yard *yard, const struct hn_moves *moves);

double yard_total(struct yard *yard);

/* Balances and applies period by period until nothing moves any more; how many moves that took.  Fails where the total
 * rises or where it takes more than so many periods. */
size_t yard_settle(struct yard *yard, unsigned periods);

/* ---- in tests */

/* The only move is of this kind. */
void yard_assert_move(const struct hn_moves *moves, enum hn_move_kind kind, size_t guest, const char *home);

/* Nothing is to be moved. */
void yard_assert_quiet(struct yard *yard);

/* Set-ups: four nodes, a threshold of 5 %; two nodes, the threshold that is the default.  4 CPUs and 100 GiB each. */
int yard_setup_four(void **state);
int yard_setup_two(void **state);
int yard_teardown(void **state);
#define YARD_ON_FOUR(test) cmocka_unit_test_setup_teardown(test, yard_setup_four, yard_teardown)
#define YARD_ON_TWO(test) cmocka_unit_test_setup_teardown(test, yard_setup_two, yard_teardown)
