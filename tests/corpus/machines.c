/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The expected values were read from the XML files with other tools than hwloc; where a file leaves something to judge,
 * a comment says how it was judged.
 */
#include "corpus/machines.h"

const struct expected machines[] = {
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

const size_t n_machines = sizeof machines / sizeof *machines;
