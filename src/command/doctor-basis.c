/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libvirt and systemd: without them most else is beside the point, so it is said first.
 */
#include "command/doctor.h"

int hn_check_libvirt(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (patient->libvirt_installed)
                return 0;
        return hn_find(findings, HN_LEVEL_PROBLEM, "libvirt", "There are no guests to be placed.",
                       "install libvirt's daemon (Debian: apt install libvirt-daemon-system)",
                       "libvirt is not installed");
}

int hn_check_systemd(const struct hn_patient *patient, struct hn_findings *findings)
{
        if (patient->systemd)
                return 0;
        return hn_find(findings, HN_LEVEL_WARNING, "systemd",
                       "Guests are confined when they have started, not from their first instruction, and homenoded has to "
                       "be started by other means.", NULL, "systemd does not run here");
}
