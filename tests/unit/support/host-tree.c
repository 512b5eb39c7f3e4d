/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit/support/host-tree.h"

#include <fcntl.h>

#include "unit/support/test.h"

#define CPU "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"

HN_PRINTF(3, 4)
static void put(struct tree *tree, const char *path, const char *format, ...)
{
        HN_FREE char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        assert_true(vasprintf(&text, format, arguments) >= 0);
        va_end(arguments);
        tree_put(tree, path, text);
}

/* The kernel's bitmap form of a set: "00000001,00000000". */
static char *mask_of(hwloc_const_bitmap_t set)
{
        HN_FREE char *text = calloc(1, HN_IDSET_LIMIT);
        char *p = text;

        assert_non_null(text);
        for (int word = hwloc_bitmap_last(set) / 32; word >= 0; word--) {
                unsigned value = 0;

                for (unsigned bit = 0; bit < 32; bit++)
                        value |= (unsigned) hwloc_bitmap_isset(set, (unsigned) word * 32 + bit) << bit;
                p += sprintf(p, "%08x%s", value, word ? "," : "\n");
        }
        return HN_TAKE(text);
}

static void put_mask(struct tree *tree, const char *path, hwloc_const_bitmap_t set)
{
        HN_FREE char *text = mask_of(set);

        tree_put(tree, path, text);
}

static void put_cache(struct tree *tree, unsigned cpu, hwloc_const_bitmap_t shared)
{
        static const char *const texts[][2] = {
                { "level", "3\n" },
                { "type", "Unified\n" },
                { "size", "16384K\n" },
                { "coherency_line_size", "64\n" },
                { "number_of_sets", "16384\n" },
                { "physical_line_partition", "1\n" },
        };
        char path[128];

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                (void) snprintf(path, sizeof path, CPU "/cpu%u/cache/index0/%s", cpu, texts[i][0]);
                tree_put(tree, path, texts[i][1]);
        }
        (void) snprintf(path, sizeof path, CPU "/cpu%u/cache/index0/shared_cpu_map", cpu);
        put_mask(tree, path, shared);
}

static void put_cpu(struct tree *tree, unsigned cpu, unsigned core, unsigned node,
                    hwloc_const_bitmap_t siblings, hwloc_const_bitmap_t package)
{
        char path[128];

        (void) snprintf(path, sizeof path, CPU "/cpu%u/topology/core_id", cpu);
        put(tree, path, "%u\n", core);
        (void) snprintf(path, sizeof path, CPU "/cpu%u/topology/physical_package_id", cpu);
        put(tree, path, "%u\n", node);
        (void) snprintf(path, sizeof path, CPU "/cpu%u/topology/thread_siblings", cpu);
        put_mask(tree, path, siblings);
        (void) snprintf(path, sizeof path, CPU "/cpu%u/topology/core_siblings", cpu);
        put_mask(tree, path, package);
        put_cache(tree, cpu, package);
}

static void put_pool(struct tree *tree, unsigned node, unsigned long page_kib, unsigned long total,
                     unsigned long free)
{
        char path[128];

        (void) snprintf(path, sizeof path, NODE "/node%u/hugepages/hugepages-%lukB/nr_hugepages", node,
                        page_kib);
        put(tree, path, "%lu\n", total);
        (void) snprintf(path, sizeof path, NODE "/node%u/hugepages/hugepages-%lukB/free_hugepages", node,
                        page_kib);
        put(tree, path, "%lu\n", free);
}

void host_tree_put_meminfo(struct tree *tree, unsigned node, unsigned long total, unsigned long free,
                           unsigned long cache)
{
        char path[128];

        (void) snprintf(path, sizeof path, NODE "/node%u/meminfo", node);
        put(tree, path,
            "\nNode %u MemTotal:       %8lu kB\nNode %u MemFree:        %8lu kB\n"
            "Node %u MemUsed:        %8lu kB\nNode %u SwapCached:            7 kB\n"
            "Node %u Active:            2000 kB\nNode %u Inactive:          9000 kB\n"
            "Node %u Active(file):      1000 kB\nNode %u Inactive(file): %8lu kB\n"
            "Node %u Slab:              5000 kB\nNode %u SReclaimable:   %8lu kB\n"
            "Node %u SUnreclaim:        4000 kB\nNode %u HugePages_Total:     0\n",
            node, total, node, free, node, total - free, node, node, node, node, node, cache - cache / 4,
            node, node, cache / 4, node, node);
}

static void put_node(struct tree *tree, unsigned nodes, unsigned node, hwloc_const_bitmap_t cpus)
{
        HN_FREE char *list = NULL;
        char path[128], distances[8192], *p = distances;

        assert_int_equal(hn_idset_format(cpus, &list), 0);
        (void) snprintf(path, sizeof path, NODE "/node%u/cpulist", node);
        put(tree, path, "%s\n", list);
        (void) snprintf(path, sizeof path, NODE "/node%u/cpumap", node);
        put_mask(tree, path, cpus);
        for (unsigned other = 0; other < nodes; other++)
                p += sprintf(p, other ? " %u" : "%u", other == node ? 10u : 21u);
        (void) snprintf(path, sizeof path, NODE "/node%u/distance", node);
        put(tree, path, "%s\n", distances);
        host_tree_put_meminfo(tree, node, 8ul << 20, 5ul << 20, 1ul << 20);
        put_pool(tree, node, 2048, 0, 0);
        put_pool(tree, node, 1048576, 1, 1);
}

void host_tree_put_device(struct tree *tree, unsigned bus, const char *class_text, int node)
{
        static const unsigned char config[64] = { 0x86, 0x80, 0x21, 0x15 };
        char path[128];

        (void) snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/class", bus);
        put(tree, path, "%s\n", class_text);
        (void) snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/numa_node", bus);
        put(tree, path, "%d\n", node);
        (void) snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/vendor", bus);
        put(tree, path, "0x8086\n");
        (void) snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/device", bus);
        put(tree, path, "0x1521\n");
        if (node >= 0) {
                HN_FREE char *mask = NULL;

                assert_int_equal(hn_root_read(&tree->root, 1 << 16, &mask, NULL, NODE "/node%d/cpumap", node),
                                 0);
                (void) snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/local_cpus", bus);
                tree_put(tree, path, mask);
        }

        HN_CLOSE int fd = hn_root_open_file(&tree->root, O_WRONLY | O_CREAT, 0644,
                                            "/sys/bus/pci/devices/0000:%02x:00.0/config", bus);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, config, sizeof config), sizeof config);
}

void host_tree_put(struct tree *tree, unsigned nodes, unsigned cores, unsigned threads)
{
        unsigned all = nodes * cores;

        put(tree, CPU "/online", "0-%u\n", all * threads - 1);
        put(tree, CPU "/possible", "0-%u\n", all * threads - 1);
        put(tree, CPU "/present", "0-%u\n", all * threads - 1);
        tree_put(tree, CPU "/offline", "\n");
        tree_put(tree, CPU "/isolated", "\n");
        put(tree, NODE "/online", "0-%u\n", nodes - 1);
        put(tree, NODE "/possible", "0-%u\n", nodes - 1);
        tree_put(tree, "/proc/sys/kernel/random/boot_id", "5d1c8f0e-6f39-4ca9-9f0c-0c3a6f0b7a11\n");
        tree_put(tree, "/proc/meminfo", "MemTotal: 8388608 kB\nHugepagesize: 2048 kB\n");

        for (unsigned node = 0; node < nodes; node++) {
                HN_BITMAP hwloc_bitmap_t package = hwloc_bitmap_alloc();

                for (unsigned thread = 0; thread < threads; thread++)
                        hwloc_bitmap_set_range(package, thread * all + node * cores,
                                               (int) (thread * all + (node + 1) * cores - 1));
                put_node(tree, nodes, node, package);
                HN_IDSET_FOREACH(cpu, package) {
                        HN_BITMAP hwloc_bitmap_t siblings = hwloc_bitmap_alloc();

                        for (unsigned thread = 0; thread < threads; thread++)
                                hwloc_bitmap_set(siblings, (unsigned) cpu % all + thread * all);
                        put_cpu(tree, (unsigned) cpu, (unsigned) cpu % all % cores, node, siblings, package);
                }
        }
}

int host_tree_setup(void **state)
{
        (void) tree_setup(state);
        host_tree_put(*state, 2, 2, 2);
        return 0;
}
