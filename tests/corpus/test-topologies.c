/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Recorded machines.  The expected values were read from the XML files with other tools than hwloc; where
 * a file leaves something to judge, a comment says how it was judged.
 */
#include <dirent.h>

#include "model/host.h"
#include "model/json.h"
#include "unit/support/test.h"

#define HOMES 24

struct expected_home { unsigned os; const char *cpus; uint64_t memory_kib; };

struct expected {
        const char *file;
        enum hn_distance_source distances;
        size_t nodes, cores, threads, caches, devices; /* homes' cores and threads */
        struct expected_home homes[HOMES];             /* up to the first without CPUs */
};

static const struct expected machines[] = {
        {
                .file = "128arm-2pa2n8cluster4co.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 4, .cores = 128, .threads = 128, .caches = 4, .devices = 0,
                .homes = {
                        { 0, "0-31", 131732940 },
                        { 1, "32-63", 132117940 },
                        { 2, "64-95", 132117936 },
                        { 3, "96-127", 131062408 },
                },
        },
        {
                .file = "16em64t-4s2c2t-offlines.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 1, .cores = 7, .threads = 12, .caches = 4, .devices = 0,
                .homes = {
                        { 0, "0-1,3-4,6-12,15", 16772456 },
                },
        },
        {
                .file = "16ia64-8n2s.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 8, .cores = 16, .threads = 16, .caches = 16, .devices = 0,
                .homes = {
                        { 0, "0-1", 6045632 },
                        { 1, "2-3", 6045696 },
                        { 2, "4-5", 6045696 },
                        { 3, "6-7", 6045696 },
                        { 4, "8-9", 6045696 },
                        { 5, "10-11", 6045632 },
                        { 6, "12-13", 6045696 },
                        { 7, "14-15", 6026944 },
                },
        },
        {
                .file = "192em64t-12gr2n8c2t.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 24, .cores = 192, .threads = 384, .caches = 24, .devices = 12,
                .homes = {
                        { 0, "0-7,192-199", 32475908 },
                        { 1, "8-15,200-207", 32489472 },
                        { 2, "16-23,208-215", 32489472 },
                        { 3, "24-31,216-223", 32489472 },
                        { 4, "32-39,224-231", 32489472 },
                        { 5, "40-47,232-239", 32489472 },
                        { 6, "48-55,240-247", 32489472 },
                        { 7, "56-63,248-255", 32489472 },
                        { 8, "64-71,256-263", 32489472 },
                        { 9, "72-79,264-271", 32489472 },
                        { 10, "80-87,272-279", 32489472 },
                        { 11, "88-95,280-287", 32489472 },
                        { 12, "96-103,288-295", 32489472 },
                        { 13, "104-111,296-303", 32489472 },
                        { 14, "112-119,304-311", 32489472 },
                        { 15, "120-127,312-319", 32489472 },
                        { 16, "128-135,320-327", 32489472 },
                        { 17, "136-143,328-335", 32489472 },
                        { 18, "144-151,336-343", 32489472 },
                        { 19, "152-159,344-351", 32489472 },
                        { 20, "160-167,352-359", 32489472 },
                        { 21, "168-175,360-367", 32489472 },
                        { 22, "176-183,368-375", 32489472 },
                        { 23, "184-191,376-383", 32489472 },
                },
        },
        {
                .file = "20em64t-hybrid-1p6c2t+2ca4co1t.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 1, .cores = 14, .threads = 20, .caches = 1, .devices = 0,
                .homes = {
                        { 0, "0-19", 32489480 },
                },
        },
        {
                .file = "256ppc-8n8s4t.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 8, .cores = 64, .threads = 256, .caches = 64, .devices = 0,
                .homes = {
                        { 0, "0-31", 58458112 },
                        { 1, "32-63", 66322432 },
                        { 4, "64-95", 66846720 },
                        { 5, "96-127", 67108864 },
                        { 8, "128-159", 66846720 },
                        { 9, "160-191", 67108864 },
                        { 12, "192-223", 66846720 },
                        { 13, "224-255", 56885248 },
                },
        },
        {
                .file = "2arm-2c.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 1, .cores = 2, .threads = 2, .caches = 0, .devices = 0,
                .homes = {
                        { 0, "0-1", 280840 },
                },
        },
        { /* the cgroup leaves CPUs 0-5: four of the six nodes have none */
                .file = "32amd64-4s2n4c-cgroup2.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 6, .cores = 6, .threads = 6, .caches = 2, .devices = 0,
                .homes = {
                        { 0, "0-3", 16775084 },
                        { 1, "4-5", 16777216 },
                },
        },
        {
                .file = "32em64t-2n8c+dax+nvme+mic+dimms.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 2, .cores = 16, .threads = 16, .caches = 2, .devices = 7,
                .homes = {
                        { 0, "0-7", 16747124 },
                        { 1, "8-15", 16777216 },
                },
        },
        {
                .file = "32em64t-2n8c2t-pci-wholeio.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 2, .cores = 16, .threads = 32, .caches = 2, .devices = 11,
                .homes = {
                        { 0, "0-7,16-23", 33525560 },
                        { 1, "8-15,24-31", 33554432 },
                },
        },
        {
                .file = "40intel64-2g2n4c+pcilocality.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 4, .cores = 40, .threads = 40, .caches = 4, .devices = 8,
                .homes = {
                        { 0, "0,4,8,12,16,20,24,28,32,36", 134204252 },
                        { 1, "1,5,9,13,17,21,25,29,33,37", 134217728 },
                        { 2, "2,6,10,14,18,22,26,30,34,38", 134217728 },
                        { 3, "3,7,11,15,19,23,27,31,35,39", 134217728 },
                },
        },
        {
                .file = "48amd64-4pa2n6c-sparse.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 8, .cores = 48, .threads = 48, .caches = 8, .devices = 0,
                .homes = {
                        { 0, "0-5", 8386460 },
                        { 1, "6-11", 16777216 },
                        { 2, "12-17", 8388608 },
                        { 33, "18-23", 16777216 },
                        { 34, "24-29", 8388608 },
                        { 45, "30-35", 16777216 },
                        { 72, "36-41", 8388608 },
                        { 73, "42-47", 16777216 },
                },
        },
        {
                .file = "64fake-4n2s2ca2c2t.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 4, .cores = 32, .threads = 64, .caches = 8, .devices = 0,
                .homes = {
                        { 0, "0-15", 1048576 },
                        { 1, "16-31", 1048576 },
                        { 2, "32-47", 1048576 },
                        { 3, "48-63", 1048576 },
                },
        },
        {
                .file = "64intel64-heteromem.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 8, .cores = 16, .threads = 64, .caches = 4, .devices = 0,
                .homes = {
                        { 0, "0-3,16-19,32-35,48-51", 1048576 },
                        { 1, "4-7,20-23,36-39,52-55", 1048576 },
                        { 2, "8-11,24-27,40-43,56-59", 1048576 },
                        { 3, "12-15,28-31,44-47,60-63", 1048576 },
                },
        },
        {
                .file = "8intel64-4n2t-memattrs.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 4, .cores = 8, .threads = 8, .caches = 0, .devices = 0,
                .homes = {
                        { 0, "0-1", 1048576 },
                        { 1, "2-3", 1048576 },
                        { 2, "4-5", 1048576 },
                        { 3, "6-7", 1048576 },
                },
        },
        {
                .file = "96em64t-4no4pa3ca2co.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 4, .cores = 96, .threads = 96, .caches = 16, .devices = 0,
                .homes = {
                        { 0, "0-23", 132101504 },
                        { 1, "24-47", 132124160 },
                        { 2, "48-71", 132124160 },
                        { 3, "72-95", 132124160 },
                },
        },
        { /* node 2 has CPUs of its own and only HBM; all others that are not DRAM share their CPUs */
                .file = "fakeheteromemtiers.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 7, .cores = 6, .threads = 6, .caches = 1, .devices = 0,
                .homes = {
                        { 0, "0-1", 3005392 },
                        { 1, "2-3", 1002460 },
                        { 2, "4-5", 524288 },
                },
        },
        { /* PMEM nodes 7 and 10 carry the CPUs of two DRAM nodes each */
                .file = "fakememinitiators-1np2c+1npp+gi.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 6, .cores = 8, .threads = 8, .caches = 0, .devices = 0,
                .homes = {
                        { 5, "0-1", 97447340 },
                        { 6, "4-5", 99090348 },
                        { 8, "2-3", 97542052 },
                        { 9, "6-7", 99051020 },
                },
        },
        {
                .file = "memorysidecaches.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 4, .cores = 40, .threads = 80, .caches = 2, .devices = 0,
                .homes = {
                        { 0, "0,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76", 388492316 },
                        { 1, "1,5,9,13,17,21,25,29,33,37,41,45,49,53,57,61,65,69,73,77", 390163848 },
                        { 2, "2,6,10,14,18,22,26,30,34,38,42,46,50,54,58,62,66,70,74,78", 390163840 },
                        { 3, "3,7,11,15,19,23,27,31,35,39,43,47,51,55,59,63,67,71,75,79", 390162812 },
                },
        },
        {
                .file = "nvidiagpunumanodes.xml", .distances = HN_DISTANCE_FROM_HOST,
                .nodes = 2, .cores = 8, .threads = 32, .caches = 4, .devices = 6,
                .homes = {
                        { 0, "0-15", 129839104 },
                        { 8, "88-103", 133952000 },
                },
        },
        { /* node 0 is off line, its CPUs 4, 6, … 20 run: they count to the only home there is */
                .file = "offline-cpu0-node0.xml", .distances = HN_DISTANCE_MISSING,
                .nodes = 1, .cores = 17, .threads = 17, .caches = 2, .devices = 0,
                .homes = {
                        { 1, "4-20", 67108864 },
                },
        },
};
#define MACHINES (sizeof machines / sizeof *machines)

static const char *folder;

static struct hn_host *load(const char *file)
{
        HN_FREE char *path = NULL;
        struct hn_host *host = NULL;

        assert_true(asprintf(&path, "%s/topologies/%s", folder, file) > 0);
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

        for (size_t i = 0; i < MACHINES; i++) {
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
        HN_FREE char *path = NULL;
        HN_CLOSEDIR DIR *dir = NULL;
        struct dirent *entry;
        size_t found = 0;
        (void) state;

        assert_true(asprintf(&path, "%s/topologies", folder) > 0);
        dir = opendir(path);
        assert_non_null(dir);
        while ((entry = readdir(dir))) {
                size_t length = strlen(entry->d_name);

                found += length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0;
        }
        assert_int_equal(found, MACHINES);
}

static void matrices_are_symmetric_and_nearest_to_themselves(void **state)
{
        (void) state;

        for (size_t i = 0; i < MACHINES; i++) {
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

        for (size_t i = 0; i < MACHINES; i++) {
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

        folder = getenv("HOMENODE_DATA");
        if (!folder || access(folder, R_OK) < 0) {
                print_error("SKIPPED: no recorded machines at HOMENODE_DATA (%s)\n",
                            folder ? folder : "not set");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
