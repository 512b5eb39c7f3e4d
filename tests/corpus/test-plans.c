/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Decisions on all recorded machines: a grid of domain sizes on the idle machine, and sequences until it is
 * full.  The invariants are those of check_decision().
 */
#include <dirent.h>

#include "decide/fit.h"
#include "unit/support/scene.h"
#include "unit/support/recorded.h"
#include "unit/support/test.h"

static char *folder; /* of the topologies */

/* Calls `check` for every machine that hwloc reads; the scene is freed afterwards. */
static void each_machine(void (*check)(struct scene *))
{
        HN_CLOSEDIR DIR *dir = NULL;
        unsigned n = 0;

        dir = opendir(folder);
        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir));) {
                HN_FREE char *file = NULL;
                struct hn_host *host = NULL;
                struct scene *scene;

                if (!strstr(entry->d_name, ".xml"))
                        continue;
                assert_true(asprintf(&file, "%s/%s", folder, entry->d_name) > 0);
                assert_int_equal(hn_host_from_description(file, &host), 0);
                scene = scene_of(host);
                check(scene);
                scene_free(scene);
                n++;
        }
        assert_true(n >= 20);
}

static uint64_t total_kib(const struct hn_host *host, uint64_t *ret_largest)
{
        uint64_t total = 0;

        *ret_largest = 0;
        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_node *node = &host->nodes[at];

                if (node->role != HN_NODE_HOME)
                        continue;
                total += node->memory_kib;
                *ret_largest = node->memory_kib > *ret_largest ? node->memory_kib : *ret_largest;
        }
        return total;
}

static unsigned total_threads(const struct hn_host *host)
{
        unsigned n = 0;

        for (size_t at = 0; at < host->n_nodes; at++)
                n += host->nodes[at].n_threads;
        return n;
}

/* Must it be placed on one node?  Reckoned from what the host shows, not from the code under test. */
static bool fits_some_node(const struct scene *scene, unsigned vcpus, uint64_t memory_kib)
{
        uint64_t gib = memory_kib / GIB + (memory_kib % GIB ? 1 : 0);
        uint64_t wanted = memory_kib + (24 + 8 * gib) * MIB;

        for (size_t at = 0; at < scene->host->n_nodes; at++) {
                const struct hn_node *node = &scene->host->nodes[at];
                uint64_t reserve = node->memory_kib / 20 < GIB ? node->memory_kib / 20 : GIB;
                unsigned hundredths = node->n_cores * 100 + (node->n_threads - node->n_cores) * 25;

                if (node->role == HN_NODE_HOME && vcpus * 100 <= hundredths
                    && wanted <= node->memory_kib - reserve)
                        return true;
        }
        return false;
}

static void check_size(const struct scene *scene, unsigned vcpus, uint64_t memory_kib)
{
        struct hn_request *request = vm(1, vcpus, memory_kib / MIB * MIB);
        HN_DECISION struct hn_decision *d = scene_ask(scene, request);
        bool one = fits_some_node(scene, vcpus, request->memory_kib);

        if (one) {
                assert_int_equal(d->verdict, HN_PLACED);
                assert_int_equal(hn_idset_count(d->placement->home), 1);
                assert_int_equal(d->placement->n_cells, 1);
        } else
                assert_true(d->verdict == HN_LEFT || hn_idset_count(d->placement->home) > 1);
        hn_request_free(request);
}

static void grid_of(struct scene *scene)
{
        uint64_t largest, total = total_kib(scene->host, &largest);
        unsigned threads = total_threads(scene->host);
        const unsigned vcpus[] = { 1, 2, 3, 4, 7, 8, 13, 16, threads / 4, threads / 2, threads / 2 + 1,
                                   threads, 2 * threads };
        const uint64_t memory[] = { 64 * MIB, 65 * MIB, GIB, 4 * GIB, largest / 2, largest, largest * 3 / 2,
                                    total / 2, total * 9 / 10, total, 2 * total };

        for (size_t v = 0; v < sizeof vcpus / sizeof *vcpus; v++)
                for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
                        if (vcpus[v] && memory[m] >= 64 * MIB)
                                check_size(scene, vcpus[v], memory[m]);
}

static void sizes_on_idle_machines(void **state)
{
        (void) state;
        each_machine(grid_of);
}

/* Domains of one size, kinds in turn, until two hosts' worth was asked for. */
static void fill(struct scene *scene, unsigned vcpus, uint64_t memory_kib)
{
        uint64_t largest, total = total_kib(scene->host, &largest), asked = 0;
        unsigned left = 0;

        for (unsigned i = 0; asked < 2 * total && i < 160; i++) {
                struct hn_request *request = vm(i, vcpus + i % 3, memory_kib);

                request->wishes.priority = (enum hn_priority) (i % 3);
                request->wishes.pin_cores = i % 4 == 3;
                request->wishes.spanning_forbidden = i % 5 == 4;
                request->wishes.vnuma = i % 7 == 6 ? 2 : -1;
                request->page_kib = i % 6 == 5 ? 2048 : 0;
                left += scene_start(scene, request)->verdict == HN_LEFT;
                asked += memory_kib;
                hn_request_free(request);
        }
        assert_true(left > 0 || asked < 2 * total);
}

static void fill_small(struct scene *scene)
{
        uint64_t largest;

        for (size_t at = 0; at < scene->host->n_nodes; at += 2)
                if (scene->host->nodes[at].role == HN_NODE_HOME
                    && !hn_node_pool(&scene->host->nodes[at], 2048))
                        host_pool(scene->host, scene->host->nodes[at].os, 2048, 512);
        fill(scene, 1, total_kib(scene->host, &largest) / 40 / MIB * MIB + 64 * MIB);
}

static void fill_large(struct scene *scene)
{
        uint64_t largest;

        (void) total_kib(scene->host, &largest);
        fill(scene, 3, largest * 2 / 3 / MIB * MIB);
}

static void machines_are_filled(void **state)
{
        (void) state;
        each_machine(fill_small);
        each_machine(fill_large);
}

/* The less loaded node wins on a host that has room: no node gets two before every equal one got one. */
static void spread_small(struct scene *scene)
{
        size_t homes = 0;
        HN_BITMAP hwloc_bitmap_t seen = hwloc_bitmap_alloc();
        uint64_t largest, total = total_kib(scene->host, &largest);

        for (size_t at = 0; at < scene->host->n_nodes; at++) {
                const struct hn_node *node = &scene->host->nodes[at];

                if (node->role != HN_NODE_HOME)
                        continue;
                if (node->memory_kib < largest * 9 / 10 || node->n_threads != scene->host->nodes[0].n_threads)
                        return;
                homes++;
        }
        for (unsigned i = 0; i < homes; i++)
                hwloc_bitmap_or(seen, seen, scene_start_vm(scene, i, 1, total / homes / 20)->placement->home);
        assert_int_equal(hn_idset_count(seen), homes);
}

static void equal_nodes_fill_evenly(void **state)
{
        (void) state;
        each_machine(spread_small);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes_on_idle_machines),
                cmocka_unit_test(machines_are_filled),
                cmocka_unit_test(equal_nodes_fill_evenly),
        };
        int r = SKIPPED;

        folder = recorded("topologies");
        if (folder)
                r = cmocka_run_group_tests(tests, NULL, NULL);
        free(folder);
        return r;
}
