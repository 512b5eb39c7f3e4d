/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes: are there any to choose among, how far apart, and which of their CPUs may guests have.
 */
#include <errno.h>

#include "command/doctor.h"

int hn_check_nodes(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_BITMAP hwloc_bitmap_t homes = NULL;
        HN_FREE char *list = NULL;

        if (!patient->host)
                return hn_find(findings, HN_LEVEL_PROBLEM, "nodes", "Nothing can be placed.", NULL,
                               "the host's nodes can't be read from /sys/devices/system");
        homes = hn_host_homes(patient->host);
        if (!homes || hn_idset_format(homes, &list) < 0)
                return -ENOMEM;
        if (patient->n_homes == 0)
                return hn_find(findings, HN_LEVEL_PROBLEM, "nodes",
                               "No node has both CPUs and memory that machine.slice may use and that are not isolated.",
                               "systemctl show -p AllowedCPUs -p AllowedMemoryNodes machine.slice", "there is no home node");
        if (patient->n_homes == 1)
                return hn_find(findings, HN_LEVEL_NOTE, "nodes", "There is nothing to choose: guests are where they can be. "
                               "(Firmware may hide nodes: node interleaving, one node per socket.)", NULL,
                               "node %s is the only home", list);
        return hn_find(findings, HN_LEVEL_OK, "nodes", NULL, NULL, "%u home nodes: %s", patient->n_homes, list);
}

/* All other nodes equally far: so it is with two nodes, and on hosts that connect each with each. */
static bool is_flat(const struct hn_host *host)
{
        for (size_t a = 0; a < host->n_nodes; a++)
                for (size_t b = 0; b < host->n_nodes; b++)
                        if (a != b && host->distances[a * host->n_nodes + b] != host->distances[1])
                                return false;
        return true;
}

int hn_check_distances(const struct hn_patient *patient, struct hn_findings *findings)
{
        const struct hn_host *host = patient->host;

        if (!host || host->n_nodes < 2)
                return 0;
        switch (host->distance_source) {
        case HN_DISTANCE_MISSING:
        case HN_DISTANCE_BROKEN:
                return hn_find(findings, HN_LEVEL_WARNING, "distances",
                               "homenode takes all other nodes for equally far, so a guest that needs several may get nodes "
                               "that are not neighbours.", "look for newer firmware; the table is ACPI's SLIT: "
                               "cat /sys/devices/system/node/node*/distance",
                               host->distance_source == HN_DISTANCE_BROKEN
                                       ? "the firmware's distances between nodes are no use"
                                       : "the firmware gives no distances between nodes");
        case HN_DISTANCE_FROM_HOST:
        default:
                break;
        }
        if (host->n_nodes > 2 && is_flat(host))
                return hn_find(findings, HN_LEVEL_NOTE, "distances",
                               "Right where each node is connected with each. Otherwise a guest that needs several nodes may get "
                               "ones that are not neighbours.", "look for a firmware setting about SLIT or NUMA distances",
                               "all other nodes are equally far (%u)", host->distances[1]);
        return hn_find(findings, HN_LEVEL_OK, "distances", NULL, NULL, "distances between nodes are usable");
}

#define COMMAND_LINE "(Debian: GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub), and reboot"

/* Kernels without nohz_full= say "(null)" there: no list, so no CPUs. */
static int read_set(const struct hn_root *root, const char *path, hwloc_bitmap_t *ret)
{
        HN_FREE char *line = hn_doctor_line(root, path);
        int r = line ? hn_idset_parse(line, HN_IDSET_LIMIT, ret) : -ENOENT;

        if (r < 0 && r != -ENOMEM)
                *ret = hwloc_bitmap_alloc();
        return *ret ? 0 : -ENOMEM;
}

/* CPUs that run without ticks as long as one thread has them, but that floating vCPUs share. */
static int check_nohz(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_BITMAP hwloc_bitmap_t nohz = NULL;
        HN_FREE char *list = NULL;
        int r = read_set(patient->root, "/sys/devices/system/cpu/nohz_full", &nohz);

        if (r >= 0 && patient->host && hwloc_bitmap_andnot(nohz, nohz, patient->host->isolated) < 0)
                r = -ENOMEM;
        if (r < 0 || hwloc_bitmap_iszero(nohz))
                return r;
        if (hn_idset_format(nohz, &list) < 0)
                return -ENOMEM;
        return hn_find(findings, HN_LEVEL_NOTE, "nohz_full",
                       "vCPUs float over these CPUs like over any other. As soon as two share one its ticks come back, and each "
                       "entry into the kernel costs more there.",
                       "isolate them too (isolcpus=) for guests that you pin, or take nohz_full= out of the kernel command "
                       "line " COMMAND_LINE, "CPUs %s are nohz_full and not isolated", list);
}

int hn_check_isolated(const struct hn_patient *patient, struct hn_findings *findings)
{
        HN_FREE char *list = NULL;
        int r;

        if (!patient->host)
                return 0;
        if (hwloc_bitmap_iszero(patient->host->isolated))
                r = hn_find(findings, HN_LEVEL_OK, "isolated CPUs", NULL, NULL, "no CPUs are isolated");
        else if (hn_idset_format(patient->host->isolated, &list) < 0)
                r = -ENOMEM;
        else
                r = hn_find(findings, HN_LEVEL_NOTE, "isolated CPUs",
                            "The kernel does not spread threads over them, so homenode gives them to no guest; guests that you "
                            "pin there are counted.",
                            "to have them used, take isolcpus= out of the kernel command line " COMMAND_LINE
                            "; those of an isolated cgroup partition are back when it ends",
                            "CPUs %s are isolated", list);
        return r < 0 ? r : check_nohz(patient, findings);
}

int hn_check_irqbalance(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (patient->irqbalance || patient->n_homes < 2)
                return hn_find(findings, HN_LEVEL_OK, "irqbalance", NULL, NULL, "%s",
                               patient->irqbalance ? "irqbalance keeps interrupts on their devices' nodes"
                                                   : "irqbalance is of no matter");
        return hn_find(findings, HN_LEVEL_NOTE, "irqbalance",
                       "Interrupts stay where the kernel or drivers put them, perhaps all on one node, and are handled far "
                       "from the device and the guest that waits for them.",
                       "apt install irqbalance && systemctl enable --now irqbalance", "irqbalance does not run");
}
