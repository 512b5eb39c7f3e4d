/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Recorded machines, as homenode sees them, against machines.c.
 */
#include <dirent.h>

#include "corpus/machines.h"
#include "model/json.h"
#include "unit/support/recorded.h"
#include "unit/support/test.h"

static char *folder; /* of the topologies */

static struct hn_host *load(const char *file)
{
        HN_FREE char *path = NULL;
        struct hn_host *host = NULL;

        assert_true(asprintf(&path, "%s/%s", folder, file) > 0);
        assert_int_equal(hn_host_from_description(path, &host), 0);
        return host;
}

static void check_homes(const struct hn_host *host, const struct expected *expected)
{
        size_t threads = 0, n = 0;

        for (size_t at = 0; at < host->n_nodes; at++) {
                const struct hn_node *node = &host->nodes[at];

                if (node->role != HN_NODE_HOME) {
                        assert_true(hwloc_bitmap_iszero(node->cpus));
                        continue;
                }
                assert_int_equal(node->os, expected->homes[n].os);
                assert_set(node->cpus, expected->homes[n].cpus);
                assert_int_equal(node->memory_kib, expected->homes[n].memory_kib);
                assert_int_equal(node->free_kib, node->memory_kib);
                threads += node->n_threads;
                n++;
        }
        assert_true(n == HOMES || !expected->homes[n].cpus);
        assert_int_equal(threads, expected->threads);
}

static void finds_homes_with_their_cpus_and_memory(void **state)
{
        (void) state;

        for (size_t i = 0; i < n_machines; i++) {
                HN_HOST struct hn_host *host = load(machines[i].file);

                print_message("%s\n", machines[i].file);
                assert_int_equal(host->n_nodes, machines[i].nodes);
                check_homes(host, &machines[i]);
                assert_int_equal(host->n_cores, machines[i].cores);
                assert_int_equal(host->n_caches, machines[i].caches);
                assert_int_equal(host->n_devices, machines[i].devices);
                assert_int_equal(host->distance_source, machines[i].distances);
        }
}

static void every_machine_is_in_the_table(void **state)
{
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        size_t found = 0;
        (void) state;

        dir = opendir(folder);
        assert_non_null(dir);
        while ((entry = readdir(dir))) {
                size_t length = strlen(entry->d_name);

                found += length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0;
        }
        assert_int_equal(found, n_machines);
}

static void matrices_are_symmetric_and_nearest_to_themselves(void **state)
{
        (void) state;

        for (size_t i = 0; i < n_machines; i++) {
                HN_HOST struct hn_host *host = load(machines[i].file);

                for (size_t a = 0; a < host->n_nodes; a++)
                        for (size_t b = 0; b < host->n_nodes; b++) {
                                unsigned d = host->distances[a * host->n_nodes + b];

                                assert_int_equal(d, host->distances[b * host->n_nodes + a]);
                                assert_true(a == b ? d == 10 : d > 10 && d < 255);
                        }
        }
}

static void distances_go_by_os_index(void **state)
{
        HN_HOST struct hn_host *sparse = load("48amd64-4pa2n6c-sparse.xml");
        HN_HOST struct hn_host *power = load("nvidiagpunumanodes.xml");
        HN_HOST struct hn_host *pmem = load("fakememinitiators-1np2c+1npp+gi.xml");
        HN_HOST struct hn_host *arm = load("128arm-2pa2n8cluster4co.xml");
        (void) state;

        assert_int_equal(hn_host_distance(sparse, 0, 33), 22);
        assert_int_equal(hn_host_distance(sparse, 33, 34), 16);
        assert_int_equal(hn_host_distance(sparse, 72, 73), 16);
        assert_int_equal(hn_host_distance(power, 0, 8), 40);
        assert_int_equal(hn_host_distance(pmem, 5, 6), 13);
        assert_int_equal(hn_host_distance(pmem, 5, 8), 21);
        assert_int_equal(hn_host_distance(arm, 0, 3), 33);
        assert_int_equal(hn_host_distance(arm, 1, 2), 25);
}

static enum hn_node_role role_of(const struct hn_host *host, unsigned os)
{
        int at = hn_host_at(host, os);

        assert_true(at >= 0);
        return host->nodes[at].role;
}

static void memory_without_cpus_is_no_home(void **state)
{
        static const unsigned tiers[] = { 4, 6, 8, 9 }, hbm[] = { 4, 5, 6, 7 };
        HN_HOST struct hn_host *fake = load("fakeheteromemtiers.xml");
        HN_HOST struct hn_host *hetero = load("64intel64-heteromem.xml");
        HN_HOST struct hn_host *pmem = load("fakememinitiators-1np2c+1npp+gi.xml");
        (void) state;

        for (size_t i = 0; i < 4; i++) {
                assert_int_equal(role_of(fake, tiers[i]), HN_NODE_NO_CPUS);
                assert_int_equal(role_of(hetero, hbm[i]), HN_NODE_NO_CPUS);
        }
        assert_int_equal(role_of(pmem, 7), HN_NODE_NO_CPUS);
        assert_int_equal(role_of(pmem, 10), HN_NODE_NO_CPUS);
}

static void nodes_outside_the_cgroup_are_forbidden(void **state)
{
        HN_HOST struct hn_host *host = load("32amd64-4s2n4c-cgroup2.xml");
        (void) state;

        for (unsigned os = 2; os <= 5; os++)
                assert_int_equal(role_of(host, os), HN_NODE_FORBIDDEN);
}

static void cpus_off_line_are_known(void **state)
{
        HN_HOST struct hn_host *some = load("16em64t-4s2c2t-offlines.xml");
        HN_HOST struct hn_host *first = load("offline-cpu0-node0.xml");
        (void) state;

        assert_set(some->offline, "2,5,13-14");
        assert_set(first->offline, "0-3,21-23");
}

static void thrifty_cores_rank_lower(void **state)
{
        HN_HOST struct hn_host *host = load("20em64t-hybrid-1p6c2t+2ca4co1t.xml");
        HN_HOST struct hn_host *alike = load("128arm-2pa2n8cluster4co.xml");
        size_t thrifty = 0;
        (void) state;

        for (size_t i = 0; i < host->n_cores; i++) {
                bool single = hn_idset_count(host->cores[i].threads) == 1; /* CPUs 12-19 have no sibling */

                assert_int_equal(host->cores[i].kind, single ? 0 : 1);
                thrifty += single;
        }
        assert_int_equal(thrifty, 8);
        for (size_t i = 0; i < alike->n_cores; i++)
                assert_int_equal(alike->cores[i].kind, -1);
}

static int node_of(const struct hn_host *host, unsigned domain, unsigned bus, unsigned slot,
                   unsigned function)
{
        for (size_t i = 0; i < host->n_devices; i++) {
                const struct hn_device *d = &host->devices[i];

                if (d->domain == domain && d->bus == bus && d->slot == slot && d->function == function)
                        return d->node;
        }
        fail();
        return -2;
}

static void devices_have_the_node_of_their_package(void **state)
{
        HN_HOST struct hn_host *two = load("32em64t-2n8c+dax+nvme+mic+dimms.xml");
        HN_HOST struct hn_host *whole = load("40intel64-2g2n4c+pcilocality.xml");
        HN_HOST struct hn_host *power = load("nvidiagpunumanodes.xml");
        (void) state;

        assert_int_equal(node_of(two, 0, 0x00, 2, 0), 0);
        assert_int_equal(node_of(two, 0, 0x82, 0, 0), 1);
        assert_int_equal(node_of(two, 0, 0x83, 0, 0), 1);
        for (size_t i = 0; i < whole->n_devices; i++) /* all hang off the machine: nobody says where */
                assert_int_equal(whole->devices[i].node, -1);
        assert_int_equal(node_of(power, 0x0035, 5, 0, 0), 8);
}

static void json_gives_back_every_machine(void **state)
{
        (void) state;

        for (size_t i = 0; i < n_machines; i++) {
                HN_HOST struct hn_host *host = load(machines[i].file), *again = NULL;
                HN_JSON struct json_object *json = NULL, *json_again = NULL;

                assert_int_equal(hn_host_to_json(host, &json), 0);
                assert_int_equal(hn_host_from_json(json, &again), 0);
                check_homes(again, &machines[i]);
                assert_int_equal(hn_host_to_json(again, &json_again), 0);
                assert_true(json_object_equal(json, json_again));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_homes_with_their_cpus_and_memory),
                cmocka_unit_test(every_machine_is_in_the_table),
                cmocka_unit_test(matrices_are_symmetric_and_nearest_to_themselves),
                cmocka_unit_test(distances_go_by_os_index),
                cmocka_unit_test(memory_without_cpus_is_no_home),
                cmocka_unit_test(nodes_outside_the_cgroup_are_forbidden),
                cmocka_unit_test(cpus_off_line_are_known),
                cmocka_unit_test(thrifty_cores_rank_lower),
                cmocka_unit_test(devices_have_the_node_of_their_package),
                cmocka_unit_test(json_gives_back_every_machine),
        };
        int r = SKIPPED;

        folder = recorded("topologies");
        if (folder)
                r = cmocka_run_group_tests(tests, NULL, NULL);
        free(folder);
        return r;
}
