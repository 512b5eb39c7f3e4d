/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What else moves, merges or drops pages on this host.
 */
#include <errno.h>

#include "command/doctor.h"

#define KSM "/sys/kernel/mm/ksm"

/* A number in a file; `otherwise` where there is none. */
static uint64_t read_number(const struct hn_patient *patient, const char *path, uint64_t otherwise)
{
        uint64_t value;

        return hn_root_read_u64(patient->root, &value, "%s", path) < 0 ? otherwise : value;
}

int hn_check_numad(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (!patient->numad)
                return hn_find(findings, HN_LEVEL_OK, "numad", NULL, NULL, "numad does not run");
        return hn_find(findings, HN_LEVEL_PROBLEM, "numad",
                       "It moves processes between nodes by its own lights, guests among them: both then work against each "
                       "other. Guests with placement='auto' do not need it to run: libvirt calls it when they start.",
                       "systemctl disable --now numad", "numad runs as a daemon");
}

int hn_check_balancing(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (patient->n_homes < 2 || !read_number(patient, "/proc/sys/kernel/numa_balancing", 0))
                return hn_find(findings, HN_LEVEL_OK, "numa balancing", NULL, NULL,
                               "the kernel's NUMA balancing is %s", patient->n_homes < 2 ? "of no matter" : "off");
        return hn_find(findings, HN_LEVEL_NOTE, "numa balancing",
                       "It takes pages away for a moment again and again to see who uses them. Guests that are at home pay "
                       "for that with page faults and gain nothing; guests that are left to libvirt may gain.",
                       "echo 'kernel.numa_balancing = 0' >/etc/sysctl.d/90-numa-balancing.conf && "
                       "sysctl -p /etc/sysctl.d/90-numa-balancing.conf",
                       "the kernel's NUMA balancing is on");
}

int hn_check_ksm(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (read_number(patient, KSM "/run", 0) != 1)
                return hn_find(findings, HN_LEVEL_OK, "ksm", NULL, NULL, "KSM merges no pages");
        if (patient->n_homes < 2 || !read_number(patient, KSM "/merge_across_nodes", 1))
                return hn_find(findings, HN_LEVEL_OK, "ksm", NULL, NULL, "KSM merges pages of one node only");
        return hn_find(findings, HN_LEVEL_WARNING, "ksm",
                       "Pages that guests on several nodes have alike lie on one of them: the others read them from afar, and "
                       "can't come to 100 % locality.",
                       "echo 2 >" KSM "/run && echo 0 >" KSM "/merge_across_nodes && echo 1 >" KSM "/run",
                       "KSM merges pages across nodes");
}

int hn_check_zone_reclaim(const struct hn_patient *patient, struct hn_findings *findings)
{
        uint64_t mode = read_number(patient, "/proc/sys/vm/zone_reclaim_mode", 0);

        if (patient->n_homes < 2 || !mode)
                return hn_find(findings, HN_LEVEL_OK, "zone reclaim", NULL, NULL, "zone_reclaim_mode is 0");
        return hn_find(findings, HN_LEVEL_WARNING, "zone reclaim",
                       "Whoever needs memory on a full node waits until its page cache has been thrown out, though other nodes "
                       "have room: the host's own programs and guests' disks stall. homenode keeps guests at home without it.",
                       "echo 'vm.zone_reclaim_mode = 0' >/etc/sysctl.d/90-zone-reclaim.conf && "
                       "sysctl -p /etc/sysctl.d/90-zone-reclaim.conf",
                       "zone_reclaim_mode is %u", (unsigned) mode);
}
